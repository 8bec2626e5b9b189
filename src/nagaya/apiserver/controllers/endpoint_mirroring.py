"""EndpointSlices made from Endpoints that users write, for Services that choose no pods.

Whoever reads where a Service leads need only read slices. The slices belong to the Endpoints they were made from, and
go with them, with the Service, or when the Service begins to choose pods itself.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from nagaya.apiserver.controllers import endpoint_slices, endpoint_subsets
from nagaya.apiserver.controllers.ending_namespaces import is_ending
from nagaya.apiserver.controllers.endpoint_slices import MANAGED_BY, SERVICE_NAME, SERVICES
from nagaya.apiserver.controllers.endpoints import ENDPOINTS, TABLE
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.storage import Event

_MANAGER: Final = "endpointslicemirroring-controller.k8s.io"
_SKIP: Final = "endpointslice.kubernetes.io/skip-mirror"
_NOT_COPIED: Final = frozenset(
    {"endpoints.kubernetes.io/last-change-trigger-time", "kubectl.kubernetes.io/last-applied-configuration"}
)
_ELECTION: Final = "control-plane.alpha.kubernetes.io/leader"
LARGEST: Final = 1000
"""No more addresses of a subset than this are mirrored."""


class EndpointMirroring:
    """Keeps the slices of Endpoints."""

    name = "endpoint mirroring"
    tables = (TABLE, endpoint_slices.TABLE, "services")

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-controller-manager")

    def start(self) -> Iterator[str]:
        """All Endpoints, and all Services that had some."""
        for record in self._backend.store.list(TABLE).records:
            yield record.key
        for record in self._backend.store.list(endpoint_slices.TABLE).records:
            yield from _mirrored(record.key, record.labels)

    def on_event(self, event: Event) -> Iterator[str]:
        """Endpoints, their Service or a slice made from them came, changed or went."""
        if event.table == endpoint_slices.TABLE:
            record = event.record or event.previous
            if record is not None:
                yield from _mirrored(event.key, record.labels)
        elif event.table in (TABLE, "services"):
            yield event.key

    async def sync(self, key: object) -> float | None:
        """Bring the slices of one Endpoints object up to date."""
        assert isinstance(key, str)
        namespace, _, name = key.partition("/")
        endpoints = self._api.get(ENDPOINTS, namespace, name)
        service = self._api.get(SERVICES, namespace, name)
        if endpoints is None:
            return None  # the garbage collector takes the slices
        wanted = planned(endpoints) if is_mirrored(endpoints, service) else []
        try:
            await endpoint_slices.write(self._backend, self._api, "Endpoints", endpoints, _MANAGER, wanted)
        except ApiError as error:
            if not is_ending(error):
                raise
        return None


def _mirrored(key: str, labels: Mapping[str, str]) -> Iterator[str]:
    if labels.get(MANAGED_BY) == _MANAGER and SERVICE_NAME in labels:
        yield f"{key.partition('/')[0]}/{labels[SERVICE_NAME]}"


def is_mirrored(endpoints: JsonObject, service: JsonObject | None) -> bool:
    """Whether there have to be slices."""
    metadata = endpoints["metadata"]
    if service is None or service["spec"].get("selector") or "deletionTimestamp" in metadata:
        return False
    if (metadata.get("labels") or {}).get(_SKIP) == "true":
        return False
    return _ELECTION not in (metadata.get("annotations") or {})


_MOST_ENTRIES: Final = 50_000
"""Addresses, each with each of its ports: a small object may have very many."""


def planned(endpoints: JsonObject) -> list[JsonObject]:
    """What the slices have to say: one for each family in each subset."""
    metadata = endpoints["metadata"]
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key not in _NOT_COPIED}
    about: JsonObject = {"labels": dict(metadata.get("labels") or {}), "annotations": annotations}
    slices = []
    entries = islice(endpoint_subsets.entries(endpoints.get("subsets") or ()), _MOST_ENTRIES)
    for subset in endpoint_subsets.packed(entries):
        families: dict[str, list[JsonObject]] = {}
        for address, is_ready in list(_addresses(subset))[:LARGEST]:
            ip = ipaddress.ip_address(address["ip"])
            endpoint: JsonObject = {"addresses": [str(ip)], "conditions": {"ready": is_ready}}
            endpoint |= {name: address[name] for name in ("targetRef", "nodeName", "hostname") if name in address}
            families.setdefault(f"IPv{ip.version}", []).append(endpoint)
        ports = [{"name": "", **each} for each in subset.get("ports") or ()] or None
        for family, found in families.items():
            slices.append({"metadata": about, "addressType": family, "endpoints": found, "ports": ports})
    return slices


def _addresses(subset: JsonObject) -> Iterator[tuple[JsonObject, bool]]:
    for member, is_ready in (("addresses", True), ("notReadyAddresses", False)):
        for address in subset.get(member) or ():
            yield address, is_ready
