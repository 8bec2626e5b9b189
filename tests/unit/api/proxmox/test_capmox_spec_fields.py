"""Every field that CAPMOX's v1alpha2 has in a spec is there, and a test shows it at work: this table says which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from nagaya.api.crd import render
from nagaya.api.proxmox import proxmox_cluster, proxmox_machine
from support.subtest_cases import subtest_cases

TESTS = Path(__file__).parents[3]
FIELDS = "integration/proxmox/test_capmox_fields.py"
NETWORK = "integration/proxmox/test_capmox_network_fields.py"
ZONES = "integration/proxmox/test_capmox_cluster_fields.py"
CLUSTERS = "integration/proxmox/test_cluster.py"
CLONE = f"{FIELDS}::test_a_clone_has_description_pool_storage_format_sockets_and_tags_as_asked_for"
DEVICE = f"{NETWORK}::test_a_device_is_plugged_in_as_it_says"
ROUTES = f"{NETWORK}::test_routes_policies_and_routing_domains_reach_the_guest"
POOLS = f"{NETWORK}::test_a_device_has_an_address_of_each_pool_that_it_names_with_the_metric_of_the_pool"
FAMILIES = f"{NETWORK}::test_a_machine_has_both_families_on_the_devices_that_say_so"
BY_ID = f"{FIELDS}::test_a_template_by_its_id_keeps_machines_on_its_host_unless_others_are_allowed"
BY_TAGS = f"{FIELDS}::test_cozystack_3481_tags_select_a_template_by_their_policy"
VMIDS = f"{FIELDS}::test_vmids_come_from_the_range_and_when_it_is_used_up_a_machine_waits_for_one"
DISK = f"{FIELDS}::test_the_boot_disk_grows_never_shrinks_and_one_that_is_larger_than_asked_for_is_told"
CHECKS = f"{FIELDS}::test_checks_do_without_what_a_guest_does_not_have"
IN_ZONE = f"{ZONES}::test_machines_of_a_zone_have_its_addresses_gateway_metric_and_name_servers"
LIFE = "simulation/proxmox/test_life.py::test_a_cluster_lives_and_leaves_nothing_behind"
SECRET = f"{CLUSTERS}::test_capmox_248_the_secret_is_looked_for_in_the_namespace_of_the_cluster_unless_another_is_named"
IDENTITY = "integration/proxmox/test_machine_life.py::test_a_machine_without_a_reservation_is_taken_in_by_its_uuid"
ROUTE = ("to", "via", "metric", "table", "is6")
POLICY = ("to", "from", "table", "priority", "is6")

CLUSTER: Mapping[str, str] = {
    "controlPlaneEndpoint.host": LIFE,
    "controlPlaneEndpoint.port": LIFE,
    "externalManagedControlPlane": (
        f"{CLUSTERS}::test_a_hosted_control_plane_needs_no_endpoint_and_an_external_one_is_waited_for"
    ),
    "allowedNodes": f"{FIELDS}::test_the_hosts_of_a_machine_go_before_those_of_its_cluster",
    "schedulerHints.memoryAdjustment": f"{FIELDS}::test_memory_adjustment_is_how_much_of_a_host_is_given_away",
    **{f"ipv4Config.{each}": POOLS for each in ("addresses", "prefix", "gateway", "metric")},
    **{f"ipv6Config.{each}": FAMILIES for each in ("addresses", "prefix", "gateway", "metric")},
    "dnsServers": FAMILIES,
    **{
        f"zoneConfig.{family}.{each}": IN_ZONE
        for family in ("ipv4Config", "ipv6Config")
        for each in ("addresses", "prefix", "gateway", "metric")
    },
    "zoneConfig.zone": IN_ZONE,
    "zoneConfig.dnsServers": IN_ZONE,
    "credentialsRef.name": SECRET,
    "credentialsRef.namespace": SECRET,
}
MACHINE: Mapping[str, str] = {
    "sourceNode": BY_ID,
    "templateID": BY_ID,
    "templateSelector.matchTags": BY_TAGS,
    "templateSelector.matchPolicy": BY_TAGS,
    **dict.fromkeys(("description", "format", "pool", "storage", "numSockets", "numCores", "tags"), CLONE),
    "full": f"{FIELDS}::test_a_linked_clone_takes_no_space_of_its_own",
    "snapName": f"{FIELDS}::test_a_vm_can_be_cloned_as_it_was_at_a_snapshot",
    "providerID": IDENTITY,
    "virtualMachineID": IDENTITY,
    "memoryMiB": f"{FIELDS}::test_memory_adjustment_is_how_much_of_a_host_is_given_away",
    "disks.bootVolume.disk": DISK,
    "disks.bootVolume.sizeGb": DISK,
    "network.zone": IN_ZONE,
    **{
        f"network.networkDevices.{each}": DEVICE
        for each in ("name", "bridge", "model", "mtu", "vlan", "queues", "linkMtu")
    },
    **{f"network.networkDevices.{each}": FAMILIES for each in ("defaultIPv4", "defaultIPv6", "dnsServers")},
    **{f"network.networkDevices.ipPoolRef.{each}": POOLS for each in ("apiGroup", "kind", "name")},
    **{f"network.networkDevices.routes.{each}": ROUTES for each in ROUTE},
    **{f"network.networkDevices.routingPolicy.{each}": ROUTES for each in POLICY},
    **{f"network.vrfs.{each}": ROUTES for each in ("name", "table", "interfaces")},
    **{f"network.vrfs.routes.{each}": ROUTES for each in ROUTE},
    **{f"network.vrfs.routingPolicy.{each}": ROUTES for each in POLICY},
    "vmIDRange.start": VMIDS,
    "vmIDRange.end": VMIDS,
    "checks.skipCloudInitStatus": CHECKS,
    "checks.skipQemuGuestAgent": CHECKS,
    "metadataSettings.providerIDInjection": (f"{FIELDS}::test_the_provider_id_is_in_the_metadata_if_it_is_asked_for"),
    "allowedNodes": f"{FIELDS}::test_the_hosts_of_a_machine_go_before_those_of_its_cluster",
}
OF = {"ProxmoxCluster": (proxmox_cluster.DEFINITION, CLUSTER), "ProxmoxMachine": (proxmox_machine.DEFINITION, MACHINE)}


def leaves(schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """The fields of a schema that have none below them."""
    schema = schema.get("items", schema)
    for name, below in schema.get("properties", {}).items():
        deeper = [*leaves(below, f"{path}{name}.")]
        yield from deeper or [f"{path}{name}"]


@pytest.mark.parametrize("kind", OF)
def test_every_field_is_in_the_definition(kind: str) -> None:
    definition, table = OF[kind]
    (version,) = render(definition)["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert {*table} - {*leaves(spec)} == set()


@subtest_cases("shown", sorted({*CLUSTER.values(), *MACHINE.values()}))
def test_the_test_that_shows_a_field_at_work_is_there(shown: str) -> None:
    path, _, name = shown.partition("::")
    assert f"def {name}(" in (TESTS / path).read_text()
