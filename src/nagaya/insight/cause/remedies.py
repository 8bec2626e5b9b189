"""What to do about a reason, where the message of the condition does not say it already.

The words in docs/reference/conditions.md are longer; every reason here is in its tables, and a test sees to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.api.meta import Condition
from nagaya.insight.cause.cause import Weight
from nagaya.insight.picture.member import Member

_INSTALL: Final = "Provide the programs: `nagaya kubernetes install`."
_CONSOLE: Final = (
    "Look at the console of the machine, and whether it reaches the address of the control plane. A "
    "MachineHealthCheck, or deleting the Machine, replaces it."
)
REMEDIES: Final[Mapping[tuple[str, str], str]] = {
    ("Cluster", "ProbeFailed"): "Check the Secret <cluster>-kubeconfig, the endpoint in spec.controlPlaneEndpoint, and "
    "the network between Nagaya and it.",
    ("Cluster", "ObjectDeleted"): "It was there and is gone: restore it from a backup. Deleting the Cluster instead "
    "destroys all of its machines and their data.",
    ("Cluster", "NotReady"): "Look at the log of the infrastructure provider.",
    ("Cluster", "ReconcileFailed"): "Correct the ClusterClass or spec.topology as the message says.",
    ("Cluster", "LifecycleHookBlocking"): "Ask whoever runs the runtime extension.",
    ("Machine", "InspectionFailed"): _CONSOLE,
    ("Machine", "NodeStartupTimeout"): _CONSOLE,
    (
        "Machine",
        "NodeNotReady",
    ): "Ask the kubelet: `journalctl -u kubelet` on the machine. Often the pod network is not installed yet.",
    ("Machine", "NodeNotHealthy"): "Ask the kubelet: `journalctl -u kubelet` on the machine. Often the pod network is "
    "not installed yet.",
    ("Machine", "NodeReadyUnknown"): "The kubelet is not heard: does the machine run, and does it reach the API?",
    ("Machine", "NodeHealthyUnknown"): "The kubelet is not heard: does the machine run, and does it reach the API?",
    ("Machine", "NodeDeleted"): "Somebody deleted its Node. Delete the Machine to replace it.",
    ("Machine", "ConnectionDown"): "Look at the control plane: `nagaya why cluster/NAME`.",
    ("Machine", "UnhealthyNode"): "Look at the conditions of its Node: `kubectl describe node`.",
    ("Machine", "UnhealthyMachine"): "Look at the conditions of the Machine: `nagaya describe cluster NAME "
    "--show-conditions Machine`.",
    (
        "Machine",
        "CannotBeRemediated",
    ): "Mend the machine by hand: its owner does not replace it. Or delete the Machine.",
    ("Machine", "RemediationDeferred"): "It is replaced when what the message names is over.",
    ("Machine", "RemediationTemplateNotFound"): "Create the template, or correct remediation.templateRef.",
    ("Machine", "DrainingNode"): "If a PodDisruptionBudget forbids it: run more replicas, or change the budget. "
    "To go on without it stops the remaining pods against their budget, and what they have on the machine is lost: "
    "spec.deletion.nodeDrainTimeoutSeconds limits the drain, the annotation "
    "machine.cluster.x-k8s.io/exclude-node-draining leaves it out.",
    (
        "Machine",
        "WaitingForVolumeDetach",
    ): "Look at the VolumeAttachments of the tenant and at its CSI driver. To go on "
    "without them can damage volumes that are still mounted: spec.deletion.nodeVolumeDetachTimeoutSeconds limits the "
    "wait.",
    ("Machine", "WaitingForPreDrainHook"): "Whoever set the annotation removes it when it is done.",
    ("Machine", "WaitingForPreTerminateHook"): "Whoever set the annotation removes it when it is done.",
    ("Machine", "ObjectDoesNotExist"): "Delete the Machine: its owner makes another with all parts.",
    ("Machine", "ObjectDeleted"): "The host was deleted behind its back: delete the Machine, and its MachineSet makes "
    "another.",
    (
        "MachineSet",
        "ScalingUp",
    ): "Do what the message says: create the template, raise the quota, or let the control plane settle.",
    ("MachineSet", "WaitingForReplicasSet"): "Set spec.replicas.",
    ("MachineDeployment", "ScalingUp"): "Create the template that is missing, or correct the reference to it.",
    ("MachineDeployment", "WaitingForReplicasSet"): "Set spec.replicas.",
    (
        "MachineHealthCheck",
        "TooManyUnhealthy",
    ): "So many at once have a common cause, such as the network: mend that. A higher limit in remediation.triggerIf "
    "has all of them deleted, with the data on their disks.",
    (
        "HostedControlPlane",
        "DataStoreNotFound",
    ): "Make the DataStore that spec.dataStoreRef names, with the endpoints of the store that has the data, or correct "
    "the name. In another store the control plane begins without its data.",
    ("HostedControlPlane", "BinariesMissing"): _INSTALL,
    ("HostedControlPlane", "Sleeping"): "Scale it up to wake it: `kubectl scale hostedcontrolplane NAME --replicas 1`.",
    ("HostedControlPlane", "AddressInUse"): "Stop the other program, or choose another port in spec.network.",
    ("HostedControlPlane", "AddressMissing"): "Set spec.network.address.",
    ("HostedControlPlane", "WaitingForLoadBalancer"): "Is there something that serves Services of type LoadBalancer?",
    (
        "HostedControlPlane",
        "CertificateAuthorityLost",
    ): "Restore the Secret from a backup: a new authority would cut off all nodes.",
    ("HostedControlPlane", "CertificateUnusable"): "Correct the Secret that the message names.",
    ("HostedControlPlane", "CertificateExpired"): "Provide another authority. Nodes and "
    "clients that trust only the old one have to join again.",
    ("HostedControlPlane", "VersionSkipsMinor"): "Go one minor version at a time.",
    ("HostedControlPlane", "VersionNotSupported"): "Choose a version that Nagaya knows: `nagaya kubernetes --help`.",
    ("HostedControlPlane", "NodesTooOld"): "Upgrade the machines first.",
    ("HostedControlPlane", "Restarting"): "Its last words are in the message; correct what they complain of.",
    ("DataStore", "BinariesMissing"): _INSTALL,
    ("DataStore", "SecretMissing"): "Create the Secret that the message names, in the DataStore's namespace.",
    ("DataStore", "SecretUnusable"): "Correct the Secret that the message names.",
    ("DataStore", "Unreachable"): "Is the store running, and are spec.endpoints right?",
    ("DataStore", "NotAuthorized"): "Correct the credentials in the Secret.",
    ("DataStore", "NotHealthy"): "Look at the store itself: has it a leader, has it space?",
    ("DataStore", "VersionTooOld"): "Upgrade the store.",
    ("DataStore", "InUse"): "It has the data of the control planes that the message names. Keep it, or back them up "
    "(`nagaya tenant backup`) and delete them first: their data goes with them.",
    (
        "ProxmoxCluster",
        "UnknownHosts",
    ): "Correct allowedNodes or failureDomains: the message lists the hosts there are.",
    ("ProxmoxCluster", "MissingControlPlaneEndpoint"): "Set spec.controlPlaneEndpoint, or wait for the control plane "
    "provider to do it.",
    ("ProxmoxCluster", "SecretMissing"): "Create the Secret in spec.credentialsRef.",
    ("ProxmoxMachine", "WaitingForProxmox"): "Proxmox VE is asked again by itself. `nagaya proxmox check` says step by "
    "step what is wrong with the connection to it.",
    ("ProxmoxMachine", "WaitingForVMID"): "Widen vmIDRange if all of it is taken.",
    ("ProxmoxMachine", "PoweringOnFailed"): "Mend in Proxmox VE what its task complains of, and it is tried again by "
    "itself. If the machine asks for what no host has, such as processors, have its owner name a "
    "ProxmoxMachineTemplate that asks for less.",
    ("ProxmoxMachine", "WaitingForGuestAgent"): "Wait for a minute or two: it starts. If nothing happens then, look at "
    "the console of the VM: does it boot, and is qemu-guest-agent in its template, enabled?",
    ("ProxmoxMachine", "WaitingForClusterAPIMachineAddresses"): "Is there a DHCP server on the network of its bridge, "
    "in its VLAN? If there is none, give machines addresses of a pool: ipv4Config of the ProxmoxCluster.",
    ("ProxmoxMachine", "CloudInitFailed"): "Delete the Machine to replace it, once what the message says is corrected.",
    ("ProxmoxMachine", "Stopped"): "Turn it on. Or delete the Machine to replace it.",
    ("ProxmoxMachine", "Suspended"): "Resume it in Proxmox VE.",
    ("ProxmoxMachine", "IOError"): "Free space on the storage of its disks, then resume the VM.",
    ("ProxmoxMachine", "HostUnreachable"): "Bring the host back. If it is lost for good, set "
    "spec.deletionPolicy of the ProxmoxMachine to Release, and delete the Machine.",
    ("ProxmoxMachine", "WaitingForHost"): "Bring the host back. If it never comes back, set spec.deletionPolicy of the "
    "ProxmoxMachine to Release.",
    ("ProxmoxMachine", "VMNotFound"): "Delete the Machine to get another one.",
    (
        "ProxmoxMachine",
        "IdentityMismatch",
    ): "Nothing is changed while you look for the VM. If the message names another "
    "management API, the cluster was moved: look after it there. If it names a line for the notes of the VM, that line "
    "hands the VM back to this machine. Delete the Machine only when its own VM is gone or turned off: a VM that still "
    "runs is not destroyed, and its addresses are given to other machines.",
    (
        "ProxmoxConnection",
        "Unreachable",
    ): "Is Proxmox VE up, and are spec.endpoints right? `nagaya proxmox check` tries it step by step.",
    (
        "ProxmoxConnection",
        "SecretMissing",
    ): "Create the Secret in spec.credentialsRef, or run `nagaya proxmox connect`.",
    ("ProxmoxConnection", "SecretUnusable"): "Correct the Secret as the message says, or run `nagaya proxmox connect`.",
    ("ProxmoxConnection", "Missing"): "Run the `pveum` commands in status.missingPrivileges, or `nagaya proxmox "
    "connect`, which does.",
    (
        "ProxmoxConnection",
        "Deleting",
    ): "A deletion cannot be taken back, and clusters still need the connection: it goes when they are deleted, with "
    "their machines and data. `nagaya proxmox connect` makes it anew, under another name at once.",
    ("ProxmoxConnection", "NoQuorum"): "Turn more hosts on: `pvecm status` on one of them says who is missing.",
    (
        "ProxmoxConnection",
        "CertificateNotTrusted",
    ): "Run `nagaya proxmox connect`, which shows the certificate and asks.",
    ("ProxmoxConnection", "NotProxmox"): "Correct spec.endpoints: https://HOST:8006 of a host of Proxmox VE.",
    ("ProxmoxConnection", "DatacenterChanged"): "Correct spec.endpoints, or make another ProxmoxConnection.",
    ("SimulatedMachine", "DeletionFailed"): "Take the fault out of spec.faults.",
    ("SimulatedMachine", "BootFailed"): "Take the fault out of spec.faults, and delete the Machine.",
    ("SimulatedMachine", "ProvisioningFailed"): "Take the fault out of spec.faults.",
    ("SimulatedMachine", "JoinHangs"): "Take the fault out of spec.faults.",
    ("SimulatedMachine", "JoinFailed"): "Take the fault out of spec.faults, and delete the Machine.",
    ("SimulatedMachine", "WaitingForCertificateAuthority"): "Create the Secret <cluster>-ca.",
    ("SimulatedCluster", "DeletionFailed"): "Take the fault out of spec.faults.",
}
"""By kind and reason."""
_ADDRESSES: Final = (
    "Add addresses to the pool, or delete what has one and is not needed. The claim of a machine that runs stays: its "
    "address would be given to another."
)
_ELSEWHERE: Final[Mapping[tuple[str, str], str]] = {
    (
        "InClusterIPPool",
        "Exhausted",
    ): f"{_ADDRESSES} `kubectl get ipaddresses` lists who has which.",
    ("GlobalInClusterIPPool", "Exhausted"): f"{_ADDRESSES} `kubectl get ipaddresses -A` lists who has which.",
    ("KubeadmControlPlane", "ScalingUp"): "Create the template that is missing, or correct the reference to it.",
    ("KubeadmControlPlane", "NotHealthy"): "Look at the static pods of the machines that the message names: `crictl ps "
    "-a` there.",
}
"""Of kinds whose reasons have other pages."""
_HALF_MADE: Final = ("ProxmoxMachine", "WaitingForProxmox")
"""What a machine says, too, whose host went off while it was made."""


def remedy(member: Member, condition: Condition, weight: Weight) -> str:
    """What to do. Empty if the condition's own message says it."""
    known = REMEDIES.get((member.kind, condition.reason)) or _ELSEWHERE.get((member.kind, condition.reason))
    if known is _INSTALL and (version := member.text("spec", "version")):
        given = f"--version {version} --only control-plane"
        return f"Provide the programs: `nagaya kubernetes install {given}`. Or choose a version that can be had."
    if (member.kind, condition.reason) == _HALF_MADE and _host_is_off(member):
        return REMEDIES["ProxmoxMachine", "HostUnreachable"]
    if known is not None:
        return known
    if weight is Weight.HELD and " does not exist" in condition.message:
        return "Create it, or correct what names it."
    if weight is Weight.WORKING:
        return "Wait: it goes on by itself. If it does not, the events tell more: `nagaya timeline`."
    if weight is Weight.UNKNOWN or condition.reason == "InternalError":
        return further(member)
    return ""


def _host_is_off(machine: Member) -> bool:
    health = machine.condition("VirtualMachineHealthy")
    return health is not None and health.reason == "HostUnreachable"


def further(member: Member) -> str:
    """Where to look next when nothing here is known to help."""
    where = f" -n {member.namespace}" if member.namespace else ""
    what = f"{member.kind.lower()}.{member.group} {member.name}{where}"
    return f"Look at `kubectl describe {what}` and at the log of its controller."
