"""What must be done so that a tenant holds what it shall hold: a pure comparison of the wanted with the held.

A held object is as wanted if it has every field that we decide; what others add to it is theirs. Three things keep
this from becoming a tug of war: a field that somebody may change is left as it is (`Manifest.kept`), items that
somebody adds to a shared list are left, and an object that is still different after we applied it is left until it
changes again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import orjson

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.tenant.kinds import (
    CLUSTER_ROLE_BINDINGS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ROLE_BINDINGS,
    SERVICES,
    Manifest,
)
from nagaya.controlplane.hosted.tenant.objects import Place
from nagaya.kube.patches import same

_FIXED: Final[Mapping[Kind[Untyped], tuple[str, ...]]] = {
    ROLE_BINDINGS: ("roleRef",),
    CLUSTER_ROLE_BINDINGS: ("roleRef",),
    DEPLOYMENTS: ("spec", "selector"),
    DAEMON_SETS: ("spec", "selector"),
    SERVICES: ("spec", "clusterIP"),
}
"""No server lets these be changed, so an object that has them wrong is made anew."""
_SHARED: Final = (".containers", ".volumes", ".env")
"""Lists of named things, in which others may have put their own beside ours. Not those of RBAC: nobody may add himself
to the subjects of a binding."""
_VOLATILE: Final = ("resourceVersion", "generation", "managedFields")


class Verb(Enum):
    """What is done with an object."""

    APPLY = "apply"
    REPLACE = "replace"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do, and why."""

    verb: Verb
    place: Place
    why: str
    content: Mapping[str, Any] | None = None
    held: Untyped | None = None

    def __str__(self) -> str:
        """A sentence for the log."""
        kind, key = self.place
        return f"{self.verb.value} {kind.kind} {key}: {self.why}"


@dataclass(frozen=True, slots=True)
class Settled:
    """An object that was different although we had just applied it."""

    wanted: str
    held: str

    @classmethod
    def after(cls, wanted: Mapping[str, Any], held: Untyped) -> Settled:
        """What to remember of it."""
        return cls(_digest(wanted), _digest(_lasting(held)))


def plan(
    wanted: Sequence[Manifest],
    held: Mapping[Place, Untyped],
    switched_off: Collection[Place],
    settled: Mapping[Place, Settled],
) -> tuple[Step, ...]:
    """The steps, in the order of what is wanted; removals last."""
    found = [step for each in wanted if (step := step_for(each, held.get(_place(each)), settled)) is not None]
    for place, obj in held.items():
        if place in switched_off and not obj.metadata.deleting:
            found.append(Step(Verb.REMOVE, place, "it belongs to what has been switched off.", held=obj))
    return tuple(found)


def step_for(wanted: Manifest, held: Untyped | None, settled: Mapping[Place, Settled]) -> Step | None:
    """What must be done with one object, None if nothing."""
    place = _place(wanted)
    if held is None:
        return Step(Verb.APPLY, place, "it is missing.", wanted.content)
    content = with_kept(wanted, held)
    fixed = _FIXED.get(wanted.kind)
    if fixed is not None and not same(_at(content, fixed), _at(held.raw, fixed)):
        name = ".".join(fixed)
        return Step(Verb.REPLACE, place, f"{name} is another, and cannot be changed in place.", content, held)
    where = difference(content, held.raw)
    if where is None:
        return None
    if settled.get(place) == Settled.after(content, held):
        return None
    return Step(Verb.APPLY, place, f"{where} was changed.", content, held)


def difference(wanted: Any, held: Any, where: str = "") -> str | None:
    """The path of the first field that is wanted and held otherwise, None if there is none."""
    if isinstance(wanted, Mapping):
        if not isinstance(held, Mapping):
            return where or "all of it"
        for name, value in wanted.items():
            inner = f"{where}.{name}" if where else name
            if name not in held:
                return inner
            if (found := difference(value, held[name], inner)) is not None:
                return found
        return None
    if isinstance(wanted, list | tuple):
        return _list_difference(wanted, held, where)
    return None if same(wanted, held) else where


def _list_difference(wanted: Sequence[Any], held: Any, where: str) -> str | None:
    if not isinstance(held, list | tuple):
        return where
    if where.endswith(_SHARED):
        named = {each["name"]: each for each in held}
        for each in wanted:
            name = each["name"]
            if (found := difference(each, named.get(name), f"{where}[{name}]")) is not None:
                return found
        return None
    if len(wanted) != len(held):
        return where
    for number, (one, other) in enumerate(zip(wanted, held, strict=True)):
        if (found := difference(one, other, f"{where}[{number}]")) is not None:
            return found
    return None


def _place(manifest: Manifest) -> Place:
    return manifest.kind, manifest.key


def _at(content: Any, path: Sequence[str]) -> Any:
    for name in path:
        if not isinstance(content, Mapping):
            return None
        content = content.get(name)
    return content


def with_kept(wanted: Manifest, held: Untyped) -> Mapping[str, Any]:
    """What is wanted, with what is held in the field that is not ours any more."""
    if not wanted.kept:
        return wanted.content
    value = _at(held.raw, wanted.kept)
    return wanted.content if value is None else _replaced(wanted.content, wanted.kept, value)


def _replaced(content: Mapping[str, Any], path: Sequence[str], value: Any) -> Mapping[str, Any]:
    first, *rest = path
    return {**content, first: _replaced(content[first], rest, value) if rest else value}


def _lasting(held: Untyped) -> Mapping[str, Any]:
    """An object without what changes when nobody changes it."""
    content = {name: value for name, value in held.raw.items() if name != "status"}
    metadata = content.get("metadata") or {}
    content["metadata"] = {name: value for name, value in metadata.items() if name not in _VOLATILE}
    return content


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
