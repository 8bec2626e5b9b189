from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.crd import render
from nagaya.api.ipam import global_in_cluster_ip_pool, in_cluster_ip_pool
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS, InClusterIPPoolSpec
from nagaya.api.ipam.ip_address_reservation import reservation_name
from nagaya.api.ipam.pool_ranges import giveable, listed
from nagaya.api.ipam.ranges import number_of
from nagaya.api.ipam.v1alpha1 import converted
from support.subtest_cases import subtest_cases


def spec(*addresses: str, **more: Any) -> InClusterIPPoolSpec:
    content = {"addresses": addresses, "prefix": 24, **more}
    return IN_CLUSTER_IP_POOLS.convert({"metadata": {}, "spec": content}).spec


@subtest_cases(
    ("pool", "given"),
    [
        (spec("10.0.0.0/24"), "10.0.0.1-10.0.0.254"),
        (spec("10.0.0.0/24", allocateReservedIPAddresses=True), "10.0.0.0-10.0.0.255"),
        (spec("10.0.0.0/24", gateway="10.0.0.1"), "10.0.0.2-10.0.0.254"),
        (spec("10.0.0.10-10.0.0.20", excludedAddresses=["10.0.0.12", "10.0.0.15-10.0.0.17"]), None),
        (spec("10.0.0.0/24", prefix=16), "10.0.0.1-10.0.0.255"),  # the network is larger than the range
        (spec("10.0.0.1", "10.0.0.2", "10.0.0.9"), "10.0.0.1-10.0.0.2, 10.0.0.9"),
        (spec("10.0.0.5", prefix=32), ""),
        (spec("fd00::/126", prefix=126), "fd00::1-fd00::3"),  # IPv6 has no broadcast
        (spec("fd00::/126", prefix=126, gateway="fd00::3"), "fd00::1-fd00::2"),
    ],
)
def test_a_spec_means_these_addresses(pool: InClusterIPPoolSpec, given: str | None) -> None:
    expected = "10.0.0.10-10.0.0.11, 10.0.0.13-10.0.0.14, 10.0.0.18-10.0.0.20" if given is None else given
    assert str(giveable(pool)) == expected


def test_the_gateway_is_listed_though_it_is_not_given() -> None:
    pool = spec("10.0.0.0/30", gateway="10.0.0.1", excludedAddresses=["10.0.0.3"])
    assert str(listed(pool)) == "10.0.0.0-10.0.0.2"


def test_fields_have_upstreams_names() -> None:
    for definition in (in_cluster_ip_pool.DEFINITION, global_in_cluster_ip_pool.DEFINITION):
        rendered = render(definition)
        (version,) = rendered["spec"]["versions"]
        properties = version["schema"]["openAPIV3Schema"]["properties"]
        assert version["name"] == "v1alpha2"
        assert {*properties["spec"]["properties"]} == {
            "addresses",
            "prefix",
            "gateway",
            "allocateReservedIPAddresses",
            "excludedAddresses",
            "addressReuseGracePeriodSeconds",
        }
        assert properties["spec"]["required"] == ["addresses", "prefix"]
        counts = properties["status"]["properties"]["ipAddresses"]
        assert {*counts["properties"]} == {*counts["required"]} == {"total", "free", "used", "outOfRange"}


def test_ipam_207_clusterctl_moves_pools_with_all_that_they_own() -> None:
    labels = render(in_cluster_ip_pool.DEFINITION)["metadata"]["labels"]
    assert {"clusterctl.cluster.x-k8s.io", "clusterctl.cluster.x-k8s.io/move-hierarchy"} <= {*labels}


def test_entries_of_the_ledger_are_named_after_their_address_and_side() -> None:
    four, six = number_of("10.0.0.7"), number_of("fd00::7")
    assert four is not None
    assert six is not None
    assert reservation_name(four, "") == "10.0.0.7"
    assert reservation_name(four, "team-a") == "10.0.0.7.team-a"
    assert reservation_name(six, "team-a") == "fd00-0000-0000-0000-0000-0000-0000-0007.team-a"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            {"subnet": "10.0.0.0/24", "gateway": "10.0.0.1"},
            {"gateway": "10.0.0.1", "prefix": 24, "addresses": ["10.0.0.1-10.0.0.254"]},
        ),
        (
            {"subnet": "10.0.0.0/24", "start": "10.0.0.10", "prefix": 16},
            {"prefix": 16, "addresses": ["10.0.0.10-10.0.0.254"]},
        ),
        (
            {"start": "10.0.0.10", "end": "10.0.0.20", "prefix": 24},
            {"prefix": 24, "addresses": ["10.0.0.10-10.0.0.20"]},
        ),
        ({"addresses": ["10.0.0.5"], "prefix": 24}, {"addresses": ["10.0.0.5"], "prefix": 24}),
    ],
)
def test_a_pool_of_v1alpha1_becomes_one_of_v1alpha2(old: dict[str, Any], new: dict[str, Any]) -> None:
    pool = {"apiVersion": "ipam.cluster.x-k8s.io/v1alpha1", "kind": "InClusterIPPool", "metadata": {"name": "p"}}
    assert converted({**pool, "spec": old}) == {
        **pool,
        "apiVersion": "ipam.cluster.x-k8s.io/v1alpha2",
        "spec": new,
    }
    assert "addresses" not in old or old == new
