"""What a control plane changes in its tenant, request by request."""

from __future__ import annotations

import random
from typing import Any

import pytest

from nagaya.api.controlplane.kubeadm_control_plane import KubeadmControlPlane
from nagaya.controlplane.kubeadm.workload import yaml_text
from nagaya.controlplane.kubeadm.workload.cluster_configuration import updated
from nagaya.controlplane.kubeadm.workload.core_dns import plan, update_core_dns
from nagaya.controlplane.kubeadm.workload.kube_proxy import update_kube_proxy
from nagaya.controlplane.kubeadm.workload.kubeadm_config_map import change_cluster_configuration
from nagaya.controlplane.kubeadm.workload.permissions import allow_kubeadm
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound
from nagaya.world import World
from support.kube import FakeServer
from support.virtual_time import LoopClock
from unit.controlplane.kubeadm.examples import kcp

SYSTEM = "kube-system"
CONFIG_MAPS = "api/v1/configmaps"
DAEMON_SETS = "apis/apps/v1/daemonsets"
DEPLOYMENTS = "apis/apps/v1/deployments"
BINDINGS = "apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
COREFILE = ".:53 {\n    kubernetes cluster.local {\n        endpoint a b\n    }\n}\n"


class Tenant:
    """A tenant as kubeadm of 1.36.2 leaves it."""

    def __init__(self) -> None:
        self.server = FakeServer()
        self.client: Client = self.server.client(World(LoopClock(), random.Random(1)))
        self.server.put(
            CONFIG_MAPS,
            SYSTEM,
            "kubeadm-config",
            data={
                "ClusterConfiguration": "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ndns: {}\n",
                "other": "kept",
            },
        )
        sidecar = {"name": "sidecar", "image": "a/b:v1"}
        proxy = {"name": "kube-proxy", "image": "registry.k8s.io/kube-proxy:v1.36.2", "command": ["x"]}
        self.server.put(
            DAEMON_SETS, SYSTEM, "kube-proxy", spec={"template": {"spec": {"containers": [sidecar, proxy]}}}
        )
        self.server.put(CONFIG_MAPS, SYSTEM, "coredns", data={"Corefile": COREFILE})
        self.core_dns()

    def core_dns(self, image: str = "registry.k8s.io/coredns/coredns:v1.12.0", key: str = "Corefile") -> None:
        volume = {
            "name": "config-volume",
            "configMap": {"name": "coredns", "items": [{"key": key, "path": "Corefile"}]},
        }
        spec = {"containers": [{"name": "coredns", "image": image}], "volumes": [volume]}
        self.server.put(DEPLOYMENTS, SYSTEM, "coredns", spec={"template": {"spec": spec}})

    def pod(self, collection: str, name: str) -> Any:
        return self.server.objects[collection, SYSTEM, name]["spec"]["template"]["spec"]

    def images(self, collection: str, name: str) -> list[str]:
        return [each["image"] for each in self.pod(collection, name)["containers"]]

    def data(self, name: str) -> dict[str, str]:
        found: dict[str, str] = self.server.objects[CONFIG_MAPS, SYSTEM, name]["data"]
        return found

    @property
    def writes(self) -> list[str]:
        return [each for each in self.server.calls if not each.startswith("GET")]


@pytest.fixture
async def tenant() -> Tenant:
    return Tenant()


def declared(version: str = "v1.36.3", **configuration: Any) -> KubeadmControlPlane:
    return kcp(version=version).wanting(kubeadmConfigSpec={"clusterConfiguration": configuration}).made()


async def test_kube_proxy_follows_the_version_and_nothing_else_of_it_changes(tenant: Tenant) -> None:
    await update_kube_proxy(tenant.client, declared())
    assert tenant.images(DAEMON_SETS, "kube-proxy") == ["a/b:v1", "registry.k8s.io/kube-proxy:v1.36.3"]
    assert tenant.pod(DAEMON_SETS, "kube-proxy")["containers"][1]["command"] == ["x"]
    await update_kube_proxy(tenant.client, declared())
    assert len(tenant.writes) == 1


async def test_kube_proxy_comes_from_the_declared_registry(tenant: Tenant) -> None:
    await update_kube_proxy(tenant.client, declared("v1.36.3+x", imageRepository="mirror.example.com/k8s"))
    assert tenant.images(DAEMON_SETS, "kube-proxy")[1] == "mirror.example.com/k8s/kube-proxy:v1.36.3_x"


@pytest.mark.parametrize("skip", ["skip-kube-proxy", "skip-coredns"])
async def test_add_ons_are_left_alone_if_an_annotation_says_so(tenant: Tenant, skip: str) -> None:
    wanted = kcp(version="v1.36.3").wanting(
        kubeadmConfigSpec={"clusterConfiguration": {"dns": {"imageTag": "v1.12.4"}}}
    )
    annotated = wanted.annotated({f"controlplane.cluster.x-k8s.io/{skip}": ""}).made()
    await (update_kube_proxy if skip == "skip-kube-proxy" else update_core_dns)(tenant.client, annotated)
    assert tenant.server.calls == []


async def test_a_cluster_without_add_ons_needs_none(tenant: Tenant) -> None:
    tenant.server.remove(DAEMON_SETS, SYSTEM, "kube-proxy")
    tenant.server.remove(DEPLOYMENTS, SYSTEM, "coredns")
    await update_kube_proxy(tenant.client, declared())
    await update_core_dns(tenant.client, declared(dns={"imageTag": "v1.12.4"}))
    assert tenant.writes == []


async def test_core_dns_keeps_its_version_unless_another_is_declared(tenant: Tenant) -> None:
    await update_core_dns(tenant.client, declared(apiServer={"certSANs": ["a"]}))
    assert tenant.writes == []


async def test_core_dns_gets_the_declared_version_and_a_corefile_that_it_reads(tenant: Tenant) -> None:
    wanted = declared(dns={"imageTag": "v1.12.4"})
    await update_core_dns(tenant.client, wanted)
    assert tenant.images(DEPLOYMENTS, "coredns") == ["registry.k8s.io/coredns/coredns:v1.12.4"]
    assert tenant.data("coredns") == {"Corefile": COREFILE.replace("a b", "a"), "Corefile-backup": COREFILE}
    configuration = yaml_text.load(tenant.data("kubeadm-config")["ClusterConfiguration"])
    assert configuration["dns"] == {"imageTag": "v1.12.4"}
    assert [each.rsplit("/", 1)[1] for each in tenant.writes] == ["kubeadm-config", "coredns", "coredns"]
    await update_core_dns(tenant.client, wanted)
    assert len(tenant.writes) == 3


async def test_a_deployment_that_reads_the_backup_is_put_right(tenant: Tenant) -> None:
    tenant.core_dns(key="Corefile-backup")
    await update_core_dns(tenant.client, declared(dns={"imageTag": "v1.12.4"}))
    (volume,) = tenant.pod(DEPLOYMENTS, "coredns")["volumes"]
    assert volume["configMap"]["items"] == [{"key": "Corefile", "path": "Corefile"}]


@pytest.mark.parametrize(
    "volume",
    [
        pytest.param({"name": "config-volume", "configMap": {"name": "coredns"}}, id="the whole ConfigMap"),
        pytest.param(
            {"name": "config-volume", "configMap": {"name": "mine", "items": [{"key": "Corefile-backup"}]}},
            id="another ConfigMap",
        ),
        pytest.param(
            {"name": "more", "configMap": {"name": "coredns", "items": [{"key": "Corefile-backup"}]}},
            id="another volume",
        ),
        pytest.param({"name": "config-volume", "emptyDir": {}}, id="no ConfigMap"),
    ],
)
async def test_volumes_that_do_not_read_the_backup_in_place_of_the_configuration_stay_as_they_are(
    tenant: Tenant, volume: dict[str, Any]
) -> None:
    tenant.core_dns()
    tenant.pod(DEPLOYMENTS, "coredns")["volumes"] = [volume]
    await update_core_dns(tenant.client, declared(dns={"imageTag": "v1.12.4"}))
    assert tenant.images(DEPLOYMENTS, "coredns") == ["registry.k8s.io/coredns/coredns:v1.12.4"]
    assert tenant.pod(DEPLOYMENTS, "coredns")["volumes"] == [volume]


async def test_a_core_dns_that_kubeadm_did_not_make_is_left_alone(tenant: Tenant) -> None:
    tenant.server.put(CONFIG_MAPS, SYSTEM, "coredns", data={"other": ""})
    with pytest.raises(ValueError, match="it is not what kubeadm made"):
        await update_core_dns(tenant.client, declared(dns={"imageTag": "v1.12.4"}))
    assert tenant.writes == []


@pytest.mark.parametrize(
    ("image", "configuration", "wanted"),
    [
        (
            "registry.k8s.io/coredns/coredns:v1.11.3",
            {"imageRepository": "m.example.com"},
            "m.example.com/coredns:v1.11.3",
        ),
        (
            "m.example.com/coredns:v1.11.3",
            {"imageRepository": "n.example.com", "dns": {"imageRepository": "o.example.com/", "imageTag": "v1.12.4_x"}},
            "o.example.com/coredns:v1.12.4_x",
        ),
        (
            "k8s.gcr.io/coredns:v1.8.4",
            {"dns": {"imageRepository": "registry.k8s.io", "imageTag": "v1.9.3"}},
            "registry.k8s.io/coredns/coredns:v1.9.3",
        ),
    ],
)
def test_where_core_dns_comes_from(image: str, configuration: dict[str, Any], wanted: str) -> None:
    found = plan(image, COREFILE, declared(**configuration).spec.kubeadm_config_spec.cluster_configuration)
    assert found is not None
    assert found.image == wanted


def test_a_core_dns_without_a_version_cannot_be_updated() -> None:
    configuration = declared(dns={"imageTag": "v1.12.4"}).spec.kubeadm_config_spec.cluster_configuration
    for image in ("a/coredns", "a/coredns:latest", "a/coredns@sha256:00"):
        with pytest.raises(ValueError, match="the version of CoreDNS cannot be told"):
            plan(image, COREFILE, configuration)


async def test_the_cluster_configuration_is_written_only_if_it_changes(tenant: Tenant) -> None:
    wanted = declared(apiServer={"certSANs": ["a"]})
    assert await change_cluster_configuration(tenant.client, lambda present: updated(present, wanted))
    assert not await change_cluster_configuration(tenant.client, lambda present: updated(present, wanted))
    data = tenant.data("kubeadm-config")
    assert data["other"] == "kept"
    assert yaml_text.load(data["ClusterConfiguration"])["apiServer"] == {"certSANs": ["a"]}
    assert len(tenant.writes) == 1


async def test_somebody_else_who_writes_at_the_same_time_is_not_overwritten(tenant: Tenant) -> None:
    told = 0

    def change(present: Any) -> dict[str, Any]:
        nonlocal told
        told += 1
        if told == 1:
            text = yaml_text.dump({**present, "theirs": "kept"})
            tenant.server.put(CONFIG_MAPS, SYSTEM, "kubeadm-config", data={"ClusterConfiguration": text})
        return updated(present, declared())

    assert await change_cluster_configuration(tenant.client, change)
    after = yaml_text.load(tenant.data("kubeadm-config")["ClusterConfiguration"])
    assert (after["theirs"], after["kubernetesVersion"]) == ("kept", "v1.36.3")


async def test_a_missing_cluster_configuration_is_told(tenant: Tenant) -> None:
    tenant.server.put(CONFIG_MAPS, SYSTEM, "kubeadm-config", data={})
    with pytest.raises(ValueError, match="there is no ClusterConfiguration in ConfigMap kube-system/kubeadm-config"):
        await change_cluster_configuration(tenant.client, dict)
    tenant.server.remove(CONFIG_MAPS, SYSTEM, "kubeadm-config")
    with pytest.raises(NotFound):
        await change_cluster_configuration(tenant.client, dict)


async def test_roles_that_a_newer_kubeadm_needs_are_made_once_and_never_changed(tenant: Tenant) -> None:
    tenant.server.put(BINDINGS, "", "kubeadm:cluster-admins", subjects=[])
    await allow_kubeadm(tenant.client, "v1.37.1")
    await allow_kubeadm(tenant.client, "v1.37.1")
    assert tenant.server.objects[BINDINGS, "", "kubeadm:cluster-admins"]["subjects"] == []
    made = tenant.server.objects[BINDINGS, "", "kubeadm:apiserver-kubelet-client"]
    assert made["roleRef"]["name"] == "system:kubelet-api-admin"
    assert [(each["kind"], each["name"]) for each in made["subjects"]] == [("User", "kube-apiserver-kubelet-client")]
    assert len(tenant.writes) == 1


async def test_from_1_38_on_all_roles_are_there(tenant: Tenant) -> None:
    await allow_kubeadm(tenant.client, "v1.38.0")
    assert tenant.server.calls == []
