"""Which pods stand behind a Service, and where they can be reached.

Both ways of publishing that, EndpointSlices and the older Endpoints, start from what is worked out here. A pod counts
as soon as it has an address, whoever gave it one; a pod that has ended never does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.storage import Event, Record

HEADLESS: Final = "service.kubernetes.io/headless"
TABLES: Final = ("services", "pods", "nodes")  # whose events `SelectingServices.touched` is about
_ZONE: Final = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class Behind:
    """One pod behind a Service."""

    pod: JsonObject
    ready: bool
    terminating: bool
    zone: str

    @property
    def reference(self) -> JsonObject:
        """How endpoints refer to the pod."""
        metadata = self.pod["metadata"]
        return {
            "kind": "Pod",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        }

    @property
    def node(self) -> str:
        """The node the pod is on, or nothing."""
        return self.pod["spec"].get("nodeName") or ""

    def address(self, family: str) -> str:
        """The first address of the pod in a family, or nothing."""
        status = self.pod.get("status") or {}
        addresses = [each["ip"] for each in status.get("podIPs") or ()] or [status.get("podIP") or ""]
        return next((each for each in addresses if each and (":" in each) == (family == "IPv6")), "")

    def hostname(self, service: JsonObject) -> str:
        """The name under which the pod is known within the Service, or nothing."""
        spec = self.pod["spec"]
        return (spec.get("hostname") or "") if spec.get("subdomain") == service["metadata"]["name"] else ""

    def ports(self, service: JsonObject) -> Iterator[JsonObject]:
        """The ports of the Service on this pod; one that the pod does not have is left out."""
        for each in service["spec"].get("ports") or ():
            number = _target(self.pod, each)
            if number is not None:
                port = {"name": each.get("name") or "", "port": number, "protocol": each["protocol"]}
                yield port | ({"appProtocol": each["appProtocol"]} if "appProtocol" in each else {})


def _target(pod: JsonObject, port: JsonObject) -> int | None:
    target = port.get("targetPort")
    if isinstance(target, int):
        return target
    spec = pod["spec"]
    sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    for container in [*(spec.get("containers") or ()), *sidecars]:
        for each in container.get("ports") or ():
            if each.get("name") == target and each["protocol"] == port["protocol"]:
                number: int = each["containerPort"]
                return number
    return None


def has_backends(service: JsonObject) -> bool:
    """Whether the server finds the pods behind a Service; else somebody else says where it leads."""
    return bool(service["spec"].get("selector")) and service["spec"].get("type") != "ExternalName"


def is_headless(service: JsonObject) -> bool:
    """Whether a Service has no address of its own."""
    return service["spec"].get("clusterIP") in (None, "", "None")


def behind(backend: Backend, service: JsonObject) -> list[Behind]:
    """The pods behind a Service, by name."""
    selector: Mapping[str, str] = service["spec"]["selector"]
    unready_too = bool(service["spec"].get("publishNotReadyAddresses"))
    found = []
    for record in backend.store.list("pods", f"{service['metadata']['namespace']}/").records:
        if not _matches(selector, record.labels):
            continue
        pod = record.object()
        status = pod.get("status") or {}
        if status.get("phase") in ("Failed", "Succeeded") or not (status.get("podIP") or status.get("podIPs")):
            continue
        node = pod["spec"].get("nodeName")
        known = backend.store.get("nodes", node) if node else None
        if node and known is None and not unready_too:
            continue  # the pod is about to go too
        zone = known.labels.get(_ZONE) or "" if known is not None else ""
        conditions = status.get("conditions") or ()
        ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
        found.append(Behind(pod, ready, bool(pod["metadata"].get("deletionTimestamp")), zone))
    return found


def _matches(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in selector.items())


class SelectingServices:
    """The Services that choose pods, kept in mind so that a change of a pod finds them without reading all Services."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._selectors: dict[str, dict[str, Mapping[str, str]]] = {}  # by namespace and key

    def start(self) -> Iterator[str]:
        """The keys of all Services."""
        self._selectors.clear()
        for record in self._backend.store.list("services").records:
            self._note(record)
            yield record.key

    def touched(self, event: Event) -> Iterator[str]:
        """The keys of the Services that may have to look again after an event."""
        if event.table == "services":
            if event.record is not None:
                self._note(event.record)
            else:
                self._forget(event.key)
            yield event.key
        elif event.table == "pods":
            namespace = event.key.partition("/")[0]
            if namespace in self._selectors:
                labels = [each.labels for each in (event.record, event.previous) if each is not None]
                for key, selector in self._selectors[namespace].items():
                    if any(_matches(selector, each) for each in labels):
                        yield key
        elif event.table == "nodes" and _zone(event.record) != _zone(event.previous):
            for keys in self._selectors.values():
                yield from keys

    def _note(self, record: Record) -> None:
        service = record.object()
        if has_backends(service):
            self._selectors.setdefault(record.key.partition("/")[0], {})[record.key] = service["spec"]["selector"]
        else:
            self._forget(record.key)

    def _forget(self, key: str) -> None:
        namespace = key.partition("/")[0]
        services = self._selectors.get(namespace, {})
        services.pop(key, None)
        if not services:
            self._selectors.pop(namespace, None)


def _zone(node: Record | None) -> str | None:
    """Where a node is: nothing if it does not say, None if there is no node."""
    return None if node is None else node.labels.get(_ZONE) or ""
