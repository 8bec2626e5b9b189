"""Strategies whose checks of an update come in an order of the kind's own.

The real server's kinds all check the same four things when an object changes, but each in its own order, and some leave
one out. The order shows in the answer, so every kind says its own. Two of the four repeat what the write path has found
in metadata already, because the real server's kinds do: a client that breaks such a rule is told so more than once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from nagaya.apiserver.builtins.kinds import core_metadata
from nagaya.apiserver.builtins.kinds.core_strategy import restore
from nagaya.apiserver.meta import object_meta
from nagaya.apiserver.meta.field_errors import OMITTED, Cause, FieldError, Where
from nagaya.apiserver.meta.object_meta import IMMUTABLE
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.strategy import Strategy

if TYPE_CHECKING:
    from nagaya.apiserver.builtins.kinds.core_goshape import Shape


class Step(Enum):
    """One of the things that are checked when an object changes."""

    METADATA_CHANGES = auto()
    CHANGES = auto()
    METADATA = auto()
    RULES = auto()


class OrderedStrategy(Strategy):
    """A kind with rules for its objects (`rules`) and for what may change in them (`changes`)."""

    namespaced: bool = False
    update_steps: tuple[Step, ...] = (Step.METADATA_CHANGES, Step.CHANGES, Step.METADATA, Step.RULES)
    # Whether finalizers without a domain are refused unless Kubernetes knows them; counted as often as the kind asks.
    finalizers_qualified: bool = True
    finalizers_checked = False
    # Whether the generation starts at one and counts the changes of the spec.
    counts_generations: bool = False
    # Whether the status is only written through its own endpoint, and what it is in a new object.
    status_apart: bool = False
    new_status: Mapping[str, Any] = {}

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """What is wrong with an object, apart from its metadata. `old` is what it was before an update."""
        return []

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """What an update must not do."""
        return []

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """The first generation, without a status."""
        if self.status_apart:
            obj["status"] = dict(self.new_status)
        if self.counts_generations:
            obj["metadata"]["generation"] = 1

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Keep the status, and count a change of the spec."""
        if self.status_apart:
            restore(new, old, "status")
        if self.counts_generations and new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def validate_create(self, obj: JsonObject, call: Call, found: Sequence[FieldError]) -> list[FieldError]:
        """The rules of the kind."""
        return self._finalizers(obj) + self.rules(obj, None)

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """All that the kind checks, in its order."""
        errors: list[FieldError] = []
        for step in self.update_steps:
            if step is Step.RULES:
                errors += self.rules(new, old)
            elif step is Step.CHANGES:
                errors += self.changes(new, old)
            else:
                if found:
                    errors += self._metadata(step, new, old)
                errors += self._finalizers(new)
        return errors

    def _metadata(self, step: Step, new: JsonObject, old: JsonObject) -> list[FieldError]:
        metadata = new["metadata"]
        if step is Step.METADATA_CHANGES:
            return object_meta.validate_update(metadata, old["metadata"])
        return object_meta.validate(
            metadata,
            namespaced=self.namespaced,
            name_check=self.name_check,
            generate_name_checked=self.generate_name_checked,
        )

    def _finalizers(self, obj: JsonObject) -> list[FieldError]:
        return core_metadata.finalizers(obj["metadata"]) if self.finalizers_qualified else []


STATUS_KEEPS: Final = ("labels", "annotations", "finalizers", "ownerReferences")


class OrderedStatusStrategy(OrderedStrategy):
    """Writes to `/status`: the spec stays as it is, and so does `kept` in metadata."""

    reset_fields: tuple[str, ...] = ("metadata", "spec")
    update_steps: tuple[Step, ...] = (Step.METADATA_CHANGES, Step.CHANGES)
    kept: tuple[str, ...] = STATUS_KEEPS

    def __init__(self, main: Strategy) -> None:
        self._main = main
        self.allow_unconditional_update = main.allow_unconditional_update

    def default(self, obj: JsonObject) -> None:
        """The same as for the whole object."""
        self._main.default(obj)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Keep all but the status."""
        restore(new, old, "spec")
        for member in self.kept:
            restore(new["metadata"], old["metadata"], member)


class LoneStatusStrategy(OrderedStatusStrategy):
    """Writes to `/status` that leave nothing but the status to the writer."""

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Keep all but the status and who manages it."""
        restore(new, old, "spec")
        managed = new["metadata"].get("managedFields")
        new["metadata"] = {**old["metadata"]}
        if managed:
            new["metadata"]["managedFields"] = managed
        else:
            new["metadata"].pop("managedFields", None)


def immutable(where: Where, new: Any, old: Any) -> list[FieldError]:
    """A value that must not change. A missing one is shown as Go shows an empty pointer."""
    if new == old:
        return []
    if new is None:
        return [FieldError(Cause.INVALID, str(where), OMITTED, f"null: {IMMUTABLE}")]
    return [FieldError(Cause.INVALID, str(where), new, IMMUTABLE)]


def immutable_shape(where: Where, kind: Shape, new: JsonObject | None, old: JsonObject | None) -> list[FieldError]:
    """A struct that must not change, shown as Go's internal type has it."""
    from nagaya.apiserver.builtins.kinds.core_goshape import invalid_shape

    if new == old:
        return []
    return immutable(where, None, old) if new is None else [invalid_shape(where, kind, new, IMMUTABLE)]
