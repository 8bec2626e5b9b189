"""Nodes: the machines. Unlike most kinds a node may be created with a status, because kubelets register themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nagaya.apiserver.builtins.kinds import core_metadata, core_resources
from nagaya.apiserver.builtins.kinds.core_strategy import CoreStatusStrategy, CoreStrategy
from nagaya.apiserver.meta import addresses
from nagaya.apiserver.meta.field_errors import FieldError, Path
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call


class NodeStrategy(CoreStrategy):
    """Node."""

    namespaced = False
    reset_fields = ("status",)
    selectable_fields = frozenset({"spec.unschedulable"})
    field_labels: Mapping[str, str] = {each: each for each in ("metadata.name", "spec.unschedulable")}

    def default(self, obj: JsonObject) -> None:
        """What can be used is what is there, and the two ways to write the pod networks say the same."""
        status = obj["status"]
        core_resources.round_up(status.get("capacity"))
        core_resources.round_up(status.get("allocatable"))
        if status.get("capacity") and not status.get("allocatable"):
            status["allocatable"] = dict(status["capacity"])
        spec = obj["spec"]
        first, networks = spec.get("podCIDR"), spec.get("podCIDRs")
        if first and (not networks or networks[0] != first):
            spec["podCIDRs"] = [first]
        elif networks:
            spec["podCIDR"] = networks[0]

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """Kubelets are no longer configured through their node."""
        obj["spec"].pop("configSource", None)
        obj["status"].pop("config", None)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """The status changes elsewhere."""
        new["status"] = old["status"]
        if old["spec"].get("configSource") is None:
            new["spec"].pop("configSource", None)

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Taints, amounts and networks."""
        from nagaya.apiserver.builtins.kinds import node_validation

        return node_validation.rules(obj)

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The rules for the whole object, then those for changes."""
        return [*self.complete(new, found), *self.rules(new, old), *change_errors(new, old, found)]

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """Fields without effect, and networks in odd forms."""
        return _warnings(obj["spec"])

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same."""
        return _warnings(new["spec"])

    def select(self, obj: JsonObject) -> Mapping[str, str]:
        """Whether pods may be put there."""
        return {"spec.unschedulable": "true" if obj["spec"].get("unschedulable") else "false"}


class NodeStatusStrategy(CoreStatusStrategy):
    """`/status` of a node."""

    namespaced = False

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Keep the spec."""
        super().prepare_update(new, old, call)
        if old["status"].get("config") is None:
            new["status"].pop("config", None)

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The rules for changes."""
        return change_errors(new, old, found)


def change_errors(new: JsonObject, old: JsonObject, found: Sequence[FieldError]) -> list[FieldError]:
    """What a change to a node or its status must not do."""
    from nagaya.apiserver.builtins.kinds import node_validation

    return core_metadata.updated(new["metadata"], old["metadata"], found) + node_validation.changes(new, old)


def _warnings(spec: JsonObject) -> list[str]:
    warnings = []
    if spec.get("configSource") is not None:
        warnings.append("spec.configSource: the feature is removed")
    if spec.get("externalID"):
        warnings.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    where = Path("spec.podCIDRs")
    for position, network in enumerate(spec.get("podCIDRs") or ()):
        warnings += addresses.network_warnings(where.index(position), network)
    return warnings
