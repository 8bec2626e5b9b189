"""What a pod gets that its author left out.

The same rules fill in pods, the templates of every workload, and whatever else holds a pod spec; a few hold for pods
alone, because a template must stay as its author wrote it. Everything here changes the object in place. What two
spellings of one thing mean (`serviceAccount` and `serviceAccountName`) is settled here too, so later code sees one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from nagaya.apiserver.builtins.kinds import container_defaults, core_resources, pod_resources, volume_defaults
from nagaya.apiserver.meta.status import JsonObject

DEFAULT_GRACE: Final = 30
# They held init containers before those were a field, and are dropped wherever they turn up.
_INIT_CONTAINER_ANNOTATIONS: Final = (
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
)


def default_pod(pod: JsonObject) -> None:
    """Fill in a pod."""
    spec: JsonObject = pod.setdefault("spec", {})
    for container in _main_containers(spec):
        _request_limits(container)
    _default_pod_resources(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for container in _main_containers(spec):
            for port in container.get("ports") or ():
                if not port.get("hostPort") and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]
    default_pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    _drop_annotations(pod.get("metadata"))
    if status := pod.get("status"):
        _default_status(status)


def default_template(template: JsonObject | None) -> None:
    """Fill in a pod template."""
    if template is None:
        return
    default_pod_spec(template.setdefault("spec", {}))
    _drop_annotations(template.get("metadata"))


def default_pod_spec(spec: JsonObject) -> None:
    """Fill in what every holder of a pod spec gets."""
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", DEFAULT_GRACE)
    spec.setdefault("schedulerName", "default-scheduler")
    for volume in spec.get("volumes") or ():
        volume_defaults.default_volume(volume)
    for container in all_containers(spec):
        container_defaults.default_container(container)
    core_resources.round_up(spec.get("overhead"))
    pod_resources.round_up_requirements(spec.get("resources"))
    name_service_account(spec)


def name_service_account(spec: JsonObject) -> None:
    """Write the service account under both of its names."""
    if name := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def all_containers(spec: JsonObject) -> Iterator[JsonObject]:
    """Every container, in the order in which they are looked at."""
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()
    yield from spec.get("ephemeralContainers") or ()


def _main_containers(spec: JsonObject) -> Iterator[JsonObject]:
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()


def _request_limits(container: JsonObject) -> None:
    """What is limited and not requested is requested in full."""
    resources = container.get("resources") or {}
    if limits := resources.get("limits"):
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


def _default_pod_resources(spec: JsonObject) -> None:
    """Requests and limits of the pod as a whole, where it has some."""
    resources: JsonObject | None = spec.get("resources")
    if not resources or not (resources.get("limits") or resources.get("requests")):
        return
    limits, requests = dict(resources.get("limits") or {}), dict(resources.get("requests") or {})
    for name, amount in pod_resources.aggregate(spec, "limits").items():
        if core_resources.is_huge_pages(name) and name not in requests:
            limits.setdefault(name, str(amount))
    if limits:
        resources["limits"] = limits
    for name, amount in pod_resources.aggregate(spec, "requests").items():
        if pod_resources.is_pod_level(name) and core_resources.is_overcommit_allowed(name):
            requests.setdefault(name, str(amount))
    for name, amount in limits.items():
        if pod_resources.is_pod_level(name):
            requests.setdefault(name, amount)
    if requests:
        resources["requests"] = requests


def _drop_annotations(metadata: Any) -> None:
    annotations = (metadata or {}).get("annotations")
    if annotations and any(key in annotations for key in _INIT_CONTAINER_ANNOTATIONS):
        metadata["annotations"] = {k: v for k, v in annotations.items() if k not in _INIT_CONTAINER_ANNOTATIONS}


def _default_status(status: JsonObject) -> None:
    for list_name in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        for container in status.get(list_name) or ():
            core_resources.round_up(container.get("allocatedResources"))
            pod_resources.round_up_requirements(container.get("resources"))
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and addresses[0].get("ip"):
        status["podIP"] = addresses[0]["ip"]
