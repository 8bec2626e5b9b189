"""Which version of Kubernetes a tenant runs now, on its way to the one that is declared.

One minor version at a time, counted from the oldest that still runs, and never back to an older minor: admission
refuses other wishes, and so does this, in case nobody asked admission. A wish that is refused changes nothing: what is
under way is finished, and the rest waits.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_group import NEWEST_MINOR, OLDEST_MINOR
from nagaya.clusters.kubernetes_version import KubernetesVersion, parse


@dataclass(frozen=True, slots=True)
class Target:
    """The version to run, and what is to be said about the one that is declared."""

    version: str
    reason: Reason = Reason.NO_UPGRADE_ASKED
    message: str = ""
    refused: bool = False


def target(declared: str, running: Collection[str]) -> Target:
    """The version to run. `running` are those that programs were last started as."""
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
    return Target(declared, Reason.UPGRADE_POSSIBLE, f"From {known[0][1]} to {declared}.")


def _numbers(version: KubernetesVersion | None) -> tuple[int, int, int] | None:
    return None if version is None else (version.major, version.minor, version.patch)
