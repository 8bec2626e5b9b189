"""Rights that a call was refused for, where no preflight looks for them.

A preflight is content with a right that is held somewhere, as a connection need not name its templates, storages and
bridges. A call that is refused knows the path. PVE is asked for that path alone whether the right is held by now: what
a path has by its pool shows in no list.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from nagaya.infrastructure.proxmox.privileges.granting import command_for
from nagaya.infrastructure.proxmox.privileges.missing import Missing
from nagaya.infrastructure.proxmox.privileges.operations import OPERATIONS, Release

_SOMETHING: Final = "do what was refused"


@dataclass(frozen=True, slots=True)
class Refusal:
    """What Proxmox VE said was missing for a call."""

    path: str
    privileges: tuple[str, ...]
    """One of them is enough."""


def lacking(
    found: tuple[Missing, ...], refusals: Iterable[Refusal], release: Release, subject: str
) -> tuple[Missing, ...]:
    """All that is missing: what a preflight found, and what calls were refused for that it could not find. A right that
    it misses anywhere is told there, with the whole role, and not once more for each machine."""
    known = {each.privilege for each in found}
    more = {(each.path, each.privileges[0]): each for each in refusals if known.isdisjoint(each.privileges)}
    return found + tuple(
        Missing(
            each.path,
            each.privileges[0],
            _operation(each),
            command_for(each.path, each.privileges, release, subject),
        )
        for each in more.values()
    )


def _operation(refusal: Refusal) -> str:
    for operation in OPERATIONS:
        for requirement in operation.requirements:
            if not set(requirement.any_of).isdisjoint(refusal.privileges):
                return operation.name
    return _SOMETHING
