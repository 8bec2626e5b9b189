"""Namespaces: rooms for other objects, which are emptied before they go.

A namespace has finalizers of two kinds. Those in `spec` say that it still may hold objects; whoever empties it takes
them off through `/finalize`. Deleting a namespace only marks it; it is gone when both lists are empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.builtins.kinds import core_metadata
from nagaya.apiserver.builtins.kinds.core_strategy import CoreStatusStrategy, CoreStrategy, restore
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid
from nagaya.apiserver.meta.object_meta import FOREGROUND, ORPHAN
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

if TYPE_CHECKING:
    from nagaya.apiserver.web.options import DeleteOptions

NAME_LABEL: Final = "kubernetes.io/metadata.name"
ACTIVE: Final = "Active"
TERMINATING: Final = "Terminating"
_FINALIZERS: Final = Path("spec.finalizers")


class NamespaceStrategy(CoreStrategy):
    """Namespace."""

    store_checks_preconditions = True
    namespaced = False
    name_check = staticmethod(names.name_is_label)
    returns_deleted = True
    reset_fields = ("status",)
    selectable_fields = frozenset({"status.phase"})
    field_labels: Mapping[str, str] = {"metadata.name": "metadata.name", "status.phase": "status.phase"}

    def default(self, obj: JsonObject) -> None:
        """Every namespace is active and labelled with its name."""
        if obj["metadata"].get("name"):
            _label(obj)
        if not obj["status"].get("phase"):
            obj["status"]["phase"] = ACTIVE

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """A new namespace is active, and has to be emptied before it goes."""
        obj["status"] = {"phase": ACTIVE}
        spec = obj["spec"]
        given = spec.get("finalizers") or []
        if core_metadata.KUBERNETES not in given:
            spec["finalizers"] = [*given, core_metadata.KUBERNETES]

    def canonicalize(self, obj: JsonObject) -> None:
        """The label again: a generated name was not known before."""
        _label(obj)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Finalizers and status change elsewhere."""
        restore(new["spec"], old["spec"], "finalizers")
        new["status"] = old["status"]

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Finalizers are qualified names."""
        return [error for name in obj["spec"].get("finalizers") or () for error in _finalizer_errors(name, _FINALIZERS)]

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The rules for the whole object, then those for changes."""
        errors = self.complete(new, found) + self.rules(new, old)
        return errors + core_metadata.updated(new["metadata"], old["metadata"], found)

    def mark_deleted(self, obj: JsonObject, options: DeleteOptions, now: str) -> bool:
        """Begin the end of a namespace; the last step is the general one."""
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp"):
            return bool(obj["spec"].get("finalizers"))
        metadata["deletionTimestamp"] = now
        obj["status"] = {**obj["status"], "phase": TERMINATING}
        present: list[str] = metadata.get("finalizers") or []
        wanted = [each for each in (ORPHAN, FOREGROUND) if _is_wanted(each, present, options)]
        if set(wanted) != {each for each in present if each in (ORPHAN, FOREGROUND)}:
            metadata["finalizers"] = [each for each in present if each not in (ORPHAN, FOREGROUND)] + wanted
            if not metadata["finalizers"]:
                del metadata["finalizers"]
        return True

    def delete_during_update(self, new: JsonObject, old: JsonObject) -> bool:
        """Not before it is empty."""
        return not new["spec"].get("finalizers")

    def select(self, obj: JsonObject) -> Mapping[str, str]:
        """The phase."""
        return {"status.phase": obj["status"].get("phase") or ""}


class NamespaceStatusStrategy(CoreStatusStrategy):
    """`/status` of a namespace."""

    namespaced = False

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """The phase says whether the namespace is being deleted."""
        deleting = new["metadata"].get("deletionTimestamp") is not None
        phase = new["status"].get("phase") or ""
        if phase == (TERMINATING if deleting else ACTIVE):
            return []
        due = (
            "'Terminating' if `deletionTimestamp` is not empty"
            if deleting
            else "'Active' if `deletionTimestamp` is empty"
        )
        return [invalid("status.Phase", phase, f"may only be {due}")]


class NamespaceFinalizeStrategy(CoreStatusStrategy):
    """`/finalize` of a namespace: takes finalizers off its spec."""

    namespaced = False
    reset_fields = ("status",)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """The status changes elsewhere."""
        new["status"] = old["status"]

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """Finalizers are qualified names."""
        return [
            error
            for position, name in enumerate(new["spec"].get("finalizers") or ())
            for error in _finalizer_errors(name, _FINALIZERS.index(position))
        ]


def _label(namespace: JsonObject) -> None:
    metadata = namespace["metadata"]
    labels, name = metadata.get("labels") or {}, metadata.get("name") or ""
    if labels.get(NAME_LABEL) != name:
        metadata["labels"] = {**labels, NAME_LABEL: name}


def _finalizer_errors(name: str, where: Path) -> list[FieldError]:
    errors = [invalid(where, name, problem) for problem in names.qualified_name(name)]
    return errors + core_metadata.finalizer_name(name, where)


def _is_wanted(finalizer: str, present: Sequence[str], options: DeleteOptions) -> bool:
    """Whether a finalizer for the dependents is due: an explicit wish beats what is there."""
    if options.orphan_dependents is not None:
        return options.orphan_dependents == (finalizer == ORPHAN)
    if options.propagation is not None:
        return options.propagation == ("Orphan" if finalizer == ORPHAN else "Foreground")
    return finalizer in present
