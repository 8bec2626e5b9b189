"""Drafts of clusters: which objects a few values become, and what is wrong with some values."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.blueprints.blueprint import blueprint
from nagaya.blueprints.wish import HOSTED, KUBEADM, PROXMOX, SIMULATED, Pool, ProxmoxWish, Ranges, Wish, problems
from support.subtest_cases import subtest_cases

RANGES = Ranges(("10.0.0.20-10.0.0.39",), "10.0.0.1")
DNS = ("10.0.0.1",)


def wish(infrastructure: str = SIMULATED, control_plane: str = KUBEADM, **more: Any) -> Wish:
    return Wish("shop", "team", "v1.36.3", infrastructure, control_plane, **more)


def on_proxmox(control_plane: str = KUBEADM, **more: Any) -> Wish:
    given = {"addresses": RANGES, "dns": DNS, "endpoint": "" if control_plane == HOSTED else "10.0.0.10", **more}
    return wish(PROXMOX, control_plane, proxmox=ProxmoxWish("lab", **given))


def found(wish: Wish, kind: str, name: str = "") -> dict[str, Any]:
    return next(
        each["spec"] for each in blueprint(wish) if each["kind"] == kind and name in ("", each["metadata"]["name"])
    )


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        (
            wish(),
            "Cluster SimulatedCluster KubeadmControlPlane SimulatedMachineTemplate MachineDeployment "
            "KubeadmConfigTemplate SimulatedMachineTemplate",
        ),
        (
            wish(SIMULATED, HOSTED),
            "Cluster SimulatedCluster HostedControlPlane MachineDeployment KubeadmConfigTemplate "
            "SimulatedMachineTemplate",
        ),
        (
            on_proxmox(),
            "Cluster ProxmoxCluster KubeadmControlPlane ProxmoxMachineTemplate MachineDeployment "
            "KubeadmConfigTemplate ProxmoxMachineTemplate",
        ),
        (
            on_proxmox(HOSTED),
            "Cluster ProxmoxCluster HostedControlPlane MachineDeployment KubeadmConfigTemplate ProxmoxMachineTemplate",
        ),
    ],
)
def test_each_combination_has_all_objects_and_no_others(given: Wish, kinds: str) -> None:
    drafted = blueprint(given)
    assert " ".join(each["kind"] for each in drafted) == kinds
    assert {each["metadata"]["namespace"] for each in drafted} == {"team"}
    assert {each["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] for each in drafted} == {"shop"}
    names = [(each["kind"], each["metadata"]["name"]) for each in drafted]
    assert len(set(names)) == len(names)


def test_every_reference_leads_to_an_object_of_the_draft() -> None:
    def references(value: object) -> list[tuple[str, str]]:
        if isinstance(value, dict):
            own = [(value["kind"], value["name"])] if {"apiGroup", "kind", "name"} <= set(value) else []
            return own + [each for inner in value.values() for each in references(inner)]
        return [each for inner in value for each in references(inner)] if isinstance(value, list) else []

    for given in (wish(), wish(SIMULATED, HOSTED), on_proxmox(), on_proxmox(HOSTED)):
        drafted = blueprint(given)
        there = {(each["kind"], each["metadata"]["name"]) for each in drafted}
        assert {each for one in drafted for each in references(one["spec"])} <= there


def test_numbers_and_the_version_are_where_they_belong() -> None:
    given = wish(control_planes=3, workers=5)
    assert found(given, "KubeadmControlPlane")["replicas"] == 3
    workers = found(given, "MachineDeployment")
    assert (workers["replicas"], workers["template"]["spec"]["version"]) == (5, "v1.36.3")


def test_machines_on_proxmox_get_addresses_in_the_one_way_that_was_chosen() -> None:
    ranges = found(on_proxmox(), "ProxmoxCluster")
    assert ranges["ipv4Config"] == {"addresses": ["10.0.0.20-10.0.0.39"], "prefix": 24, "gateway": "10.0.0.1"}
    assert "addressing" not in ranges

    given = on_proxmox(addresses=Pool("office", "GlobalInClusterIPPool"), endpoint=Pool("office"))
    shared, machine = found(given, "ProxmoxCluster"), found(given, "ProxmoxMachineTemplate", "shop-workers")
    assert shared["controlPlaneEndpointPoolRef"]["name"] == "office"
    device = machine["template"]["spec"]["network"]["networkDevices"][0]
    assert device["ipPoolRef"] == [
        {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "GlobalInClusterIPPool", "name": "office"}
    ]

    dhcp = found(on_proxmox(addresses=None, dns=()), "ProxmoxCluster")
    assert dhcp["addressing"] == "dhcp"
    assert not {"ipv4Config", "dnsServers"} & set(dhcp)


def test_a_hosted_control_plane_brings_the_endpoint() -> None:
    shared = found(on_proxmox(HOSTED), "ProxmoxCluster")
    assert shared["externalManagedControlPlane"] is True
    assert not {"controlPlaneEndpoint", "controlPlaneVirtualIP"} & set(shared)


def test_templates_are_found_by_the_version_unless_a_plain_image_is_named() -> None:
    baked = found(on_proxmox(template_tags=("gpu",)), "ProxmoxMachineTemplate")["template"]["spec"]["templateSelector"]
    assert baked == {"matchPolicy": "bestSubset", "matchTags": ["gpu"], "matchKubernetesVersion": True}
    given = on_proxmox(image="debian-13")
    plain = found(given, "ProxmoxMachineTemplate")["template"]["spec"]["templateSelector"]
    assert plain == {"matchPolicy": "bestSubset", "matchTags": ["debian-13"]}
    for kind, part in (("KubeadmControlPlane", "machineTemplate"), ("KubeadmConfigTemplate", "template")):
        assert found(given, kind)[part]["metadata"]["annotations"]
    assert any(
        "qemu-guest-agent" in each
        for each in found(given, "KubeadmControlPlane")["kubeadmConfigSpec"]["preKubeadmCommands"]
    )


@subtest_cases(
    ("given", "told"),
    [
        (wish(), []),
        (on_proxmox(), []),
        (Wish("Shop", "team", "v1.36.3", SIMULATED, KUBEADM), ["NAME: 'Shop' is no name of a cluster."]),
        (Wish("s" * 46, "team", "v1.36.3", SIMULATED, KUBEADM), ["is no name of a cluster. Take up to 45"]),
        (wish(control_planes=2), ["--control-planes: 2 machines have no majority"]),
        (wish(SIMULATED, HOSTED, control_planes=2), []),
        (on_proxmox(dns=()), ["--dns: machines with addresses from a pool need a name server"]),
        (on_proxmox(endpoint=""), ["--endpoint: the API needs an address that no machine has"]),
        (on_proxmox(endpoint="api.example"), ["--endpoint: 'api.example' is no IP address."]),
        (on_proxmox(addresses=Ranges(("10.0.0.20-10.0.0.40/24",), "router")), ["--addresses: ", "--gateway: "]),
        (on_proxmox(image="debian-13", template_tags=("gpu",)), ["leave out --template-tag"]),
    ],
)
def test_what_is_wrong_is_told_by_the_option(given: Wish, told: list[str]) -> None:
    sentences = problems(given)
    assert len(sentences) == len(told)
    for sentence, expected in zip(sentences, told, strict=True):
        assert expected in sentence
