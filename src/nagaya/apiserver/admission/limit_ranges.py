"""LimitRanges: what containers get if they do not say, and between what bounds they, pods and claims must stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.admission.pods import Amounts, amounts, containers, total
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.quantity import Quantity
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.storage import Store

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

_ANNOTATION: Final = "kubernetes.io/limit-ranger"
_MILLI_LIMIT: Final = (2**63 - 1) // 1000
_NOTHING: Final = Quantity(0)


class LimitRanges(Plugin):
    """Applies the limit ranges of a namespace."""

    resources = frozenset({"pods", "persistentvolumeclaims"})

    def __init__(self, store: Store) -> None:
        self._store = store

    def _ranges(self, write: Attributes) -> list[JsonObject]:
        """The limits that count for a write."""
        pod = write.resource.gvr.resource == "pods"
        if write.object is None or write.operation not in ("CREATE", "UPDATE"):
            return []
        # Bindings and evictions are created in pods, and resources of a pod change only through `resize`.
        resized = pod and write.operation == "UPDATE" and write.subresource == "resize"
        if not resized and (write.subresource or (pod and write.operation == "UPDATE")):
            return []
        if write.old is not None and write.old["metadata"].get("deletionTimestamp"):
            return []
        records = self._store.list("limitranges", f"{write.namespace}/").records
        return [each.object() for each in records]

    async def mutate(self, write: Attributes) -> None:
        """Give containers the default requests and limits."""
        if write.resource.gvr.resource != "pods":
            return
        for each in self._ranges(write):
            assert write.object is not None
            _default(write.object, (each.get("spec") or {}).get("limits") or [])

    async def validate(self, write: Attributes) -> None:
        """Hold containers, pods and claims to the bounds."""
        for each in self._ranges(write):
            assert write.object is not None
            limits = (each.get("spec") or {}).get("limits") or []
            check = _pod if write.resource.gvr.resource == "pods" else _claim
            found = list(check(write.object, limits))
            if found:
                raise write.forbidden(status.aggregate(found))


def _default(pod: JsonObject, limits: list[JsonObject]) -> None:
    defaults: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for limit in limits:
        if limit.get("type") == "Container":
            defaults["requests"].update(limit.get("defaultRequest") or {})
            defaults["limits"].update(limit.get("default") or {})
    notes = []
    for member, title in (("containers", "container"), ("initContainers", "init container")):
        for container in containers(pod["spec"], member):
            resources = container.setdefault("resources", {})
            for kind in ("requests", "limits"):
                present = resources.get(kind) or {}
                added = {name: value for name, value in defaults[kind].items() if name not in present}
                if added:
                    resources[kind] = {**present, **added}
                    notes.append(f"{', '.join(sorted(added))} {kind[:-1]} for {title} {container.get('name')}")
    if notes:
        metadata = pod["metadata"]
        metadata["annotations"] = {
            **(metadata.get("annotations") or {}),
            _ANNOTATION: f"LimitRanger plugin set: {'; '.join(notes)}",
        }


def _pod(pod: JsonObject, limits: list[JsonObject]) -> Iterator[str]:
    for limit in limits:
        kind = limit.get("type") or ""
        if kind == "Container":
            for container in containers(pod["spec"], "containers", "initContainers"):
                resources = container.get("resources") or {}
                yield from _bounds(limit, amounts(resources.get("requests")), amounts(resources.get("limits")))
        elif kind == "Pod":
            yield from _bounds(limit, total(pod, "requests"), total(pod, "limits"))


def _bounds(limit: JsonObject, requests: Amounts, limits: Amounts) -> Iterator[str]:
    checks: tuple[tuple[str, Callable[[str, str, Quantity, Amounts, Amounts], str]], ...] = (
        ("min", _minimum),
        ("max", _maximum),
        ("maxLimitRequestRatio", _ratio),
    )
    for member, check in checks:
        for name, bound in sorted(amounts(limit.get(member)).items()):
            if problem := check(limit["type"], name, bound, requests, limits):
                yield problem


def _claim(claim: JsonObject, limits: list[JsonObject]) -> Iterator[str]:
    requests = amounts((claim["spec"].get("resources") or {}).get("requests"))
    for limit in limits:
        if limit.get("type") != "PersistentVolumeClaim":
            continue
        for name, bound in sorted(amounts(limit.get("min")).items()):
            if problem := _minimum(limit["type"], name, bound, requests, {}):
                yield problem
        for name, bound in sorted(amounts(limit.get("max")).items()):
            if problem := _maximum_request(limit["type"], name, bound, requests):
                yield problem


def _values(*given: Quantity) -> tuple[int, ...]:
    """Amounts to compare: in thousandths as long as all can be so expressed."""
    whole = tuple(each.value for each in given)
    return tuple(each.milli_value for each in given) if max(whole) <= _MILLI_LIMIT else whole


def _minimum(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    request, limit = requests.get(name), limits.get(name)
    asked, capped, least = _values(request or _NOTHING, limit or _NOTHING, bound)
    rule = f"minimum {name} usage per {kind} is {bound}"
    if request is None:
        return f"{rule}.  No request is specified"
    if asked < least:
        return f"{rule}, but request is {request}"
    return f"{rule}, but limit is {limit}" if limit is not None and capped < least else ""


def _maximum(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    request, limit = requests.get(name), limits.get(name)
    asked, capped, most = _values(request or _NOTHING, limit or _NOTHING, bound)
    rule = f"maximum {name} usage per {kind} is {bound}"
    if limit is None:
        return f"{rule}.  No limit is specified"
    if capped > most:
        return f"{rule}, but limit is {limit}"
    return f"{rule}, but request is {request}" if request is not None and asked > most else ""


def _maximum_request(kind: str, name: str, bound: Quantity, requests: Amounts) -> str:
    request = requests.get(name)
    asked, most = _values(request or _NOTHING, bound)
    rule = f"maximum {name} usage per {kind} is {bound}"
    if request is None:
        return f"{rule}.  No request is specified"
    return f"{rule}, but request is {request}" if asked > most else ""


def _ratio(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    asked, capped, _ = _values(requests.get(name) or _NOTHING, limits.get(name) or _NOTHING, bound)
    rule = f"{name} max limit to request ratio per {kind} is {bound}"
    if not asked:
        return f"{rule}, but no request is specified or request is 0"
    if not capped:
        return f"{rule}, but no limit is specified or limit is 0"
    ratio = capped / asked
    return f"{rule}, but provided ratio is {ratio:f}" if ratio * 1000 > bound.milli_value else ""
