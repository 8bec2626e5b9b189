"""CustomResourceDefinitions in the write path. What makes one valid is told in the room `crd`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.builtins.kinds.kind import Kind, StatusStrategy
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, invalid
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.strategy import Strategy

if TYPE_CHECKING:
    from nagaya.apiserver.web.options import DeleteOptions

FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"


def _become(obj: JsonObject, made: JsonObject) -> None:
    obj.clear()
    obj.update(made)


class DefinitionStrategy(Strategy):
    """The main endpoint."""

    allow_unconditional_update = False
    name_check = staticmethod(names.path_segment)
    # The definition's own finalizer has no path, which the general rule for built-in kinds would refuse.
    finalizers_checked = False
    reset_fields = ("status",)

    def default(self, obj: JsonObject) -> None:
        """Names that follow from the kind, and no conversion."""
        from nagaya.apiserver.crd import preparation

        _become(obj, preparation.default(obj))

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """Nothing is accepted yet."""
        from nagaya.apiserver.crd import preparation

        _become(obj, preparation.prepare_create(obj))

    def validate_create(self, obj: JsonObject, call: Call, found: Sequence[FieldError]) -> list[FieldError]:
        """Names, versions, schemas and their rules."""
        from nagaya.apiserver.cel.crd_rules import compile_rules
        from nagaya.apiserver.crd import definition

        name = obj["metadata"].get("name") or ""
        errors = [invalid("metadata.name", name, problem) for problem in definition.name_problems(name, obj)]
        return errors + definition.validate(obj, compile_rules)

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """Formats that mean nothing."""
        from nagaya.apiserver.crd import preparation

        return preparation.format_warnings(obj)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """The status stays; a new storage version is noted in it."""
        from nagaya.apiserver.crd import preparation

        _become(new, preparation.prepare_update(new, old))

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The same rules, and what must not change."""
        from nagaya.apiserver.cel.crd_rules import compile_rules
        from nagaya.apiserver.crd import definition

        return definition.validate_update(new, old, compile_rules)

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """Formats that mean nothing, if they are new."""
        from nagaya.apiserver.crd import preparation

        return preparation.format_warnings(new, old)

    def mark_deleted(self, obj: JsonObject, options: DeleteOptions, now: str) -> bool:
        """A definition goes after its objects: it is marked, and a finalizer keeps it until then."""
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp"):
            return False
        metadata["deletionTimestamp"] = now
        if FINALIZER not in (metadata.get("finalizers") or ()):
            metadata["finalizers"] = [*(metadata.get("finalizers") or ()), FINALIZER]
        status = obj["status"] = {**(obj.get("status") or {})}
        message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        condition = {
            "type": "Terminating",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "InstanceDeletionPending",
            "message": message,
        }
        kept = [each for each in status.get("conditions") or () if each["type"] != "Terminating"]
        status["conditions"] = [*kept, condition]
        return True


class DefinitionStatusStrategy(StatusStrategy):
    """The status endpoint."""

    finalizers_checked = False
    reset_fields = ("spec",)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Everything but the status stays; of the metadata, what managers and versions say is the writer's."""
        new["spec"] = old.get("spec") or {}
        metadata = {**old["metadata"]}
        for member in ("managedFields", "resourceVersion", "finalizers"):
            if new["metadata"].get(member):
                metadata[member] = new["metadata"][member]
            else:
                metadata.pop(member, None)
        new["metadata"] = metadata

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """What the status says of stored versions."""
        from nagaya.apiserver.crd import definition

        return definition.validate_status_update(new)


_MAIN: Final = DefinitionStrategy()
KINDS: Final[Mapping[GroupResource, Kind]] = {
    GroupResource("apiextensions.k8s.io", "customresourcedefinitions"): Kind(
        _MAIN, {"status": DefinitionStatusStrategy(_MAIN)}
    )
}
