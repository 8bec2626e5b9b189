"""Which version of Kubernetes a tenant runs now, on its way to the one that is declared.

One minor version at a time, counted from the oldest that still runs, and never back to an older minor: admission
refuses other wishes, and so does this, in case nobody asked admission. A wish that is refused changes nothing: what is
under way is finished, and the rest waits. So does a minor version that the kubelets of the tenant are too old for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_group import NEWEST_MINOR, OLDEST_MINOR
from nagaya.clusters.kubernetes_version import KubernetesVersion, parse
from nagaya.clusters.names import listed
from nagaya.controlplane.hosted.control_plane.kubelets import OLDER, too_old

_SHOWN: Final = 5
_NONE: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Target:
    """The version to run, and what is to be said about the one that is declared."""

    version: str
    reason: Reason = Reason.NO_UPGRADE_ASKED
    message: str = ""
    refused: bool = False


def running(started: Iterable[str], last: str) -> tuple[str, ...]:
    """The versions that count as running: those that programs were last started as, or, while none is, the one that the
    data was last written by. A control plane that sleeps skips no version either."""
    return tuple(each for each in started if each) or tuple(each for each in (last,) if each)


def target(declared: str, running: Collection[str], kubelets: Mapping[str, str] | None = _NONE) -> Target:
    """The version to run. `running` are those that programs were last started as; `kubelets` those of the tenant's
    Nodes by name, None if they are not known."""
    wanted = parse(declared)
    known = sorted((found, each) for each in set(running) if (found := _numbers(parse(each))) is not None)
    newest = known[-1][1] if known else declared
    if wanted is None or not OLDEST_MINOR <= wanted.minor <= NEWEST_MINOR or wanted.major != 1:
        message = f"{declared} is not among the versions that are known here: v1.{OLDEST_MINOR} to v1.{NEWEST_MINOR}."
        return Target(newest, Reason.VERSION_NOT_SUPPORTED, message, refused=True)
    if not known or all(each == declared for _, each in known):
        return Target(declared)
    oldest = known[0][0]
    if wanted.minor > oldest[1] + 1:
        message = (
            f"{declared} cannot be reached from {known[0][1]}, which still runs: Kubernetes is upgraded one minor "
            f"version at a time. Go to v1.{oldest[1] + 1} first."
        )
        return Target(newest, Reason.VERSION_SKIPS_MINOR, message, refused=True)
    if wanted.minor < known[-1][0][1]:
        message = (
            f"{declared} is older than {newest}, which runs: Kubernetes does not read what a newer minor version has "
            "stored. Restore a backup into a new control plane instead."
        )
        return Target(newest, Reason.VERSION_NOT_SUPPORTED, message, refused=True)
    # Nodes decide about the first step alone: what is under way is finished.
    if wanted.minor > known[-1][0][1] and (held := _nodes_hold(declared, wanted.minor, newest, kubelets)) is not None:
        return held
    return Target(declared, Reason.UPGRADE_POSSIBLE, f"From {known[0][1]} to {declared}.")


def _nodes_hold(declared: str, minor: int, newest: str, kubelets: Mapping[str, str] | None) -> Target | None:
    if kubelets is None:
        message = (
            f"{declared} waits until the API of the control plane can be asked which Nodes there are: none may be too "
            "old for it. TenantConfigured says why it cannot."
        )
        return Target(newest, Reason.CONTROL_PLANE_NOT_HEALTHY, message, refused=True)
    if not (old := too_old(kubelets, minor)):
        return None
    message = (
        f"{declared} is more than {OLDER} minor versions ahead of the kubelets of {len(old)} Nodes: "
        f"{listed(old, _SHOWN)}. Upgrade these machines to v1.{minor - OLDER} or newer first, or remove them."
    )
    return Target(newest, Reason.NODES_TOO_OLD, message, refused=True)


def _numbers(version: KubernetesVersion | None) -> tuple[int, int, int] | None:
    return None if version is None else (version.major, version.minor, version.patch)
