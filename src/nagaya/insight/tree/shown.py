"""What the reader wants to see of a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from nagaya.insight.picture.member import Member
from nagaya.insight.tree.branch import State, state

ALL: Final = "all"
_TELLING: Final = "!"


@dataclass(frozen=True, slots=True)
class Shown:
    """Choices, each as clusterctl has it."""

    conditions: tuple[str, ...] = ()
    """`all`, kinds, or `Kind/name`; with `!` at the end only conditions that have something to say."""
    grouping: bool = True
    """Whether equal machines are one line."""
    echo: bool = False
    """Whether objects of machines are shown that say nothing new."""
    machine_sets: bool = False

    def conditions_of(self, member: Member) -> tuple[State, ...]:
        """Those conditions of an object that are wanted."""
        asked = [each.strip().lower() for each in self.conditions]
        names = {ALL, member.kind.lower(), f"{member.kind}/{member.name}".lower()}
        states = tuple(filter(None, map(state, member.conditions)))
        if any(each in names for each in asked):
            return states
        if any(each.endswith(_TELLING) and each.removesuffix(_TELLING) in names for each in asked):
            return tuple(each for each in states if each.telling or each.type in ("Available", "Ready"))
        return ()
