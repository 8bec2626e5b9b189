"""L9 to L14 and L16: DNS, Services, leases, permissions, the pod network and kubelets."""

from __future__ import annotations

import base64

import pytest

from nagaya.cloud.lint.finding import Severity
from unit.cloud.lint.building import Cluster


def test_a_cloud_by_name_cannot_be_found_before_there_is_cluster_dns() -> None:
    cluster = Cluster()
    cluster.pod["dnsPolicy"] = "ClusterFirstWithHostNet"

    assert cluster.said() == ["L9 error"]
    assert "cloud.lab.example" in cluster.only("L9").why


def test_a_cloud_by_address_needs_no_dns() -> None:
    cluster = Cluster()
    cluster.pod["dnsPolicy"] = "ClusterFirstWithHostNet"
    cluster.get("Secret")["stringData"]["cloud.yaml"] = "endpoint: https://user:pass@[fd00::1]:8006/api"

    assert cluster.said() == []


def test_a_configuration_in_base64_is_read_too() -> None:
    cluster = Cluster()
    cluster.pod["dnsPolicy"] = "ClusterFirstWithHostNet"
    secret = cluster.get("Secret")
    del secret["stringData"]
    secret["data"] = {
        "cloud.conf": base64.b64encode(b'[Global]\nauth-url = "https://keystone.lab.example/v3"\n').decode()
    }

    assert "keystone.lab.example" in cluster.only("L9").why


def test_cluster_dns_that_starts_on_new_nodes_is_no_deadlock() -> None:
    cluster = Cluster()
    cluster.pod["dnsPolicy"] = "ClusterFirstWithHostNet"
    cluster.add("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: coredns, namespace: kube-system}
spec:
  template:
    metadata: {labels: {k8s-app: kube-dns}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: coredns, image: "registry.k8s.io/coredns/coredns:v1.12.0"}]
""")

    assert cluster.said() == ["L9 warning"]


def test_without_kube_proxy_the_api_server_must_be_named() -> None:
    cluster = Cluster()
    cluster.get("KubeadmControlPlane")["spec"]["kubeadmConfigSpec"]["initConfiguration"]["skipPhases"] = [
        "addon/kube-proxy"
    ]
    assert cluster.said() == ["L10 warning"]

    cluster.add("""
apiVersion: v1
kind: ConfigMap
metadata: {name: cilium-config, namespace: kube-system}
data: {kube-proxy-replacement: "true"}
""")
    cluster.without_addresses()
    assert "L10 error" in cluster.said()

    cluster.pod["containers"][0]["env"] = [{"name": "KUBERNETES_SERVICE_HOST", "value": "10.0.0.5"}]
    assert not [each for each in cluster.said() if each.startswith("L10")]


def test_several_pods_must_elect_one() -> None:
    cluster = Cluster()
    cluster.arguments.append("--leader-elect=false")
    assert cluster.said() == ["L11 error"]

    cluster.cloud["spec"]["replicas"] = 1
    assert cluster.said() == []


def test_without_permission_for_leases_nobody_leads() -> None:
    cluster = Cluster()
    cluster.get("ClusterRole")["rules"][0]["verbs"] = ["get"]

    found = cluster.only("L11")

    assert (found.object, found.subject) == ("ClusterRole lab:cloud-controller-manager", "leases: create, update")


def test_two_clouds_need_two_leases() -> None:
    found = Cluster("correct", "vsphere-daemonset").findings()

    assert any(each.check == "L11" and "same lease" in each.why for each in found)


@pytest.mark.parametrize(
    ("rule", "verbs", "severity"),
    [(2, ["get", "list", "watch"], Severity.ERROR), (1, ["create"], Severity.WARNING), (4, ["list"], Severity.WARNING)],
)
def test_missing_permissions_are_named(rule: int, verbs: list[str], severity: Severity) -> None:
    cluster = Cluster()
    cluster.get("ClusterRole")["rules"][rule]["verbs"] = verbs

    found = [each for each in cluster.findings() if each.check == "L12"]

    assert found[0].severity is severity
    assert all(each.object == "ClusterRole lab:cloud-controller-manager" for each in found)


def test_a_role_that_allows_everything_is_enough() -> None:
    cluster = Cluster()
    cluster.drop("RoleBinding")
    cluster.get("ClusterRoleBinding")["roleRef"]["name"] = "cluster-admin"

    assert cluster.said() == []


def test_a_role_in_a_namespace_gives_no_nodes() -> None:
    cluster = Cluster()
    cluster.get("ClusterRoleBinding")["kind"] = "RoleBinding"
    cluster.objects[2]["metadata"]["namespace"] = "kube-system"

    assert cluster.said() == []  # another binding may be elsewhere
    assert "L12 error" in cluster.said(complete=True)


def test_an_aggregated_role_gets_its_rules_from_the_cluster() -> None:
    cluster = Cluster()
    cluster.get("ClusterRole").update(rules=[], aggregationRule={"clusterRoleSelectors": []})

    assert cluster.said() == []


def test_rules_for_single_nodes_are_not_enough() -> None:
    cluster = Cluster()
    cluster.get("ClusterRole")["rules"][2]["resourceNames"] = ["one"]

    assert "L12 error" in cluster.said()


def test_permissions_that_cannot_be_seen_are_not_held_against_anybody() -> None:
    cluster = Cluster()
    cluster.drop("ClusterRole")
    assert cluster.said() == []

    cluster.drop("ClusterRoleBinding")
    cluster.drop("RoleBinding")
    assert cluster.said() == ["L12 info"]
    assert cluster.said(complete=True) == ["L11 error", "L12 error"]


def test_a_pod_network_that_waits_for_ready_nodes_waits_for_itself() -> None:
    cluster = Cluster()
    cluster.network["tolerations"] = [{"key": "node.cloudprovider.kubernetes.io/uninitialized", "operator": "Exists"}]

    assert "L13 error" in cluster.said()
    assert "its own work" in cluster.only("L13").why


def test_a_pod_network_that_waits_for_the_cloud_is_a_warning_if_the_cloud_waits_for_nothing() -> None:
    cluster = Cluster()
    cluster.network["tolerations"] = [{"key": key, "operator": "Exists"} for key in _WITHOUT_CLOUD]
    assert cluster.said() == ["L13 warning"]

    cluster.tolerate_less("node-role.kubernetes.io/control-plane")
    assert "L13 error" in cluster.said()


_WITHOUT_CLOUD = (
    "node.kubernetes.io/not-ready",
    "node-role.kubernetes.io/control-plane",
    "node.cluster.x-k8s.io/uninitialized",
)


def test_nodes_that_the_pod_network_never_goes_to_are_never_ready() -> None:
    cluster = Cluster()
    cluster.network["tolerations"] = [
        {"key": key, "operator": "Exists"}
        for key in (*_WITHOUT_CLOUD, "node.cloudprovider.kubernetes.io/uninitialized")
        if "control-plane" not in key
    ]

    assert cluster.said() == ["L13 warning"]
    assert "control-plane" in cluster.only("L13").why


def test_an_operator_of_the_pod_network_cannot_need_it() -> None:
    cluster = Cluster()
    cluster.add("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: cilium-operator, namespace: kube-system}
spec:
  template:
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: cilium-operator, image: "quay.io/cilium/operator-generic:v1.18.2"}]
""")

    assert cluster.said() == ["L13 error"]


def test_addresses_are_missed_only_if_somebody_waits_for_them() -> None:
    cluster = Cluster()
    cluster.without_addresses()
    assert cluster.said() == ["L21 warning", "L21 warning"]

    cluster.pod["hostNetwork"] = False
    assert "L14 error" in cluster.said()
    assert "--node-ip" in cluster.only("L6").why


def test_calico_waits_for_addresses_only_if_told_to() -> None:
    cluster = Cluster()
    cluster.without_addresses()
    cluster.pod["hostNetwork"] = False
    daemon = cluster.get("DaemonSet")
    daemon["metadata"]["name"] = "calico-node"
    cluster.network["containers"] = [{"name": "calico-node", "image": "calico/node:v3.30.0"}]
    assert not [each for each in cluster.said() if each.startswith("L14")]

    cluster.network["containers"][0]["env"] = [{"name": "IP_AUTODETECTION_METHOD", "value": "kubernetes-internal-ip"}]
    assert "L14 error" in cluster.said()


def test_kubelets_that_wait_for_a_cloud_need_one() -> None:
    cluster = Cluster()
    cluster.drop("Deployment")
    assert cluster.said() == ["L16 error"]

    other = Cluster()
    other.arguments.append("--controllers=cloud-node-lifecycle")
    assert other.said() == ["L16 error"]
    assert "cloud-node" in other.only("L16").why


def test_next_to_a_hosted_control_plane_the_cloud_may_be_elsewhere() -> None:
    cluster = Cluster()
    cluster.drop("Deployment")
    cluster.drop("KubeadmControlPlane")
    cluster.add("{apiVersion: controlplane.cluster.x-k8s.io/v1alpha1, kind: HostedControlPlane, metadata: {name: lab}}")

    assert cluster.said() == ["L16 warning"]


def test_clouds_inside_of_kubernetes_are_gone() -> None:
    cluster = Cluster()
    cluster.registrations()[2]["kubeletExtraArgs"][0]["value"] = "vsphere"
    configuration = cluster.get("KubeadmControlPlane")["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]
    configuration["controllerManager"] = {"extraArgs": [{"name": "cloud-provider", "value": "aws"}]}

    assert cluster.said() == ["L16 error", "L16 error"]


def test_a_fix_is_written_as_the_version_of_the_manifest_wants_it() -> None:
    cluster = Cluster()
    for each in cluster.registrations():
        each["kubeletExtraArgs"] = {"cloud-provider": "external"}

    found = [each for each in cluster.findings() if each.check == "L21"]

    assert found[0].fix == "kubeletExtraArgs:\n  node-ip: 0.0.0.0  # the address of the default route"


def test_kubeadms_own_files_count_like_cluster_apis_objects() -> None:
    cluster = Cluster("vsphere-daemonset")
    cluster.add("""
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
nodeRegistration:
  taints: [{key: team, value: a, effect: NoSchedule}]
  kubeletExtraArgs: [{name: cloud-provider, value: external}, {name: node-ip, value: 10.0.0.7}]
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
nodeRegistration:
  kubeletExtraArgs: [{name: cloud-provider, value: external}, {name: node-ip, value: 10.0.0.8}]
""")

    assert cluster.said() == ["L4 error"]
