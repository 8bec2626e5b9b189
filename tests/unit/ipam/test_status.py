"""What pools and claims are told."""

from __future__ import annotations

from dataclasses import replace

from nagaya.api.ipam.group import PROTECT_POOL
from nagaya.api.ipam.in_cluster_ip_pool import (
    DELETING,
    DISJOINT,
    ENDPOINT_GIVEN,
    EXCLUDED,
    EXHAUSTED,
    FREE,
    GIVEN_TWICE,
    INVALID_SPEC,
    MOST,
    NO_OVERLAP,
    OVERLAPS_POOL,
    READY,
    AddressCounts,
    InClusterIPPoolStatus,
)
from nagaya.api.ipam.ip_address_claim import POOL_EXHAUSTED
from nagaya.ipam.pool.choice import Wait
from nagaya.ipam.pool.status import claim_status, pool_status
from nagaya.kube.conditions import get
from nagaya.kube.key import Key
from support.ipam import NAMESPACE, NOW, Scene, pool, rival, scene

SHOP = Key(NAMESPACE, "shop")


def told(of: Scene) -> InClusterIPPoolStatus:
    seen = of.seen()
    assert seen.pool is not None
    return pool_status(seen, seen.pool)


def why(status: InClusterIPPoolStatus, type: str) -> tuple[str, str, str]:
    found = get(status.conditions, type)
    assert found is not None
    return found.status, found.reason, found.message


def counts(of: Scene) -> tuple[int, int, int, int]:
    found = told(of).ip_addresses
    assert found is not None
    return found.total, found.free, found.used, found.out_of_range


def test_addresses_are_counted() -> None:
    of = scene("10.0.0.10-10.0.0.19", gateway="10.0.0.10")
    assert counts(of) == (9, 9, 0, 0)
    assert counts(of.holding(a="10.0.0.11", b="10.0.0.99").released("10.0.0.12", 5)) == (9, 7, 2, 1)
    assert counts(of.holding(recorded=False, a="10.0.0.11")) == (9, 8, 1, 0)
    assert counts(of.released("10.0.0.12", 600)) == (9, 9, 0, 0)


def test_numbers_that_no_integer_holds_are_cut_off() -> None:
    found = told(scene("fd00::/48", prefix=48)).ip_addresses
    assert found == AddressCounts(total=MOST, free=MOST, used=0, out_of_range=0)


def test_a_pool_with_free_addresses_is_ready() -> None:
    found = told(scene("10.0.0.10"))
    assert why(found, READY) == ("True", FREE, "")
    assert why(found, DISJOINT) == ("True", NO_OVERLAP, "")


def test_an_exhausted_pool_is_not_ready_and_says_who_holds_most() -> None:
    seen = scene("10.0.0.10-10.0.0.11").holding(a="10.0.0.10", b="10.0.0.11")
    status, reason, message = why(told(seen), READY)
    assert (status, reason) == ("False", EXHAUSTED)
    assert "2 of 2 are in use (2 by claims of namespace default without a Cluster)" in message


def test_the_largest_holders_are_named_and_the_others_counted() -> None:
    of = scene("10.0.0.0/28", prefix=28)
    number = 1
    for cluster, count in (("a", 4), ("b", 3), ("c", 2), ("d", 1), ("e", 1)):
        for _ in range(count):
            name = f"{cluster}{number}"
            of = of.wanting(name, cluster=cluster).holding(**{f"x{number}": f"10.0.0.{number}"})
            claims = tuple(
                each if each.metadata.name != f"x{number}" else of.a_claim(f"x{number}", held=True, cluster=cluster)
                for each in of.claims
                if each.metadata.name != name
            )
            of = replace(of, claims=claims)
            number += 1
    of = of.holding(y="10.0.0.12", z="10.0.0.13").released("10.0.0.14", 1)
    _, _, message = why(told(of), READY)
    assert "13 of 14 are in use (4 by Cluster default/a, 3 by Cluster default/b, 2 by " in message
    assert "by others). 1 rest after their release" in message


def test_a_spec_that_makes_no_sense_is_told() -> None:
    status, reason, message = why(told(scene("x")), READY)
    assert (status, reason) == ("False", INVALID_SPEC)
    assert message == "'x' is no address."


def test_excluded_endpoints_are_told() -> None:
    of = replace(scene("10.0.0.10-10.0.0.12"), endpoints={"10.0.0.11": SHOP, "10.9.9.9": SHOP})
    assert why(told(of), DISJOINT) == (
        "True",
        EXCLUDED,
        "Never given: 10.0.0.11 is the control plane endpoint of Cluster default/shop.",
    )
    assert counts(of) == (2, 2, 0, 0)


def test_an_endpoint_that_its_own_cluster_claims_is_in_use_like_any_other() -> None:
    of = replace(scene("10.0.0.10-10.0.0.12"), endpoints={"10.0.0.11": SHOP}).holding(vip="10.0.0.11")
    of = replace(of, claims=(of.a_claim("vip", held=True, cluster="shop"),))
    assert counts(of) == (3, 2, 1, 0)
    assert why(told(of), DISJOINT) == ("True", NO_OVERLAP, "")


def test_an_endpoint_that_a_machine_had_before_is_told() -> None:
    of = replace(scene("10.0.0.10-10.0.0.12"), endpoints={"10.0.0.11": SHOP}).holding(a="10.0.0.11")
    status, reason, message = why(told(of), DISJOINT)
    assert (status, reason) == ("False", ENDPOINT_GIVEN)
    assert message.startswith(
        "10.0.0.11 is the control plane endpoint of Cluster default/shop, and IPAddressClaim default/a had it before."
    )


def test_capmox_16_pools_that_came_to_overlap_say_so() -> None:
    status, reason, message = why(told(replace(scene("10.0.0.0/24"), rivals=(rival("q", "10.0.0.5"),))), DISJOINT)
    assert (status, reason) == ("False", OVERLAPS_POOL)
    assert message.startswith("10.0.0.5 is in InClusterIPPool default/q, too.")


def test_an_address_that_two_had_before_there_was_a_ledger_is_told() -> None:
    of = scene("10.0.0.0/24").holding(recorded=False, a="10.0.0.5").holding(b="10.0.0.5")
    status, reason, message = why(told(of), DISJOINT)
    assert (status, reason) == ("False", GIVEN_TWICE)
    assert "10.0.0.5 is held by IPAddressClaim default/a and IPAddressClaim default/b" in message


def test_a_claim_names_its_address_only_when_that_exists() -> None:
    seen = scene("10.0.0.10").holding(a="10.0.0.10").wanting("b", "c").seen()
    a, b, c = seen.wishes
    with_address = claim_status(seen, a, None)
    assert with_address is not None
    assert with_address.address_ref is not None
    assert with_address.address_ref.name == "a"
    assert [(each.type, each.status, each.reason) for each in with_address.conditions] == [("Ready", "True", "Ready")]
    starving = claim_status(seen, b, Wait(POOL_EXHAUSTED, "none left"))
    assert starving is not None
    assert starving.address_ref is None
    assert [(each.status, each.reason, each.message) for each in starving.conditions] == [
        ("False", POOL_EXHAUSTED, "none left")
    ]
    assert claim_status(seen, c, None) is None


def test_a_claim_that_goes_or_is_paused_is_told_nothing() -> None:
    of = scene("10.0.0.10-10.0.0.20").holding(a="10.0.0.10", b="10.0.0.11").deleting("a")
    seen = replace(of, paused=frozenset("b")).seen()
    assert [claim_status(seen, each, None) for each in seen.wishes] == [None, None]


def test_a_pool_that_goes_says_what_it_waits_for() -> None:
    going = pool("pool", "10.0.0.10-10.0.0.12")
    going["metadata"].update(finalizers=[PROTECT_POOL], deletionTimestamp=NOW.isoformat())
    assert why(told(Scene(going).holding(a="10.0.0.10", b="10.0.0.11")), READY) == (
        "False",
        DELETING,
        "The pool goes when its last address is given back: 2 are in use (2 by claims of namespace default without a "
        "Cluster).",
    )
