"""A cluster that moves to another management API: its machines notice nothing, and nothing is lost on the way.

The move is killed at some of its writes, before or after they take effect, and done again. `make test-all` plays each
write.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from nagaya.kube.client import Client
from nagaya.kube.transport import Answer, Call, NoAnswer, StreamAnswer, Transport
from nagaya.moving.annotations import MOVED_FROM, MOVING
from nagaya.moving.inventory import inventory
from nagaya.moving.move import Move, MoveFailed
from support.crashes import Killed
from support.proxmox_second_town import second_town
from support.proxmox_town import Town, play, town
from support.proxmox_town_life import CREATE, DELETE, SCALE_UP, live
from support.proxmox_town_manifests import Shop
from support.proxmox_town_order import disorder
from support.simulation import WRITES, chosen, replay

pytestmark = pytest.mark.long("plays a cluster's whole life on two planes")

LONGEST = 160
"""More writes than a move of this cluster has; that is checked."""


class Mover:
    """Somebody who types the command, and may be interrupted."""

    def __init__(self, source: Town, target: Town) -> None:
        self._source = source
        self._target = target
        self.said: list[str] = []
        self.writes = 0

    async def move(self, die_at: int | None = None, *, takes_effect: bool = True) -> bool:
        """Whether the end was reached."""
        writes = _Writes(die_at, takes_effect)
        ways = [_Way(each.transport(), writes) for each in (self._source, self._target)]
        clients = [Client(each, world=self._source.world, field_manager="mover") for each in ways]
        try:
            errand = Move(*clients, self.said.append)
            await errand.run(await errand.look())
        except (NoAnswer, MoveFailed):
            return False
        finally:
            self.writes = writes.count
        return True


class _Writes:
    """Those to both ends, counted together; at one of them the process dies."""

    def __init__(self, die_at: int | None, takes_effect: bool) -> None:
        self._die_at = die_at
        self._takes_effect = takes_effect
        self._dead = False
        self.count = 0

    async def send(self, inner: Transport, call: Call) -> Answer:
        if self._dead:
            raise Killed(call)
        if call.method == "GET":
            return await inner.send(call)
        self.count += 1
        self._dead = self.count == self._die_at
        if self._dead and not self._takes_effect:
            raise Killed(call)
        answer = await inner.send(call)
        if self._dead:
            raise Killed(call)
        return answer


class _Way:
    """To one end."""

    def __init__(self, inner: Transport, writes: _Writes) -> None:
        self._inner = inner
        self._writes = writes

    async def send(self, call: Call) -> Answer:
        return await self._writes.send(self._inner, call)

    def stream(self, call: Call) -> AbstractAsyncContextManager[StreamAnswer]:
        return self._inner.stream(call)

    async def close(self) -> None:
        await self._inner.close()


async def moved(first: Town, second: Town) -> None:
    """What must be so when it has ended."""
    left = [str(each) for each in (await inventory(first.client)).items if each.kind.group]
    assert not left, f"the source still has {left}"
    for each in (await inventory(second.client)).items:
        assert MOVED_FROM not in each.metadata.annotations, each
        assert MOVING not in each.metadata.annotations, each


def _vms(here: Town) -> dict[int, str]:
    """All VMs but templates, with how long they are up: one that was made anew or restarted is not the same."""
    return {
        vmid: f"{guest.node} {guest.config.get('smbios1')} {guest.running}"
        for vmid, guest in here.datacenter.guests.items()
        if not guest.template
    }


@pytest.mark.parametrize("control_planes", [1, 3])
def test_a_cluster_moves_while_its_machines_run_and_is_looked_after_by_the_other_plane(control_planes: int) -> None:
    async def main() -> None:
        async with town(Shop(control_planes, 2)) as first, second_town(first) as second:
            await first.begin()
            await live(first, (CREATE,))
            await second.begin()
            before, clones = _vms(first), len(first.clones)
            mover = Mover(first, second)
            assert await mover.move()
            await moved(first, second)
            await second.until("the cluster to be there", lambda: second.has(control_planes, 2), patience=600)
            assert _vms(first) == before
            assert len(first.clones) == clones
            assert not await disorder(second)
            await live(second, (SCALE_UP, DELETE))

    play(main())


@pytest.mark.parametrize("takes_effect", [True, False], ids=["answer", "request"])
@pytest.mark.parametrize("write", chosen(WRITES, range(4, LONGEST, 30), range(1, LONGEST)))
def test_a_move_that_was_interrupted_is_finished_by_the_same_command(write: int, takes_effect: bool) -> None:
    async def main() -> None:
        async with town(Shop(1, 1)) as first, second_town(first) as second:
            await first.begin()
            await live(first, (CREATE,))
            await second.begin()
            before, clones = _vms(first), len(first.clones)
            mover = Mover(first, second)
            if await mover.move(write, takes_effect=takes_effect):
                assert mover.writes < write, "it was not interrupted"
                assert mover.writes < LONGEST
            # Both planes go on meanwhile, and none may do anything that cannot be undone.
            await asyncio.sleep(300)
            assert await mover.move()
            await moved(first, second)
            await second.until("the cluster to be there", lambda: second.has(1, 1), patience=600)
            assert _vms(first) == before
            assert len(first.clones) == clones
            assert not await disorder(second)
            await live(second, (DELETE,))

    try:
        play(main())
    except AssertionError as error:
        again = replay(WRITES, write, "tests/simulation/proxmox/test_move.py")
        raise AssertionError(f"killed at write {write}. {again}\n{error}") from None


def test_moving_twice_is_moving_once() -> None:
    async def main() -> None:
        async with town(Shop(1, 1)) as first, second_town(first) as second:
            await first.begin()
            await live(first, (CREATE,))
            await second.begin()
            mover = Mover(first, second)
            assert await mover.move()
            count = mover.writes
            assert await mover.move()
            assert mover.writes == 0 < count
            back = Mover(second, first)
            await second.until("the cluster to be there", lambda: second.has(1, 1), patience=600)
            assert await back.move()
            await moved(second, first)
            await first.until("the cluster to be back", lambda: first.has(1, 1), patience=600)
            await live(first, (DELETE,))

    play(main())
