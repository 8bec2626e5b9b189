"""Built-in kinds behind the whole write path, without a server around them.

Objects are created, changed and deleted as clients do it, but nobody asks who they are and nothing is admitted.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, cast

from nagaya.apiserver.admission.chain import Admission
from nagaya.apiserver.builtins.assemble import assemble
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.catalog import Catalog
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.storage import Store
from nagaya.world import World
from support.standing_clock import StandingClock

NAMESPACE = "town"


class CoreKinds:
    """A store and the built-in kinds of one server. Resources are named `services` or `leases.coordination.k8s.io`."""

    def __init__(self, seed: int = 1) -> None:
        clock = StandingClock()
        self.store = Store(clock)
        nobody_asks = cast(Any, None)  # for authorization and escalation
        world = World(clock, Random(seed))
        self.backend = Backend(world, self.store, Catalog(), Admission(), nobody_asks, nobody_asks)
        self.backend.catalog.add(assemble({}, clock.now))
        self._api = Internal(self.backend, "tester")

    def resource(self, name: str) -> Resource:
        """A resource by its name and group."""
        return self._api.resource(_named(name))

    async def create(self, resource: str, obj: JsonObject) -> JsonObject:
        """The object as it was stored."""
        return await self._api.create(_named(resource), self._placed(resource, obj))

    async def refused(self, resource: str, obj: JsonObject) -> list[str]:
        """Why an object cannot be created."""
        try:
            await self.create(resource, obj)
        except ApiError as error:
            return causes(error)
        raise AssertionError("the object was accepted")

    async def change(self, resource: str, name: str, patch: JsonObject, subresource: str = "") -> JsonObject:
        """The object after a merge patch."""
        namespace = NAMESPACE if self.resource(resource).namespaced else ""
        changed = await self._api.change(_named(resource), namespace, name, merged(patch), subresource=subresource)
        assert changed is not None, "the object is there"
        return changed

    async def change_refused(self, resource: str, name: str, patch: JsonObject, subresource: str = "") -> list[str]:
        """Why a merge patch cannot be applied."""
        try:
            await self.change(resource, name, patch, subresource)
        except ApiError as error:
            return causes(error)
        raise AssertionError("the change was accepted")

    def get(self, resource: str, name: str) -> JsonObject | None:
        """The object as it is stored."""
        return self._api.get(_named(resource), NAMESPACE, name)

    async def delete(self, resource: str, name: str, propagation: str | None = None) -> None:
        """Ask for an object's deletion."""
        namespace = NAMESPACE if self.resource(resource).namespaced else ""
        assert await self._api.delete(_named(resource), namespace, name, propagation=propagation)

    def _placed(self, resource: str, obj: JsonObject) -> JsonObject:
        metadata: JsonObject = {"name": "it", **obj.get("metadata", {})}
        if self.resource(resource).namespaced:
            metadata.setdefault("namespace", NAMESPACE)
        return {**obj, "metadata": metadata}


def causes(error: ApiError) -> list[str]:
    """The findings in a refusal, or its message if it has none."""
    found = (error.details or {}).get("causes")
    return [f"{each.get('field', '')}: {each['message']}" for each in found] if found else [error.message]


def merged(patch: JsonObject) -> Callable[[JsonObject], JsonObject]:
    """The function that applies a merge patch."""

    def apply(value: Any, part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        result = dict(value) if isinstance(value, dict) else {}
        for key, item in part.items():
            if item is None:
                result.pop(key, None)
            else:
                result[key] = apply(result.get(key), item)
        return result

    return lambda obj: apply(obj, patch)


def _named(name: str) -> GroupResource:
    resource, _, group = name.partition(".")
    return GroupResource(group, resource)
