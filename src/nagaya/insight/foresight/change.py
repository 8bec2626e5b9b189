"""What becomes of an object: made, changed field by field, left as it is, or refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from nagaya.api.untyped import Untyped
from nagaya.kube.patches import same

_NOT_COMPARED: Final = frozenset({"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"})
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_SECRET: Final = "(not shown)"  # noqa: S105 - what stands in place of one
_NAMES: Final = ("name", "type", "key", "key/name")
"""What entries of lists are told apart by."""
LONGEST: Final = 80


class Verb(StrEnum):
    """What would happen to an object."""

    CREATE = "create"
    CHANGE = "change"
    KEEP = "keep"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Field:
    """A field that gets another value; None is none."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """What would happen to one object."""

    verb: Verb
    kind: str
    namespace: str
    name: str
    source: str
    """The file that it is from."""
    fields: tuple[Field, ...] = ()
    refusal: str = ""
    """Why the server refuses it, with the field."""
    note: str = ""
    """What else is to be known."""

    @property
    def title(self) -> str:
        """How sentences name the object."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def differences(before: Untyped, after: Untyped) -> tuple[Field, ...]:
    """The fields in which two states of an object differ, by path. What is in a Secret is not shown."""
    hidden = before.kind == "Secret"
    found = []
    for part in sorted({*before.raw, *after.raw} - {"apiVersion", "kind", "status"}):
        for path, old, new in _compared(f".{part}", before.raw.get(part), after.raw.get(part)):
            secret = hidden and part in ("data", "stringData")
            found.append(Field(path, _shown(old, secret=secret), _shown(new, secret=secret)))
    return tuple(found)


def _compared(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    if same(old, new):
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        left_out = _NOT_COMPARED if path == ".metadata" else {_LAST_APPLIED}
        for name in sorted(({*old} | {*new}) - left_out):
            yield from _compared(_joined(path, name), old.get(name), new.get(name))
    elif isinstance(old, list) and isinstance(new, list) and (key := _key(old, new)):
        before, after = {each[key]: each for each in old}, {each[key]: each for each in new}
        for name in [*before, *(each for each in after if each not in before)]:
            yield from _compared(f"{path}[{key}={name}]", before.get(name), after.get(name))
    else:
        yield path, old, new


def _key(old: list[Any], new: list[Any]) -> str:
    """What tells the entries of both lists apart; empty if nothing does."""
    entries = [*old, *new]
    for key in _NAMES:
        if entries and all(isinstance(each, Mapping) and isinstance(each.get(key), str) for each in entries):
            unique = all(len({each[key] for each in one}) == len(one) for one in (old, new))
            if unique:
                return key
    return ""


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if name.replace("-", "").replace("_", "").isalnum() else f"{path}[{name}]"


def _shown(value: Any, *, secret: bool) -> str | None:
    if value is None:
        return None
    if secret:
        return _SECRET
    text = value if isinstance(value, str) else _plain(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_plain(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_plain, value)) + "]"
    return str(value)
