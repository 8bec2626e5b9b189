"""What the kinds of the core group have in common.

A kind's own rules live in `rules`, which sees the object and, on an update, the one before. Most kinds check an update
in the same order: what metadata may change, what the kind forbids to change (`changes`), then everything that holds for
a new object too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nagaya.apiserver.builtins.kinds import core_metadata
from nagaya.apiserver.meta.field_errors import FieldError, Where, invalid
from nagaya.apiserver.meta.object_meta import IMMUTABLE
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.strategy import Strategy


class CoreStrategy(Strategy):
    """A kind of the core group."""

    namespaced: bool = True
    finalizers_checked = False  # they are, as often as the real server does
    # What a field selector may name, and the name under which it is matched. Empty: the general rule.
    field_labels: Mapping[str, str] = {}

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """What is wrong with an object, apart from its metadata."""
        return []

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """What an update must not do."""
        return []

    def validate_create(self, obj: JsonObject, call: Call, found: Sequence[FieldError]) -> list[FieldError]:
        """The rules of the kind."""
        return core_metadata.finalizers(obj["metadata"]) + self.rules(obj, None)

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The rules for changes, then those for the whole object."""
        return [
            *core_metadata.updated(new["metadata"], old["metadata"], found),
            *self.changes(new, old),
            *self.complete(new, found),
            *self.rules(new, old),
        ]

    def complete(self, new: JsonObject, found: Sequence[FieldError]) -> list[FieldError]:
        """The rules for metadata that hold for a new object, once more on an update."""
        return core_metadata.complete(new["metadata"], found, namespaced=self.namespaced, name_check=self.name_check)

    def field_label(self, label: str) -> str:
        """The name under which a field selector's label is matched."""
        if not self.field_labels:
            return super().field_label(label)
        matched = self.field_labels.get(label)
        if matched is None:
            raise ValueError(f"field label not supported: {label}")
        return matched


class CoreStatusStrategy(CoreStrategy):
    """Writes to `/status`: the spec stays as it is. Metadata may change, unlike in newer kinds."""

    reset_fields: tuple[str, ...] = ("spec",)

    def __init__(self, main: Strategy) -> None:
        self._main = main
        self.allow_unconditional_update = main.allow_unconditional_update

    def default(self, obj: JsonObject) -> None:
        """The same as for the whole object."""
        self._main.default(obj)

    def canonicalize(self, obj: JsonObject) -> None:
        """The same as for the whole object."""
        self._main.canonicalize(obj)

    def delete_during_update(self, new: JsonObject, old: JsonObject) -> bool:
        """The same as for the whole object."""
        return self._main.delete_during_update(new, old)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Keep the spec."""
        restore(new, old, "spec")

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The rules for metadata, then those for the status."""
        return [*core_metadata.updated(new["metadata"], old["metadata"], found), *self.changes(new, old)]


def restore(new: JsonObject, old: JsonObject, member: str) -> None:
    """Let a member be what it was before."""
    if member in old:
        new[member] = old[member]
    else:
        new.pop(member, None)


def immutable(where: Where, new: Any, old: Any) -> list[FieldError]:
    """A value that must not change."""
    return [] if new == old else [invalid(where, new, IMMUTABLE)]
