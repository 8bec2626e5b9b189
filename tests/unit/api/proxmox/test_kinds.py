"""The kinds fulfil Cluster API's contract, have CAPMOX's fields as CAPMOX has them, and say what is wrong."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from nagaya.api.catalog import PARTS
from nagaya.api.crd import render
from nagaya.api.proxmox import (
    proxmox_cluster,
    proxmox_connection,
    proxmox_machine,
    proxmox_machine_template,
    proxmox_virtual_machine,
)
from nagaya.api.proxmox.proxmox_cluster_spec import FailureDomain
from nagaya.api.proxmox.proxmox_machine_spec import ProxmoxMachineSpec
from nagaya.api.proxmox.template_source import version_tag
from support.served_kind import ServedKind
from support.subtest_cases import subtest_cases

MACHINES = ServedKind(proxmox_machine.DEFINITION)
TEMPLATES = ServedKind(proxmox_machine_template.DEFINITION)
CLUSTERS = ServedKind(proxmox_cluster.DEFINITION)
CONNECTIONS = ServedKind(proxmox_connection.DEFINITION)
RESERVATIONS = ServedKind(proxmox_virtual_machine.DEFINITION)

NETWORK = {"networkDevices": [{"name": "net0", "bridge": "vmbr0"}]}
MACHINE: dict[str, Any] = {"sourceNode": "pve1", "templateID": 9, "network": NETWORK}
IPV4 = {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24, "gateway": "10.0.0.254"}
CLUSTER: dict[str, Any] = {
    "controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443},
    "ipv4Config": IPV4,
    "dnsServers": ["10.0.0.254"],
}
CONNECTION: dict[str, Any] = {"endpoints": ["https://pve1:8006"], "credentialsRef": {"name": "token"}}
RESERVATION: dict[str, Any] = {
    "datacenter": "lab",
    "vmid": 100,
    "machineRef": {"namespace": "ns", "name": "one", "uid": "u"},
    "connectionRef": {"namespace": "ns", "name": "lab"},
    "name": "one",
}
EVERYTHING: dict[str, Any] = {
    "templateSelector": {"matchTags": ["ubuntu"], "matchKubernetesVersion": True, "matchPolicy": "exact"},
    "full": True,
    "failureDomain": "rack1",
    "numSockets": 1,
    "numCores": 4,
    "memoryMiB": 8192,
    "disks": {
        "bootVolume": {"disk": "scsi0", "sizeGb": 40},
        "additionalVolumes": [
            {
                "disk": "scsi1",
                "sizeGb": 100,
                "storage": "ceph",
                "format": "raw",
                "ssd": True,
                "discard": True,
                "iothread": True,
                "backup": False,
            }
        ],
    },
    "cpu": {"type": "x86-64-v2-AES", "limitPercent": 150, "units": 200, "numa": True},
    "balloon": {"enabled": True, "minimumMiB": 4096, "shares": 500},
    "firmware": {
        "bios": "ovmf",
        "machine": "q35",
        "efiDisk": {"storage": "ceph", "type": "4m", "preEnrolledKeys": False},
    },
    "pciDevices": [{"mapping": "gpu", "pcie": True, "primaryGpu": False, "romBar": True, "mdev": "nvidia-63"}],
    "ha": {"enabled": True, "rules": ["spread"], "affinity": "Separate", "maxRestart": 1, "maxRelocate": 1},
    "placement": {
        "deniedNodes": ["pve9"],
        "spread": "Required",
        "overcommit": {"cpuPercent": 400, "memoryPercent": 90},
        "reserve": {"memoryMiB": 2048, "storageGb": 20},
        "storages": ["ceph", "local-lvm"],
    },
    "bootDelivery": {"method": "iso", "slot": "sata0", "storage": "local"},
    "deletionPolicy": "Release",
    "timeouts": {"cloneSeconds": 600, "startSeconds": 60, "bootSeconds": 900, "stopSeconds": 0},
    "network": {
        "networkDevices": [
            {"name": "net0", "bridge": "vmbr0", "model": "virtio", "addressing": "static"},
            {"name": "net1", "bridge": "vmbr1", "model": "virtio", "addressing": "dhcp", "deriveMacAddress": True},
            {
                "name": "net2",
                "bridge": "v2",
                "model": "virtio",
                "addressing": "none",
                "macAddress": "02:00:00:00:00:01",
            },
        ]
    },
}


def test_the_contract_is_told_on_the_definitions() -> None:
    labels = {each.kind.kind: render(each)["metadata"]["labels"] for each in PARTS["infrastructure-proxmox"]}

    for kind in ("ProxmoxCluster", "ProxmoxClusterTemplate", "ProxmoxMachine", "ProxmoxMachineTemplate"):
        assert labels[kind]["cluster.x-k8s.io/v1beta2"] == "v1alpha2"
        assert labels[kind]["cluster.x-k8s.io/provider"] == "infrastructure-proxmox"
    assert all("clusterctl.cluster.x-k8s.io" in each for each in labels.values())
    assert "clusterctl.cluster.x-k8s.io/move-hierarchy" in labels["ProxmoxConnection"]
    # clusterctl would copy those of all namespaces, and take none away.
    assert "clusterctl.cluster.x-k8s.io/move" not in labels["ProxmoxVirtualMachine"]


def test_the_short_names_are_those_of_capmox() -> None:
    names = {each.kind.kind: each.short_names for each in PARTS["infrastructure-proxmox"]}

    assert names["ProxmoxCluster"] == ()
    assert names["ProxmoxMachine"] == ("moxm",)
    assert names["ProxmoxMachineTemplate"] == ("pmt",)
    assert names["ProxmoxClusterTemplate"] == ("pct",)


def test_the_columns_begin_with_those_of_capmox() -> None:
    machine = [each.name for each in proxmox_machine.DEFINITION.columns]
    cluster = [each.name for each in proxmox_cluster.DEFINITION.columns]

    assert machine[:5] == ["Cluster", "Ready", "Node", "Provider_ID", "Machine"]
    assert cluster[:3] == ["Cluster", "Ready", "Endpoint"]


def test_what_is_left_out_is_as_in_capmox() -> None:
    machine = MACHINES.stored({**MACHINE, "network": {"networkDevices": [{"bridge": "vmbr0"}]}})["spec"]

    assert machine == {
        **MACHINE,
        "full": True,
        "network": {"networkDevices": [{"name": "net0", "bridge": "vmbr0", "model": "virtio"}]},
    }
    cluster = CLUSTERS.stored(CLUSTER)["spec"]
    assert cluster["externalManagedControlPlane"] is False
    assert cluster["ipv4Config"]["metric"] == 100


def test_everything_can_be_said_and_nothing_is_lost() -> None:
    kind = proxmox_machine.PROXMOX_MACHINES
    stored = MACHINES.stored(EVERYTHING)

    assert MACHINES.problems(EVERYTHING) == []
    assert stored["spec"] == EVERYTHING
    sent = msgspec.json.decode(msgspec.json.encode(kind.content(kind.convert(stored))))
    assert sent["spec"] == EVERYTHING


def test_the_size_of_nodes_to_come_can_be_told() -> None:
    kind = proxmox_machine_template.PROXMOX_MACHINE_TEMPLATES
    status = {
        "capacity": {"cpu": "4", "memory": "8Gi"},
        "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux"},
    }
    stored = {**TEMPLATES.stored({"template": {"spec": MACHINE}}), "status": status}

    assert kind.content(kind.convert(stored))["status"] == status
    assert render(proxmox_machine_template.DEFINITION)["spec"]["versions"][0]["subresources"] == {"status": {}}


@subtest_cases(
    ("spec", "problem"),
    [
        ({"network": NETWORK, "templateID": 9}, "must define either a SourceNode with a TemplateID"),
        (
            {"network": NETWORK, "sourceNode": "a"},
            "must define either a SourceNode with a TemplateID or a TemplateSelector",
        ),
        ({**MACHINE, "templateSelector": {"matchTags": ["a"]}}, "must define either a SourceNode"),
        ({"sourceNode": "pve1", "templateID": 9}, "spec.network: Required"),
        ({**MACHINE, "full": False, "format": "raw"}, "Must set full=true when specifying format"),
        ({**MACHINE, "full": False, "storage": "a"}, "Must set full=true when specifying storage"),
        ({**MACHINE, "memoryMiB": 1001}, "spec.memoryMiB"),
        ({**MACHINE, "vmIDRange": {"start": 200, "end": 100}}, "end should be greater than or equal to start"),
        ({**MACHINE, "vmIDRange": {"start": 9, "end": 100}}, "spec.vmIDRange.start"),
        ({**MACHINE, "tags": ["a b"]}, "spec.tags"),
        ({**MACHINE, "providerID": "proxmox://1"}, "spec.providerID"),
        ({**MACHINE, "disks": {"bootVolume": {"disk": "scsi0", "sizeGb": 4}}}, "spec.disks.bootVolume.sizeGb"),
        ({**MACHINE, "network": {"networkDevices": [{"name": "eth0"}]}}, "spec.network.networkDevices[0].name"),
        ({**MACHINE, "network": {"networkDevices": [{"mtu": 100}]}}, "invalid MTU value"),
        (
            {**MACHINE, "network": {"networkDevices": [{"ipPoolRef": [{"kind": "Other", "name": "a"}]}]}},
            "ipPoolRef allows either InClusterIPPool or GlobalInClusterIPPool",
        ),
        (
            {**MACHINE, "network": {**NETWORK, "vrfs": [{"name": "blue", "table": 254}]}},
            "Cowardly refusing to insert l3mdev rules into kernel tables",
        ),
        (
            {**MACHINE, "network": {"networkDevices": [{"routingPolicy": [{"table": 5, "priority": 32766}]}]}},
            "Cowardly refusing to insert FIB rule matching kernel rules",
        ),
        ({**MACHINE, "firmware": {"efiDisk": {"storage": "ceph"}}}, "set bios to ovmf"),
        ({**MACHINE, "balloon": {"enabled": False, "shares": 5}}, "have no meaning without ballooning"),
        ({"network": NETWORK, "templateSelector": {}}, "matchTags is needed unless matchKubernetesVersion is true"),
    ],
)
def test_wrong_machines_are_refused(spec: dict[str, Any], problem: str) -> None:
    assert problem in " ".join(MACHINES.problems(spec))


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({**CLUSTER, "dnsServers": []}, "spec.dnsServers"),
        ({"dnsServers": ["a"]}, "at least one ip config must be set, either ipv4Config or ipv6Config"),
        ({"ipv4Config": CLUSTER["ipv4Config"]}, "dnsServers is needed"),
        (
            {**CLUSTER, "ipv4Config": {**CLUSTER["ipv4Config"], "addresses": []}},
            "IPv4Config addresses must be provided",
        ),
        (
            {**CLUSTER, "zoneConfig": [{"zone": "b", "dnsServers": ["a"], "ipv4Config": {**IPV4, "addresses": []}}]},
            "IPv4Config addresses must be provided",
        ),
        ({**CLUSTER, "connectionRef": {"name": "a"}, "credentialsRef": {"name": "b"}}, "not both"),
        ({**CLUSTER, "controlPlaneEndpoint": {"host": "a", "port": 70000}}, "spec.controlPlaneEndpoint.port"),
    ],
)
def test_wrong_clusters_are_refused(spec: dict[str, Any], problem: str) -> None:
    assert problem in " ".join(CLUSTERS.problems(spec))


def test_a_machine_may_leave_the_template_to_its_connection() -> None:
    assert MACHINES.problems({"network": NETWORK}) == []


def test_a_cluster_with_dhcp_needs_no_addresses() -> None:
    assert CLUSTERS.problems({"addressing": "dhcp", "controlPlaneEndpoint": {"host": "a"}}) == []


def test_disks_cannot_be_exchanged() -> None:
    before = {**MACHINE, "disks": {"bootVolume": {"disk": "scsi0", "sizeGb": 40}}}
    after = {**MACHINE, "disks": {"bootVolume": {"disk": "scsi0", "sizeGb": 50}}}

    assert "Value is immutable" in " ".join(MACHINES.problems(after, before))
    assert MACHINES.problems(before, before) == []


def test_a_connection_is_trusted_in_one_way() -> None:
    fingerprint = ":".join(["AB"] * 32)

    assert CONNECTIONS.problems({**CONNECTION, "fingerprint": fingerprint}) == []
    assert "give one of" in " ".join(CONNECTIONS.problems({**CONNECTION, "fingerprint": fingerprint, "insecure": True}))
    assert "spec.credentialsRef" in " ".join(CONNECTIONS.problems({}))


def test_a_reservation_never_changes_hands() -> None:
    other = {**RESERVATION, "machineRef": {**RESERVATION["machineRef"], "uid": "v"}}

    assert RESERVATIONS.problems(RESERVATION) == []
    assert "a reservation never changes hands" in " ".join(RESERVATIONS.problems(other, RESERVATION))
    assert RESERVATIONS.problems({**RESERVATION, "pool": "a"}, RESERVATION) == []


def test_a_target_goes_before_the_allowed_hosts() -> None:
    assert ProxmoxMachineSpec(target="pve1", allowed_nodes=("pve2",)).hosts == ("pve1",)
    assert ProxmoxMachineSpec(allowed_nodes=("pve2",)).hosts == ("pve2",)


def test_a_failure_domain_without_hosts_is_the_host_of_its_name() -> None:
    assert FailureDomain(name="pve1").hosts == ("pve1",)
    assert FailureDomain(name="rack", nodes=("pve1", "pve2")).hosts == ("pve1", "pve2")


@pytest.mark.parametrize("version", ["v1.34.2", "1.34.2"])
def test_the_tag_of_a_version_is_one_that_proxmox_accepts(version: str) -> None:
    assert version_tag(version) == "kubernetes-v1.34.2"
    assert version_tag(f"{version}+vendor.1") == "kubernetes-v1.34.2-vendor.1"
