"""Whole lives of control planes, step by step, against timelines in testdata.

In a look `m2?` is coming up, `m2~` has an etcd member that learns, `m2-` goes, `m2!` does not work and `*m2` leads
etcd. What follows a look is what it did, and then what the world did. NAGAYA_UPDATE_GOLDEN=1 writes them anew.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from support.builders import NOW
from support.subtest_cases import subtest_cases
from unit.controlplane.kubeadm.examples import kcp, with_domains
from unit.controlplane.kubeadm.model import Harbour, all_run

TESTDATA = Path(__file__).parent / "testdata"


def create_3() -> str:
    return Harbour(kcp(3)).run(all_run(3))


def create_3_in_two_domains() -> str:
    return Harbour(kcp(3), with_domains("east", "west")).run(all_run(3))


def roll(replicas: int, surge: int) -> str:
    here = Harbour(kcp(replicas, "v1.35.0").surging(surge))
    here.settle(replicas)
    here.kcp = here.kcp.wanting(version="v1.36.3")
    return here.run(all_run(replicas))


def scale_1_to_3_to_1() -> str:
    here = Harbour(kcp(1))
    here.settle(1)
    here.kcp = here.kcp.wanting(replicas=3)
    up = here.run(all_run(3))
    here.lines.clear()
    here.kcp = here.kcp.wanting(replicas=1)
    return up + here.run(all_run(1))


def one_of_three_falls_sick() -> str:
    here = Harbour(kcp(3))
    here.settle(3)
    here.fall_sick("m1")
    return here.run(all_run(3))


def two_of_five_fall_sick() -> str:
    here = Harbour(kcp(5))
    here.settle(5)
    here.fall_sick("m1")
    here.fall_sick("m2")
    return here.run(all_run(5))


def the_first_machine_never_comes_up() -> str:
    here = Harbour(kcp(1))
    here.stuck.add("m1")
    here.look()
    here.pass_time()
    here.give_up("m1")
    return here.run(all_run(1))


def a_machine_falls_sick_during_a_rollout() -> str:
    here = Harbour(kcp(3, "v1.35.0"))
    here.settle(3)
    here.kcp = here.kcp.wanting(version="v1.36.3")
    for _ in range(5):
        here.look()
        here.pass_time()
    here.fall_sick("m2")
    return here.run(all_run(3))


def somebody_deletes_a_machine() -> str:
    here = Harbour(kcp(3))
    here.settle(3)
    here.delete("m1")
    return here.run(all_run(3))


SCENARIOS: dict[str, Callable[[], str]] = {
    "create_3": create_3,
    "create_3_in_two_domains": create_3_in_two_domains,
    "roll_1-surge_1": lambda: roll(1, 1),
    "roll_3-surge_1": lambda: roll(3, 1),
    "roll_3-surge_0": lambda: roll(3, 0),
    "scale_1_to_3_to_1": scale_1_to_3_to_1,
    "one_of_three_falls_sick": one_of_three_falls_sick,
    "two_of_five_fall_sick": two_of_five_fall_sick,
    "the_first_machine_never_comes_up": the_first_machine_never_comes_up,
    "a_machine_falls_sick_during_a_rollout": a_machine_falls_sick_during_a_rollout,
    "somebody_deletes_a_machine": somebody_deletes_a_machine,
}


@subtest_cases("name", SCENARIOS)
def test_a_life_goes_as_written_down(name: str) -> None:
    told = SCENARIOS[name]()
    path = TESTDATA / f"{name}.txt"
    if os.environ.get("NAGAYA_UPDATE_GOLDEN"):
        path.write_text(told)
    assert told == path.read_text()


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    replicas=st.sampled_from([1, 3, 5]),
    surge=st.sampled_from([0, 1]),
    sick=st.booleans(),
    wanted=st.sampled_from([1, 3, 5]),
)
def test_no_order_of_events_costs_the_quorum(seed: int, replicas: int, surge: int, sick: bool, wanted: int) -> None:
    chance = random.Random(seed)
    surge = 1 if min(replicas, wanted) < 3 else surge
    here = Harbour(kcp(replicas, "v1.35.0").surging(surge), shuffled=chance)
    here.settle(replicas)
    here.most = max(replicas, wanted)
    here.kcp = here.kcp.wanting(version="v1.36.3", replicas=wanted)
    for _ in range(chance.randrange(10)):
        here.look()
        here.pass_time()
    running = [name for name in here.machines if here.stage(name) == "running"]
    if sick and len(running) >= 3 and len(running) == len(here.machines):
        here.fall_sick(chance.choice(running))
    here.run(all_run(wanted))
    assert here.now > NOW + timedelta(minutes=1)
