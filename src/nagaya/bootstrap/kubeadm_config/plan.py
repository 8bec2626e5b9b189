"""What to do about a KubeadmConfig: a pure function from what is seen.

Boot data is made once. After that only the token is looked after, until the machine is a node.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from nagaya.api.bootstrap import annotations as annotation
from nagaya.bootstrap.kubeadm_config.discovery import NO_ENDPOINT, endpoint_missing, uses_token
from nagaya.bootstrap.kubeadm_config.seen import Seen

NO_INFRASTRUCTURE: Final = "Waiting for Cluster status.infrastructureReady to be true"
NO_CONTROL_PLANE: Final = "Waiting for Cluster control plane to be initialized"


class Step(Enum):
    """What is next."""

    NONE = auto()
    """All is done, or the config is going."""
    WAIT = auto()
    RESTORE = auto()
    """The machine has its data; only the status does not say so, as after a move."""
    INIT = auto()
    JOIN = auto()
    PROLONG = auto()
    """The machine is still to join: its token must not expire."""
    ROTATE = auto()
    """More machines of a pool may join: there must always be a fresh token."""
    REVOKE = auto()
    """The machine has joined: its token is of no more use, except to others."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The next step, and in words why it is that one."""

    step: Step
    sentence: str = ""
    tenant: bool = False
    """Whether the tenant has to be talked to."""


def plan(seen: Seen) -> Plan:
    """Decide."""
    status, owner, cluster = seen.config.status, seen.owner, seen.cluster
    made = bool(status.initialization.data_secret_created)
    if seen.config.metadata.deleting:
        return Plan(Step.NONE, "The config is being deleted.")
    if not cluster.status.initialization.infrastructure_provisioned:
        return Plan(Step.WAIT, NO_INFRASTRUCTURE)
    if owner.data_secret_name and not (made and status.data_secret_name):
        return Plan(Step.RESTORE, f"{owner.kind} {owner.name} has its data in Secret {owner.data_secret_name}.")
    if made:
        return _look_after_token(seen)
    if not seen.initialized:
        if not owner.control_plane:
            return Plan(Step.WAIT, NO_CONTROL_PLANE)
        return Plan(Step.INIT, "No machine has started the cluster yet.")
    if endpoint_missing(seen.config, cluster):
        return Plan(Step.WAIT, NO_ENDPOINT)
    if uses_token(seen.config) and not seen.connected:
        return Plan(Step.WAIT, f"Waiting for the cluster to make a bootstrap token: {seen.problem}", tenant=True)
    return Plan(Step.JOIN, "The cluster runs and can be joined.", tenant=True)


def _look_after_token(seen: Seen) -> Plan:
    config, owner = seen.config, seen.owner
    ours = annotation.TOKEN_MADE in config.metadata.annotations
    if not uses_token(config) or not config.spec.join_configuration.discovery.bootstrap_token.token:
        return Plan(Step.NONE, "The boot data is made.")
    if owner.joined and not owner.pool and not ours:
        return Plan(Step.NONE, "The machine has joined with a token of the user's.")
    if not seen.connected:
        return Plan(Step.NONE, f"The token cannot be looked after: {seen.problem}", tenant=True)
    if not owner.joined:
        return Plan(Step.PROLONG, "The machine has not joined yet.", tenant=True)
    if owner.pool:
        return Plan(Step.ROTATE, "More machines of the pool may join.", tenant=True)
    return Plan(Step.REVOKE, "The machine has joined.", tenant=True)
