"""Whether a machine is what its MachineDeployment wants now, and whether it is being changed into that.

Compared are the templates of MachineSet and MachineDeployment, not the Machine itself: that is what rollouts are
decided by, and both must say the same. Only MachineDeployments' machines have the condition from here; control planes
know their own machines, and whoever manages a MachineSet of his own may set it himself.
"""

from __future__ import annotations

from typing import Final

from nagaya.api.cluster.annotations import UPDATE_IN_PROGRESS
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition, MachineReason
from nagaya.api.cluster.machine_status import NodeInfo
from nagaya.api.meta import Condition
from nagaya.core.drift import drift
from nagaya.core.machine.seen import Seen
from nagaya.kube.conditions import condition

_UPDATE_GOES_ON: Final = "In-place update in progress"


def up_to_date(seen: Seen, node_info: NodeInfo | None) -> Condition | None:
    """The condition UpToDate; None if it is not ours to tell, or cannot be told at present."""
    machine_set, deployment = seen.machine_set, seen.machine_deployment
    if machine_set is None or deployment is None:
        return None
    type = MachineCondition.UP_TO_DATE
    differences = drift(machine_set.spec.template.spec, deployment.spec.template.spec).shown
    after, made = deployment.spec.rollout.after, machine_set.metadata.creation_timestamp
    if after is not None and made is not None and made < after < seen.now:
        differences += ("MachineDeployment spec.rolloutAfter expired",)
    if differences:
        lines = "\n".join(f"* {each}" for each in differences)
        return condition(type, False, MachineReason.NOT_UP_TO_DATE, lines)
    if is_updating(seen.machine):
        return condition(type, False, MachineReason.UPDATING, f"* {_UPDATE_GOES_ON}")
    kubelet, wanted = "" if node_info is None else node_info.kubelet_version, seen.machine.spec.version
    if kubelet and kubelet != wanted:
        message = f"* Node.status.nodeInfo.kubeletVersion {kubelet}, {wanted} required"
        return condition(type, False, MachineReason.UPDATING, message)
    return condition(type, True, MachineReason.UP_TO_DATE)


def updating(seen: Seen) -> Condition:
    """The condition Updating."""
    type = MachineCondition.UPDATING
    if is_updating(seen.machine):
        return condition(type, True, MachineReason.IN_PLACE_UPDATING, _UPDATE_GOES_ON)
    return condition(type, False, MachineReason.NOT_UPDATING)


def is_updating(machine: Machine) -> bool:
    """Whether somebody changes the machine in place."""
    return UPDATE_IN_PROGRESS in machine.metadata.annotations
