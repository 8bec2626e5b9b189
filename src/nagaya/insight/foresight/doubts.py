"""What a person should know before an apply: what would be refused, would not fit, would stand still, or is risky."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from nagaya.clusters.kubernetes_version import parse
from nagaya.controlplane.kubeadm.machine_content import etcd_managed
from nagaya.core.machine_set.preflight import SUPPORTED_SKEW
from nagaya.insight.foresight.addresses import PoolNeed
from nagaya.insight.foresight.change import Change, Verb
from nagaya.insight.foresight.landing import Landings
from nagaya.insight.foresight.read import Future
from nagaya.insight.foresight.rollout import Rollout

_UPGRADE_FIRST: Final = (
    "Upgrade the control plane first: apply its new version alone or in the same file, and the machines follow when it "
    "has it."
)
_VERSION_REFUSED: Final = re.compile(
    r"cannot update Kubernetes version from v(?P<major>\d+)\.(?P<minor>\d+)\.\S+ to v\d+\.(?P<to>\d+)\."
)


class Severity(StrEnum):
    """How much it matters."""

    ERROR = "error"
    """It would not come to a good end."""
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something to know beforehand."""

    severity: Severity
    what: str
    """A sentence."""
    remedy: str = ""


def of_changes(changes: Iterable[Change]) -> Iterator[Doubt]:
    """Objects that the server refuses, and fields that others manage."""
    refused: dict[str, list[Change]] = {}
    for each in changes:
        if each.verb is Verb.REFUSE:
            refused.setdefault(each.refusal, []).append(each)
        elif each.note:
            yield Doubt(Severity.WARNING, f"{each.title}: {each.note}.")
    for why, same in refused.items():
        more = f" and {len(same) - 1} more" if len(same) > 1 else ""
        told = f"{same[0].title} ({same[0].source}){more} would be refused: {why}"
        yield Doubt(Severity.ERROR, told, _of_refusal(why))


def _of_refusal(why: str) -> str:
    """What to do, where the server does not say it."""
    found = _VERSION_REFUSED.search(why)
    if found is None or int(found["to"]) <= int(found["minor"]) + 1:
        return ""
    return f"A control plane goes one minor version at a time: go to v{found['major']}.{int(found['minor']) + 1} first."


def of_rollout(future: Future, rollout: Rollout) -> Iterator[Doubt]:
    """Rollouts that stand still, versions that do not go together, control planes that lose their quorum easily."""
    cluster = future.fleet.cluster
    name = cluster.metadata.name
    for who, why in rollout.blocked:
        remedy = _UPGRADE_FIRST if "VersionSkew" in why else ""
        yield Doubt(Severity.ERROR, f"{who} of Cluster {name} would stand still: {why.rstrip('.')}.", remedy)
    if not rollout.settled:
        yield Doubt(
            Severity.WARNING,
            f"The rollout of Cluster {name} did not come to rest in the play, so its end is not known.",
            "Look at the strategy: does something make machines that something else deletes?",
        )
    if cluster.spec.paused:
        yield Doubt(
            Severity.WARNING,
            f"Cluster {name} is paused (spec.paused): nothing happens to its machines until it goes on.",
        )
    if cluster.spec.topology is not None:
        yield Doubt(
            Severity.WARNING,
            f"Cluster {name} has a topology: what its ClusterClass makes of it is not foretold.",
        )
    yield from _of_quorum(future)
    yield from _of_versions(future)
    if not any("skew" in why for _, why in rollout.blocked):
        yield from _of_skew(future)
    for owner, least, wanted in rollout.least:
        if wanted and least == 0:
            yield Doubt(
                Severity.WARNING,
                f"{owner} of Cluster {name} would have no machine that works for a while.",
                "Give it more replicas, or a maxSurge of at least 1.",
            )


def _of_quorum(future: Future) -> Iterator[Doubt]:
    kcp = future.fleet.kubeadm
    if kcp is None or f"KubeadmControlPlane {kcp.metadata.namespace}/{kcp.metadata.name}" not in future.changed:
        return
    replicas = 1 if kcp.spec.replicas is None else kcp.spec.replicas
    if replicas and replicas % 2 == 0 and etcd_managed(kcp):  # admission refuses it, where there is one
        yield Doubt(
            Severity.WARNING,
            f"KubeadmControlPlane {kcp.metadata.name} has {replicas} replicas: etcd then stands no more failures than "
            f"with {replicas - 1}, and with 2 none at all.",
            f"Choose an odd number, {replicas - 1} or {replicas + 1}.",
        )


def _of_versions(future: Future) -> Iterator[Doubt]:
    for title, before, after in future.versions:
        old, new = parse(before), parse(after)
        if old is None or new is None:
            yield Doubt(Severity.ERROR, f"{title}: {after!r} is no version of Kubernetes. Write it as v1.36.3.")
            continue
        if (new.major, new.minor) < (old.major, old.minor):
            yield Doubt(
                Severity.ERROR,
                f"{title} would go back from {before} to {after}: Kubernetes does not support that.",
                "Stay at the version, or make another cluster.",
            )
        elif "ControlPlane" in title and (new.major != old.major or new.minor - old.minor > 1):
            yield Doubt(
                Severity.ERROR,
                f"{title} would go from {before} to {after}: a control plane goes one minor version at a time.",
                f"Go to v{old.major}.{old.minor + 1} first.",
            )


def _of_skew(future: Future) -> Iterator[Doubt]:
    plane = future.fleet.plane
    version = None if plane is None else parse(str(plane.at("spec", "version") or ""))
    if plane is None or version is None:
        return
    for name, deployment in future.fleet.deployments.items():
        own = parse(deployment.spec.template.spec.version)
        if own is None:
            continue
        if own.minor > version.minor:
            yield Doubt(
                Severity.ERROR,
                f"MachineDeployment {name} asks for {own}, and its control plane for {version}: machines must not be "
                "newer.",
                "Upgrade the control plane first.",
            )
        elif own.minor < version.minor - SUPPORTED_SKEW:
            yield Doubt(
                Severity.ERROR,
                f"MachineDeployment {name} asks for {own}, more than {SUPPORTED_SKEW} minor versions behind its "
                f"control plane ({version}).",
                "Upgrade the machines before the control plane.",
            )


def of_landings(landings: Landings) -> Iterator[Doubt]:
    """Machines that no host could have: equal ones once."""
    alike: dict[tuple[str, str], list[str]] = {}
    for each in landings.machines.values():
        if each.missing:
            alike.setdefault((each.why, each.remedy), []).append(each.machine)
    for (why, remedy), names in alike.items():
        some = ", ".join(names[:3]) + (f", ... ({len(names) - 3} more)" if len(names) > 3 else "")
        yield Doubt(
            Severity.ERROR,
            f"{len(names)} of the new machines would find no host ({some}): {why}.",
            remedy or "Make room, add a host, or ask for less.",
        )


def of_pools(needs: Iterable[PoolNeed], dry: frozenset[str]) -> Iterator[Doubt]:
    """Pools that have too few addresses, at the end or in between. `dry` are machines that would get none."""
    for each in needs:
        if each.free is None or each.taken <= each.free:
            continue
        asked = f"InClusterIPPool {each.pool} has {each.free} free addresses, and the rollout takes {each.taken}"
        if not dry:
            yield Doubt(
                Severity.WARNING,
                f"{asked}: it goes on only as fast as addresses that are given back have rested.",
                "Add addresses to the pool to have it go faster.",
            )
        else:
            yield Doubt(
                Severity.ERROR,
                f"{asked}: {len(dry)} of the new machines would wait for an address ({', '.join(sorted(dry)[:3])}).",
                "Add addresses to the pool, or let fewer machines come at a time (maxSurge).",
            )
