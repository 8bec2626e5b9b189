"""Which condition of an object is bad, and what that means: somebody's business, a failure, unknown, or work."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nagaya.api.meta import Condition
from nagaya.insight.cause.cause import Weight
from nagaya.insight.picture.member import Member
from nagaya.insight.tree.branch import NEGATIVE

SUMMARIES: Final = frozenset({"Available", "Ready", "MachinesReady", "ComponentsReady", "ControlPlaneMachinesReady",
                              "WorkerMachinesReady"})  # fmt: skip
"""Conditions that are made from others: those say more."""
MIRRORS: Final = frozenset({"InfrastructureReady", "ControlPlaneAvailable", "BootstrapConfigReady", "WorkersAvailable",
                            "MachinesReady", "ControlPlaneMachinesReady", "WorkerMachinesReady"})  # fmt: skip
"""Conditions that repeat what other objects say, a moment later."""
APART: Final = frozenset({"Paused", "Deleting"})
"""Conditions that have their own explanation."""
_WORKING: Final = frozenset(
    {
        # Virtual machines, in the order in which they come.
        "WaitingForVMID", "WaitingForCloneSlot", "Cloning", "WaitingForVirtualMachineConfig",
        "WaitingForDiskReconciliation", "WaitingForStaticIPAllocation", "WaitingForBootstrapDataReconciliation",
        "WaitingForVMPowerUp", "WaitingForClusterAPIMachineAddresses", "WaitingForGuestAgent", "WaitingForCloudInit",
        "WaitingForBootstrapReady", "NotRunningYet", "ReleasingAddresses",
        # Simulated ones.
        "Provisioning", "Booting", "NotBooted",
        # What waits for others that come.
        "WaitingForOwner", "WaitingForCluster", "WaitingForClusterInfrastructure",
        "WaitingForClusterInfrastructureReady", "WaitingForControlPlane", "WaitingForControlPlaneInitialized",
        "WaitingForBootstrapData", "WaitingForCertificates", "WaitingForDataStore", "WaitingForEndpoint",
        "WaitingForAPIServer", "WaitingForEtcd", "WaitingForAddressPools", "WaitingForMinReadySeconds",
        "WaitingForAvailableReplicasSet", "NotInitialized", "InspectionFailed", "AvailableUnknown", "ReadyUnknown",
        # Programs and machines that come and go.
        "Starting", "ScalingUp", "ScalingDown", "RollingOut", "Remediating", "Updating", "InPlaceUpdating",
        "NotUpToDate", "WaitingForRemediation", "MachineDeleting", "Deleting", "StoppingComponents", "RemovingData",
        "DeletionCompleted", "WaitingForMachineDeletion",
    }
)  # fmt: skip
"""Reasons that pass by themselves when all goes well."""
_HELD: Final = frozenset(
    {
        "ConnectionNotFound", "NoConnection", "SeveralConnections", "SecretMissing", "SecretUnusable", "UnknownHosts",
        "MissingControlPlaneEndpoint", "WaitingForLoadBalancer", "AddressMissing", "AddressInUse", "BinariesMissing",
        "CertificateAuthorityLost", "CertificateUnusable", "CertificateExpired", "DataStoreNotFound", "Sleeping",
        "VersionSkipsMinor", "VersionNotSupported", "NodesTooOld", "TooManyUnhealthy", "CannotBeRemediated",
        "TemplateNotFound", "NotAuthorized", "Refused", "Missing", "VMProvisionFailed", "PoolExhausted",
        "WaitingForReplicasSet", "ObjectDoesNotExist", "ObjectDeleted", "RemediationTemplateNotFound", "InvalidSpec",
        "Exhausted", "NotASimulatedCluster", "CertificateNotTrusted", "DatacenterChanged", "EndpointInvalid",
        "NotProxmox", "DataElsewhere", "NotOwner", "FolderInUse",
    }
)  # fmt: skip
"""Reasons that pass only when somebody does something."""
_NOT_USED: Final = "NotUsed"
"""The reason of what nobody asked for."""
_PREFLIGHT: Final = "preflight check failed"
"""What it says while the control plane has something else to do first."""
BLOCKED: Final = " is blocked because"
"""What groups of machines say when those that are missing cannot be made."""
_GOING: Final = "ScalingDown"
"""What is too much goes when the rest is well: whoever keeps it from that says so himself."""
_NOT_BY_ITSELF: Final = (BLOCKED, " does not exist")
"""Words that say that somebody has to do something, whatever the reason."""


def is_bad(condition: Condition) -> bool:
    """Whether a condition is not as it should be."""
    if condition.type in APART or condition.reason == _NOT_USED:
        return False
    if condition.type.endswith("UpToDate") and condition.status == "Unknown":
        return False  # it is so of every machine that was made by hand
    return condition.status != ("False" if condition.type in NEGATIVE else "True")


def weight_of(condition: Condition) -> Weight:
    """What a bad condition means."""
    if _PREFLIGHT in condition.message:
        return Weight.WORKING
    if condition.reason in _HELD or (condition.type != _GOING and any(w in condition.message for w in _NOT_BY_ITSELF)):
        return Weight.HELD
    if condition.type in NEGATIVE or condition.reason in _WORKING:
        return Weight.WORKING
    return Weight.FAILED if condition.status == "False" else Weight.UNKNOWN


def worst(member: Member, types: Iterable[str]) -> Condition | None:
    """The condition that says most of those that are bad: what is somebody's business first, known ones before unknown,
    single ones before summaries."""
    bad = [found for type in types if (found := member.condition(type)) is not None and is_bad(found)]
    return min(
        bad,
        key=lambda each: (weight_of(each) is not Weight.HELD, each.status == "Unknown", each.type in SUMMARIES),
        default=None,
    )


def others(member: Member, types: Iterable[str]) -> tuple[str, ...]:
    """The conditions of an object that are not among these, in its own order, summaries last."""
    left = [each.type for each in member.conditions if each.type not in {*types, *APART}]
    return tuple(sorted(left, key=lambda each: each in SUMMARIES))


def is_good(member: Member) -> bool:
    """Whether an object says of itself that all is well; False also if it says nothing."""
    sums = [found for type in ("Available", "Ready") if (found := member.condition(type)) is not None]
    return bool(sums) and all(each.status == "True" for each in sums)
