"""What is refused of Proxmox objects, with the field and the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.admission import (
    proxmox_cluster,
    proxmox_cluster_template,
    proxmox_connection,
    proxmox_machine,
    proxmox_machine_template,
    proxmox_virtual_machine,
)
from nagaya.api.admission.catalog import ADMISSION
from nagaya.api.admission.content import put
from nagaya.api.admission.field_error import FieldError
from nagaya.api.cluster.annotations import DRY_RUN
from support.subtest_cases import subtest_cases

NET0 = {"name": "net0", "bridge": "vmbr0"}
SPEC: dict[str, Any] = {"sourceNode": "pve1", "templateID": 9, "network": {"networkDevices": [NET0]}}
MACHINE: Any = {"metadata": {"name": "one"}, "spec": SPEC}
TEMPLATE: Any = {"metadata": {"name": "one"}, "spec": {"template": {"spec": SPEC}}}
CLUSTER_SPEC: dict[str, Any] = {
    "controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443},
    "ipv4Config": {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24, "gateway": "10.0.0.254"},
    "dnsServers": ["10.0.0.254"],
}
CLUSTER: Any = {"metadata": {"name": "one"}, "spec": CLUSTER_SPEC}
GOES = {"name": "one", "deletionTimestamp": "2026-01-01T00:00:00Z"}


def told(errors: list[FieldError]) -> list[str]:
    return [str(each) for each in errors]


def machine(**spec: Any) -> Any:
    return {**MACHINE, "spec": {**SPEC, **spec}}


def devices(*given: dict[str, Any]) -> dict[str, Any]:
    return {"network": {"networkDevices": [*given]}}


def test_usual_objects_are_fine() -> None:
    assert proxmox_machine.validate(MACHINE, None) == []
    assert proxmox_machine.validate(MACHINE, MACHINE) == []
    assert proxmox_machine_template.validate(TEMPLATE, None) == []
    assert proxmox_cluster.validate(CLUSTER, None) == []


def test_net0_becomes_the_default_device_if_there_is_none() -> None:
    made = proxmox_machine.default(machine(**devices({**NET0}, {"name": "net1", "defaultIPv6": True})), None)

    assert made["spec"]["network"]["networkDevices"] == [
        {**NET0, "defaultIPv4": True},
        {"name": "net1", "defaultIPv6": True},
    ]
    assert proxmox_machine.default({"spec": {}}, None) == {"spec": {}}


@subtest_cases(
    ("spec", "problem"),
    [
        (devices({"name": "net1"}), "Non-consecutive proxmox interface name: call the devices net0"),
        (devices({**NET0, "defaultIPv4": True}, {"name": "net1", "defaultIPv4": True}), "More than one default"),
        (devices({**NET0, "mtu": 1000}), "networkDevices[0].mtu: Invalid value: 1000: mtu must be at least 1280 or 1"),
        (devices({**NET0, "linkMtu": 1}), "networkDevices[0].linkMtu: Invalid value: 1: mtu must be at least 1280"),
        (devices({**NET0, "routingPolicy": [{"to": "10.0.0.0/8"}]}), "routing policy [0] requires a table"),
        (devices({**NET0, "routes": [{"to": "default"}]}), "routes[0].is6: Required value: is6 must be set"),
        (devices({**NET0, "routingPolicy": [{"from": "all", "table": 5}]}), "routingPolicy[0].is6: Required value"),
        (
            devices({**NET0, "macAddress": "02:00:00:00:00:01", "deriveMacAddress": True}),
            "is fixed and to be derived at once",
        ),
        (devices({**NET0, "addressing": "dhcp", "ipPoolRef": [{"name": "a"}]}), "has no use with addressing dhcp"),
        (
            {
                "network": {
                    "networkDevices": [NET0],
                    "vrfs": [{"name": "v", "table": 5, "routingPolicy": [{"table": 6}]}],
                }
            },
            "VRF v: device/rule routing table mismatch 5 != 6",
        ),
        (
            {"disks": {"bootVolume": {"disk": "scsi0"}, "additionalVolumes": [{"disk": "scsi0", "sizeGb": 1}]}},
            'disks.additionalVolumes[0].disk: Invalid value: "scsi0": is where the boot disk is',
        ),
        ({"disks": {"additionalVolumes": [{"disk": "virtio1", "ssd": True}]}}, "ssd: Forbidden: is not possible"),
        ({"disks": {"additionalVolumes": [{"disk": "sata1", "iothread": True}]}}, "iothread: Forbidden"),
        (
            {"disks": {"bootVolume": {"disk": "ide0"}}, "bootDelivery": {"slot": "ide0"}},
            "is where the boot disk is (ide0)",
        ),
        ({"memoryMiB": 1024, "balloon": {"minimumMiB": 2048}}, "is more than memoryMiB, which is 1024"),
        ({"firmware": {"machine": "pc"}, "pciDevices": [{"mapping": "gpu", "pcie": True}]}, "needs the machine q35"),
        ({"ha": {"enabled": False, "group": "a"}}, "spec.ha: Forbidden"),
        ({"allowedNodes": ["pve1"], "placement": {"deniedNodes": ["pve1"]}}, "denies every host of allowedNodes"),
    ],
)
def test_machines_that_could_not_be_made_are_refused(spec: dict[str, Any], problem: str) -> None:
    found = told(proxmox_machine.validate(machine(**spec), None))

    assert len(found) == 1
    assert problem in found[0]
    of_template = told(
        proxmox_machine_template.validate(put(TEMPLATE, {**SPEC, **spec}, "spec", "template", "spec"), None)
    )
    assert of_template
    assert all(each.startswith("spec.template.spec.") for each in of_template)


def test_ten_and_more_devices_are_counted_as_numbers() -> None:
    many = [{"name": f"net{place}"} for place in range(12)]
    assert proxmox_machine.validate(machine(**devices(*many)), None) == []


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ({"tags": ["a"]}, {"tags": ["b"]}, "spec.tags"),
        ({"providerID": "proxmox://1"}, {"providerID": "proxmox://2"}, "spec.providerID"),
        ({"virtualMachineID": 100}, {}, "spec.virtualMachineID"),
        ({}, {"failureDomain": "b"}, "spec.failureDomain"),
    ],
)
def test_what_a_vm_was_made_with_stays(before: dict[str, Any], after: dict[str, Any], field: str) -> None:
    (found,) = told(proxmox_machine.validate(machine(**after), machine(**before)))
    assert found.startswith(f"{field}: Forbidden: ")


def test_a_vm_is_entered_once() -> None:
    assert proxmox_machine.validate(machine(virtualMachineID=100, providerID="proxmox://1"), MACHINE) == []


def test_a_machine_that_goes_is_not_judged() -> None:
    broken = {**machine(**devices({"name": "net7"})), "metadata": GOES}
    assert proxmox_machine.validate(broken, MACHINE) == []


def test_a_template_cannot_change_and_says_what_to_do() -> None:
    changed = put(TEMPLATE, 8, "spec", "template", "spec", "numCores")
    (found,) = told(proxmox_machine_template.validate(changed, TEMPLATE))

    assert "cannot be changed (numCores): make another template" in found
    assert proxmox_machine_template.validate(TEMPLATE, TEMPLATE) == []


def test_labels_of_a_template_may_change() -> None:
    changed = put(TEMPLATE, {"labels": {"tier": "blue"}}, "spec", "template", "metadata")
    assert proxmox_machine_template.validate(put(changed, {"a": "b"}, "metadata", "labels"), TEMPLATE) == []
    spoilt = put(TEMPLATE, {"labels": {"tier": "not a label"}}, "spec", "template", "metadata")
    assert "spec.template.metadata.labels" in told(proxmox_machine_template.validate(spoilt, TEMPLATE))[0]


def test_the_topology_may_try_changes_capmox_735() -> None:
    trial = put(put(TEMPLATE, 8, "spec", "template", "spec", "numCores"), {DRY_RUN: ""}, "metadata", "annotations")
    cluster = {"metadata": {"name": "one"}, "spec": {"template": {"spec": CLUSTER_SPEC}}}
    other = put(
        put(cluster, ["8.8.8.8"], "spec", "template", "spec", "dnsServers"), {DRY_RUN: ""}, "metadata", "annotations"
    )

    assert proxmox_machine_template.validate(trial, TEMPLATE) == []
    assert proxmox_cluster_template.validate(other, cluster) == []
    assert proxmox_cluster_template.validate(put(other, {}, "metadata", "annotations"), cluster) != []


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"providerID": "proxmox://1"}, "spec.template.spec.providerID: Forbidden: is of one VM"),
        (devices({**NET0, "macAddress": "02:00:00:00:00:01"}), "set deriveMacAddress to true instead"),
    ],
)
def test_what_is_of_one_vm_is_in_no_template(spec: dict[str, Any], problem: str) -> None:
    (found,) = told(
        proxmox_machine_template.validate(put(TEMPLATE, {**SPEC, **spec}, "spec", "template", "spec"), None)
    )
    assert problem in found


@subtest_cases(
    ("spec", "problem"),
    [
        ({"controlPlaneEndpoint": {}}, "spec.controlPlaneEndpoint.host: Required value: give an address"),
        ({"controlPlaneEndpoint": {"host": "not a host"}}, "provided endpoint address is not a valid IP or FQDN"),
        ({"controlPlaneEndpoint": {"host": "10.0.0.999"}}, "provided endpoint address is not a valid IP or FQDN"),
        ({"controlPlaneEndpoint": {"host": "10.0.0.15"}}, "addresses may not contain the endpoint IP 10.0.0.15"),
        (
            {"ipv4Config": {"addresses": ["10.0.0.9-x"]}},
            "provided addresses are not valid IP addresses, ranges or CIDRs",
        ),
        ({"ipv4Config": {"addresses": ["fd00::1"]}}, "has addresses that are not of IPv4"),
        (
            {"ipv4Config": {"addresses": ["10.1.0.1"], "prefix": 64}},
            "spec.ipv4Config.prefix: Invalid value: 64: is too long",
        ),
        ({"ipv6Config": {"addresses": ["fd00::2"], "gateway": "10.0.0.1"}}, "spec.ipv6Config.gateway"),
        (
            {"zoneConfig": [{"zone": "b", "ipv4Config": {"addresses": ["10.0.0.0/28"]}}]},
            "spec.zoneConfig[0].ipv4Config.addresses",
        ),
        (
            {"failureDomains": [{"name": "a", "nodes": ["pve1"]}, {"name": "pve1"}]},
            'spec.failureDomains[1].nodes: Invalid value: "pve1": is in the failure domain a too',
        ),
        ({"allowedNodes": ["pve9"], "failureDomains": [{"name": "pve1"}]}, "has no host of allowedNodes"),
    ],
)
def test_clusters_that_could_not_work_are_refused(spec: dict[str, Any], problem: str) -> None:
    (found,) = told(proxmox_cluster.validate({**CLUSTER, "spec": {**CLUSTER_SPEC, **spec}}, None))
    assert problem in found


@pytest.mark.parametrize(
    "spec",
    [
        {"controlPlaneEndpoint": {"host": "api.example.com"}},
        {"controlPlaneEndpoint": {"host": "localhost"}},
        {"controlPlaneEndpoint": {"host": "fd00::1"}},
        {"controlPlaneEndpoint": {}, "externalManagedControlPlane": True},
        {
            "controlPlaneEndpoint": {"port": 6443},
            "controlPlaneEndpointPoolRef": {"kind": "InClusterIPPool", "name": "a"},
        },
        {"failureDomains": [{"name": "pve1"}, {"name": "rack", "nodes": ["pve2", "pve3"]}], "allowedNodes": ["pve3"]},
    ],
)
def test_endpoints_and_domains_of_all_sorts_are_fine(spec: dict[str, Any]) -> None:
    assert proxmox_cluster.validate({**CLUSTER, "spec": {**CLUSTER_SPEC, **spec}}, CLUSTER) == []


def test_objects_of_the_old_version_are_judged_by_what_becomes_of_them() -> None:
    network = {"default": {"bridge": "vmbr0", "mtu": 1000}}
    head = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": "ProxmoxMachine"}
    old = {**head, "metadata": {"name": "one"}, "spec": {"sourceNode": "a", "templateID": 9, "network": network}}
    admission = ADMISSION["proxmoxmachines.infrastructure.cluster.x-k8s.io"]

    (found,) = told(admission.validate(old, old))
    assert found.startswith("spec.network.networkDevices[0].mtu: Invalid value: 1000")


def test_a_cluster_that_goes_is_not_judged() -> None:
    assert proxmox_cluster.validate({"metadata": GOES, "spec": {}}, None) == []


def test_a_template_of_clusters_may_lack_what_patches_fill_in() -> None:
    assert proxmox_cluster_template.validate({"spec": {"template": {"spec": {"dnsServers": ["8.8.8.8"]}}}}, None) == []
    spoilt = {"spec": {"template": {"spec": {"controlPlaneEndpoint": {"host": "a b"}}}}}
    assert "spec.template.spec.controlPlaneEndpoint" in told(proxmox_cluster_template.validate(spoilt, None))[0]


@pytest.mark.parametrize(
    ("endpoint", "problem"),
    [
        ("http://pve1:8006", "must begin with https://"),
        ("https://", "is not where a host is"),
        ("https://pve1:port", "is not where a host is"),
        ("pve1 pve2", "is not where a host is"),
        ("https://root:secret@pve1", "put them into the Secret"),
    ],
)
def test_endpoints_of_no_use_are_refused(endpoint: str, problem: str) -> None:
    spec = {"endpoints": [endpoint], "credentialsRef": {"name": "token"}}
    (found,) = told(proxmox_connection.validate({"spec": spec}, None))
    assert found.startswith("spec.endpoints[0]: ")
    assert problem in found


@pytest.mark.parametrize("endpoint", ["pve1", "pve1:8006", "https://[fd00::1]:8006", "https://pve1:8006/api2/json"])
def test_endpoints_may_be_written_as_people_write_them(endpoint: str) -> None:
    spec = {"endpoints": [endpoint], "credentialsRef": {"name": "token"}}
    assert proxmox_connection.validate({"spec": spec}, None) == []


def test_a_connection_needs_credentials() -> None:
    (found,) = told(proxmox_connection.validate({"spec": {"credentialsRef": {}}}, None))
    assert found.startswith("spec.credentialsRef.name: Required value")


def test_a_reservation_is_named_after_what_it_reserves() -> None:
    spec = {"datacenter": "lab", "vmid": 100}
    assert proxmox_virtual_machine.validate({"metadata": {"name": "lab-100"}, "spec": spec}, None) == []
    (found,) = told(proxmox_virtual_machine.validate({"metadata": {"name": "mine"}, "spec": spec}, None))
    assert "must be lab-100" in found
