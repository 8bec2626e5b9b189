"""The core group, without pods, volumes and events."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.table.builtin.parts import (
    NONE,
    UNKNOWN,
    age,
    amount,
    balancer_text,
    condition,
    containers,
    labels_text,
    metadata,
    name,
    pod_template,
    spec,
    status,
)
from nagaya.apiserver.table.columns import AGE, NAME, Cells, number, shape, text, wide

_CONTAINERS: Final = (
    wide("Containers", "The names of the template's containers."),
    wide("Images", "The images of the template's containers."),
)
_SELECTOR: Final = wide("Selector", "Which pods are meant, by their labels.")


@shape(
    NAME,
    text("Status", "Whether the node is ready, and open for pods."),
    text("Roles", "What the node's labels say it is for."),
    AGE,
    text("Version", "The version of the kubelet."),
    wide("Internal-IP", "The first internal address."),
    wide("External-IP", "The first external address."),
    wide("OS-Image", "The operating system."),
    wide("Kernel-Version", "The kernel, and the architecture."),
    wide("Container-Runtime", "The container runtime and its version."),
)
def NODES(obj: JsonObject, now: datetime) -> Cells:
    observed = status(obj)
    ready = {each.get("type"): each for each in observed.get("conditions") or ()}.get("Ready")
    state = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    if spec(obj).get("unschedulable"):
        state += ",SchedulingDisabled"
    info: JsonObject = observed.get("nodeInfo") or {}
    kernel = info.get("kernelVersion") or UNKNOWN
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    return [
        name(obj),
        state,
        _roles(metadata(obj).get("labels") or {}),
        age(obj, now),
        info.get("kubeletVersion") or "",
        _address(observed, "InternalIP"),
        _address(observed, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _roles(labels: dict[str, str]) -> str:
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
    roles.add(labels.get("kubernetes.io/role") or "")
    return ",".join(sorted(filter(None, roles))) or NONE


def _address(observed: JsonObject, kind: str) -> str:
    for each in observed.get("addresses") or ():
        if each.get("type") == kind:
            return each.get("address") or ""
    return NONE


@shape(NAME, text("Status", "Whether the namespace is in use or being removed."), AGE)
def NAMESPACES(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), status(obj).get("phase") or "", age(obj, now)]


@shape(NAME, text("Data", "The number of entries."), AGE)
def CONFIG_MAPS(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age(obj, now)]


@shape(NAME, text("Type", "What the secret is for."), text("Data", "The number of entries."), AGE)
def SECRETS(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), obj.get("type") or "", len(obj.get("data") or ()), age(obj, now)]


@shape(NAME, AGE)
def SERVICE_ACCOUNTS(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), age(obj, now)]


@shape(
    NAME,
    text("Type", "How the service is exposed."),
    text("Cluster-IP", "The address inside the cluster."),
    text("External-IP", "The addresses outside the cluster."),
    text("Port(s)", "The ports, with node ports and protocols."),
    AGE,
    _SELECTOR,
)
def SERVICES(obj: JsonObject, now: datetime) -> Cells:
    wanted = spec(obj)
    addresses: list[str] = wanted.get("clusterIPs") or []
    return [
        name(obj),
        wanted.get("type") or "",
        addresses[0] if addresses else NONE,
        _external(obj),
        ",".join(map(_port, wanted.get("ports") or ())) or NONE,
        age(obj, now),
        labels_text(wanted.get("selector")),
    ]


def _external(obj: JsonObject) -> str:
    wanted = spec(obj)
    given: list[str] = wanted.get("externalIPs") or []
    match wanted.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(given) or NONE
        case "LoadBalancer":
            balancer = balancer_text(status(obj).get("loadBalancer"))
            return ",".join(filter(None, [balancer, *given])) if given else balancer or "<pending>"
        case "ExternalName":
            return wanted.get("externalName") or ""
    return UNKNOWN


def _port(port: JsonObject) -> str:
    node = f":{port['nodePort']}" if (port.get("nodePort") or 0) > 0 else ""
    return f"{port.get('port') or 0}{node}/{port.get('protocol') or ''}"


@shape(NAME, text("Endpoints", "The first addresses and ports."), AGE)
def ENDPOINTS(obj: JsonObject, now: datetime) -> Cells:
    subsets: list[JsonObject] = obj.get("subsets") or []
    if not subsets:
        return [name(obj), NONE, age(obj, now)]
    shown: list[str] = []
    count = 0
    for subset in subsets:
        addresses = [each.get("ip") or "" for each in subset.get("addresses") or ()]
        ports: list[JsonObject] = subset.get("ports") or []
        count += len(addresses) * max(1, len(ports))
        shown += addresses[:3] if not ports else [_host_port(ip, port) for port in ports[:3] for ip in addresses[:3]]
    listed = ",".join(shown[:3])
    if count > 3:
        listed += f" + {count - 3} more..."
    return [name(obj), listed, age(obj, now)]


def _host_port(address: str, port: JsonObject) -> str:
    return f"[{address}]:{port.get('port') or 0}" if ":" in address else f"{address}:{port.get('port') or 0}"


@shape(
    NAME,
    number("Desired", "The number of pods that is wanted."),
    number("Current", "The number of pods that exist."),
    number("Ready", "The number of pods that are ready."),
    AGE,
    *_CONTAINERS,
    _SELECTOR,
)
def REPLICATION_CONTROLLERS(obj: JsonObject, now: datetime) -> Cells:
    wanted, observed = spec(obj), status(obj)
    return [
        name(obj),
        wanted.get("replicas") or 0,
        observed.get("replicas") or 0,
        observed.get("readyReplicas") or 0,
        age(obj, now),
        *containers(pod_template(obj)),
        labels_text(wanted.get("selector")),
    ]


@shape(NAME, text("Request", "What is used of each limit on requests."), text("Limit", "The same for limits."), AGE)
def RESOURCE_QUOTAS(obj: JsonObject, now: datetime) -> Cells:
    observed = status(obj)
    hard: JsonObject = observed.get("hard") or {}
    used: JsonObject = observed.get("used") or {}
    shown: dict[bool, list[str]] = {False: [], True: []}
    for resource in sorted(hard):
        shown[resource.startswith("limits.")].append(
            f"{resource}: {amount(used.get(resource))}/{amount(hard[resource])}"
        )
    return [name(obj), ", ".join(shown[False]), ", ".join(shown[True]), age(obj, now)]


@shape(
    NAME,
    text("Status", "Whether the component is healthy."),
    text("Message", "What the component says."),
    text("Error", "What is wrong with it."),
)
def COMPONENT_STATUSES(obj: JsonObject, now: datetime) -> Cells:
    healthy = condition(obj.get("conditions"), "Healthy")
    if healthy is None:
        return [name(obj), "Unknown", "", ""]
    state = "Healthy" if healthy.get("status") == "True" else "Unhealthy"
    return [name(obj), state, healthy.get("message") or "", healthy.get("error") or ""]
