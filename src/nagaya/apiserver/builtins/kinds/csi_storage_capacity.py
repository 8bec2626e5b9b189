"""CSI storage capacities: how much a class of storage has left in a part of the cluster."""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStrategy, Step, immutable
from nagaya.apiserver.meta import govalue, names, quantity
from nagaya.apiserver.meta.field_errors import OMITTED, Cause, FieldError, Path, invalid
from nagaya.apiserver.meta.object_meta import IMMUTABLE
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.selectors import label_selector


class CSIStorageCapacityStrategy(OrderedStrategy):
    """CSIStorageCapacity."""

    namespaced = True
    allow_unconditional_update = False
    update_steps = (Step.METADATA, Step.RULES, Step.METADATA_CHANGES, Step.CHANGES)

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """What the capacity is of stays."""
        topology = new.get("nodeTopology")
        errors: list[FieldError] = []
        if topology != old.get("nodeTopology"):
            shown = govalue.struct_json(_ordered(topology))
            errors.append(FieldError(Cause.INVALID, "nodeTopology", OMITTED, f"{shown}: {IMMUTABLE}"))
        return errors + immutable("storageClassName", new["storageClassName"], old["storageClassName"])

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """A class, and a capacity that is not negative."""
        where = Path("nodeTopology")
        lenient = old is not None and bool(label_selector.validate(old.get("nodeTopology"), where))
        errors = label_selector.validate(obj.get("nodeTopology"), where, invalid_values_allowed=lenient)
        name, capacity = obj["storageClassName"], obj.get("capacity")
        errors += [invalid("storageClassName", name, problem) for problem in names.name_is_subdomain(name)]
        if capacity is not None and quantity.parse(capacity).sign < 0:
            errors.append(invalid("capacity", capacity, "must be greater than or equal to 0"))
        return errors

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """Labels of nodes that have a newer name."""
        selector = obj.get("nodeTopology")
        if not selector:
            return []
        from nagaya.apiserver.builtins.kinds.persistent_volume_warnings import DEPRECATED_NODE_LABELS as RENAMED

        keys = [expression.get("key") or "" for expression in selector.get("matchExpressions") or ()]
        labels = selector.get("matchLabels") or {}
        return [
            f"nodeTopology.matchExpressions[{position}].key: {key} is {RENAMED[key]}"
            for position, key in enumerate(keys)
            if key in RENAMED
        ] + [f"nodeTopology.matchLabels.{label}: {RENAMED[label]}" for label in labels if label in RENAMED]

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same."""
        return self.warn_create(new, call)


def _ordered(selector: JsonObject | None) -> Any:
    """A selector with its members in the order in which Go writes them."""
    if selector is None:
        return None
    ordered: JsonObject = {}
    if labels := selector.get("matchLabels"):
        ordered["matchLabels"] = {key: labels[key] for key in sorted(labels)}
    if expressions := selector.get("matchExpressions"):
        ordered["matchExpressions"] = [
            {member: each[member] for member in ("key", "operator", "values") if member in each} for each in expressions
        ]
    return ordered
