"""Parts of pods that several plugins look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.meta import quantity
from nagaya.apiserver.meta.quantity import Quantity
from nagaya.apiserver.meta.status import JsonObject

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

PODS: Final = frozenset({"pods"})
Amounts = dict[str, Quantity]


def created(write: Attributes) -> JsonObject | None:
    """The pod that a write creates; None if it does something else."""
    return write.object if write.operation == "CREATE" and not write.subresource else None


def containers(spec: JsonObject, *members: str) -> Iterator[JsonObject]:
    """The containers of a pod, of the given lists or of those that run on their own account."""
    for member in members or ("initContainers", "containers"):
        yield from spec.get(member) or ()


def amounts(listed: Mapping[str, str] | None) -> Amounts:
    """A list of resources with its quantities read."""
    return {name: quantity.parse(text) for name, text in (listed or {}).items()}


def total(pod: JsonObject, member: str, *, overhead: bool = False) -> Amounts:
    """What a pod needs at once: its `requests` or `limits` together.

    Init containers run one after the other before the rest, except for those that keep running.
    """
    spec = pod.get("spec") or {}
    needed: Amounts = {}
    for container in containers(spec, "containers"):
        _add(needed, _of(container, member))
    running: Amounts = {}
    most: Amounts = {}
    for container in containers(spec, "initContainers"):
        own = _of(container, member)
        if container.get("restartPolicy") == "Always":
            _add(needed, own)
            _add(running, own)
            own = running
        else:
            _add(own, running)
        _raise(most, own)
    _raise(needed, most)
    whole = amounts((spec.get("resources") or {}).get(member))
    needed.update({name: amount for name, amount in whole.items() if name in ("cpu", "memory")})
    if overhead:
        for name, amount in amounts(spec.get("overhead")).items():
            if name in needed or member == "requests":
                _add(needed, {name: amount})
    return needed


def _of(container: JsonObject, member: str) -> Amounts:
    return amounts((container.get("resources") or {}).get(member))


def _add(to: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        to[name] = to[name] + amount if name in to else amount


def _raise(to: Amounts, at_least: Amounts) -> None:
    for name, amount in at_least.items():
        if name not in to or to[name] < amount:
            to[name] = amount
