"""Pods that name a runtime class get its overhead, and run only where the runtime is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.admission.pods import PODS, amounts, created
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.storage import Store

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes


class RuntimeClasses(Plugin):
    """Applies runtime classes to pods."""

    resources = PODS

    def __init__(self, store: Store) -> None:
        self._store = store

    async def mutate(self, write: Attributes) -> None:
        """Set overhead, node selector and tolerations."""
        pod = created(write)
        if pod is None or pod["spec"].get("runtimeClassName") is None:
            return
        spec, found = pod["spec"], self._class(write, pod)
        overhead = found.get("overhead")
        if overhead is not None:
            fixed = overhead.get("podFixed") or {}
            if spec.get("overhead") and amounts(fixed) != amounts(spec["overhead"]):
                raise write.forbidden("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
            if fixed:
                spec["overhead"] = fixed
        if found.get("scheduling") is not None:
            _schedule(write, spec, found["scheduling"])

    async def validate(self, write: Attributes) -> None:
        """Overhead comes from runtime classes alone."""
        pod = created(write)
        if pod is None:
            return
        spec = pod["spec"]
        found = self._class(write, pod) if spec.get("runtimeClassName") is not None else {}
        overhead = found.get("overhead")
        if overhead is not None:
            if amounts(overhead.get("podFixed")) != amounts(spec.get("overhead")):
                raise write.forbidden("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        elif spec.get("overhead") is not None:
            why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            raise write.forbidden(why)

    def _class(self, write: Attributes, pod: JsonObject) -> JsonObject:
        name = pod["spec"]["runtimeClassName"]
        record = self._store.get("node.k8s.io/runtimeclasses", name)
        if record is None:
            raise write.forbidden(f"pod rejected: RuntimeClass {gostring.quote(name)} not found")
        return record.object()


def _schedule(write: Attributes, spec: JsonObject, scheduling: JsonObject) -> None:
    wanted, own = scheduling.get("nodeSelector") or {}, spec.get("nodeSelector") or {}
    for key, value in wanted.items():
        if own.get(key, value) != value:
            raise write.forbidden(
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {own[key]}"
            )
    if wanted:
        spec["nodeSelector"] = {**own, **wanted}
    present: list[Any] = spec.get("tolerations") or []
    missing = [each for each in scheduling.get("tolerations") or () if each not in present]
    if missing:
        spec["tolerations"] = [*present, *missing]
