"""What is decided for a ProxmoxCluster: what is seen, and what is to be done."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.infrastructure.proxmox.cluster.availability import Availability
from nagaya.infrastructure.proxmox.cluster.plan import blocked, plan
from nagaya.infrastructure.proxmox.cluster.pools import new_pool, pool_change, wanted_pools
from nagaya.infrastructure.proxmox.cluster.seen import Seen
from nagaya.infrastructure.proxmox.cluster.status import status

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
IPV4 = {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24, "gateway": "10.0.0.1"}
POOL = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "vips"}
AVAILABLE = Availability(True, "ProxmoxAvailable", "", "demo", frozenset({"pve1", "pve2"}))
AWAY = Availability(False, "ProxmoxUnreachable", "No host answers.")


def seen(
    spec: dict[str, Any] | None = None,
    *,
    owner: dict[str, Any] | None = None,
    owned: bool = True,
    going: bool = False,
    provisioned: bool = False,
    availability: Availability = AVAILABLE,
    pools: bool = True,
    claim: dict[str, Any] | None = None,
    address: str = "",
    machines: tuple[str, ...] = (),
) -> Seen:
    """A cluster with an endpoint and a pool, unless told otherwise."""
    content = {
        "controlPlaneEndpoint": {"host": "10.0.0.5", "port": 6443},
        "ipv4Config": IPV4,
        "dnsServers": ["1.1.1.1"],
    }
    content |= spec or {}
    metadata: dict[str, Any] = {"name": "shop", "namespace": "default", "uid": "u", "generation": 1}
    if going:
        metadata["deletionTimestamp"] = NOW.isoformat()
    state = {"initialization": {"provisioned": True}} if provisioned else {}
    kept = {key: value for key, value in content.items() if value is not None}
    proxmox = PROXMOX_CLUSTERS.convert({"metadata": metadata, "spec": kept, "status": state})
    cluster = CLUSTERS.convert(
        {
            "metadata": {"name": "shop", "namespace": "default", "uid": "c", **(owner or {}).get("metadata", {})},
            "spec": (owner or {}).get("spec", {}),
        }
    )
    found = {each.name: IN_CLUSTER_IP_POOLS.convert(new_pool(proxmox, "shop", each)) for each in wanted_pools(proxmox)}
    wish = None if claim is None else IP_ADDRESS_CLAIMS.convert({"spec": {"poolRef": POOL}, **claim})
    made = tuple(
        PROXMOX_MACHINES.convert({"metadata": {"name": name, "namespace": "default"}, "spec": {}}) for name in machines
    )
    return Seen(
        proxmox,
        cluster if owned else None,
        availability,
        found if pools else {},
        wish,
        address,
        made,
        None,
        False,
        NOW,
    )


def test_without_an_owner_nothing_is_done() -> None:
    steps = plan(seen(owned=False))
    assert (steps.reason, steps.hold, steps.pools) == ("WaitingForOwner", False, ())


def test_pools_and_finalizer_are_made_while_proxmox_is_away() -> None:
    steps = plan(seen(availability=AWAY, pools=False))
    assert (steps.reason, steps.sentence, steps.provisioned) == ("WaitingForProxmox", "No host answers.", False)
    assert steps.hold
    assert [each.name for each in steps.pools] == ["shop-v4-icip"]


def test_a_cluster_with_all_it_needs_is_provisioned() -> None:
    steps = plan(seen())
    assert (steps.reason, steps.provisioned, steps.endpoint) == ("Provisioned", True, None)


def test_what_was_provisioned_stays_so_when_proxmox_goes() -> None:
    found = seen(availability=AWAY, provisioned=True)
    steps = plan(found)
    assert steps.provisioned
    told = status(found.proxmox, found, steps)
    assert told.initialization.provisioned is True
    assert {each.type: each.status for each in told.conditions} == {
        "Ready": "False",
        "ProxmoxAvailable": "False",
        "Deleting": "False",
        "Paused": "False",
    }


def test_what_the_api_refuses_is_told_and_takes_nothing_back() -> None:
    found = seen(provisioned=True)
    steps = blocked(plan(found), "InClusterIPPool shop-v4-icip cannot be made.")
    assert steps.reason == "WaitingForAddressPools"
    assert status(found.proxmox, found, steps).initialization.provisioned is True


@pytest.mark.parametrize(
    ("spec", "owner", "address", "expected"),
    [
        ({"controlPlaneEndpoint": {"host": "api.example"}}, {}, "", Endpoint(host="api.example", port=6443)),
        ({"controlPlaneEndpoint": None, "controlPlaneEndpointPoolRef": POOL}, {}, "10.0.9.7",
         Endpoint(host="10.0.9.7", port=6443)),
        ({"controlPlaneEndpoint": {"port": 443}, "controlPlaneEndpointPoolRef": POOL}, {}, "10.0.9.7",
         Endpoint(host="10.0.9.7", port=443)),
        ({"controlPlaneEndpoint": None}, {"spec": {"controlPlaneEndpoint": {"host": "1.2.3.4", "port": 1}}}, "",
         Endpoint(host="1.2.3.4", port=1)),
        ({"controlPlaneEndpoint": None, "externalManagedControlPlane": True},
         {"spec": {"controlPlaneEndpoint": {"host": "1.2.3.4", "port": 1}}}, "", Endpoint(host="1.2.3.4", port=1)),
    ],
)  # fmt: skip
def test_the_endpoint_is_written_down(
    spec: dict[str, Any], owner: dict[str, Any], address: str, expected: Endpoint
) -> None:
    steps = plan(seen(spec, owner=owner, address=address, claim={} if address else None))
    assert (steps.reason, steps.endpoint) == ("Provisioned", expected)


def test_capmox_304_an_address_is_claimed_once_and_a_refusal_is_told() -> None:
    spec = {"controlPlaneEndpoint": None, "controlPlaneEndpointPoolRef": POOL}
    first = plan(seen(spec))
    assert (first.claim, first.reason) == (True, "WaitingForControlPlaneAddress")
    refusal = {"type": "Ready", "status": "False", "reason": "PoolExhausted", "message": "The pool is empty.",
               "lastTransitionTime": NOW.isoformat()}  # fmt: skip
    second = plan(seen(spec, claim={"status": {"conditions": [refusal]}}))
    assert (second.claim, second.reason) == (False, "WaitingForControlPlaneAddress")
    assert second.sentence.endswith("to give an address for the API server: The pool is empty.")


def test_a_missing_endpoint_is_told_with_the_remedy() -> None:
    steps = plan(seen({"controlPlaneEndpoint": None}))
    assert steps.reason == "MissingControlPlaneEndpoint"
    assert "spec.controlPlaneEndpointPoolRef" in steps.sentence


def test_unknown_hosts_are_only_told_when_it_is_known_which_there_are() -> None:
    spec = {"allowedNodes": ["pve1", "pve7"]}
    assert plan(seen(spec)).reason == "UnknownHosts"
    assert plan(seen(spec, availability=Availability(True, "ProxmoxAvailable"))).reason == "Provisioned"


def test_the_end_comes_step_by_step() -> None:
    gone = {"metadata": {"deletionTimestamp": NOW.isoformat()}}
    waits = plan(seen(going=True, owner=gone, machines=("a", "b", "c", "d"), claim={}))
    assert (waits.reason, waits.release) == ("WaitingForMachinesDeletion", False)
    assert waits.sentence.endswith("a, b, c and 1 more.")
    gives_back = plan(seen(going=True, owner=gone, claim={}))
    assert (gives_back.reason, gives_back.drop_claim, gives_back.release) == ("ReleasingAddresses", True, False)
    assert plan(seen(going=True, owner=gone)).release
    assert plan(seen(going=True, owned=False)).release


def test_a_cluster_whose_owner_stays_is_not_let_go() -> None:
    steps = plan(seen(going=True))
    assert not steps.release
    assert "destroys all machines of the Cluster and their data" in steps.sentence


def test_a_pool_follows_the_spec_and_keeps_what_others_set() -> None:
    found = seen()
    (wanted,) = wanted_pools(found.proxmox)
    pool = found.pools[wanted.name]
    assert pool_change(found.proxmox, wanted, pool) is None
    other = seen({"ipv4Config": {**IPV4, "gateway": "10.0.0.2", "metric": 50}})
    (wanted,) = wanted_pools(other.proxmox)
    assert pool_change(other.proxmox, wanted, pool) == {
        "spec": {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24, "gateway": "10.0.0.2"},
        "metadata": {"annotations": {"metric": "50"}},
    }


def test_failure_domains_without_a_host_that_is_on_are_told_and_stay() -> None:
    domains = [{"name": "left", "nodes": ["pve1"]}, {"name": "pve2", "controlPlane": False}]
    off = Availability(True, "ProxmoxAvailable", "", "demo", frozenset({"pve1", "pve2"}), frozenset({"pve1"}))
    found = seen({"failureDomains": domains}, availability=off)
    steps = plan(found)
    assert steps.reason == "Provisioned"
    assert steps.sentence == "All hosts of failure domain left are off (pve1): machines for it wait."
    told = status(found.proxmox, found, steps).failure_domains
    assert [(each.name, each.control_plane, each.attributes) for each in told] == [
        ("left", True, {"nodes": "pve1"}),
        ("pve2", False, {"nodes": "pve2"}),
    ]


def test_the_address_of_the_router_cannot_be_that_of_the_api() -> None:
    steps = plan(seen({"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}}))
    assert (steps.reason, steps.provisioned) == ("MissingControlPlaneEndpoint", False)
    assert "10.0.0.1, which is that of the router (spec.ipv4Config.gateway)" in steps.sentence
    zone = {"zone": "far", "ipv4Config": {**IPV4, "gateway": "10.0.0.5"}, "dnsServers": ["1.1.1.1"]}
    assert "(ipv4Config.gateway of zone far)" in plan(seen({"zoneConfig": [zone]})).sentence


def test_an_api_that_runs_elsewhere_may_run_on_the_router() -> None:
    router = {"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}}
    reference = {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "HostedControlPlane", "name": "shop"}
    hosted = seen(router, owner={"spec": {"controlPlaneRef": reference}})
    for found in (hosted, seen({**router, "externalManagedControlPlane": True})):
        assert (plan(found).reason, plan(found).sentence) == ("Provisioned", "")
