"""Pods name a priority class; the number that goes with it is looked up once, when the pod is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.storage import Store

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

_TABLE: Final = "scheduling.k8s.io/priorityclasses"


class Priority(Plugin):
    """Gives pods their priority, and keeps the default class unique."""

    resources = frozenset({"pods", "priorityclasses.scheduling.k8s.io"})

    def __init__(self, store: Store) -> None:
        self._store = store

    async def mutate(self, write: Attributes) -> None:
        """Set a new pod's priority; an updated one keeps its own."""
        if write.subresource or write.object is None or write.resource.gvr.resource != "pods":
            return
        spec = write.object["spec"]
        if write.operation == "UPDATE":
            before = (write.old or {}).get("spec") or {}
            kept = {
                member: before[member]
                for member in ("priority", "preemptionPolicy")
                if spec.get(member) is None and before.get(member) is not None
            }
            if kept:
                write.object = {**write.object, "spec": {**spec, **kept}}
        elif write.operation == "CREATE":
            self._prioritise(write, spec)

    def _prioritise(self, write: Attributes, spec: JsonObject) -> None:
        name = spec.get("priorityClassName") or ""
        found = self._named(write, name) if name else self._default()
        value = (found or {}).get("value") or 0
        if found is not None:
            spec["priorityClassName"] = found["metadata"]["name"]
        given = spec.get("priority")
        computed = "priority admission controller computed"
        if given is not None and given != value:
            raise write.forbidden(
                f"the integer value of priority ({given}) must not be provided in pod spec; {computed} {value} from "
                "the given PriorityClass name"
            )
        spec["priority"] = value
        policy = "PreemptLowerPriority" if found is None else found.get("preemptionPolicy")
        if policy is None:
            return
        given = spec.get("preemptionPolicy")
        if given is not None and given != policy:
            raise write.forbidden(
                f"the string value of PreemptionPolicy ({given}) must not be provided in pod spec; {computed} {policy} "
                "from the given PriorityClass name"
            )
        spec["preemptionPolicy"] = policy

    def _named(self, write: Attributes, name: str) -> JsonObject:
        record = self._store.get(_TABLE, name)
        if record is None:
            raise write.forbidden(f"no PriorityClass with name {name} was found")
        return record.object()

    def _default(self) -> JsonObject | None:
        """The default class, the lowest if there is more than one."""
        records = self._store.list(_TABLE).records
        found = [each.object() for each in records if b'"globalDefault":true' in each.value]
        return min(found, key=lambda each: each.get("value") or 0, default=None)

    async def validate(self, write: Attributes) -> None:
        """Refuse a second default class."""
        if write.subresource or write.object is None or write.resource.gvr.resource != "priorityclasses":
            return
        if write.operation not in ("CREATE", "UPDATE") or not write.object.get("globalDefault"):
            return
        present = self._default()
        if present is None:
            return
        name = present["metadata"]["name"]
        if write.operation == "CREATE" or name != write.object["metadata"].get("name"):
            raise write.forbidden(f"PriorityClass {name} is already marked as default. Only one default can exist")
