"""Runtime classes: how containers are run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStrategy, Step, immutable
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, required
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.object_meta import validate_labels
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

_SCHEDULING: Final = Path("scheduling")
_SAME_TOLERATION: Final = ("key", "operator", "value", "effect")


class RuntimeClassStrategy(OrderedStrategy):
    """RuntimeClass."""

    allow_create_on_update = True
    allow_unconditional_update = False
    finalizers_qualified = False
    update_steps = (Step.METADATA, Step.RULES, Step.METADATA_CHANGES, Step.CHANGES)

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """The handler stays."""
        return immutable("handler", new["handler"], old["handler"])

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """A handler, what a pod costs beyond its containers, and where it may run."""
        handler, overhead, scheduling = obj["handler"], obj.get("overhead"), obj.get("scheduling")
        errors = [invalid("handler", handler, problem) for problem in names.dns_label(handler)]
        if not handler:
            errors = [required("handler")]
        if overhead:
            from nagaya.apiserver.builtins.kinds import pod_resources

            requirements = {"limits": overhead.get("podFixed")}
            errors += pod_resources.validate_requirements(requirements, Path("overhead"))
        return errors + _scheduling_errors(scheduling) if scheduling else errors

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """Labels of nodes that have a newer name."""
        selector = (obj.get("scheduling") or {}).get("nodeSelector")
        if not selector:
            return []
        from nagaya.apiserver.builtins.kinds.persistent_volume_warnings import DEPRECATED_NODE_LABELS

        return [
            f"scheduling.nodeSelector: {DEPRECATED_NODE_LABELS[label]}"
            for label in selector
            if label in DEPRECATED_NODE_LABELS
        ]

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same."""
        return self.warn_create(new, call)


def _scheduling_errors(scheduling: JsonObject) -> list[FieldError]:
    from nagaya.apiserver.builtins.kinds import pod_rules, pod_scheduling
    from nagaya.apiserver.builtins.kinds.core_goshape import duplicate_shape, shape

    errors = validate_labels(scheduling.get("nodeSelector") or {}, _SCHEDULING.child("nodeSelector"))
    tolerations: list[JsonObject] = scheduling.get("tolerations") or []
    where = _SCHEDULING.child("tolerations")
    errors += pod_scheduling.validate_tolerations(tolerations, where, pod_rules.NEW_TEMPLATE)
    seen: set[tuple[str, ...]] = set()
    for position, toleration in enumerate(tolerations):
        key = tuple(toleration.get(member) or "" for member in _SAME_TOLERATION)
        if key in seen:
            kind = shape(
                "Key=key:s Operator=operator:s Value=value:s Effect=effect:s TolerationSeconds=tolerationSeconds:p"
            )
            errors.append(duplicate_shape(where.index(position), kind, toleration))
        seen.add(key)
    return errors


KINDS: Final[Mapping[GroupResource, Kind]] = {
    GroupResource("node.k8s.io", "runtimeclasses"): Kind(RuntimeClassStrategy()),
}
