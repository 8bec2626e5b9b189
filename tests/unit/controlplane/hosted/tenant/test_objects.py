from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.api.bootstrap.component import Argument
from nagaya.controlplane.hosted.tenant import core_dns, konnectivity, kube_proxy
from nagaya.controlplane.hosted.tenant.configuration import cluster_configuration, kubelet_configuration
from nagaya.controlplane.hosted.tenant.kinds import MANAGED_BY, NAGAYA
from nagaya.controlplane.hosted.tenant.objects import objects, switched_off
from nagaya.controlplane.hosted.tenant.setup import CoreDns, Konnectivity, KubeProxy, TenantSetup

SETUP = TenantSetup("shop", "v1.36.3", "192.0.2.10:6443", b"PEM", ("10.96.0.0/16",), ("10.244.0.0/16",))
JOIN = {
    "ConfigMap kube-public/cluster-info",
    "Role kube-public/kubeadm:bootstrap-signer-clusterinfo",
    "RoleBinding kube-public/kubeadm:bootstrap-signer-clusterinfo",
    "ConfigMap kube-system/kubeadm-config",
    "Role kube-system/kubeadm:nodes-kubeadm-config",
    "RoleBinding kube-system/kubeadm:nodes-kubeadm-config",
    "ConfigMap kube-system/kubelet-config",
    "Role kube-system/kubeadm:kubelet-config",
    "RoleBinding kube-system/kubeadm:kubelet-config",
    "ClusterRole kubeadm:get-nodes",
    "ClusterRoleBinding kubeadm:get-nodes",
    "ClusterRoleBinding kubeadm:kubelet-bootstrap",
    "ClusterRoleBinding kubeadm:node-autoapprove-bootstrap",
    "ClusterRoleBinding kubeadm:node-autoapprove-certificate-rotation",
    "ClusterRoleBinding kubeadm:apiserver-kubelet-client",
    "ClusterRoleBinding kubeadm:cluster-admins",
}


def content(setup: TenantSetup, name: str) -> Any:
    (found,) = [each.content for each in objects(setup) if str(each) == name]
    return found


def names(setup: TenantSetup) -> set[str]:
    return {str(each) for each in objects(setup)}


def test_without_addons_a_tenant_has_what_a_join_needs_and_nothing_else() -> None:
    assert names(replace(SETUP, core_dns=None, kube_proxy=None)) == JOIN


def test_every_object_carries_our_label_and_has_a_place_of_its_own() -> None:
    found = objects(replace(SETUP, konnectivity=Konnectivity("192.0.2.10")))
    assert len({(each.kind, each.key) for each in found}) == len(found)
    for each in found:
        assert each.content["metadata"]["labels"][MANAGED_BY] == NAGAYA


def test_cluster_info_says_where_the_cluster_is_and_names_nobody() -> None:
    text = content(SETUP, "ConfigMap kube-public/cluster-info")["data"]["kubeconfig"]
    found = yaml.safe_load(text)
    assert found["clusters"] == [
        {"name": "", "cluster": {"server": "https://192.0.2.10:6443", "certificate-authority-data": "UEVN"}}
    ]
    assert (found["users"], found["contexts"]) == ([], [])


def test_the_kubelet_is_told_only_what_every_supported_version_understands() -> None:
    assert kubelet_configuration(SETUP) == {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "systemd",
        "clusterDNS": ["10.96.0.10"],
        "clusterDomain": "cluster.local",
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": 10248,
        "rotateCertificates": True,
        "staticPodPath": "/etc/kubernetes/manifests",
    }


def test_kubelets_that_are_to_be_verified_ask_for_certificates() -> None:
    assert kubelet_configuration(replace(SETUP, verified_kubelets=True))["serverTLSBootstrap"] is True


def test_patches_change_the_kubelets_configuration() -> None:
    patches = (
        {"op": "replace", "path": "/cgroupDriver", "value": "cgroupfs"},
        {"op": "add", "path": "/evictionHard", "value": {"memory.available": "1Mi"}},
    )
    found = kubelet_configuration(replace(SETUP, kubelet_patches=patches))
    assert found["cgroupDriver"] == "cgroupfs"
    assert found["evictionHard"] == {"memory.available": "1Mi"}


@pytest.mark.parametrize(
    ("patch", "sentence"),
    [
        ({"op": "remove", "path": "/nowhere"}, r"patch 1 \(remove /nowhere\) cannot be applied: there is no nowhere"),
        ({"op": "replace", "path": "", "value": 1}, "not one any more"),
        ({"op": "replace", "path": "/kind", "value": "Pod"}, "not one any more"),
    ],
)
def test_a_patch_that_makes_no_sense_is_refused_with_the_reason(patch: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        objects(replace(SETUP, kubelet_patches=(patch,)))


def test_the_cluster_configuration_says_what_was_asked_for() -> None:
    setup = replace(SETUP, version="1.36.3", core_dns=CoreDns("example.com/dns", "v9"), kube_proxy=None)
    assert cluster_configuration(setup) == {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "ClusterConfiguration",
        "certificatesDir": "/etc/kubernetes/pki",
        "clusterName": "shop",
        "controlPlaneEndpoint": "192.0.2.10:6443",
        "imageRepository": "registry.k8s.io",
        "kubernetesVersion": "v1.36.3",
        "networking": {"dnsDomain": "cluster.local", "serviceSubnet": "10.96.0.0/16", "podSubnet": "10.244.0.0/16"},
        "dns": {"imageRepository": "example.com/dns", "imageTag": "v9"},
        "proxy": {"disabled": True},
    }
    assert cluster_configuration(replace(SETUP, core_dns=None))["dns"] == {"disabled": True}


@pytest.mark.parametrize(
    ("version", "dns", "agent"),
    [
        ("v1.34.0", "v1.12.1", "v0.34.0"),
        ("v1.35.4", "v1.13.1", "v0.34.0"),
        ("v1.36.3", "v1.14.2", "v0.36.0"),
        ("v1.37.1", "v1.14.6", "v0.36.0"),
        ("v1.38.0", "v1.14.6", "v0.36.0"),
    ],
)
def test_images_are_those_of_the_tenants_own_minor(version: str, dns: str, agent: str) -> None:
    setup = replace(SETUP, version=version, konnectivity=Konnectivity("192.0.2.10"))
    images = {
        container["image"]
        for each in objects(setup)
        for container in each.content.get("spec", {}).get("template", {}).get("spec", {}).get("containers", ())
    }
    assert images == {
        f"registry.k8s.io/coredns/coredns:{dns}",
        f"registry.k8s.io/kube-proxy:{version}",
        f"registry.k8s.io/kas-network-proxy/proxy-agent:{agent}",
    }


@pytest.mark.parametrize("version", ["v1.33.9", "v2.0.0", "latest", ""])
def test_a_version_that_cannot_be_set_up_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match=r"1\.34 is the oldest|not a version"):
        objects(replace(SETUP, version=version))


def test_a_mirror_has_cluster_dns_beside_the_others() -> None:
    setup = replace(SETUP, image_repository="example.com/k8s")
    assert core_dns.image(setup, CoreDns()) == "example.com/k8s/coredns:v1.14.2"
    assert core_dns.image(setup, CoreDns("registry.k8s.io")) == "registry.k8s.io/coredns/coredns:v1.14.2"


def test_a_build_version_becomes_a_tag_that_registries_allow() -> None:
    setup = replace(SETUP, version="v1.36.3+build.7")
    daemon_set = content(setup, "DaemonSet kube-system/kube-proxy")
    (container,) = daemon_set["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.k8s.io/kube-proxy:v1.36.3_build.7"


@settings(max_examples=25)
@given(st.ip_addresses(v=4), st.integers(8, 28))
def test_cluster_dns_has_the_tenth_address(address: Any, length: int) -> None:
    network = ip_network(f"{address}/{length}", strict=False)
    setup = replace(SETUP, service_cidrs=(str(network),))
    found = content(setup, "Service kube-system/kube-dns")["spec"]["clusterIP"]
    assert int(ip_address(found)) == int(network.network_address) + 10
    assert kubelet_configuration(setup)["clusterDNS"] == [found]


def test_a_tenant_of_two_families_names_both_networks() -> None:
    setup = replace(SETUP, service_cidrs=("fd00:1::/108", "10.96.0.0/16"), pod_cidrs=("fd00:2::/56", "10.244.0.0/16"))
    networking = cluster_configuration(setup)["networking"]
    assert networking["serviceSubnet"] == "fd00:1::/108,10.96.0.0/16"
    proxy = kube_proxy.configuration(setup, KubeProxy())
    assert (proxy["bindAddress"], proxy["clusterCIDR"]) == ("::", "fd00:2::/56,10.244.0.0/16")
    assert setup.cluster_dns == ("fd00:1::a",)


@pytest.mark.parametrize(
    ("written", "bind", "dns"), [("10.96.0.1/12", "0.0.0.0", "10.96.0.10"), ("fd00::1/108", "::", "fd00::a")]
)
def test_a_service_range_may_be_written_as_an_address_within_it(written: str, bind: str, dns: str) -> None:
    setup = replace(SETUP, service_cidrs=(written,))
    assert kube_proxy.configuration(setup, KubeProxy())["bindAddress"] == bind
    assert content(setup, "Service kube-system/kube-dns")["spec"]["clusterIP"] == dns


def test_addresses_of_cluster_dns_may_be_given() -> None:
    setup = replace(SETUP, dns_service_ips=("10.96.0.53", "fd00:1::53"))
    assert kubelet_configuration(setup)["clusterDNS"] == ["10.96.0.53", "fd00:1::53"]
    assert content(setup, "Service kube-system/kube-dns")["spec"]["clusterIP"] == "10.96.0.53"


def test_how_kube_proxy_works_is_said_where_kubeadm_says_it_and_where_the_user_does() -> None:
    assert "mode" not in kube_proxy.configuration(SETUP, KubeProxy())
    newer = replace(SETUP, version="v1.37.1")
    assert kube_proxy.configuration(newer, KubeProxy())["mode"] == "iptables"
    assert kube_proxy.configuration(newer, KubeProxy(configuration={"mode": "nftables"}))["mode"] == "nftables"


def test_a_corefile_of_the_users_replaces_ours() -> None:
    own = replace(SETUP, dns_domain="shop.example")
    assert "kubernetes shop.example in-addr.arpa" in content(own, "ConfigMap kube-system/coredns")["data"]["Corefile"]
    mine = replace(SETUP, core_dns=CoreDns(corefile=". {\n whoami\n}\n"))
    assert content(mine, "ConfigMap kube-system/coredns")["data"]["Corefile"] == ". {\n whoami\n}\n"


def test_replicas_of_cluster_dns_are_kept_unless_they_are_given() -> None:
    (free,) = [each for each in objects(SETUP) if str(each) == "Deployment kube-system/coredns"]
    assert (free.kept, free.content["spec"]["replicas"]) == (("spec", "replicas"), 2)
    fixed = replace(SETUP, core_dns=CoreDns(replicas=3))
    (given_,) = [each for each in objects(fixed) if str(each) == "Deployment kube-system/coredns"]
    assert (given_.kept, given_.content["spec"]["replicas"]) == ((), 3)


def test_agents_call_their_server_and_prove_themselves_to_it_alone() -> None:
    given_ = (Argument(name="v", value="4"), Argument(name="ca-cert", value="/mine"))
    agents = Konnectivity("konnectivity.example", 443, extra_args=given_)
    workload = content(replace(SETUP, konnectivity=agents), "DaemonSet kube-system/konnectivity-agent")
    pod = workload["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"] == [*konnectivity.arguments(agents)]
    assert "--ca-cert=/mine" not in container["args"]
    assert {"--proxy-server-host=konnectivity.example", "--proxy-server-port=443", "--v=4"} <= {*container["args"]}
    (source,) = pod["volumes"][0]["projected"]["sources"]
    assert source["serviceAccountToken"]["audience"] == "system:konnectivity-server"
    assert pod["hostNetwork"] is True


def test_what_is_switched_off_are_the_objects_of_addons_that_are_not_wanted() -> None:
    bare = replace(SETUP, core_dns=None, kube_proxy=None)
    full = replace(SETUP, api_address="192.0.2.1", konnectivity=Konnectivity("a", mode="Deployment"))
    off = {f"{kind.kind} {key}" for kind, key in switched_off(bare)}
    assert off == (names(full) | {"DaemonSet kube-system/konnectivity-agent"}) - JOIN
    assert {f"{kind.kind} {key}" for kind, key in switched_off(full)} == {"DaemonSet kube-system/konnectivity-agent"}


def test_hostile_words_stay_words() -> None:
    name = "a: b\n- c #'\"{}"
    setup = replace(SETUP, cluster_name=name, dns_domain="x\ny: z")
    found = yaml.safe_load(content(setup, "ConfigMap kube-system/kubeadm-config")["data"]["ClusterConfiguration"])
    assert (found["clusterName"], found["networking"]["dnsDomain"]) == (name, "x\ny: z")


def test_the_address_behind_the_api_service_is_told_where_api_servers_do_not() -> None:
    slice_ = content(replace(SETUP, api_address="2001:db8::1", api_port=16443), "EndpointSlice default/kubernetes")

    assert slice_["metadata"]["labels"]["kubernetes.io/service-name"] == "kubernetes"
    assert slice_["addressType"] == "IPv6"
    assert slice_["endpoints"] == [{"addresses": ["2001:db8::1"], "conditions": {"ready": True}}]
    assert slice_["ports"] == [{"name": "https", "port": 16443, "protocol": "TCP"}]
    assert not any(name.startswith("EndpointSlice") for name in names(SETUP))
