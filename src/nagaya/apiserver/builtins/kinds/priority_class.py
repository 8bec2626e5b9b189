"""Priority classes: which pods matter more than others.

Classes whose names begin with `system-` are Kubernetes' own: there are two, and they stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStrategy, Step, immutable
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.field_errors import FieldError, forbidden, not_supported, required
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

if TYPE_CHECKING:
    from nagaya.apiserver.web.options import DeleteOptions

HIGHEST_USER_PRIORITY: Final = 1_000_000_000
SYSTEM_CLASSES: Final[Mapping[str, int]] = {
    "system-node-critical": 2 * HIGHEST_USER_PRIORITY + 1000,
    "system-cluster-critical": 2 * HIGHEST_USER_PRIORITY,
}
"""Kubernetes' own classes and their values."""

_SYSTEM_PREFIX: Final = "system-"
_POLICIES: Final = ("PreemptLowerPriority", "Never")


class PriorityClassStrategy(OrderedStrategy):
    """PriorityClass."""

    update_steps = (Step.METADATA_CHANGES, Step.CHANGES)

    def default(self, obj: JsonObject) -> None:
        """Pods of the class may take the place of others."""
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """The first generation; there will be no other."""
        obj["metadata"]["generation"] = 1

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """What the class means stays."""
        errors = [forbidden("value", "may not be changed in an update.")] if new["value"] != old["value"] else []
        return errors + immutable("preemptionPolicy", new["preemptionPolicy"], old["preemptionPolicy"])

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """A value below Kubernetes' own, and a known policy."""
        name = obj["metadata"].get("name") or ""
        errors: list[FieldError] = []
        if name.startswith(_SYSTEM_PREFIX):
            if problem := _system_problem(name, obj):
                detail = f"priority class names with '{_SYSTEM_PREFIX}' prefix are reserved for system use only."
                errors.append(forbidden("metadata.name", f"{detail} error: {problem}"))
        elif obj["value"] > HIGHEST_USER_PRIORITY:
            detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
            errors.append(forbidden("value", detail))
        policy = obj["preemptionPolicy"]
        if not policy:
            errors.append(required("preemptionPolicy"))
        elif policy not in _POLICIES:
            errors.append(not_supported("preemptionPolicy", policy, _POLICIES))
        return errors

    def mark_deleted(self, obj: JsonObject, options: DeleteOptions, now: str) -> bool:
        """Kubernetes' own classes cannot be deleted. Raises 403."""
        name = obj["metadata"]["name"]
        if name in SYSTEM_CLASSES:
            resource = GroupResource("scheduling.k8s.io", "priorityclasses")
            raise status.forbidden(resource, name, "this is a system priority class and cannot be deleted")
        return False


def _system_problem(name: str, obj: JsonObject) -> str:
    value = SYSTEM_CLASSES.get(name)
    if value is None:
        return f"{name} is not a known system priority class"
    if obj["value"] != value:
        return f"value of {name} PriorityClass must be {value}"
    return f"globalDefault of {name} PriorityClass must be false" if obj.get("globalDefault") else ""
