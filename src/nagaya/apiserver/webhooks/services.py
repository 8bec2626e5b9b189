"""Where a webhook's Service leads.

There is no service network beside an embedded server, so a Service is looked up: its port, then the addresses behind it
in EndpointSlices. For programs that run beside the server without pods or endpoints, an address can be set by hand:
`{"namespace/name": "host:port"}`. That wins over what the Service says, and needs no Service at all.
"""

from __future__ import annotations

from collections.abc import Mapping

from nagaya.apiserver.custom.conversion import WebhookFailure
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.storage import Store
from nagaya.world import World


class Services:
    """Finds the address behind a Service."""

    def __init__(self, store: Store, world: World, fixed: Mapping[str, str]) -> None:
        self._store = store
        self._world = world
        self._fixed = {name: _split(address) for name, address in fixed.items()}

    def address(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        """The host and port of someone who serves. Raises WebhookFailure if there is nobody."""
        if fixed := self._fixed.get(f"{namespace}/{name}"):
            return fixed
        record = self._store.get("services", f"{namespace}/{name}")
        if record is None:
            raise WebhookFailure(f'service "{name}" not found')
        spec = record.object().get("spec") or {}
        found = next((each for each in spec.get("ports") or () if each.get("port") == port), None)
        if found is None:
            raise WebhookFailure(f'no service port {port} found for service "{name}"')
        if spec.get("type") == "ExternalName":
            return spec.get("externalName") or "", port
        candidates = self._endpoints(namespace, name, found.get("name") or "")
        if not candidates:
            raise WebhookFailure(f'no endpoints available for service "{name}"')
        chosen: tuple[str, int] = self._world.random.choice(candidates)
        return chosen

    def _endpoints(self, namespace: str, name: str, port_name: str) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        for record in self._store.list("discovery.k8s.io/endpointslices", f"{namespace}/").records:
            if record.labels.get("kubernetes.io/service-name") == name:
                found += _ready(record.object(), port_name)
        return found


def _ready(endpoint_slice: JsonObject, port_name: str) -> list[tuple[str, int]]:
    """The ready addresses of a slice with the number of the named port."""
    for port in endpoint_slice.get("ports") or ():
        if (port.get("name") or "") == port_name and port.get("port"):
            return [
                (address, port["port"])
                for endpoint in endpoint_slice.get("endpoints") or ()
                if (endpoint.get("conditions") or {}).get("ready", True)
                for address in endpoint.get("addresses") or ()
            ]
    return []


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"the address of a webhook's service must be host:port, not {address!r}")
    return host.strip("[]"), int(port)
