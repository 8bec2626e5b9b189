"""Which privileges are missing, what they are missing for, and the command that grants them.

Boot data can be delivered in two ways; one of them is enough. If the credentials suffice for neither, what is missing
for the first (a CD) is told, as it needs no right to run programs in guests; unless all but one privilege are there for
the other, which is then what somebody had in mind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from nagaya.api.proxmox.life import ISO, NATIVE
from nagaya.infrastructure.proxmox.privileges.commands import grant_line, role_line
from nagaya.infrastructure.proxmox.privileges.held import Held
from nagaya.infrastructure.proxmox.privileges.missing import Missing
from nagaya.infrastructure.proxmox.privileges.operations import Feature, Operation, Release, operations
from nagaya.infrastructure.proxmox.privileges.place import Place, Scope, role_at, spots
from nagaya.infrastructure.proxmox.privileges.roles import INHERITED, ROLES, privileges

_WAYS: Final = ((ISO, Feature.ISO), (NATIVE, Feature.NATIVE))


@dataclass(frozen=True, slots=True)
class Preflight:
    """What the credentials are good for."""

    missing: tuple[Missing, ...] = ()
    deliveries: frozenset[str] = frozenset()
    """The ways in which boot data can be delivered: iso, native."""

    @property
    def delivery(self) -> str:
        """The way that is taken unless somebody asks for another; empty if there is none."""
        return next((way for way, _ in _WAYS if way in self.deliveries), "")


def preflight(
    held: Held, scope: Scope, release: Release, subject: str, features: Collection[Feature] = ()
) -> Preflight:
    """Compare what is held with what is needed. `subject` are the credentials: user@realm, or user@realm!token.
    `features` are those beyond what every machine needs."""
    ways = {way: _each_once(_lacks(held, scope, release, operations(feature))) for way, feature in _WAYS}
    able = frozenset(way for way, lacking in ways.items() if not lacking)
    found = _lacks(held, scope, release, operations(Feature.ALWAYS, *features))
    if not able:
        found += next((lacking for lacking in ways.values() if len(lacking) == 1), ways[ISO])
    return Preflight(_with_commands(_each_once(found), release, subject), able)


@dataclass(frozen=True, slots=True)
class _Lack:
    """A privilege that is missing."""

    place: Place
    """Whose role is to have it."""
    path: str
    privilege: str
    operation: Operation


def _lacks(held: Held, scope: Scope, release: Release, needed: Iterable[Operation]) -> tuple[_Lack, ...]:
    found: list[_Lack] = []
    for operation in needed:
        for requirement in operation.requirements:
            if requirement.in_pools and not scope.pool:
                continue
            wanted = requirement.on(release).any_of
            for spot in spots(requirement.place, scope):
                if any(held.holds(path, each) for path in spot.candidates(held.by_path) for each in wanted):
                    continue
                place = role_at(requirement.place, spot.path, scope)
                found.append(_Lack(place, spot.path, wanted[0], operation))
    return tuple(found)


def _each_once(found: Iterable[_Lack]) -> tuple[_Lack, ...]:
    first: dict[tuple[str, str], _Lack] = {}
    for each in found:
        first.setdefault((each.path, each.privilege), each)
    return tuple(first.values())


def _with_commands(lacking: tuple[_Lack, ...], release: Release, subject: str) -> tuple[Missing, ...]:
    """A role at a path has one command, which grants all that is missing there."""
    features: dict[tuple[Place, str], dict[Feature, None]] = {}
    for each in lacking:
        features.setdefault((each.place, each.path), {Feature.ALWAYS: None})[each.operation.feature] = None
    lines = {key: _command(*key, release, subject, tuple(each)) for key, each in features.items()}
    return tuple(
        Missing(each.path, each.privilege, each.operation.name, lines[each.place, each.path]) for each in lacking
    )


def _command(place: Place, path: str, release: Release, subject: str, features: tuple[Feature, ...]) -> str:
    role = ROLES[place]
    grant = grant_line(path, role, subject, propagate=place in INHERITED)
    return f"{role_line(role, privileges(place, release, features))}; {grant}"
