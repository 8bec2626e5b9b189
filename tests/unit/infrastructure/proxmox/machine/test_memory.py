"""What the controller of machines remembers between two looks."""

from __future__ import annotations

import asyncio

from nagaya.infrastructure.proxmox.machine.memory import GUESTS, LONGEST_BOOT, NEARLY, NEXT, Memory
from nagaya.infrastructure.proxmox.placement import Reservation
from nagaya.kube.key import Key


def waiting(memory: Memory, name: str, host: str, storage: str = "local-lvm") -> None:
    memory.waiting[name] = Key("default", name)
    memory.promises[name] = Reservation(name, host, clone_storage=storage, since=name)


def names(keys: list[Key]) -> list[str]:
    return sorted(key.name for key in keys)


def test_of_those_who_wait_only_the_next_are_looked_at_and_of_every_queue() -> None:
    memory = Memory()
    for number in range(9, 0, -1):
        waiting(memory, f"a{number}", "pve1")
        waiting(memory, f"b{number}", "pve2")
    first = [f"{letter}{number}" for letter in "ab" for number in range(1, NEXT + 1)]
    assert names(memory.next_in_line(None)) == first


def test_a_clone_that_ended_lets_those_go_on_that_wait_for_its_storage() -> None:
    memory = Memory()
    waiting(memory, "a", "pve1")
    waiting(memory, "b", "pve2", "shared")
    ended = Reservation("gone", "pve3", clone_storage="shared")
    assert names(memory.next_in_line(ended)) == ["b"]


def test_who_waits_without_a_place_is_never_forgotten() -> None:
    memory = Memory()
    memory.waiting["a"] = Key("default", "a")
    assert names(memory.next_in_line(Reservation("gone", "pve3", clone_storage="shared"))) == ["a"]


async def test_one_asks_and_the_others_find_the_answer() -> None:
    memory, answers, asked = Memory(), dict[str, int](), list[str]()

    async def ask() -> int:
        async with memory.one_at_a_time("question"):
            if "question" not in answers:
                asked.append("question")
                await asyncio.sleep(0)
                answers["question"] = 42
        return answers["question"]

    assert await asyncio.gather(*(ask() for _ in range(5))) == [42] * 5
    assert asked == ["question"]


def test_the_quickest_guest_tells_when_the_next_ones_are_asked_first() -> None:
    memory = Memory()
    assert memory.likely_up("lab") == 0
    memory.booted("lab", 20)
    memory.booted("lab", 600)
    assert memory.likely_up("lab") == 20 * NEARLY
    assert memory.likely_up("elsewhere") == 0


def test_a_guest_that_took_for_ever_keeps_no_other_from_being_asked() -> None:
    memory = Memory()
    memory.booted("lab", 600)
    assert memory.likely_up("lab") == LONGEST_BOOT


async def test_few_guests_of_a_host_are_asked_at_a_time() -> None:
    """Each of a silent one takes a process of its host for seconds."""
    memory = Memory()
    for _ in range(GUESTS):
        await memory.door("lab", "pve1").acquire()
    assert memory.door("lab", "pve1").locked()
    assert not memory.door("lab", "pve2").locked()
