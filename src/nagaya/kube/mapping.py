"""From a change of one object to the keys of the objects that must look at it.

The mappings are values: two that say the same are equal, so a watch that is asked for again is recognised. An object
that changed hands is news for both the old and the new owner, hence both states of it are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nagaya.api.kind import Kind, Object
from nagaya.api.meta import OwnerReference
from nagaya.kube.cache.change import Change
from nagaya.kube.key import Key


@dataclass(frozen=True, slots=True)
class _Owners:
    group: str
    kind: str
    namespaced: bool
    controller_only: bool

    def __call__(self, change: Change[Any]) -> Iterable[Key]:
        keys: dict[Key, None] = {}
        for obj in (change.new, change.old):
            if obj is None:
                continue
            for owner in obj.metadata.owner_references:
                if (owner.controller or not self.controller_only) and self._matches(owner):
                    keys[Key(obj.metadata.namespace if self.namespaced else "", owner.name)] = None
        return keys

    def _matches(self, owner: OwnerReference) -> bool:
        # The version is left out: an owner may have been written by a client of another one.
        return owner.kind == self.kind and owner.api_version.rpartition("/")[0] == self.group


@dataclass(frozen=True, slots=True)
class _Label:
    name: str

    def __call__(self, change: Change[Any]) -> Iterable[Key]:
        keys: dict[Key, None] = {}
        for obj in (change.new, change.old):
            if obj is not None and (value := obj.metadata.labels.get(self.name)):
                keys[Key(obj.metadata.namespace, value)] = None
        return keys


def owner(kind: Kind[Any]) -> _Owners:
    """The owner that controls the object, if it is of that kind."""
    return _Owners(kind.group, kind.kind, kind.namespaced, controller_only=True)


def any_owner(kind: Kind[Any]) -> _Owners:
    """All owners of the object that are of that kind."""
    return _Owners(kind.group, kind.kind, kind.namespaced, controller_only=False)


def label(name: str) -> _Label:
    """The object in the same namespace that a label names, as `cluster.x-k8s.io/cluster-name` does."""
    return _Label(name)


def itself(change: Change[Any]) -> Iterable[Key]:
    """The key of the changed object."""
    obj: Object = change.object
    return (Key.of(obj),)
