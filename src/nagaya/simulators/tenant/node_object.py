"""Nodes as kubelets register and report them. Pure functions; everything in them says that it is simulated."""

from __future__ import annotations

from nagaya.apiserver.meta.status import JsonObject
from nagaya.simulators.tenant.machines import Machine
from nagaya.simulators.tenant.settings import CONTROL_PLANE, MARK, Fault

_PRESSURES = (
    (
        "MemoryPressure",
        Fault.MEMORY_PRESSURE,
        ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
        ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ),
    (
        "DiskPressure",
        Fault.DISK_PRESSURE,
        ("KubeletHasDiskPressure", "kubelet has disk pressure"),
        ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ),
    (
        "PIDPressure",
        Fault.PID_PRESSURE,
        ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
        ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ),
)


def registered(machine: Machine, pod_subnet: str) -> JsonObject:
    """A Node as it is first created. Its status is reported separately."""
    settings = machine.settings
    taints: list[JsonObject] = []
    for taint in settings.registered_taints():
        written: JsonObject = {"key": taint.key, "effect": taint.effect}
        taints.append({**written, "value": taint.value} if taint.value else written)
    annotations = {"volumes.kubernetes.io/controller-managed-attach-detach": "true", **settings.annotations}
    spec: JsonObject = {"podCIDR": machine.pod_range(pod_subnet), "podCIDRs": [machine.pod_range(pod_subnet)]}
    if settings.provider_id:
        spec["providerID"] = settings.provider_id
    if taints:
        spec["taints"] = taints
    return {
        "metadata": {"name": settings.name, "labels": labels(machine), "annotations": annotations},
        "spec": spec,
    }


def labels(machine: Machine) -> dict[str, str]:
    """The labels that a kubelet, or kubeadm for it, puts on its node."""
    settings = machine.settings
    made = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": settings.name,
        "kubernetes.io/os": "linux",
        MARK: "true",
    }
    if settings.control_plane:
        made |= {CONTROL_PLANE: "", "node.kubernetes.io/exclude-from-external-load-balancers": ""}
    return made | dict(settings.labels)


def conditions(machine: Machine, *, ready: bool, now: str) -> list[JsonObject]:
    """What a kubelet has to say about its node."""
    made: list[JsonObject] = []
    for kind, fault, bad, good in _PRESSURES:
        suffers = fault in machine.faults
        reason, message = bad if suffers else good
        made.append({"type": kind, "status": "True" if suffers else "False", "reason": reason, "message": message})
    if Fault.RUNTIME_DOWN in machine.faults:
        made.append(_ready("False", "KubeletNotReady", "[container runtime is down, PLEG is not healthy] (simulated)"))
    elif not ready:
        why = "container runtime network not ready: cni plugin not initialized (simulated)"
        made.append(_ready("False", "KubeletNotReady", why))
    else:
        made.append(_ready("True", "KubeletReady", "kubelet is posting ready status (simulated)"))
    return [{**each, "lastHeartbeatTime": now} for each in made]


def _ready(status: str, reason: str, message: str) -> JsonObject:
    return {"type": "Ready", "status": status, "reason": reason, "message": message}


def facts(machine: Machine, version: str, identifiers: tuple[str, str]) -> JsonObject:
    """The part of a status that only changes when the machine does. `identifiers` are those of machine and boot."""
    settings = machine.settings
    addresses = list(settings.addresses) or [("InternalIP", machine.address)]
    if not any(kind == "Hostname" for kind, _ in addresses):
        addresses.append(("Hostname", settings.name))
    system, boot = identifiers
    return {
        "addresses": [{"type": kind, "address": address} for kind, address in addresses],
        "capacity": dict(settings.capacity),
        "allocatable": dict(settings.capacity),
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "machineID": system.replace("-", ""),
            "systemUUID": system,
            "bootID": boot,
            "kernelVersion": "simulated",
            "osImage": "Simulated",
            "containerRuntimeVersion": "simulated://0",
            "kubeletVersion": settings.version or version,
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
    }
