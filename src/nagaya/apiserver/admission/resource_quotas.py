"""ResourceQuotas: what a write would use is charged before it is stored, and refused if there is not enough left.

The charge is written into the quota's status from its latest state, so that of two writes for the last place one is
refused. A controller corrects the status afterwards, for writes that failed and for objects that went.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.admission.pods import amounts
from nagaya.apiserver.controllers import quota_usage
from nagaya.apiserver.controllers.quota_usage import CLAIMS, DEVICE_CLAIMS, PODS, SERVICES, ZERO, Usage
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

_QUOTAS: Final = GroupResource("", "resourcequotas")
_TABLE: Final = "resourcequotas"
_IGNORED: Final = frozenset(
    {
        GroupResource("", "bindings"),
        GroupResource("", "events"),
        GroupResource("events.k8s.io", "events"),
        GroupResource("authorization.k8s.io", "localsubjectaccessreviews"),
    }
)
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_POD_NAMES: Final = frozenset(
    ["pods", "count/pods", *(f"{side}{each}" for side in ("", "requests.", "limits.") for each in _COMPUTE)]
)
_SERVICE_NAMES: Final = frozenset({"count/services", "services", "services.loadbalancers", "services.nodeports"})
_CLAIM_NAMES: Final = frozenset({"count/persistentvolumeclaims", "persistentvolumeclaims", "requests.storage"})
_BY_CLASS: Final = (
    ".storageclass.storage.k8s.io/persistentvolumeclaims",
    ".storageclass.storage.k8s.io/requests.storage",
)
_CHANGE_MATTERS: Final = frozenset({SERVICES, CLAIMS, DEVICE_CLAIMS})
_DEMANDED: Final = frozenset(f"{side}{each}" for side in ("", "requests.", "limits.") for each in ("cpu", "memory"))


class Quotas(Plugin):
    """Charges writes to the quotas of their namespace."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-apiserver")

    async def validate(self, write: Attributes) -> None:
        """Refuse what no quota has room for, and charge what is stored."""
        store = self._backend.store
        if not write.namespace or write.object is None or not store.count(_TABLE):
            return
        if not _counts(write):
            return
        records = store.list(_TABLE, f"{write.namespace}/").records
        charged = [quota for record in records if self._charge(write, quota := record.object()) is not None]
        if write.dry_run:
            return
        for quota in charged:
            name = quota["metadata"]["name"]
            await self._api.change(
                _QUOTAS, write.namespace, name, lambda latest: self._charge(write, latest), subresource="status"
            )

    def _charge(self, write: Attributes, quota: JsonObject) -> JsonObject | None:
        """The quota after a write; None if the write is not its business. Raises 403 if there is no room."""
        resource = write.resource.group_resource
        assert write.object is not None
        name, status = quota["metadata"]["name"], quota.get("status") or {}
        hard, used = amounts(status.get("hard")), amounts(status.get("used"))
        mine = sorted(each for each in hard if _is_about(resource, each))
        scopes = quota_usage.scopes_of(quota)
        if not mine or not quota_usage.in_scope(resource, write.object, scopes):
            return None
        if resource == PODS and (missing := _unspecified(write.object, mine)):
            raise write.forbidden(f"failed quota: {name}: must specify {missing}")
        if not used.keys() >= set(mine):
            raise write.forbidden(f"status unknown for quota: {name}, resources: {','.join(mine)}")
        wanted = {key: value for key, value in self._wanted(write, resource, scopes).items() if key in hard}
        if not wanted:
            return None
        after = {key: used.get(key, ZERO) + value for key, value in wanted.items()}
        over = [key for key in sorted(wanted) if hard[key] < after[key]]
        if over:
            raise write.forbidden(
                f"exceeded quota: {name}, requested: {_shown(wanted, over)}, used: {_shown(used, over)}, "
                f"limited: {_shown(hard, over)}"
            )
        counted = {**(status.get("used") or {}), **{key: str(value) for key, value in after.items()}}
        return {**quota, "status": {**status, "used": counted}}

    def _wanted(self, write: Attributes, resource: GroupResource, scopes: list[JsonObject]) -> Usage:
        """What a write uses more than was used before it."""
        now = self._backend.world.clock.now()
        assert write.object is not None
        usage = quota_usage.usage(resource, write.object, now)
        if write.old is not None and quota_usage.in_scope(resource, write.old, scopes):
            before = quota_usage.usage(resource, write.old, now)
            usage = {key: value - before.get(key, ZERO) for key, value in usage.items()}
        return {key: value for key, value in usage.items() if value.sign > 0}


def _counts(write: Attributes) -> bool:
    """Whether a write can use anything."""
    resource = write.resource.group_resource
    if resource in _IGNORED or resource == ("", "namespaces"):
        return False
    if resource == PODS:
        if write.subresource == "resize":
            return write.operation == "UPDATE"
        if write.operation == "UPDATE" and not write.subresource:
            return _terminating(write.object) != _terminating(write.old)
    if write.subresource:
        return (
            resource == CLAIMS and write.subresource == "status" and quota_usage.claim_changed(write.object, write.old)
        )
    return write.operation == "CREATE" or (write.operation == "UPDATE" and resource in _CHANGE_MATTERS)


def _terminating(pod: JsonObject | None) -> bool:
    return ((pod or {}).get("spec") or {}).get("activeDeadlineSeconds") is not None


def _is_about(resource: GroupResource, name: str) -> bool:
    """Whether a name in a quota is used up by objects of a resource."""
    if resource == PODS:
        bare = name.removeprefix("requests.")
        extended = bare != name and "/" in bare and not bare.partition("/")[0].endswith("kubernetes.io")
        return name in _POD_NAMES or bare.startswith("hugepages-") or extended
    if resource == SERVICES:
        return name in _SERVICE_NAMES
    if resource == CLAIMS:
        return name in _CLAIM_NAMES or name.endswith(_BY_CLASS)
    if resource == DEVICE_CLAIMS and name.endswith(quota_usage.DEVICES_OF_CLASS):
        return True
    return name in quota_usage.count_names(resource)


def _unspecified(pod: JsonObject, names: Iterable[str]) -> str:
    """What containers leave open although it is limited; nothing if they say it all."""
    spec = pod.get("spec") or {}
    if spec.get("resources"):
        return ""
    missing: dict[str, set[str]] = {}
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        resources = container.get("resources") or {}
        for name in _DEMANDED.intersection(names):
            side, _, bare = name.rpartition(".")
            if bare not in (resources.get(side or "requests") or {}):
                missing.setdefault(name, set()).add(container.get("name") or "")
    return "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def _shown(listed: Usage, names: Iterable[str]) -> str:
    return ",".join(f"{name}={listed[name]}" for name in names if name in listed)
