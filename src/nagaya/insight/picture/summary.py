"""A Cluster in one line: how far it is, what it runs, how many machines it has of how many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from nagaya.api.cluster.labels import SIMULATED
from nagaya.insight.picture.member import Member
from nagaya.insight.picture.references import reference_at


@dataclass(frozen=True, slots=True)
class Share:
    """So many ready of so many wanted; None if that is not said."""

    ready: int | None
    desired: int | None

    def __str__(self) -> str:
        return "" if self.desired is None else f"{self.ready or 0}/{self.desired}"


@dataclass(frozen=True, slots=True)
class Summary:
    """What `get clusters` shows of a Cluster."""

    namespace: str
    name: str
    phase: str
    available: str
    version: str
    control_plane: Share
    workers: Share
    created: datetime | None
    infrastructure: str
    simulated: bool


def summary(cluster: Member, control_plane: Member | None = None) -> Summary:
    """One line. The control plane object, where there is one, knows the version best."""
    available = cluster.condition("Available")
    infrastructure = reference_at(cluster, "spec", "infrastructureRef")
    kind = "" if infrastructure is None else infrastructure.kind
    return Summary(
        namespace=cluster.namespace,
        name=cluster.name,
        phase="Deleting" if cluster.metadata.deleting else cluster.text("status", "phase"),
        available="Unknown" if available is None else available.status,
        version=_version(cluster, control_plane),
        control_plane=_share(cluster, "controlPlane"),
        workers=_share(cluster, "workers"),
        created=cluster.metadata.creation_timestamp,
        infrastructure=kind,
        simulated=kind.startswith("Simulated") or SIMULATED in cluster.metadata.labels,
    )


def _share(cluster: Member, part: str) -> Share:
    return Share(cluster.number("status", part, "readyReplicas"), cluster.number("status", part, "desiredReplicas"))


def _version(cluster: Member, control_plane: Member | None) -> str:
    """What runs, where that is counted; else what is asked for."""
    running = [*_versions(cluster, "controlPlane"), *_versions(cluster, "workers")]
    plane = "" if control_plane is None else control_plane.text("spec", "version")
    wanted = cluster.text("spec", "topology", "version") or plane
    if wanted:
        return wanted
    return ",".join(dict.fromkeys(running))


def _versions(cluster: Member, part: str) -> Sequence[str]:
    listed = cluster.object.at("status", part, "versions")
    rows = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
    return [str(each["version"]) for each in rows if each.get("version")]
