"""Why a control plane gets nothing of the tenant that it names, in words. Pure.

Either it is somebody else's, or it is not here: then the programs go on where they are, and nothing empty is begun in
their place. Both modes use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_control_plane import HostedControlPlane
from nagaya.controlplane.hosted.control_plane.names import ABANDON_DATA, HOME
from nagaya.controlplane.hosted.host.ownership import Claim, Standing

_COPY = "copy it with `nagaya tenant backup` there and `nagaya tenant restore` here"


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is told."""

    reason: Reason
    message: str

    @property
    def leaves_data(self) -> bool:
        """Whether it has data of its own, which nobody here can remove."""
        return self.reason is Reason.DATA_ELSEWHERE


def refusal(plane: HostedControlPlane, claim: Claim, folder: Path) -> Refusal | None:
    """Why nothing may be done for a control plane on this machine; None if it may."""
    if claim.standing is Standing.FOREIGN:
        remedy = "Delete this HostedControlPlane: nothing of that tenant goes with it."
        if plane.spec.tenant_id:
            remedy += " To have a new one, declare it without spec.tenantID."
        return Refusal(Reason.NOT_OWNER, f"Tenant {claim.why} {remedy}")
    if claim.standing is Standing.ELSEWHERE:
        message = (
            f"It was moved, and its programs and data are not in {folder} of this machine.{_where(plane)} Nothing is "
            "begun in their place. Run the controllers of this management API where they are, with the folder that "
            f"they are in (`nagaya up --kubeconfig FILE --data-dir FOLDER`), or {_COPY}."
        )
        return Refusal(Reason.DATA_ELSEWHERE, message)
    return None


def refusal_in_pods(plane: HostedControlPlane) -> Refusal | None:
    """The same where tenants are pods: those that move are programs of a machine, with their files."""
    if not plane.spec.tenant_id:
        return None
    message = (
        f"It was moved, and its programs are processes of a machine, which do not become pods.{_where(plane)} Run the "
        f"controllers there with `--hosted-as processes` (as `nagaya up --kubeconfig FILE` does), or {_COPY}."
    )
    return Refusal(Reason.DATA_ELSEWHERE, message)


def waits_for(refused: Refusal, plane: HostedControlPlane) -> str:
    """What a control plane that shall go waits for although nothing may be done for it; empty if it may go."""
    if not refused.leaves_data or ABANDON_DATA in plane.metadata.annotations:
        return ""
    return f"{refused.message} To let it go and leave its data behind, give it the annotation {ABANDON_DATA}."


def _where(plane: HostedControlPlane) -> str:
    home, host = plane.metadata.annotations.get(HOME, ""), plane.spec.control_plane_endpoint.host
    if home:
        return f" They were in {home} when it was moved."
    return f" They are on the one with the address of its endpoint, {host}." if host else ""
