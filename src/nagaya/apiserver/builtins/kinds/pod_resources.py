"""Amounts of CPU, memory and the like that containers and pods ask for: arithmetic, classes and rules.

What holds for resources wherever they stand is in `core_resources`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.core_resources import (
    HUGE_PAGES,
    is_huge_pages,
    is_overcommit_allowed,
    round_up,
    validate_amount,
    validate_container_name,
    validate_name,
)
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import (
    Cause,
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from nagaya.apiserver.meta.quantity import Quantity, QuantityError, parse
from nagaya.apiserver.meta.status import JsonObject

Amounts = Mapping[str, str]
NameRule = Callable[[str, Path], list[FieldError]]

_COMPUTE: Final = ("cpu", "memory")
_ZERO: Final = Quantity(0)


def is_pod_level(name: str) -> bool:
    """Whether a resource can be asked for by a pod as a whole."""
    return name in _COMPUTE or is_huge_pages(name)


def round_up_requirements(requirements: JsonObject | None) -> None:
    """Bring limits and requests up to whole thousandths, in place."""
    if requirements:
        round_up(requirements.get("limits"))
        round_up(requirements.get("requests"))


def aggregate(spec: JsonObject, side: str) -> dict[str, Quantity]:
    """What a pod's containers need together: sidecars add up, other init containers run one after another."""
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, _amounts(container, side))
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        mine = _amounts(container, side)
        if container.get("restartPolicy") == "Always":
            _add(total, mine)
            _add(sidecars, mine)
            _raise(peak, sidecars)
        else:
            _add(mine, sidecars)
            _raise(peak, mine)
    _raise(total, peak)
    return total


def _amounts(container: JsonObject, side: str) -> dict[str, Quantity]:
    return {name: parse(text) for name, text in ((container.get("resources") or {}).get(side) or {}).items()}


def _add(total: dict[str, Quantity], more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise(total: dict[str, Quantity], other: Mapping[str, Quantity]) -> None:
    for name, amount in other.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def qos_class(pod: JsonObject) -> str:
    """How a pod is treated when its node runs short."""
    if known := (pod.get("status") or {}).get("qosClass"):
        return str(known)
    return computed_qos_class(pod)


def computed_qos_class(pod: JsonObject) -> str:
    """The same from the spec alone."""
    spec = pod.get("spec") or {}
    own = spec.get("resources")
    if own is not None:
        holders, guaranteed = [own], not own.get("limits") or set(_COMPUTE) <= _positive(own.get("limits")).keys()
    else:
        containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        holders = [container.get("resources") or {} for container in containers]
        guaranteed = all(set(_COMPUTE) <= _positive(each.get("limits")).keys() for each in holders)
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    for holder in holders:
        _add(requests, _positive(holder.get("requests")))
        _add(limits, _positive(holder.get("limits")))
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _positive(amounts: Amounts | None) -> dict[str, Quantity]:
    parsed = {name: parse(text) for name, text in (amounts or {}).items() if name in _COMPUTE}
    return {name: amount for name, amount in parsed.items() if amount.sign > 0}


def _validate_pod_name(name: str, path: Path) -> list[FieldError]:
    errors = validate_name(name, path)
    if not errors and not is_pod_level(name):
        return [not_supported(path, name, ("cpu", HUGE_PAGES, "memory"))]
    return errors


def validate_requirements(
    requirements: JsonObject,
    path: Path,
    *,
    claims: Collection[str] = (),
    name_rule: NameRule = validate_container_name,
    indivisible: bool = False,
) -> Iterator[FieldError]:
    """Limits and requests. `claims` are the names of the pod's resource claims."""
    limits: Amounts = requirements.get("limits") or {}
    requests: Amounts = requirements.get("requests") or {}
    for name, text in limits.items():
        where = path.child("limits").key(name)
        yield from name_rule(name, where)
        yield from validate_amount(name, text, where)
        yield from _validate_pages(name, text, where, indivisible)
    for name, text in requests.items():
        where = path.child("requests").key(name)
        yield from name_rule(name, where)
        yield from validate_amount(name, text, where)
        if (limit := limits.get(name)) is not None:
            if not is_overcommit_allowed(name) and parse(text) != parse(limit):
                yield invalid(path.child("requests"), text, f"must be equal to {name} limit of {limit}")
            elif parse(text) > parse(limit):
                yield invalid(path.child("requests"), text, f"must be less than or equal to {name} limit of {limit}")
        elif not is_overcommit_allowed(name):
            yield required(path.child("limits"), "Limit must be set for non overcommitable resources")
        yield from _validate_pages(name, text, where, indivisible)
    asked = {*limits, *requests}
    if any(map(is_huge_pages, asked)) and not asked & {*_COMPUTE}:
        yield forbidden(path, "HugePages require cpu or memory")
    yield from _validate_claims(requirements.get("claims") or (), claims, path.child("claims"))


def _validate_pages(name: str, text: str, path: Path, indivisible: bool) -> Iterator[FieldError]:
    if is_huge_pages(name) and not indivisible and not _divisible(name, text):
        yield invalid(path, text, f"{text} is not positive integer multiple of {name}")


def _divisible(name: str, text: str) -> bool:
    try:
        size = parse(name.removeprefix(HUGE_PAGES))
    except QuantityError:
        return False
    return size.sign > 0 and size.milli_value % 1000 == 0 and parse(text).value % size.value == 0


def has_indivisible_pages(spec: JsonObject) -> bool:
    """Whether a pod spec asks for parts of large pages."""
    holders = [spec.get("overhead") or {}]
    for list_name in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(list_name) or ():
            resources = container.get("resources") or {}
            holders += [resources.get("limits") or {}, resources.get("requests") or {}]
    return any(is_huge_pages(name) and not _divisible(name, text) for each in holders for name, text in each.items())


def _validate_claims(claims: Collection[JsonObject], known: Collection[str], path: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for position, claim in enumerate(claims):
        where, name, request = path.index(position), claim.get("name") or "", claim.get("request") or ""
        if not name:
            yield required(where)
            continue
        if name in seen:
            yield duplicate(where, name)
        else:
            key = f"{name}/{request}" if request else name
            if request:
                yield from (invalid(where.child("request"), request, each) for each in names.dns_label(request))
            if key in seen:
                yield duplicate(where, key)
            elif not request:
                yield from (duplicate(where, name) for each in seen if each.partition("/")[:2] == (name, "/"))
            seen.add(key)
        if name not in known:
            detail = "must be one of the names in pod.spec.resourceClaims"
            detail += f": {', '.join(sorted(known))}" if known else " which is empty"
            yield FieldError(Cause.NOT_FOUND, str(where), name, detail)


def validate_pod_level(spec: JsonObject, path: Path, *, claims: Collection[str]) -> Iterator[FieldError]:
    """What a pod asks for as a whole, and that its containers fit into it."""
    own: JsonObject | None = spec.get("resources")
    if own is None:
        return
    where = path.child("resources")
    if (spec.get("os") or {}).get("name") == "windows":
        yield forbidden(where, "may not be set for a windows pod")
        return
    if own.get("claims") is not None:
        yield forbidden(where.child("claims"), "claims may not be set for Resources at pod-level")
    yield from validate_requirements(own, where, claims=claims, name_rule=_validate_pod_name)
    requests, limits = own.get("requests") or {}, own.get("limits") or {}
    for name, total in aggregate(spec, "requests").items():
        if name in requests and total > parse(requests[name]):
            detail = f"must be greater than or equal to aggregate container requests of {total}"
            yield invalid(where.child("requests").key(name), requests[name], detail)
    for name, total in aggregate(spec, "limits").items():
        if is_huge_pages(name) and name in limits and total > parse(limits[name]):
            detail = f"must be greater than or equal to aggregate container limits of {total}"
            yield invalid(where.child("limits").key(name), limits[name], detail)
    for position, container in enumerate(spec.get("containers") or ()):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and parse(limit) > parse(limits[name]):
                place = where.child("containers").index(position).key(name).child("limits")
                yield invalid(place, limit, f"must be less than or equal to pod limits of {limits[name]}")
