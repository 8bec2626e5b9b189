from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from nagaya.core.machine.deletion.drain.judgement import Fate, Verdict
from nagaya.core.machine.deletion.drain.pods import PODS
from nagaya.core.machine.deletion.drain.turns import Turns, turns
from support.builders import NOW, date


def verdict(
    name: str, fate: Fate = Fate.EVICT, order: int = 0, *, going: bool = False, ends: datetime = NOW
) -> Verdict:
    metadata = {"namespace": "apps", "name": name}
    if going:
        metadata["deletionTimestamp"] = date(ends)
    return Verdict(PODS.convert({"metadata": metadata}), fate, order)


def names(found: tuple[Verdict, ...]) -> list[str]:
    return [each.key.name for each in found]


def test_only_the_lowest_order_is_evicted() -> None:
    found = turns([verdict("a", order=5), verdict("b", order=-1), verdict("c", order=5), verdict("d", order=-1)])
    assert (names(found.evict), names(found.evict_later)) == (["b", "d"], ["a", "c"])


def test_pods_of_a_lower_order_that_are_still_going_hold_up_the_others() -> None:
    found = turns([verdict("a", order=1), verdict("b", order=0, going=True)])
    assert (names(found.evict), names(found.evict_later), names(found.going)) == ([], ["a"], ["b"])


def test_pods_that_are_waited_for_have_their_turn_with_order_0() -> None:
    found = turns([verdict("job", Fate.WAIT), verdict("early", order=-1), verdict("late", order=1)])
    assert (names(found.evict), names(found.wait_later), names(found.evict_later)) == (["early"], ["job"], ["late"])
    found = turns([verdict("job", Fate.WAIT), verdict("late", order=1)])
    assert (names(found.evict), names(found.wait), names(found.evict_later)) == ([], ["job"], ["late"])


def test_pods_that_stay_have_no_turn() -> None:
    assert turns([verdict("a", Fate.LEAVE), verdict("b", Fate.DONE)]) == Turns()


def test_the_first_that_has_to_be_gone_is_the_next_to_look_at() -> None:
    later = [NOW + timedelta(seconds=each) for each in (30, 10)]
    found = turns([verdict("late", going=True), *(verdict(str(each), going=True, ends=each) for each in later)])
    assert found.ends(NOW) == later[1]
    assert found.ends(later[1]) == later[0]
    assert found.ends(later[0]) is None
    assert turns([verdict("stays")]).ends(NOW) is None


VERDICTS = st.lists(st.builds(verdict, st.just("p"), st.sampled_from(Fate), st.integers(-2, 2), going=st.booleans()))


@given(VERDICTS)
def test_every_pod_that_blocks_is_in_exactly_one_group(verdicts: list[Verdict]) -> None:
    found = turns(verdicts)
    groups = [*found.evict, *found.evict_later, *found.going, *found.wait, *found.wait_later]
    blocking = [each for each in verdicts if each.blocks]
    assert sorted(map(id, groups)) == sorted(map(id, blocking))
    now = {each.order for each in (*found.evict, *found.wait)}
    assert now <= {min((each.order for each in blocking), default=0)}
