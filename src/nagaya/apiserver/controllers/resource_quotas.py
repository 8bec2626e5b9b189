"""The status of ResourceQuotas: what is allowed, and how much of it is used.

Objects that merely count are never read, only counted. What an object of another sort uses is worked out once per
version of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from nagaya.apiserver.controllers import quota_usage
from nagaya.apiserver.controllers.quota_usage import CLAIMS, DEVICE_CLAIMS, PODS, SERVICES, ZERO, Usage
from nagaya.apiserver.meta import quantity
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.quantity import Quantity
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event

QUOTAS: Final = GroupResource("", "resourcequotas")
_TABLE: Final = "resourcequotas"
# What is used can change with every write of these.
_MEASURED: Final = {
    "pods": PODS,
    "services": SERVICES,
    "persistentvolumeclaims": CLAIMS,
    "resource.k8s.io/resourceclaims": DEVICE_CLAIMS,
}


class ResourceQuotas:
    """Counts what namespaces use."""

    name = "resource quotas"
    tables = None

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-controller-manager")
        self._quotas: dict[str, set[str]] = {}  # the keys of the quotas of each namespace
        self._usages: dict[tuple[str, str], tuple[int, Usage]] = {}

    def start(self) -> Iterator[str]:
        """All quotas."""
        for record in self._backend.store.list(_TABLE).records:
            self._note(record.key)
            yield record.key

    def on_event(self, event: Event) -> Iterator[str]:
        """A quota changed, or something in the namespace of one came, went or changed what it uses."""
        namespace, _, _ = event.key.rpartition("/")
        if event.table == _TABLE:
            if event.record is not None:
                self._note(event.key)
                if not _is_charge(event):
                    yield event.key
            else:
                self._forget(event.key)
        if namespace in self._quotas:
            if event.table in _MEASURED or event.record is None or event.previous is None:
                yield from sorted(self._quotas[namespace])
            if event.record is None:
                self._usages.pop((event.table, event.key), None)

    def _note(self, key: str) -> None:
        self._quotas.setdefault(key.rpartition("/")[0], set()).add(key)

    def _forget(self, key: str) -> None:
        namespace = key.rpartition("/")[0]
        keys = self._quotas.get(namespace, set())
        keys.discard(key)
        if not keys and self._quotas.pop(namespace, None) is not None:
            prefix = f"{namespace}/"
            self._usages = {place: used for place, used in self._usages.items() if not place[1].startswith(prefix)}

    async def sync(self, key: object) -> float | None:
        """Bring the status of one quota up to date."""
        assert isinstance(key, str)
        namespace, _, name = key.rpartition("/")
        if self._api.get(QUOTAS, namespace, name) is None:
            return None
        await self._api.change(QUOTAS, namespace, name, self._counted, subresource="status")
        return None

    def _counted(self, quota: JsonObject) -> JsonObject | None:
        hard: dict[str, str] = (quota.get("spec") or {}).get("hard") or {}
        status = quota.get("status") or {}
        before: dict[str, str] = status.get("used") or {}
        measured = self.measure(quota, hard)
        # What nobody here can measure stays as it was found.
        amounts = {name: measured.get(name, quantity.parse(before[name]) if name in before else None) for name in hard}
        used = {name: str(amount) for name, amount in amounts.items() if amount is not None}
        if status.get("hard") == hard and _same(before, used) and "used" in status:
            return None
        return {**quota, "status": {"hard": hard, "used": used}}

    def measure(self, quota: JsonObject, names: Iterable[str]) -> Usage:
        """How much of some resources the namespace of a quota uses, as far as they are known."""
        namespace = quota["metadata"]["namespace"]
        scopes = quota_usage.scopes_of(quota)
        wanted = set(names)
        total: Usage = {}
        seen = set()
        for resource in self._backend.catalog:
            if not resource.namespaced or resource.table in seen or "create" not in resource.verbs:
                continue
            seen.add(resource.table)
            if resource.table in _MEASURED:
                self._measure(resource.table, namespace, scopes, wanted, total)
            elif found := wanted.intersection(quota_usage.count_names(resource.group_resource)):
                count = 0 if scopes else self._backend.store.count(resource.table, f"{namespace}/")
                total |= {name: Quantity(count) for name in found}
        return {name: amount for name, amount in total.items() if name in wanted}

    def _measure(self, table: str, namespace: str, scopes: list[JsonObject], wanted: set[str], total: Usage) -> None:
        resource = _MEASURED[table]
        mine = {name for name in wanted if _is_about(resource, name)}
        if not mine:
            return
        total |= dict.fromkeys(mine, ZERO)
        for record in self._backend.store.list(table, f"{namespace}/").records:
            if scopes and not quota_usage.in_scope(resource, record.object(), scopes):
                continue
            for name, amount in self._usage(table, record.key, record.revision).items():
                if name in mine:
                    total[name] = total[name] + amount

    def _usage(self, table: str, key: str, revision: int) -> Usage:
        place = (table, key)
        known = self._usages.get(place)
        if known is not None and known[0] == revision:
            return known[1]
        record = self._backend.store.get(*place)
        obj = {} if record is None else record.object()
        used = quota_usage.usage(_MEASURED[table], obj, self._backend.world.clock.now())
        if "deletionTimestamp" not in obj["metadata"]:  # then it depends on the time
            self._usages[place] = (revision, used)
        return used


def _is_about(resource: GroupResource, name: str) -> bool:
    """Whether a name in a quota is measured by objects of a resource."""
    if name == quota_usage.count_name(resource):
        return True
    if resource == SERVICES:
        return name in ("services", "services.loadbalancers", "services.nodeports")
    if resource == CLAIMS:
        plain = name.rpartition(".storageclass.storage.k8s.io/")[2]
        return plain in ("persistentvolumeclaims", "requests.storage")
    if resource == DEVICE_CLAIMS:
        return name.endswith(quota_usage.DEVICES_OF_CLASS)
    if name.startswith("count/") or ".storageclass.storage.k8s.io/" in name:
        return False
    base = name.removeprefix("requests.").removeprefix("limits.")
    compute = base in ("cpu", "memory", "ephemeral-storage")
    return name == "pods" or compute or "hugepages-" in base or (name.startswith("requests.") and "/" in base)


def _same(left: dict[str, str], right: dict[str, str]) -> bool:
    """Whether two sets of amounts are the same, however they are written."""
    if left.keys() != right.keys():
        return False
    return all(
        text == right[name] or quantity.parse(text) == quantity.parse(right[name]) for name, text in left.items()
    )


def _is_charge(event: Event) -> bool:
    """Whether a quota was only charged, which admission does before the charged object is stored: counting now would
    undo it."""
    if event.previous is None or event.record is None:
        return False
    new, old = event.record.object(), event.previous.object()
    hard = (new.get("spec") or {}).get("hard")
    return new.get("spec") == old.get("spec") and hard == (new.get("status") or {}).get("hard")
