"""Objects that a server always has, whoever deletes or changes them: they come back.

What clients look for to learn about the server: which certificates it accepts, from which range its Services have
addresses, and the two rules about requests that every server has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event

_FLOW: Final = "flowcontrol.apiserver.k8s.io"
_AUTO: Final = {"apf.kubernetes.io/autoupdate-spec": "true"}
_ANY_RESOURCE: Final = {
    "verbs": ["*"],
    "apiGroups": ["*"],
    "resources": ["*"],
    "clusterScope": True,
    "namespaces": ["*"],
}
_ANY_PATH: Final = {"verbs": ["*"], "nonResourceURLs": ["*"]}


@dataclass(frozen=True, slots=True)
class Standing:
    """One such object, and which of its members are held in place."""

    resource: GroupResource
    object: JsonObject
    held: tuple[str, ...]

    @property
    def table(self) -> str:
        """Where it is stored."""
        group, resource = self.resource
        return f"{group}/{resource}" if group else resource

    @property
    def key(self) -> str:
        """Its key there."""
        metadata = self.object["metadata"]
        return f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else metadata["name"]


def standing(client_ca: str, service_range: str) -> list[Standing]:
    """All of them."""
    authentication = {
        "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
        "data": {"client-ca-file": client_ca},
    }
    services = {"metadata": {"name": "kubernetes"}, "spec": {"cidrs": [service_range]}}
    return [
        Standing(GroupResource("", "configmaps"), authentication, ("data",)),
        Standing(GroupResource("networking.k8s.io", "servicecidrs"), services, ()),
        Standing(GroupResource(_FLOW, "prioritylevelconfigurations"), _level("exempt", _EXEMPT), ("spec",)),
        Standing(GroupResource(_FLOW, "prioritylevelconfigurations"), _level("catch-all", _CATCH_ALL), ("spec",)),
        Standing(GroupResource(_FLOW, "flowschemas"), _schema("exempt", 1, ["system:masters"]), ("spec",)),
        Standing(
            GroupResource(_FLOW, "flowschemas"),
            _schema("catch-all", 10000, ["system:unauthenticated", "system:authenticated"], by_user=True),
            ("spec",),
        ),
    ]


_EXEMPT: Final = {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}}
_CATCH_ALL: Final = {
    "type": "Limited",
    "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}, "lendablePercent": 0},
}


def _level(name: str, spec: JsonObject) -> JsonObject:
    return {"metadata": {"name": name, "annotations": dict(_AUTO)}, "spec": spec}


def _schema(name: str, precedence: int, groups: list[str], *, by_user: bool = False) -> JsonObject:
    subjects = [{"kind": "Group", "group": {"name": group}} for group in groups]
    rule = {"subjects": subjects, "resourceRules": [_ANY_RESOURCE], "nonResourceRules": [_ANY_PATH]}
    spec: JsonObject = {"priorityLevelConfiguration": {"name": name}, "matchingPrecedence": precedence, "rules": [rule]}
    if by_user:
        spec["distinguisherMethod"] = {"type": "ByUser"}
    return {"metadata": {"name": name, "annotations": dict(_AUTO)}, "spec": spec}


class StandingObjects:
    """Creates and repairs what a server always has."""

    name = "standing objects"

    def __init__(self, backend: Backend, objects: list[Standing]) -> None:
        self._api = Internal(backend, "kube-apiserver")
        self._objects: Mapping[tuple[str, str], Standing] = {(each.table, each.key): each for each in objects}
        self.tables = frozenset({"namespaces", *(each.table for each in objects)})

    def start(self) -> Iterator[tuple[str, str]]:
        """All of them."""
        yield from self._objects

    def on_event(self, event: Event) -> Iterator[tuple[str, str]]:
        """One of them, or the namespace of one, came, changed or went."""
        if (event.table, event.key) in self._objects:
            yield event.table, event.key
        elif event.table == "namespaces" and event.record is not None:
            yield from (place for place in self._objects if place[1].startswith(f"{event.key}/"))

    async def sync(self, key: object) -> float | None:
        """Put one in place."""
        assert isinstance(key, tuple)
        wanted = self._objects[key]
        metadata = wanted.object["metadata"]
        namespace, name = metadata.get("namespace") or "", metadata["name"]
        if namespace and self._api.get(GroupResource("", "namespaces"), "", namespace) is None:
            return None  # it is on its way
        copy = {**wanted.object, "metadata": {**metadata}}
        if await self._api.create_missing(wanted.resource, copy):
            return None

        def repair(obj: JsonObject) -> JsonObject | None:
            if obj["metadata"].get("deletionTimestamp"):
                return None
            held = {member: wanted.object[member] for member in wanted.held}
            return None if {**obj, **held} == obj else {**obj, **held}

        await self._api.change(wanted.resource, namespace, name, repair)
        return None
