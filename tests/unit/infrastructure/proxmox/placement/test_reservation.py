"""Whose disks are copied when."""

from __future__ import annotations

from nagaya.infrastructure.proxmox.placement import Clone, Reservation, turn


def waiting(machine: str, since: str, host: str = "pve1", clone: Clone = Clone.WAITING) -> Reservation:
    return Reservation(machine, host, clone=clone, clone_storage="local-lvm", since=since)


def test_who_came_first_is_cloned_first_and_all_come_at_last() -> None:
    line = [waiting("c", "1"), waiting("a", "2"), waiting("b", "2"), waiting("d", "3")]
    assert [each.machine for each in line if turn(each, line, 2).come] == ["c", "a"]
    done: list[str] = []
    while line:
        begins = [each for each in line if turn(each, line, 2).come]
        assert 1 <= len(begins) <= 2
        done += [each.machine for each in begins]
        line = [each for each in line if each not in begins]
    assert done == ["c", "a", "b", "d"]


def test_clones_to_another_host_are_nobodys_business_unless_the_storage_is_shared() -> None:
    mine = waiting("a", "2")
    other = waiting("b", "1", "pve2", Clone.RUNNING)
    assert turn(mine, [other], 1).come
    assert not turn(mine, [other], 1, frozenset({"local-lvm"})).come


def test_a_finished_clone_is_in_nobodys_way() -> None:
    assert turn(waiting("a", "2"), [waiting("b", "1", clone=Clone.DONE)], 1).come
