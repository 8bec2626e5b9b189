"""What a condition means, said of its object. Those that nobody has put into words are told as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from nagaya.api.meta import Condition
from nagaya.insight.picture.member import Member
from nagaya.insight.picture.message import one_line

_Sentence = str | Callable[[Member], str]


def _node(machine: Member) -> str:
    name = machine.text("status", "nodeRef", "name")
    return f"its node {name} is ready" if name else "its node is ready"


_SENTENCES: Final[Mapping[tuple[str, str, str], _Sentence]] = {
    ("Cluster", "InfrastructureReady", "True"): "its infrastructure is ready",
    ("Cluster", "ControlPlaneInitialized", "True"): "its API has answered for the first time",
    ("Cluster", "ControlPlaneAvailable", "True"): "its control plane is available",
    ("Cluster", "RemoteConnectionProbe", "True"): "its API can be reached",
    ("Cluster", "RemoteConnectionProbe", "False"): "its API cannot be reached",
    ("Cluster", "WorkersAvailable", "True"): "its workers are available",
    ("Cluster", "Available", "True"): "it is available",
    ("Cluster", "Available", "False"): "it is not available",
    ("Machine", "BootstrapConfigReady", "True"): "its boot data is ready",
    ("Machine", "InfrastructureReady", "True"): "its host is provisioned",
    ("Machine", "NodeReady", "True"): _node,
    ("Machine", "NodeHealthy", "True"): "its node is healthy",
    ("Machine", "Ready", "True"): "it is ready",
    ("Machine", "Ready", "False"): "it is not ready",
    ("Machine", "Available", "True"): "it is available",
    ("Machine", "UpToDate", "False"): "it is not as it is declared",
    ("ProxmoxMachine", "VirtualMachineProvisioned", "True"): "its VM is provisioned",
    ("ProxmoxMachine", "VirtualMachineHealthy", "True"): "its VM runs",
    ("ProxmoxMachine", "VirtualMachineHealthy", "False"): "its VM does not run as it should",
    ("KubeadmConfig", "DataSecretAvailable", "True"): "its boot data is written",
    ("KubeadmControlPlane", "Initialized", "True"): "its first machine has started the API",
}

_STEPS: Final = (
    ("BootstrapConfigReady", "DataSecretAvailable"),
    ("InfrastructureReady", "VirtualMachineProvisioned", "VirtualMachineHealthy"),
    ("NodeJoined", "Initialized", "ControlPlaneInitialized", "RemoteConnectionProbe"),
    ("NodeReady",),
    ("NodeHealthy",),
    ("Ready",),
    ("MachinesReady", "ControlPlaneMachinesReady", "WorkerMachinesReady"),
    ("Available",),
    ("ControlPlaneAvailable", "WorkersAvailable"),
)
"""The order in which one condition leads to the next: what is told to the second may be of the same one."""


def step(kind: str, type: str) -> int:
    """The place of a condition in that order; the Cluster is Available last of all."""
    if (kind, type) == ("Cluster", "Available"):
        return len(_STEPS)
    return next((number for number, types in enumerate(_STEPS) if type in types), 0)


def sentence(member: Member, condition: Condition) -> str:
    """What a condition says, with its reason and its message if they add something."""
    known = _SENTENCES.get((member.kind, condition.type, condition.status))
    if known is None:
        said = f"{condition.type} is {condition.status}"
    else:
        said = known if isinstance(known, str) else known(member)
    if condition.reason not in ("", condition.type) and (known is None or condition.status != "True"):
        said = f"{said} ({condition.reason})"
    message = one_line(condition.message)
    return f"{said}: {message}" if message else said
