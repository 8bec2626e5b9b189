"""What is refused when a pool is written, with upstream's words where upstream has them."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.admission.catalog import ADMISSION
from nagaya.api.admission.in_cluster_ip_pool import validate
from nagaya.api.admission.ip_pool_neighbours import Neighbours, check, why_kept
from support.ipam import Manifest, global_pool, pool
from support.subtest_cases import subtest_cases


def problems(new: Manifest) -> list[str]:
    return [str(each) for each in validate(new, None)]


NEITHER = "provided address is not a valid IP, range, nor CIDR"


@pytest.mark.parametrize(
    "good",
    [
        pool("p", "10.0.0.10-10.0.0.20", "10.0.0.99", gateway="10.0.0.1"),
        pool("p", "10.0.0.0/24", gateway="10.0.0.1", excludedAddresses=["10.0.0.5"]),
        pool("p", "fd00::/64", prefix=64, gateway="fd00::1"),
        pool("p", "10.0.0.10", gateway="10.0.1.1"),
        global_pool("p", "10.0.0.0/8", prefix=8, addressReuseGracePeriodSeconds=0),
    ],
)
def test_a_pool_that_makes_sense_is_accepted(good: Manifest) -> None:
    assert problems(good) == []


@subtest_cases(
    ("bad", "why"),
    [
        (pool("p"), "spec.addresses: Invalid value: []: addresses is required"),
        (pool("p", "x"), f'spec.addresses: Invalid value: "x": {NEITHER}'),
        (pool("p", "10.0.0.9-10.0.0.1"), f'spec.addresses: Invalid value: "10.0.0.9-10.0.0.1": {NEITHER}'),
        (
            pool("p", "10.0.0.1", "fd00::1"),
            'spec.addresses: Invalid value: ["10.0.0.1","fd00::1"]: provided addresses are of mixed IP families',
        ),
        (
            pool("p", "10.0.0.1", gateway="fd00::1"),
            'spec.gateway: Invalid value: "fd00::1": provided gateway and addresses are of mixed IP families',
        ),
        (pool("p", "10.0.0.1", gateway="x"), 'spec.gateway: Invalid value: "x": must be an IP address'),
        (
            pool("p", "10.0.0.1", excludedAddresses=["x"]),
            f'spec.excludedAddresses: Invalid value: "x": {NEITHER}',
        ),
        (
            pool("p", "10.0.0.1", excludedAddresses=["fd00::1"]),
            'spec.excludedAddresses: Invalid value: ["fd00::1"]: addresses and excluded addresses are of mixed IP '
            "families",
        ),
        (
            pool("p", "10.0.0.1", "10.0.1.1"),
            'spec.addresses: Invalid value: "10.0.1.1": provided address belongs to a different subnet than others',
        ),
        (pool("p", "10.0.0.1", prefix=33), "spec.prefix: Invalid value: 33: provided prefix is not valid"),
        (
            pool("p", "10.0.0.1", addressReuseGracePeriodSeconds=-1),
            "spec.addressReuseGracePeriodSeconds: Invalid value: -1: addressReuseGracePeriodSeconds must not be "
            "negative",
        ),
    ],
)
def test_a_pool_that_makes_no_sense_is_refused(bad: Manifest, why: str) -> None:
    assert problems(bad) == [why]


def test_both_kinds_of_pools_have_admission() -> None:
    for plural in ("inclusterippools", "globalinclusterippools"):
        assert ADMISSION[f"{plural}.ipam.cluster.x-k8s.io"].validate is validate


def beside(new: Manifest, *others: Manifest, old: Manifest | None = None) -> list[str]:
    return [str(each) for each in check(new, old, Neighbours(others))]


def test_capmox_16_a_pool_that_overlaps_another_is_refused_with_its_name() -> None:
    new, other = pool("new", "10.0.0.10-10.0.0.20"), pool("old", "10.0.0.15-10.0.0.30")
    assert beside(new, other) == [
        'spec.addresses: Invalid value: ["10.0.0.10-10.0.0.20"]: 10.0.0.15-10.0.0.20 belongs to InClusterIPPool '
        "default/old already: no address may be in two pools"
    ]


@pytest.mark.parametrize(
    "other",
    [
        pool("new", "10.0.0.0/24"),  # itself, as it was
        pool("old", "10.0.0.21-10.0.0.30"),
        pool("old", "10.0.0.0/24", excludedAddresses=["10.0.0.10-10.0.0.20"]),
        pool("old", "10.0.0.0/24", namespace="elsewhere"),
        {**pool("old", "10.0.0.0/24"), "metadata": {"name": "old", "namespace": "default", "deletionTimestamp": "x"}},
        pool("old", "nonsense"),
    ],
)
def test_a_pool_is_accepted_beside_others_that_share_nothing_with_it(other: Manifest) -> None:
    assert beside(pool("new", "10.0.0.10-10.0.0.20"), other) == []


def test_a_global_pool_is_the_neighbour_of_all() -> None:
    assert beside(global_pool("new", "10.0.0.0/24"), pool("old", "10.0.0.9", namespace="elsewhere"))
    assert beside(pool("new", "10.0.0.9", namespace="elsewhere"), global_pool("old", "10.0.0.0/24"))
    assert beside(global_pool("new", "10.0.0.0/24"), global_pool("old", "10.0.0.9"))


def test_a_pool_that_overlapped_before_may_be_changed_but_not_overlap_more() -> None:
    other, old = pool("other", "10.0.0.0/28"), pool("new", "10.0.0.10-10.0.0.20")
    assert beside(pool("new", "10.0.0.11-10.0.0.20"), other, old=old) == []
    assert beside(pool("new", "10.0.0.9-10.0.0.20"), other, old=old)


def address(name: str, ip: str, pool: str = "p", namespace: str = "default") -> dict[str, Any]:
    reference = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": pool}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"address": ip, "poolRef": reference}}


def test_addresses_in_use_cannot_be_taken_out_of_a_pool() -> None:
    old, new = pool("p", "10.0.0.10-10.0.0.20"), pool("p", "10.0.0.10-10.0.0.15")
    used = [address("a", "10.0.0.16"), address("b", "10.0.0.10"), address("c", "10.0.0.18", "q")]
    assert [str(each) for each in check(new, old, Neighbours((), used))] == [
        "spec: Forbidden: pool addresses do not contain allocated addresses: [10.0.0.16]. IPAddressClaims that hold "
        "them: default/a. Leave them in the pool, or delete what uses them first"
    ]
    assert check(old, old, Neighbours((), used)) == []


def test_a_pool_in_use_is_not_deleted_and_says_who_uses_it() -> None:
    used = [address(name, f"10.0.0.{number}") for number, name in enumerate("dcba")]
    assert why_kept(pool("p", "10.0.0.0/24"), used) == (
        "Pool has IPAddresses allocated. Cannot delete Pool until all IPAddresses have been removed. In use: default/a "
        "(10.0.0.3), default/b (10.0.0.2), default/c (10.0.0.1) and 1 more."
    )
    assert why_kept(pool("q", "10.0.0.0/24"), used) == ""
    assert why_kept(pool("p", "10.0.0.0/24", namespace="elsewhere"), used) == ""


def test_ipam_207_clusterctl_move_can_delete_a_pool_in_use() -> None:
    moved = pool("p", "10.0.0.0/24")
    moved["metadata"]["annotations"] = {"ipam.cluster.x-k8s.io/skip-validate-delete-webhook": ""}
    assert why_kept(moved, [address("a", "10.0.0.3")]) == ""
