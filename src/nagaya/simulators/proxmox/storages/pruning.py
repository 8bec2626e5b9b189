"""Which backups of a machine are kept when old ones are removed.

Each rule takes the newest backup of a period that no rule before it has taken, until it has as many as it may; the
periods of one rule begin after those that the rules before it have covered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from nagaya.simulators.proxmox.state.storage import Volume

_PERIODS: dict[str, Callable[[datetime], str]] = {
    "keep-hourly": lambda when: f"{when:%Y/%m/%d/%H}",
    "keep-daily": lambda when: f"{when:%Y/%m/%d}",
    "keep-weekly": lambda when: f"{when:%G/%V}",
    "keep-monthly": lambda when: f"{when:%Y/%m}",
    "keep-yearly": lambda when: f"{when:%Y}",
}


def marks(backups: Iterable[Volume], keep: dict[str, Any]) -> dict[str, str]:
    """keep, remove or protected for each backup of one machine, by its id."""
    found: dict[str, str] = {}
    newest = sorted(backups, key=lambda volume: volume.ctime, reverse=True)
    if keep.get("keep-all") or not any(keep.get(rule) for rule in ("keep-last", *_PERIODS)):
        return {volume.id: "protected" if volume.protected else "keep" for volume in newest}
    _take(newest, found, int(keep.get("keep-last") or 0), lambda volume: volume.id)
    for rule, period in _PERIODS.items():
        _take(newest, found, int(keep.get(rule) or 0), partial(_period, period))
    return {volume.id: "protected" if volume.protected else found.get(volume.id, "remove") for volume in newest}


def _take(newest: list[Volume], found: dict[str, str], count: int, period: Callable[[Volume], str]) -> None:
    if not count:
        return
    covered = {period(volume) for volume in newest if found.get(volume.id) == "keep"}
    taken: set[str] = set()
    for volume in newest:
        if volume.id in found or volume.protected:
            continue
        at = period(volume)
        if at in covered:
            continue
        if at in taken:
            found[volume.id] = "remove"
            continue
        if len(taken) >= count:
            break
        taken.add(at)
        found[volume.id] = "keep"


def _period(period: Callable[[datetime], str], volume: Volume) -> str:
    return period(_made(volume))


def _made(volume: Volume) -> datetime:
    return datetime.fromtimestamp(volume.ctime, UTC)
