"""Control plane machines that were made by hand become the control plane's, with the Secrets that they brought along.

Nothing else happens until all are adopted. A machine too far from the declared version, or without a KubeadmConfig, is
left alone, and all others with it: who made them has to decide.
"""

from __future__ import annotations

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS
from nagaya.api.cluster.machine import Machine
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES
from nagaya.clusters import owners
from nagaya.clusters.kubernetes_version import parse
from nagaya.controlplane.kubeadm.actions import Action, AdoptMachine, AdoptSecret, Warn
from nagaya.controlplane.kubeadm.decision import PREFLIGHT_RETRY, Decision
from nagaya.controlplane.kubeadm.seen import Seen


def adoption(seen: Seen) -> Decision | None:
    """What to do about machines that nobody manages. None if there are none."""
    if not seen.adoptable or seen.deleting:
        return None
    for machine in seen.adoptable:
        if refusal := _refusal(seen, machine):
            return refusal
    ours = owners.controller(KUBEADM_CONTROL_PLANES, seen.kcp)
    actions: list[Action] = []
    for secret in seen.adoptable_secrets:
        others = tuple(each for each in secret.metadata.owner_references if not owners.is_a(each, KUBEADM_CONFIGS))
        why = f"Secret {secret.metadata.name} belongs to the control plane from now on."
        actions.append(AdoptSecret(secret, owners.with_owner(others, ours), why))
    for machine in seen.adoptable:
        owned = owners.with_owner(machine.metadata.owner_references, ours)
        actions.append(AdoptMachine(machine, owned, f"Adopted Machine {machine.metadata.name}"))
    names = ", ".join(each.metadata.name for each in seen.adoptable)
    return Decision(f"Control plane machines that nobody manages are adopted: {names}", tuple(actions))


def mixed(seen: Seen) -> Decision | None:
    """Whether somebody else manages control plane machines of the same cluster."""
    if not seen.foreign or seen.deleting:
        return None
    why = (
        "not all control plane machines are owned by this KubeadmControlPlane, refusing to operate in mixed management "
        f"mode: {', '.join(seen.foreign)}"
    )
    return Decision(why, requeue_after=PREFLIGHT_RETRY, problem=True)


def _refusal(seen: Seen, machine: Machine) -> Decision | None:
    name = f"{machine.metadata.namespace}/{machine.metadata.name}"
    reference = machine.spec.bootstrap.config_ref
    if reference is None or reference.kind != KUBEADM_CONFIGS.kind:
        found = "none" if reference is None else reference.kind
        why = f"unable to adopt Machine {name}: expected a ConfigRef of kind KubeadmConfig but instead found {found}"
        return Decision(why, problem=True)
    if machine.metadata.name not in seen.adoptable_configs:
        return Decision(f"unable to adopt Machine {name}: KubeadmConfig {reference.name} does not exist", problem=True)
    if not machine.spec.version:
        return None  # whoever made it knows what he is doing
    theirs, ours = parse(machine.spec.version), parse(seen.kcp.spec.version)
    if theirs is None or ours is None:
        return Decision(f'unable to adopt Machine {name}: version "{machine.spec.version}" is none', problem=True)
    if theirs.major != ours.major or abs(theirs.minor - ours.minor) > 1:
        why = (
            f'Could not adopt Machine {name}: its version ("{machine.spec.version}") is outside supported +/- one '
            f'minor version skew from KCP\'s ("{seen.kcp.spec.version}")'
        )
        return Decision(why, (Warn("AdoptionFailed", why),), problem=True)
    return None
