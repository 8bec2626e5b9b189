"""How objects of a CustomResourceDefinition behave in the write path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nagaya.apiserver.crd.resource import CustomResource
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError
from nagaya.apiserver.meta.object_meta import finalizer_warnings
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.strategy import Strategy


class CustomStrategy(Strategy):
    """The main endpoint of a custom resource."""

    finalizers_checked = False
    allow_unconditional_update = False
    name_check = staticmethod(names.name_is_subdomain)

    def __init__(self, version: CustomResource) -> None:
        self._version = version
        self.selectable_fields = version.selectable.names
        self.reset_fields = ("status",) if version.has_status else ()

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """Creators have no say in the status, if that has an endpoint of its own."""
        if self._version.has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def validate_create(self, obj: JsonObject, call: Call, found: Sequence[FieldError]) -> list[FieldError]:
        """The schema's rules."""
        return self._version.validator.validate(obj, found)[len(found) :]

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """Finalizers that may clash with someone else's."""
        return finalizer_warnings(obj["metadata"].get("finalizers") or ())

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Restore the status and count the generation when anything else but metadata changed."""
        if self._version.has_status:
            _restore(new, old, "status")
        ignored = {"metadata", "status"} if self._version.has_status else {"metadata"}
        if _differs(new, old, ignored):
            new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The schema's rules, but not for what the update leaves alone."""
        warnings: list[str] = []
        errors = self._version.validator.validate_update(new, old, found, warnings)[len(found) :]
        for each in warnings:
            call.warn(each)
        return errors

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """Finalizers that may clash with someone else's, if they are new."""
        before = set(old["metadata"].get("finalizers") or ())
        added = [each for each in new["metadata"].get("finalizers") or () if each not in before]
        return finalizer_warnings(added)

    def select(self, obj: JsonObject) -> Mapping[str, str]:
        """The values of the definition's selectable fields."""
        return self._version.selectable.values(obj)

    def field_label(self, label: str) -> str:
        """Names, and what the definition lists."""
        if label in ("metadata.name", "metadata.namespace") or label in self.selectable_fields:
            return label
        raise ValueError(f"field label not supported: {label}")


class CustomStatusStrategy(Strategy):
    """The status endpoint of a custom resource."""

    finalizers_checked = False
    allow_unconditional_update = False
    reset_fields = ("metadata", "spec")

    def __init__(self, version: CustomResource) -> None:
        self._version = version

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Restore everything but the status; of the metadata only the managed fields are the writer's."""
        status: Any = new.get("status")
        has_status = "status" in new
        managers = new["metadata"].get("managedFields")
        version = new["metadata"].get("resourceVersion")
        new.clear()
        new.update(old)
        new["metadata"] = {**old["metadata"]}
        for member, value in (("managedFields", managers), ("resourceVersion", version)):
            if value:
                new["metadata"][member] = value
            else:
                new["metadata"].pop(member, None)
        if has_status:
            new["status"] = status
        else:
            new.pop("status", None)

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The schema's rules for the status."""
        warnings: list[str] = []
        errors = self._version.validator.validate_status_update(new, old, found, warnings)[len(found) :]
        for each in warnings:
            call.warn(each)
        return errors


def _restore(new: JsonObject, old: JsonObject, member: str) -> None:
    if member in old:
        new[member] = old[member]
    else:
        new.pop(member, None)


def _differs(new: JsonObject, old: JsonObject, ignored: set[str]) -> bool:
    return {k: v for k, v in new.items() if k not in ignored} != {k: v for k, v in old.items() if k not in ignored}
