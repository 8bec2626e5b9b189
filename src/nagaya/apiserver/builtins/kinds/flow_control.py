"""The kinds of the group `flowcontrol.apiserver.k8s.io`: which requests share what part of the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.ordered_strategy import LoneStatusStrategy, OrderedStrategy, Step
from nagaya.apiserver.meta.field_errors import FieldError, Path, duplicate, required
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject

GROUP: Final = "flowcontrol.apiserver.k8s.io"
_CONDITIONS: Final = Path("status").child("conditions")


class _FlowControlStrategy(OrderedStrategy):
    """What both kinds have in common."""

    counts_generations = True
    status_apart = True
    reset_fields = ("status",)
    update_steps = (Step.METADATA, Step.RULES)


class FlowSchemaStrategy(_FlowControlStrategy):
    """FlowSchema."""

    def default(self, obj: JsonObject) -> None:
        """A schema comes neither early nor late."""
        obj["spec"]["matchingPrecedence"] = obj["spec"].get("matchingPrecedence") or 1000

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Which requests, and where they belong."""
        from nagaya.apiserver.builtins.kinds import flow_control_schema

        name = obj["metadata"].get("name") or ""
        return flow_control_schema.errors(name, obj["spec"]) + condition_errors(obj["status"])


class PriorityLevelStrategy(_FlowControlStrategy):
    """PriorityLevelConfiguration."""

    def default(self, obj: JsonObject) -> None:
        """Shares and queues."""
        spec = obj["spec"]
        if (exempt := spec.get("exempt")) is not None:
            exempt.setdefault("nominalConcurrencyShares", 0)
            exempt.setdefault("lendablePercent", 0)
        limited = spec.get("limited")
        if limited is None:
            return
        if limited.get("nominalConcurrencyShares") is None:
            limited["nominalConcurrencyShares"] = 30
        limited.setdefault("lendablePercent", 0)
        queuing = limited["limitResponse"].get("queuing")
        if queuing is not None:
            for member, usual in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
                queuing[member] = queuing.get(member) or usual

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """How much of the server, and what happens to requests beyond that."""
        from nagaya.apiserver.builtins.kinds import flow_control_level

        return flow_control_level.errors(obj["metadata"], obj["spec"]) + condition_errors(obj["status"])


class _FlowControlStatusStrategy(LoneStatusStrategy):
    """Writes to the status of either kind."""

    update_steps = (Step.CHANGES,)

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """The conditions."""
        return condition_errors(new["status"])


def condition_errors(status: JsonObject) -> list[FieldError]:
    """What is wrong with conditions: each has a type, and no type is there twice."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, condition in enumerate(status.get("conditions") or ()):
        kind = condition.get("type") or ""
        where = _CONDITIONS.index(position).child("type")
        if kind in seen:
            errors.append(duplicate(where, kind))
        if not kind:
            errors.append(required(where))
        seen.add(kind)
    return errors


_SCHEMA: Final = FlowSchemaStrategy()
_LEVEL: Final = PriorityLevelStrategy()

KINDS: Final[Mapping[GroupResource, Kind]] = {
    GroupResource(GROUP, "flowschemas"): Kind(_SCHEMA, {"status": _FlowControlStatusStrategy(_SCHEMA)}),
    GroupResource(GROUP, "prioritylevelconfigurations"): Kind(_LEVEL, {"status": _FlowControlStatusStrategy(_LEVEL)}),
}
