"""Endpoints of Services that choose pods: what EndpointSlices say, for clients that do not know those.

One object for each Service, with the Service's name. It has only the first family of the Service, and at most a
thousand addresses; the slices have them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from nagaya.apiserver.controllers import endpoint_subsets, service_backends
from nagaya.apiserver.controllers.ending_namespaces import is_ending
from nagaya.apiserver.controllers.endpoint_slices import SERVICES
from nagaya.apiserver.controllers.endpoint_subsets import Entry
from nagaya.apiserver.controllers.service_backends import HEADLESS, Behind, SelectingServices
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event

ENDPOINTS: Final = GroupResource("", "endpoints")
TABLE: Final = "endpoints"
MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
_MANAGER: Final = "endpoint-controller"
_OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"
LARGEST: Final = 1000
"""An object holds no more addresses than this."""


class EndpointsOfServices:
    """Keeps the Endpoints of Services."""

    name = "endpoints"
    tables = (TABLE, *service_backends.TABLES)

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-controller-manager")
        self._services = SelectingServices(backend)
        self._gone: set[str] = set()  # the keys of Services that went while this was watching

    def start(self) -> Iterator[str]:
        """All Services, and all Endpoints made for one: it may have gone."""
        yield from self._services.start()
        for record in self._backend.store.list(TABLE).records:
            if record.labels.get(MANAGED_BY) == _MANAGER:
                yield record.key

    def on_event(self, event: Event) -> Iterator[str]:
        """A Service, a pod that it chooses, or a node came, changed or went; or somebody deleted the Endpoints."""
        if event.table == TABLE:
            if event.record is None:
                yield event.key
            return
        if event.table == "services" and event.record is None:
            self._gone.add(event.key)
        yield from self._services.touched(event)

    async def sync(self, key: object) -> float | None:
        """Bring the Endpoints of one Service up to date."""
        assert isinstance(key, str)
        namespace, _, name = key.partition("/")
        service = self._api.get(SERVICES, namespace, name)
        if service is None:
            await self._remove(key)
            return None
        self._gone.discard(key)
        if not service_backends.has_backends(service) or "deletionTimestamp" in service["metadata"]:
            return None
        wanted = planned(service, service_backends.behind(self._backend, service))
        try:
            if not await self._api.create_missing(ENDPOINTS, wanted):
                await self._api.change(ENDPOINTS, namespace, name, lambda obj: _changed(obj, wanted))
        except ApiError as error:
            if not is_ending(error):
                raise
        return None

    async def _remove(self, key: str) -> None:
        """The Endpoints of a Service go with it, whoever wrote them. Those that never had one are left alone."""
        found = self._backend.store.get(TABLE, key)
        if found is not None and (key in self._gone or found.labels.get(MANAGED_BY) == _MANAGER):
            namespace, _, name = key.partition("/")
            await self._api.delete(ENDPOINTS, namespace, name, uid=found.object()["metadata"]["uid"])
        self._gone.discard(key)


def planned(service: JsonObject, pods: Iterable[Behind]) -> JsonObject:
    """The Endpoints of a Service."""
    metadata = service["metadata"]
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HEADLESS}
    if service_backends.is_headless(service):
        labels[HEADLESS] = ""
    wanted: JsonObject = {
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "labels": {**labels, MANAGED_BY: _MANAGER},
        }
    }
    subsets = endpoint_subsets.packed(_entries(service, pods))
    if _truncate(subsets):
        wanted["metadata"]["annotations"] = {_OVER_CAPACITY: "truncated"}
    if subsets:
        wanted["subsets"] = subsets
    return wanted


def _entries(service: JsonObject, pods: Iterable[Behind]) -> Iterator[Entry]:
    published = bool(service["spec"].get("publishNotReadyAddresses"))
    family: str = (service["spec"].get("ipFamilies") or ["IPv4"])[0]
    for each in pods:
        ip = each.address(family)
        if not ip or (each.terminating and not published):
            continue
        address: JsonObject = {"ip": ip, "targetRef": each.reference}
        extra = {"nodeName": each.node, "hostname": each.hostname(service)}
        address |= {name: value for name, value in extra.items() if value}
        if service["spec"].get("ports"):
            for port in each.ports(service):
                named = {name: value for name, value in port.items() if value != ""}
                yield address, published or each.ready, named
        elif service_backends.is_headless(service):
            yield address, published or each.ready, None


def _truncate(subsets: list[JsonObject]) -> bool:
    """Cut what is too much; those that are not ready go first. Returns whether there was too much."""
    left = LARGEST
    cut = False
    for member in ("addresses", "notReadyAddresses"):
        for subset in subsets:
            addresses = subset.pop(member, [])
            cut = cut or len(addresses) > left
            if kept := addresses[:left]:
                subset[member] = kept
            left -= len(kept)
    subsets[:] = [each for each in subsets if "addresses" in each or "notReadyAddresses" in each]
    return cut


def _changed(obj: JsonObject, wanted: JsonObject) -> JsonObject:
    """The Endpoints with what is wanted, and with the annotations of others."""
    metadata = {**obj["metadata"], "labels": wanted["metadata"]["labels"]}
    annotations = {**(metadata.get("annotations") or {}), **(wanted["metadata"].get("annotations") or {})}
    if "annotations" not in wanted["metadata"]:
        annotations.pop(_OVER_CAPACITY, None)
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    changed = {**obj, "metadata": metadata}
    changed.pop("subsets", None)
    return changed | ({"subsets": wanted["subsets"]} if "subsets" in wanted else {})
