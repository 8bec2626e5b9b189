"""Finishing namespaces: a namespace that is deleted goes when everything in it has gone.

Pods go first, because what they need must be there as long as they run; then everything else is asked to go at once.
What has finalizers stays until someone takes them off, and the namespace's conditions say what it waits for. Only then
is the finalizer `kubernetes` taken off and the namespace removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.storage import Event, Record

NAMESPACES: Final = GroupResource("", "namespaces")
FINALIZER: Final = "kubernetes"
_PODS: Final = GroupResource("", "pods")
_TABLE: Final = "namespaces"

_FINE: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


class NamespaceFinisher:
    """Empties and removes namespaces that are being deleted."""

    name = "namespace controller"
    tables = None

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-controller-manager")
        self._terminating: set[str] = set()

    def start(self) -> Iterator[str]:
        """The namespaces that were being deleted when the server stopped."""
        for record in self._backend.store.list(_TABLE).records:
            yield from self._note(record)

    def on_event(self, event: Event) -> Iterator[str]:
        """A namespace began to go, or something in such a namespace changed or went."""
        if event.table == _TABLE:
            if event.record is None:
                self._terminating.discard(event.key)
            else:
                yield from self._note(event.record)
        elif self._terminating:
            namespace, _, _ = event.key.rpartition("/")
            if namespace in self._terminating:
                yield namespace

    def _note(self, record: Record) -> Iterator[str]:
        if b'"deletionTimestamp"' in record.value and record.object()["metadata"].get("deletionTimestamp"):
            self._terminating.add(record.key)
            yield record.key

    async def sync(self, key: object) -> float | None:
        """Bring one namespace closer to its end."""
        assert isinstance(key, str)
        namespace = self._api.get(NAMESPACES, "", key)
        if namespace is None or not namespace["metadata"].get("deletionTimestamp"):
            return None
        if FINALIZER not in (namespace.get("spec") or {}).get("finalizers", ()):
            await self._api.delete(NAMESPACES, "", key, uid=namespace["metadata"]["uid"])
            return None
        failures = await self._delete(self._api.resource(_PODS), key)
        if self._backend.store.count("pods", f"{key}/"):
            await self._tell(key, failures, {}, Counter())
            return 5.0 if failures else None
        for resource in self._resources():
            failures += await self._delete(resource, key)
        remaining, finalizers = self._remaining(key)
        await self._tell(key, failures, remaining, finalizers)
        if not failures and not remaining:
            await self._finalize(key)
        return 5.0 if failures else None

    def _resources(self) -> Iterator[Resource]:
        seen = set()
        for resource in self._backend.catalog:
            if resource.namespaced and "delete" in resource.verbs and resource.table not in seen:
                seen.add(resource.table)
                yield resource

    async def _delete(self, resource: Resource, namespace: str) -> list[str]:
        """Ask all objects of a resource in the namespace to go. Returns what went wrong."""
        failures = []
        for record in self._backend.store.list(resource.table, f"{namespace}/").records:
            metadata = record.object()["metadata"]
            if metadata.get("deletionTimestamp"):
                continue
            try:
                name, uid = metadata["name"], metadata["uid"]
                await self._api.delete(resource.group_resource, namespace, name, uid=uid, propagation="Background")
            except ApiError as error:
                failures.append(error.message)
        return failures

    def _remaining(self, namespace: str) -> tuple[dict[str, int], Counter[str]]:
        resources: dict[str, int] = {}
        finalizers: Counter[str] = Counter()
        for resource in self._resources():
            records = self._backend.store.list(resource.table, f"{namespace}/").records
            if records:
                resources[f"{resource.gvr.resource}.{resource.gvr.group}"] = len(records)
            for record in records:
                finalizers.update(record.object()["metadata"].get("finalizers") or ())
        return resources, finalizers

    async def _tell(
        self, namespace: str, failures: list[str], remaining: dict[str, int], finalizers: Counter[str]
    ) -> None:
        """Write into the conditions what the namespace waits for."""
        found: dict[str, tuple[str, str]] = {}
        if failures:
            text = f"Failed to delete all resource types, {len(failures)} remaining: {', '.join(sorted(failures))}"
            found["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", text)
        if remaining:
            parts = sorted(f"{name} has {count} resource instances" for name, count in remaining.items())
            text = f"Some resources are remaining: {', '.join(parts)}"
            found["NamespaceContentRemaining"] = ("SomeResourcesRemain", text)
        if finalizers:
            parts = sorted(f"{name} in {count} resource instances" for name, count in finalizers.items())
            text = f"Some content in the namespace has finalizers remaining: {', '.join(parts)}"
            found["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", text)
        now = self._backend.now()

        def change(obj: JsonObject) -> JsonObject:
            status = obj.setdefault("status", {})
            status["conditions"] = _merged(status.get("conditions") or [], found, now)
            return obj

        await self._api.change(NAMESPACES, "", namespace, change, subresource="status")

    async def _finalize(self, namespace: str) -> None:
        def change(obj: JsonObject) -> JsonObject:
            spec = obj.get("spec") or {}
            left = [each for each in spec.get("finalizers") or () if each != FINALIZER]
            obj["spec"] = {"finalizers": left} if left else {}
            return obj

        await self._api.change(NAMESPACES, "", namespace, change, subresource="finalize")


def _merged(conditions: list[JsonObject], found: dict[str, tuple[str, str]], now: str) -> list[JsonObject]:
    """All five conditions, each with the time since which it has its status."""
    old = {each["type"]: each for each in conditions}
    made = [each for each in conditions if each["type"] not in _FINE]
    for kind, fine in _FINE.items():
        reason, message = found.get(kind, fine)
        state = "True" if kind in found else "False"
        before = old.get(kind)
        since = before["lastTransitionTime"] if before and before["status"] == state else now
        made.append({"type": kind, "status": state, "lastTransitionTime": since, "reason": reason, "message": message})
    return made
