"""v1alpha1 and v1alpha2 are two views of one object: nothing is lost between them, and changes are carried over."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.api.catalog import PARTS
from nagaya.api.conversion.proxmox.changes import carried
from nagaya.api.conversion.proxmox.objects import (
    KINDS,
    NEW_API_VERSION,
    NEW_DATA,
    OLD_API_VERSION,
    OLD_DATA,
    left_behind,
    to_new,
    to_old,
)
from nagaya.api.conversion.proxmox.review import convert
from nagaya.api.conversion.proxmox.serving import with_old_version
from nagaya.api.definition import Definition
from nagaya.api.kind import Kind
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS
from nagaya.api.proxmox.proxmox_cluster_template import PROXMOX_CLUSTER_TEMPLATES
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.api.proxmox.proxmox_machine_template import PROXMOX_MACHINE_TEMPLATES
from nagaya.apiserver.cel.crd_rules import compile_rules
from nagaya.apiserver.crd.definition import validate
from nagaya.apiserver.crd.resource import CustomResource
from unit.api.test_round_trip import resources

TYPES: dict[str, Kind[Any]] = {
    each.kind: each
    for each in (PROXMOX_CLUSTERS, PROXMOX_CLUSTER_TEMPLATES, PROXMOX_MACHINES, PROXMOX_MACHINE_TEMPLATES)
}
BY_KIND = {each.kind.kind: each for each in PARTS["infrastructure-proxmox"]}
METADATA = {"name": "one", "annotations": {"kept": "yes"}}

POOLS = st.fixed_dictionaries(
    {"apiGroup": st.just("ipam.cluster.x-k8s.io"), "kind": st.just("InClusterIPPool"), "name": st.sampled_from("abc")}
)
DEVICES = st.fixed_dictionaries(
    {"bridge": st.sampled_from(["vmbr0", "vmbr1"])},
    optional={
        "model": st.just("virtio"),
        "mtu": st.integers(1280, 9000),
        "vlan": st.integers(1, 4094),
        "ipv4PoolRef": POOLS,
        "ipv6PoolRef": POOLS,
        "dnsServers": st.just(["8.8.8.8"]),
        "unknown": st.booleans(),
        "routes": st.lists(
            st.fixed_dictionaries({}, optional={"to": st.just("default"), "metric": st.integers(0, 9)}), max_size=2
        ),
    },
)
OLD_MACHINES = st.fixed_dictionaries(
    {},
    optional={
        "sourceNode": st.sampled_from(["pve1", ""]),
        "templateID": st.integers(0, 9),
        "templateSelector": st.fixed_dictionaries({"matchTags": st.just(["a"])}),
        "full": st.booleans(),
        "format": st.just("raw"),
        "target": st.just("pve2"),
        "numCores": st.integers(0, 4),
        "tags": st.just(["blue"]),
        "network": st.fixed_dictionaries(
            {},
            optional={
                "default": DEVICES,
                "additionalDevices": st.lists(DEVICES, max_size=2).map(
                    lambda devices: [{"name": f"net{place}", **each} for place, each in enumerate(devices, 1)]
                ),
                "vrfs": st.just([{"name": "blue", "table": 5, "interfaces": ["net1"]}]),
            },
        ),
    },
)
CONFIGS = st.fixed_dictionaries(
    {"addresses": st.just(["10.0.0.1"]), "prefix": st.just(24)},
    optional={"gateway": st.just("10.0.0.9"), "dhcp": st.booleans(), "metric": st.integers(0, 3)},
)
OLD_CLUSTERS = st.fixed_dictionaries(
    {},
    optional={
        "controlPlaneEndpoint": st.sampled_from([{"host": "", "port": 0}, {"host": "a.example", "port": 6443}]),
        "ipv4Config": CONFIGS,
        "dnsServers": st.just(["8.8.8.8"]),
        "schedulerHints": st.fixed_dictionaries({}, optional={"memoryAdjustment": st.integers(0, 9)}),
        "cloneSpec": st.fixed_dictionaries(
            {},
            optional={
                "machineSpec": st.dictionaries(st.sampled_from(["workers", "controlPlane"]), OLD_MACHINES),
                "sshAuthorizedKeys": st.just([]),
                "virtualIPNetworkInterface": st.just(""),
            },
        ),
    },
)
OLD_STATUSES = st.fixed_dictionaries(
    {},
    optional={
        "ready": st.booleans(),
        "failureReason": st.just("CreateError"),
        "vmStatus": st.just("ready"),
        "ipAddresses": st.just({"net0": {"ipv4": "10.0.0.1"}, "net1": {"ipv6": "fd00::1"}}),
        "inClusterIpPoolRef": st.just([{"name": "one-v4-icip"}]),
        "conditions": st.just(
            [{"type": "Ready", "status": "True", "severity": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
        ),
    },
)


@st.composite
def old_objects(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(KINDS))
    spec = draw(OLD_CLUSTERS if "Cluster" in kind else OLD_MACHINES)
    head = {"apiVersion": OLD_API_VERSION, "kind": kind, "metadata": METADATA}
    if kind.endswith("Template"):
        return {**head, "spec": {"template": {"spec": spec}}}
    return {**head, "spec": spec, "status": draw(OLD_STATUSES)}


@st.composite
def new_objects(draw: st.DrawFn) -> dict[str, Any]:
    kind = TYPES[draw(st.sampled_from(KINDS))]
    made: Any = draw(resources(kind.model))
    content = msgspec.json.decode(msgspec.json.encode(kind.content(made)))
    return {**content, "metadata": METADATA}


@settings(max_examples=60, deadline=None)
@given(old=old_objects())
def test_an_old_object_comes_back_as_it_was(old: dict[str, Any]) -> None:
    before = copy.deepcopy(old)

    assert to_old(to_new(old)) == old
    assert old == before


@settings(max_examples=40, deadline=None)
@given(new=new_objects())
def test_a_new_object_comes_back_as_it_was(new: dict[str, Any]) -> None:
    before = copy.deepcopy(new)

    assert to_new(to_old(new)) == new
    assert new == before


@settings(max_examples=40, deadline=None)
@given(new=new_objects(), old=old_objects())
def test_a_third_visit_changes_nothing_any_more(new: dict[str, Any], old: dict[str, Any]) -> None:
    assert to_old(to_new(to_old(new))) == to_old(new)
    assert to_new(to_old(to_new(old))) == to_new(old)


def machine(**spec: Any) -> dict[str, Any]:
    devices = [
        {"name": "net0", "bridge": "vmbr0", "defaultIPv4": True, "queues": 4},
        {"name": "net1", "bridge": "vmbr1", "addressing": "dhcp"},
    ]
    whole = {"sourceNode": "pve1", "templateID": 9, "network": {"zone": "blue", "networkDevices": devices}, **spec}
    return {"apiVersion": NEW_API_VERSION, "kind": "ProxmoxMachine", "metadata": {"name": "one"}, "spec": whole}


def test_what_is_changed_in_the_old_version_is_changed_in_the_new_one_and_nothing_else() -> None:
    old = to_old(machine(cpu={"type": "host"}))
    old["spec"]["numCores"] = 8
    old["spec"]["network"]["default"]["bridge"] = "vmbr9"
    old["spec"]["network"]["additionalDevices"].append({"name": "net2", "bridge": "vmbr2"})

    spec = to_new(old)["spec"]

    assert spec["numCores"] == 8
    assert spec["cpu"] == {"type": "host"}
    assert spec["network"]["zone"] == "blue"
    assert spec["network"]["networkDevices"] == [
        {"name": "net0", "bridge": "vmbr9", "defaultIPv4": True, "queues": 4},
        {"name": "net1", "bridge": "vmbr1", "addressing": "dhcp"},
        {"name": "net2", "bridge": "vmbr2"},
    ]


def test_what_is_removed_in_the_old_version_is_gone_in_the_new_one() -> None:
    old = to_old(machine(numCores=4, cpu={"type": "host"}))
    del old["spec"]["numCores"]
    del old["spec"]["network"]["additionalDevices"]

    spec = to_new(old)["spec"]

    assert "numCores" not in spec
    assert [each["name"] for each in spec["network"]["networkDevices"]] == ["net0"]


def test_annotations_are_there_only_if_there_is_something_to_carry() -> None:
    plain: dict[str, Any] = {
        "apiVersion": OLD_API_VERSION,
        "kind": "ProxmoxMachine",
        "metadata": {"name": "one"},
        "spec": {"sourceNode": "pve1", "templateID": 9, "network": {"default": {"bridge": "vmbr0"}}},
    }

    assert to_new(plain)["metadata"] == {"name": "one"}
    assert [*to_old(machine())["metadata"]["annotations"]] == [NEW_DATA]
    assert json.loads(to_old(machine())["metadata"]["annotations"][NEW_DATA])["spec"] == machine()["spec"]
    assert [*to_new({**plain, "spec": {**plain["spec"], "odd": 1}})["metadata"]["annotations"]] == [OLD_DATA]


def test_an_annotation_that_somebody_spoilt_is_ignored() -> None:
    old = to_old(machine())
    old["metadata"]["annotations"][NEW_DATA] = "{"

    assert to_new(old)["spec"]["network"]["networkDevices"][0]["bridge"] == "vmbr0"


def test_a_machine_without_a_network_gets_the_one_that_it_had_all_along() -> None:
    old = {"apiVersion": OLD_API_VERSION, "kind": "ProxmoxMachine", "metadata": {"name": "one"}, "spec": {}}

    assert to_new(old)["spec"]["network"]["networkDevices"] == [
        {"name": "net0", "bridge": "vmbr0", "defaultIPv4": True, "defaultIPv6": True}
    ]


def test_fields_without_a_place_are_named() -> None:
    devices = [{"name": "net1", "bridge": "a", "vlan": None, "odd": 1}]
    spec = {"full": False, "format": "raw", "numCores": 0, "network": {"additionalDevices": devices}, "strange": "x"}
    old = {"apiVersion": OLD_API_VERSION, "kind": "ProxmoxMachine", "metadata": {"name": "one"}, "spec": spec}

    assert left_behind(old) == ("spec.format", "spec.network.additionalDevices[0].odd", "spec.strange")
    assert left_behind({**old, "spec": {"sourceNode": "pve1"}}) == ()


def test_pools_keep_their_family() -> None:
    pool = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "lab"}
    network = {"default": {"bridge": "a", "ipv6PoolRef": pool}}
    head = {"apiVersion": OLD_API_VERSION, "kind": "ProxmoxMachine", "metadata": {"name": "one"}}
    old = {**head, "spec": {"network": network}}

    assert to_new(old)["spec"]["network"]["networkDevices"][0]["ipPoolRef"] == [pool]
    assert to_old(to_new(old)) == old


def test_status_is_told_in_the_words_of_each_version() -> None:
    status = {
        "ready": True,
        "ipAddresses": {"net0": {"ipv4": "10.0.0.1"}},
        "failureMessage": "gone",
        "conditions": [{"type": "VMProvisioned", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }
    head = {"apiVersion": OLD_API_VERSION, "kind": "ProxmoxMachine", "metadata": {"name": "one"}}
    new = to_new({**head, "spec": {}, "status": status})["status"]

    assert new["initialization"] == {"provisioned": True}
    assert new["ipAddresses"] == [{"net": "net0", "ipv4": ["10.0.0.1"]}]
    assert new["deprecated"] == {"v1beta1": {"failureMessage": "gone"}}
    assert new["conditions"][0]["reason"] == "NoReasonReported"


@pytest.mark.parametrize(
    ("base", "new", "onto", "result"),
    [
        ({"a": 1}, {"a": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": 3}, {"a": 1, "b": 2}, {"a": 3, "b": 2}),
        ({"a": 1}, {}, {"a": 1, "b": 2}, {"b": 2}),
        ({}, {"c": [1]}, {"b": 2}, {"b": 2, "c": [1]}),
        ({"a": [1, 2]}, {"a": [2]}, {"a": [1, 2]}, {"a": [2]}),
        (
            {"a": [{"name": "x", "n": 1}, {"name": "y"}]},
            {"a": [{"name": "x", "n": 2}, {"name": "z"}]},
            {"a": [{"name": "x", "n": 1, "m": 5}, {"name": "y", "m": 6}]},
            {"a": [{"name": "x", "n": 2, "m": 5}, {"name": "z"}]},
        ),
    ],
)
def test_a_change_is_carried_over(base: Any, new: Any, onto: Any, result: Any) -> None:
    assert carried(base, new, onto) == result


def test_a_review_is_answered_with_all_objects_in_the_version_that_is_asked_for() -> None:
    request = {"uid": "u", "desiredAPIVersion": OLD_API_VERSION, "objects": [machine(), to_old(machine())]}
    response = convert({"request": request})["response"]

    assert response["uid"] == "u"
    assert response["result"] == {"status": "Success"}
    assert response["convertedObjects"] == [to_old(machine())] * 2


def test_a_review_of_what_cannot_be_converted_says_so() -> None:
    odd = {"apiVersion": NEW_API_VERSION, "kind": "ProxmoxConnection"}
    request = {"uid": "u", "desiredAPIVersion": OLD_API_VERSION, "objects": [odd]}
    response = convert({"request": request})["response"]

    assert response["result"]["status"] == "Failure"
    assert "ProxmoxConnection cannot be converted" in response["result"]["message"]


@pytest.mark.parametrize("definition", PARTS["infrastructure-proxmox"][:4], ids=lambda each: each.kind.kind)
def test_a_definition_can_have_both_versions(definition: Definition) -> None:
    made = with_old_version(definition, {"url": "https://127.0.0.1:9443/convert"})

    assert [(each["name"], each["storage"]) for each in made["spec"]["versions"]] == [
        ("v1alpha2", True),
        ("v1alpha1", False),
    ]
    assert validate({**made, "status": {"storedVersions": ["v1alpha2"]}}, compile_rules) == []


@cache
def old_version(kind: str) -> CustomResource:
    made = with_old_version(BY_KIND[kind], {"url": "https://127.0.0.1:9443/convert"})
    return CustomResource(kind, made["spec"]["versions"][1], compile_rules)


@settings(max_examples=40, deadline=None)
@given(old=old_objects())
def test_the_old_version_takes_what_capmox_took_and_throws_nothing_away(old: dict[str, Any]) -> None:
    served = old_version(old["kind"])
    stored, _ = served.decode(copy.deepcopy(old))

    assert stored == old
    assert [str(each) for each in served.validator.validate(stored, [])] == []


def test_the_old_version_has_types() -> None:
    served = old_version("ProxmoxMachine")
    network = {"default": {"bridge": 5}, "additionalDevices": [{"name": "net1", "model": "unknown"}]}
    old = {"apiVersion": OLD_API_VERSION, "kind": "ProxmoxMachine", "metadata": {"name": "one"}}
    stored, _ = served.decode({**old, "spec": {"memoryMiB": "lots", "network": network}})
    told = " ".join(str(each) for each in served.validator.validate(stored, []))

    assert "spec.memoryMiB: Invalid value" in told
    assert "spec.network.default.bridge: Invalid value" in told
    assert "spec.network.additionalDevices[0].model: Unsupported value" in told
