"""EndpointSlices of Services that choose pods: where each port of the Service is really served.

Every family of the Service has at least one slice, be it an empty one: that says that somebody looked. Pods that serve
a port under different numbers are in different slices, as are more than a slice may hold. Slices belong to their
Service, so the garbage collector takes them when it goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

import orjson

from nagaya.apiserver.controllers import service_backends
from nagaya.apiserver.controllers.ending_namespaces import is_ending
from nagaya.apiserver.controllers.service_backends import HEADLESS, Behind, SelectingServices
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event

SLICES: Final = GroupResource("discovery.k8s.io", "endpointslices")
SERVICES: Final = GroupResource("", "services")
TABLE: Final = "discovery.k8s.io/endpointslices"
SERVICE_NAME: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_MANAGER: Final = "endpointslice-controller.k8s.io"
LARGEST: Final = 100
"""More endpoints than this go into another slice."""


class EndpointSlices:
    """Keeps the slices of Services."""

    name = "endpoint slices"
    tables = (TABLE, *service_backends.TABLES)

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-controller-manager")
        self._services = SelectingServices(backend)

    def start(self) -> Iterator[str]:
        """All Services."""
        return self._services.start()

    def on_event(self, event: Event) -> Iterator[str]:
        """A Service, a pod that it chooses, a node, or a slice came, changed or went."""
        if event.table == TABLE:
            record = event.record or event.previous
            if record is not None and record.labels.get(MANAGED_BY) == _MANAGER and SERVICE_NAME in record.labels:
                yield f"{event.key.partition('/')[0]}/{record.labels[SERVICE_NAME]}"
            return
        yield from self._services.touched(event)

    async def sync(self, key: object) -> float | None:
        """Bring the slices of one Service up to date."""
        assert isinstance(key, str)
        namespace, _, name = key.partition("/")
        service = self._api.get(SERVICES, namespace, name)
        if service is None or not service_backends.has_backends(service) or _is_going(service):
            return None
        pods = service_backends.behind(self._backend, service)
        try:
            await write(self._backend, self._api, "Service", service, _MANAGER, planned(service, pods))
        except ApiError as error:
            if not is_ending(error):
                raise
        return None


def _is_going(obj: JsonObject) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def planned(service: JsonObject, pods: Iterable[Behind]) -> list[JsonObject]:
    """What the slices of a Service have to say, without names."""
    pods = list(pods)
    families: list[str] = service["spec"].get("ipFamilies") or ["IPv4"]
    labels = dict(service["metadata"].get("labels") or {})
    labels.pop(HEADLESS, None)
    if service_backends.is_headless(service):
        labels[HEADLESS] = ""
    slices = []
    for family in families:
        groups: dict[bytes, tuple[list[JsonObject], list[JsonObject]]] = {}
        for each in pods:
            address = each.address(family)
            if address:
                ports = list(each.ports(service))
                groups.setdefault(orjson.dumps(ports), (ports, []))[1].append(_endpoint(service, each, address))
        for ports, endpoints in groups.values() or [([], [])]:
            for start in range(0, max(len(endpoints), 1), LARGEST):
                part = {"endpoints": endpoints[start : start + LARGEST] or None, "ports": ports or None}
                slices.append({"metadata": {"labels": labels}, "addressType": family, **part})
    return slices


def _endpoint(service: JsonObject, each: Behind, address: str) -> JsonObject:
    published = bool(service["spec"].get("publishNotReadyAddresses"))
    conditions = {
        "ready": published or (each.ready and not each.terminating),
        "serving": each.ready,
        "terminating": each.terminating,
    }
    endpoint: JsonObject = {"addresses": [address], "conditions": conditions, "targetRef": each.reference}
    extra = {"nodeName": each.node, "zone": each.zone, "hostname": each.hostname(service)}
    return endpoint | {name: value for name, value in extra.items() if value}


async def write(
    backend: Backend, api: Internal, kind: str, owner: JsonObject, manager: str, wanted: list[JsonObject]
) -> None:
    """Make the slices of an owner of this kind say what is wanted, changing as few of them as can be."""
    namespace, name = owner["metadata"]["namespace"], owner["metadata"]["name"]
    marks = {SERVICE_NAME: name, MANAGED_BY: manager}
    missing = [{**each, "metadata": _metadata(kind, owner, each, marks)} for each in wanted]
    spare = []
    for record in backend.store.list(TABLE, f"{namespace}/").records:
        if any(record.labels.get(label) != value for label, value in marks.items()):
            continue
        found = record.object()
        same = next((each for each in missing if _is_said(each, found)), None)
        if same is None:
            spare.append(found)
        else:
            missing.remove(same)
    for each in missing:
        old = next((one for one in spare if one["addressType"] == each["addressType"]), None)
        if old is None:
            await api.create(SLICES, each)
        else:
            spare.remove(old)
            await api.change(SLICES, namespace, old["metadata"]["name"], partial(_changed, each))
    for each in spare:
        await api.delete(SLICES, namespace, each["metadata"]["name"], uid=each["metadata"]["uid"])


def _metadata(kind: str, owner: JsonObject, wanted: JsonObject, marks: dict[str, str]) -> JsonObject:
    metadata = owner["metadata"]
    reference = {
        "apiVersion": "v1",
        "kind": kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    made: JsonObject = {
        "generateName": f"{metadata['name']}-",
        "namespace": metadata["namespace"],
        "labels": {**wanted["metadata"]["labels"], **marks},
        "ownerReferences": [reference],
    }
    return made | {key: value for key, value in wanted["metadata"].items() if key == "annotations"}


def _is_said(wanted: JsonObject, found: JsonObject) -> bool:
    """Whether a slice says what is wanted already. Annotations matter only if some, or none, are wanted."""
    mine, there = wanted["metadata"], found["metadata"]
    if "annotations" in mine and mine["annotations"] != (there.get("annotations") or {}):
        return False
    return (
        wanted["addressType"] == found["addressType"]
        and (wanted["endpoints"] or []) == (found.get("endpoints") or [])
        and (wanted["ports"] or []) == (found.get("ports") or [])
        and mine["labels"] == there["labels"]
        and mine["ownerReferences"] == there.get("ownerReferences")
    )


def _changed(new: JsonObject, obj: JsonObject) -> JsonObject:
    kept = ("labels", "ownerReferences", "annotations")
    metadata = {**obj["metadata"], **{key: new["metadata"][key] for key in kept if key in new["metadata"]}}
    return {**obj, "metadata": metadata, "endpoints": new["endpoints"], "ports": new["ports"]}
