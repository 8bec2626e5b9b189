"""What is planned for a pool: from what is seen to what is done, without a server."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.ipam.group import PROTECT_POOL
from nagaya.api.ipam.ip_address_claim import ALLOCATION_FAILED, POOL_EXHAUSTED, POOL_NOT_READY
from nagaya.api.ipam.ip_address_reservation import ReservedPool
from nagaya.api.ipam.ranges import text_of
from nagaya.ipam.pool.choice import Wait
from nagaya.ipam.pool.plan import AT_A_TIME, Plan, plan, seconds_until_news
from nagaya.ipam.pool.steps import Forget, Give, Hold, LetGo, Mend, Record, Release, ReleaseOf, Withdraw
from nagaya.kube.key import Key
from support.ipam import NAMESPACE, NOW, Scene, pool, scene

OTHER = ReservedPool(kind="InClusterIPPool", name="other", namespace=NAMESPACE)
GLOBAL = ReservedPool(kind="GlobalInClusterIPPool", name="everywhere")
SHOP = Key(NAMESPACE, "shop")


def given(planned: Plan) -> dict[str, str]:
    """What claims get."""
    steps = [step for errand in planned.errands for step in errand.steps]
    return {step.claim.metadata.name: text_of(step.number) for step in steps if isinstance(step, Give)}


def kinds(planned: Plan) -> list[list[type]]:
    return [[type(step) for step in errand.steps] for errand in planned.errands]


def wait(planned: Plan, name: str) -> Wait:
    return planned.waits[Key(NAMESPACE, name)]


def test_the_oldest_claim_gets_the_lowest_address() -> None:
    planned = plan(scene("10.0.0.10-10.0.0.20").wanting("b", "a").seen())
    assert given(planned) == {"b": "10.0.0.10", "a": "10.0.0.11"}
    assert kinds(planned) == [[Hold, Give], [Hold, Give]]
    assert planned.errands[0].why == "IPAddressClaim default/b gets 10.0.0.10 from InClusterIPPool default/pool."


def test_what_is_in_order_is_left_as_it_is() -> None:
    planned = plan(scene("10.0.0.10-10.0.0.20").holding(a="10.0.0.10", b="10.0.0.11").seen())
    assert planned == Plan()


def test_an_exhausted_pool_says_how_much_is_used_by_whom_and_what_to_do() -> None:
    seen = scene("10.0.0.10-10.0.0.12").holding(a="10.0.0.10", b="10.0.0.11").released("10.0.0.12", 20)
    planned = plan(seen.wanting("c").seen())
    assert given(planned) == {}
    assert wait(planned, "c") == Wait(
        POOL_EXHAUSTED,
        "InClusterIPPool default/pool has no free address: 2 of 3 are in use (2 by claims of namespace default without "
        "a Cluster). 1 rest after their release; the first can be given at 12:00:40 UTC. Add a range to spec.addresses "
        "of the pool, or delete machines or claims.",
    )


def test_ipam_332_a_released_address_rests_before_it_is_given_again() -> None:
    rests = scene("10.0.0.10").released("10.0.0.10", 59).wanting("a").seen()
    assert given(plan(rests)) == {}
    assert seconds_until_news(rests) == pytest.approx(1)
    assert given(plan(scene("10.0.0.10").released("10.0.0.10", 60).wanting("a").seen())) == {"a": "10.0.0.10"}


def test_addresses_that_were_never_given_come_first_then_the_least_recently_released() -> None:
    seen = scene("10.0.0.10-10.0.0.13").released("10.0.0.10", 100).released("10.0.0.11", 300).released("10.0.0.12", 200)
    planned = plan(seen.wanting("a", "b", "c", "d").seen())
    assert given(planned) == {"a": "10.0.0.13", "b": "10.0.0.11", "c": "10.0.0.12", "d": "10.0.0.10"}
    taken_over = [step for errand in planned.errands for step in errand.steps if isinstance(step, Give)][1]
    assert taken_over.entry is not None
    assert not taken_over.reserved


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(scene("10.0.0.11"), id="not listed any more"),
        pytest.param(scene("10.0.0.10-10.0.0.11", excludedAddresses=["10.0.0.10"]), id="excluded"),
        pytest.param(scene("10.0.0.10-10.0.0.11", gateway="10.0.0.10"), id="the gateway"),
        pytest.param(replace(scene("10.0.0.10-10.0.0.11"), endpoints={"10.0.0.10": SHOP}), id="an endpoint"),
        pytest.param(replace(scene("10.0.0.10-10.0.0.11"), gateways={"10.0.0.10": OTHER}), id="a neighbour's gateway"),
        pytest.param(
            scene("10.0.0.10-10.0.0.11").reserved("x", "10.0.0.10", pool=GLOBAL), id="held from a global pool"
        ),
        pytest.param(scene("10.0.0.10-10.0.0.11").stray("x", "10.0.0.10", age=1), id="somebody's without an entry"),
    ],
)
def test_an_address_that_has_rested_is_given_again_only_if_the_pool_still_has_it_to_give(seen: Scene) -> None:
    planned = plan(seen.released("10.0.0.10", 100).wanting("a", "b").seen())
    assert given(planned) == {"a": "10.0.0.11"}
    assert wait(planned, "b").reason == POOL_EXHAUSTED


def test_the_gateway_the_network_and_excluded_addresses_are_never_given() -> None:
    seen = scene("10.0.0.0/29", prefix=29, gateway="10.0.0.1", excludedAddresses=["10.0.0.3-10.0.0.4"])
    planned = plan(seen.wanting(*"abcde").seen())
    assert [*given(planned).values()] == ["10.0.0.2", "10.0.0.5", "10.0.0.6"]


def test_reserved_addresses_are_given_if_the_pool_says_so() -> None:
    seen = scene("10.0.0.0/30", prefix=30, allocateReservedIPAddresses=True).wanting(*"abcd").seen()
    assert len(given(plan(seen))) == 4


def test_a_huge_pool_costs_no_more_than_a_small_one() -> None:
    for addresses, prefix, first in (("10.0.0.0/8", 8, "10.0.0.1"), ("fd00::/64", 64, "fd00::1")):
        assert given(plan(scene(addresses, prefix=prefix).wanting("a").seen())) == {"a": first}


def test_capmox_412_a_control_plane_endpoint_is_never_given_to_a_machine() -> None:
    seen = replace(scene("10.0.0.10-10.0.0.11"), endpoints={"10.0.0.10": SHOP}).wanting("a", "b").seen()
    planned = plan(seen)
    assert given(planned) == {"a": "10.0.0.11"}
    assert wait(planned, "b").message.startswith("InClusterIPPool default/pool has no free address: 0 of 1 are in use.")


def test_a_cluster_may_claim_its_own_endpoint_and_nobody_else_may() -> None:
    seen = replace(scene("10.0.0.10-10.0.0.11"), endpoints={"10.0.0.10": SHOP})
    seen = seen.wanting("thief", wants="10.0.0.10").wanting("vip", wants="10.0.0.10", cluster="shop")
    planned = plan(seen.seen())
    assert given(planned) == {"vip": "10.0.0.10"}
    assert wait(planned, "thief") == Wait(
        ALLOCATION_FAILED,
        "The annotation ipam.nagaya.dev/address asks for 10.0.0.10, which is the control plane endpoint of Cluster "
        "default/shop. Ask for another of 10.0.0.10-10.0.0.11, or remove the annotation to get any.",
    )


def test_the_gateway_of_a_neighbouring_pool_is_never_given() -> None:
    seen = replace(scene("10.0.0.10-10.0.0.11"), gateways={"10.0.0.10": OTHER}).wanting("a").seen()
    assert given(plan(seen)) == {"a": "10.0.0.11"}


def test_capmox_16_what_another_pool_has_given_is_not_given_again() -> None:
    seen = scene("10.0.0.10-10.0.0.11").reserved("x", "10.0.0.10", pool=OTHER).wanting("a", "b").seen()
    assert given(plan(seen)) == {"a": "10.0.0.11"}


def test_a_claim_gets_the_address_that_it_asks_for() -> None:
    seen = scene("10.0.0.10-10.0.0.20").wanting("first").wanting("sticky", wants="10.0.0.10").seen()
    assert given(plan(seen)) == {"first": "10.0.0.11", "sticky": "10.0.0.10"}


@pytest.mark.parametrize(
    ("wants", "why"),
    [
        ("nonsense", "nonsense, which is no address."),
        ("10.0.1.1", "10.0.1.1, which InClusterIPPool default/pool does not list, or excludes."),
        ("10.0.0.1", "10.0.0.1, which is the gateway of InClusterIPPool default/pool."),
        (
            "10.0.0.255",
            "10.0.0.255, which InClusterIPPool default/pool keeps back, as it stands for the network itself.",
        ),
        ("10.0.0.10", "10.0.0.10, which is held by IPAddressClaim default/a. The claim gets it as soon as it is free."),
        (
            "10.0.0.11",
            "10.0.0.11, which is resting after IPAddressClaim default/gone. The claim gets it as soon as it is free.",
        ),
    ],
)
def test_a_claim_that_asks_for_what_it_cannot_have_is_told_why(wants: str, why: str) -> None:
    seen = scene("10.0.0.0/24", gateway="10.0.0.1").holding(a="10.0.0.10").released("10.0.0.11", 5)
    planned = plan(seen.wanting("b", wants=wants).seen())
    assert given(planned) == {}
    asked = "The annotation ipam.nagaya.dev/address asks for "
    remedy = " Ask for another of 10.0.0.2-10.0.0.254, or remove the annotation to get any."
    later = why.endswith("as soon as it is free.")
    assert wait(planned, "b") == Wait(ALLOCATION_FAILED, f"{asked}{why}{'' if later else remedy}")


def test_two_claims_that_ask_for_one_address_get_it_one_after_the_other() -> None:
    seen = scene("10.0.0.0/24").wanting("a", "b", wants="10.0.0.9").seen()
    planned = plan(seen)
    assert given(planned) == {"a": "10.0.0.9"}
    assert "promised to an older claim" in wait(planned, "b").message


def test_a_claim_goes_on_with_what_a_former_life_reserved_for_it() -> None:
    planned = plan(scene("10.0.0.10-10.0.0.20").wanting("a").reserved("a", "10.0.0.15").seen())
    assert given(planned) == {"a": "10.0.0.15"}
    (step,) = [step for step in planned.errands[0].steps if isinstance(step, Give)]
    assert step.reserved


def test_a_claim_for_which_two_addresses_were_reserved_keeps_one() -> None:
    seen = scene("10.0.0.10-10.0.0.20").wanting("a").reserved("a", "10.0.0.15").reserved("a", "10.0.0.12").seen()
    (errand,) = plan(seen).errands
    assert [type(step) for step in errand.steps] == [Release, Hold, Give]
    assert given(plan(seen)) == {"a": "10.0.0.12"}


def test_what_was_reserved_is_not_given_if_somebody_has_it_nevertheless() -> None:
    seen = scene("10.0.0.10-10.0.0.20").wanting("a").reserved("a", "10.0.0.15").stray("b", "10.0.0.15", age=1)
    assert given(plan(seen.seen())) == {"a": "10.0.0.10"}


def test_what_was_reserved_before_it_became_an_endpoint_is_not_given() -> None:
    seen = replace(scene("10.0.0.10-10.0.0.20"), endpoints={"10.0.0.15": SHOP})
    assert given(plan(seen.wanting("a").reserved("a", "10.0.0.15").seen())) == {"a": "10.0.0.10"}


def test_a_claim_that_goes_gives_its_address_back_before_it_is_let_go() -> None:
    planned = plan(scene("10.0.0.10-10.0.0.20").holding(a="10.0.0.10").deleting("a").seen())
    assert kinds(planned) == [[Withdraw, ReleaseOf, LetGo]]
    assert planned.errands[0].why == "IPAddressClaim default/a goes and gives 10.0.0.10 back."


def test_an_unrecorded_address_is_recorded_before_it_is_given_back_so_that_it_rests() -> None:
    seen = scene("10.0.0.10-10.0.0.20").holding(recorded=False, a="10.0.0.10").deleting("a").seen()
    assert kinds(plan(seen)) == [[Record, Withdraw, ReleaseOf, LetGo]]


def test_a_claim_that_goes_gives_back_what_was_only_reserved_for_it() -> None:
    planned = plan(scene("10.0.0.10").reserved("a", "10.0.0.10").wanting("a").deleting("a").seen())
    assert kinds(planned) == [[Release]]


def test_ipam_207_addresses_that_were_moved_are_entered_into_the_ledger_and_keep_their_owners() -> None:
    planned = plan(scene("10.0.0.10-10.0.0.20").holding(recorded=False, a="10.0.0.10").wanting("b").seen())
    assert kinds(planned) == [[Record], [Hold, Give]]
    assert given(planned) == {"b": "10.0.0.11"}


def test_an_address_restored_with_other_uids_is_put_right() -> None:
    seen = scene("10.0.0.10").holding(recorded=False, a="10.0.0.10").reserved("a", "10.0.0.10", uid="old").seen()
    assert kinds(plan(seen)) == [[Record]]


def test_an_address_without_its_owners_gets_them_back() -> None:
    seen = scene("10.0.0.10").holding(a="10.0.0.10").seen()
    (wish,) = seen.wishes
    assert wish.address is not None
    bare = msgspec.structs.replace(
        wish.address, metadata=msgspec.structs.replace(wish.address.metadata, finalizers=(), owner_references=())
    )
    (errand,) = plan(replace(seen, wishes=(replace(wish, address=bare),))).errands
    (mend,) = errand.steps
    assert isinstance(mend, Mend)
    assert [(each.kind, each.controller, each.block_owner_deletion) for each in mend.owners] == [
        ("IPAddressClaim", True, True),
        ("InClusterIPPool", False, True),
    ]
    assert mend.finalizers == ("ipam.cluster.x-k8s.io/ProtectAddress",)


def test_an_address_from_another_pool_with_the_name_of_a_claim_is_waited_for() -> None:
    seen = scene("10.0.0.10").wanting("a").seen()
    other = replace(scene("10.0.1.10"), name="elsewhere").holding(a="10.0.1.10").addresses[0]
    (wish,) = seen.wishes
    planned = plan(replace(seen, wishes=(replace(wish, address=other),)))
    assert "IPAddress default/a from InClusterIPPool elsewhere already" in wait(planned, "a").message


def test_a_claim_of_a_pool_that_does_not_exist_is_told_so() -> None:
    planned = plan(Scene(None).wanting("a").seen())
    assert wait(planned, "a").reason == POOL_NOT_READY
    assert wait(planned, "a").message.startswith("InClusterIPPool default/pool does not exist.")


def test_a_claim_that_means_the_pool_of_others_is_told_whose_it_is() -> None:
    seen = replace(Scene(None).wanting("a").seen(), namesakes=("InClusterIPPool elsewhere/pool",))
    told = wait(plan(seen), "a").message
    assert told.endswith("There is InClusterIPPool elsewhere/pool, which serves other claims.")


def test_a_claim_that_goes_is_let_go_though_its_pool_does_not_exist() -> None:
    assert kinds(plan(Scene(None).holding(a="10.0.0.10").deleting("a").seen())) == [[Withdraw, ReleaseOf, LetGo]]


def test_a_pool_whose_spec_makes_no_sense_gives_nothing_and_says_why() -> None:
    planned = plan(scene("10.0.0.20-10.0.0.10").wanting("a").seen())
    assert wait(planned, "a").reason == POOL_NOT_READY
    assert "'10.0.0.20-10.0.0.10' is no range" in wait(planned, "a").message


def test_nothing_is_done_for_claims_that_are_paused_or_for_a_paused_pool() -> None:
    held = scene("10.0.0.10-10.0.0.20").holding(a="10.0.0.10").deleting("a").wanting("b")
    assert plan(replace(held, paused=frozenset("ab")).seen()) == Plan()
    manifest = pool("pool", "10.0.0.10-10.0.0.20")
    manifest["metadata"]["annotations"] = {PAUSED: ""}
    assert plan(replace(held, manifest=manifest).seen()) == Plan()


def test_a_claim_whose_cluster_is_not_there_waits_and_if_it_goes_is_let_go() -> None:
    seen = replace(scene("10.0.0.10").wanting("a"), clusterless=frozenset("a"))
    assert wait(plan(seen.seen()), "a").reason == ALLOCATION_FAILED
    going = replace(scene("10.0.0.10").holding(a="10.0.0.10").deleting("a"), clusterless=frozenset("a"))
    assert kinds(plan(going.seen())) == [[Withdraw, ReleaseOf, LetGo]]


def test_a_pool_is_protected_while_it_is_used() -> None:
    new = pool("pool", "10.0.0.10")
    new["metadata"]["finalizers"] = []
    assert plan(Scene(new).seen()).protect
    going = pool("pool", "10.0.0.10")
    going["metadata"].update(finalizers=[PROTECT_POOL], deletionTimestamp=NOW.isoformat())
    used = plan(Scene(going).holding(a="10.0.0.10").wanting("b").seen())
    assert not used.let_go
    message = "InClusterIPPool default/pool is being deleted. Make a claim for another pool, or the pool anew."
    assert wait(used, "b") == Wait(POOL_NOT_READY, message)
    assert plan(Scene(going).released("10.0.0.10", 1).seen()).let_go


def test_an_address_that_lost_its_claim_is_taken_back_after_a_look_at_the_server() -> None:
    (errand,) = plan(scene("10.0.0.10").stray("a", "10.0.0.10").reserved("a", "10.0.0.10").seen()).errands
    withdraw, release = errand.steps
    assert isinstance(withdraw, Withdraw)
    assert withdraw.sure
    assert isinstance(release, ReleaseOf)


def test_capmox_758_an_address_that_has_just_been_restored_waits_for_its_claim() -> None:
    seen = scene("10.0.0.10").stray("a", "10.0.0.10", age=30).wanting("b").seen()
    planned = plan(seen)
    assert planned.errands == ()
    assert wait(planned, "b").reason == POOL_EXHAUSTED
    assert seconds_until_news(seen) == pytest.approx(570)


def test_a_reservation_without_a_claim_is_released_after_a_look_at_the_server() -> None:
    (errand,) = plan(scene("10.0.0.10").reserved("gone", "10.0.0.10").seen()).errands
    (step,) = errand.steps
    assert isinstance(step, Release)
    assert step.sure
    trusted = frozenset({"10.0.0.10.default-uid"})
    assert plan(replace(scene("10.0.0.10").reserved("gone", "10.0.0.10").seen(), trusted=trusted)).errands == ()


def test_entries_that_have_rested_are_forgotten_if_the_pool_does_not_have_them_any_more() -> None:
    seen = scene("10.0.0.10").released("10.0.0.99", 100).released("10.0.0.10", 100).seen()
    (errand,) = plan(seen).errands
    (step,) = errand.steps
    assert isinstance(step, Forget)
    assert step.entry.spec.address == "10.0.0.99"


def test_the_ledger_of_a_large_pool_stays_small() -> None:
    seen = scene("10.0.0.0/16", prefix=16)
    for number in range(1, 301):
        seen = seen.released(f"10.0.{number // 256}.{number % 256}", 1000 - number)
    forgotten = [step for errand in plan(seen.seen()).errands for step in errand.steps]
    assert len(forgotten) == 300 - 256
    assert isinstance(forgotten[0], Forget)
    assert forgotten[0].entry.spec.address == "10.0.0.1"


def test_one_look_gives_so_many_addresses_and_the_next_one_goes_on() -> None:
    planned = plan(scene("10.0.0.0/16", prefix=16).wanting(*(f"c{number}" for number in range(AT_A_TIME + 5))).seen())
    assert len(given(planned)) == AT_A_TIME
    assert planned.more


def test_a_global_pool_does_not_give_what_a_namespace_holds() -> None:
    seen = replace(
        Scene(None, namespace=""),
        manifest={"metadata": {"name": "pool"}, "spec": {"addresses": ["10.0.0.10-10.0.0.11"], "prefix": 24}},
    )
    held = seen.reserved("x", "10.0.0.10", pool=OTHER).wanting("a", "b").seen()
    assert given(plan(held)) == {"a": "10.0.0.11"}
