from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nagaya.simulators.proxmox.state.storage import Volume
from nagaya.simulators.proxmox.storages.pruning import marks

DAY = 86400
NOON = 1794744000


def _backup(ctime: int, *, protected: bool = False) -> Volume:
    name = f"backup/vzdump-qemu-100-{ctime}.vma"
    return Volume("local", name, "backup", "vma", 1, ctime, "pve1", 100, protected=protected)


def test_the_newest_of_each_day_is_kept() -> None:
    backups = [_backup(NOON - day * DAY - hour * 3600) for day in range(4) for hour in range(2)]
    decided = marks(backups, {"keep-daily": "2"})
    assert [decided[backup.id] for backup in backups] == ["keep", "remove"] * 2 + ["remove"] * 4


def test_days_come_after_what_the_last_ones_have_covered() -> None:
    backups = [_backup(NOON - day * DAY) for day in range(4)]
    decided = marks(backups, {"keep-last": "1", "keep-daily": "1"})
    assert [decided[backup.id] for backup in backups] == ["keep", "keep", "remove", "remove"]


def test_protected_backups_are_left_alone() -> None:
    old, new = _backup(NOON - DAY, protected=True), _backup(NOON)
    assert marks([old, new], {"keep-last": "1"}) == {old.id: "protected", new.id: "keep"}


@given(st.sets(st.integers(NOON - 400 * DAY, NOON), max_size=30), st.integers(1, 5))
def test_never_more_are_kept_than_asked_for(times: set[int], count: int) -> None:
    decided = marks([_backup(time) for time in times], {"keep-last": count})
    assert list(decided.values()).count("keep") == min(count, len(times))
