from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from nagaya.controlplane.kubeadm.tenant_seen import EtcdSeen
from nagaya.controlplane.kubeadm.workload.recent_etcd import (
    ASK_TIMEOUT,
    PATIENCE,
    SILENT,
    STANDS,
    STANDS_IN_DOUBT,
    RecentEtcd,
)
from support.virtual_time import LoopClock
from unit.controlplane.kubeadm.examples import etcd, member

WELL = etcd("a", "b", leader="a")


class Etcd:
    """Answers as it is told, after a while."""

    def __init__(self, answer: EtcdSeen = WELL) -> None:
        self.answer = answer
        self.takes = 0.0
        self.asked: list[tuple[str, ...]] = []
        self.news = 0
        self.recent = RecentEtcd(self.ask, LoopClock(), self.changed)

    async def ask(self, nodes: tuple[str, ...]) -> EtcdSeen:
        self.asked.append(nodes)
        answer = self.answer
        await asyncio.sleep(self.takes)
        return answer

    def changed(self) -> None:
        self.news += 1

    async def seen(self, *nodes: str) -> EtcdSeen:
        return await self.recent.seen(nodes or ("a", "b"))


async def test_a_good_answer_stands_for_a_while() -> None:
    there = Etcd()
    assert await there.seen() == WELL
    await asyncio.sleep(STANDS - 0.1)
    assert await there.seen() == WELL
    assert len(there.asked) == 1
    await asyncio.sleep(0.2)
    await there.seen()
    assert len(there.asked) == 2


@pytest.mark.parametrize(
    "answer",
    [
        EtcdSeen(problem="Failed to connect to etcd: no"),
        etcd("a", leader="a"),
        etcd("a", member("b", 2, learner=True), leader="a"),
        etcd("a", member("b", 2, alarms=("NOSPACE",)), leader="a"),
        etcd("a", "b", "stranger", leader="a"),
    ],
    ids=["problem", "member missing", "learner", "alarm", "stranger"],
)
async def test_an_answer_in_which_something_is_amiss_stands_for_a_moment(answer: EtcdSeen) -> None:
    there = Etcd(answer)
    for _ in range(3):
        assert await there.seen() == answer
    assert len(there.asked) == 1
    await asyncio.sleep(STANDS_IN_DOUBT + 0.1)
    await there.seen()
    assert len(there.asked) == 2


async def test_other_nodes_are_another_question() -> None:
    there = Etcd()
    await there.seen("a", "b")
    await there.seen("b", "a")
    assert len(there.asked) == 1
    await there.seen("a", "b", "c")
    assert there.asked[-1] == ("a", "b", "c")


async def test_nobody_is_asked_without_nodes() -> None:
    there = Etcd()
    assert await there.recent.seen(()) == EtcdSeen()
    assert there.asked == []


async def test_what_is_doubted_is_asked_again() -> None:
    there = Etcd()
    await there.seen()
    there.recent.doubt()
    await there.seen()
    await there.seen()
    assert len(there.asked) == 2


async def test_doubts_that_arise_while_it_is_asked_remain() -> None:
    there = Etcd()
    there.takes = 1
    looking = asyncio.create_task(there.seen())
    await asyncio.sleep(0.5)
    there.recent.doubt()
    await looking
    await there.seen()
    assert len(there.asked) == 2


async def test_all_who_want_to_know_share_one_answer() -> None:
    there = Etcd()
    there.takes = 1
    assert [*await asyncio.gather(there.seen(), there.seen(), there.seen())] == [WELL] * 3
    assert len(there.asked) == 1


async def test_nobody_waits_long_for_an_etcd_that_hangs_and_its_answer_is_news() -> None:
    there = Etcd()
    there.takes = PATIENCE + 3
    loop = asyncio.get_running_loop()
    begun = loop.time()
    assert await there.seen() == SILENT
    assert loop.time() - begun == pytest.approx(PATIENCE, abs=0.1)
    await asyncio.sleep(4)
    assert there.news == 1
    assert await there.seen() == WELL
    assert len(there.asked) == 1


async def test_an_etcd_that_never_answers_is_given_up() -> None:
    there = Etcd()
    there.takes = 1000
    await there.seen()
    await asyncio.sleep(ASK_TIMEOUT)
    assert there.news == 1
    assert await there.seen() == SILENT


async def test_one_that_was_silent_keeps_nobody_waiting_a_second_time() -> None:
    there = Etcd()
    there.takes = 1000
    loop = asyncio.get_running_loop()
    await there.seen()
    for _ in range(5):
        await asyncio.sleep(ASK_TIMEOUT)
        begun = loop.time()
        assert await there.seen() == SILENT
        assert loop.time() - begun < 0.1
    assert there.news == 1
    there.takes = 1
    await asyncio.sleep(ASK_TIMEOUT + 2)
    assert await there.seen() == SILENT
    await asyncio.sleep(2)
    assert there.news == 2
    assert await there.seen() == WELL


async def test_even_the_unexpected_is_told_and_not_raised(caplog: pytest.LogCaptureFixture) -> None:
    there = Etcd()

    async def fail(nodes: tuple[str, ...]) -> EtcdSeen:
        raise KeyError("odd")

    recent = RecentEtcd(fail, LoopClock(), there.changed)
    assert (await recent.seen(("a",))).problem == "Failed to connect to etcd: KeyError: 'odd'"
    assert "cannot be asked" in caplog.text


async def test_a_look_that_is_cut_short_leaves_the_question_running() -> None:
    there = Etcd()
    there.takes = 2
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await there.seen()
    assert await there.seen() == WELL
    assert len(there.asked) == 1


async def test_closing_ends_what_is_under_way() -> None:
    there = Etcd(replace(WELL))
    there.takes = 1000
    looking = asyncio.create_task(there.seen())
    await asyncio.sleep(1)
    there.recent.close()
    with pytest.raises(asyncio.CancelledError):
        await looking
