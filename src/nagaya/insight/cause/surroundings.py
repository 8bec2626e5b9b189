"""Everything that an explanation may depend on. If it is not in here, it does not matter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from nagaya.api.cluster.annotations import PAUSED
from nagaya.insight.picture.member import Member
from nagaya.insight.picture.picture import Picture
from nagaya.insight.picture.references import Reference
from nagaya.insight.story.told import Told


@dataclass(frozen=True, slots=True)
class Lead:
    """The Lease of Nagaya's controllers: who holds it, and until when that was promised."""

    lease: str
    """Namespace and name."""
    holder: str
    renewed: datetime | None = None
    seconds: int | None = None
    """How long a renewal stands; None: for ever."""

    def stands(self, now: datetime) -> bool:
        """Whether its holder is at work."""
        if self.seconds is None:
            return bool(self.holder)
        return bool(self.holder) and self.renewed is not None and now <= self.renewed + timedelta(seconds=self.seconds)


@dataclass(frozen=True)
class Surroundings:
    """An object and what it has to do with."""

    picture: Picture
    """Of its Cluster; of an object that has none, itself and what it names."""
    now: datetime
    leads: tuple[Lead, ...] = ()
    """All Leases of Nagaya's controllers. Without one nothing is known: a single process needs none."""
    connections: tuple[Member, ...] = ()
    """The ProxmoxConnections of the namespace: one alone is meant by a ProxmoxCluster that names none."""
    unserved: frozenset[tuple[str, str]] = frozenset()
    """Groups and kinds that objects name and that nobody serves."""
    cluster_name: str = ""
    """The Cluster that the object says it belongs to and that does not exist; empty if there is none such."""
    told: Mapping[str, Told] = field(default_factory=dict)
    """What Proxmox VE says of tasks, by their UPID."""

    @property
    def cluster(self) -> Member | None:
        """The Cluster, if the object has one."""
        return self.picture.cluster if self.picture.cluster.kind == "Cluster" else None

    def paused(self, member: Member) -> bool:
        """Whether controllers are to leave an object alone."""
        cluster = self.cluster
        whole = cluster is not None and cluster.object.at("spec", "paused") is True
        return whole or PAUSED in member.metadata.annotations

    def connection_of(self, infrastructure: Member) -> Member | None:
        """The ProxmoxConnection that a ProxmoxCluster means."""
        if name := infrastructure.text("spec", "connectionRef", "name"):
            return next((each for each in self._connections if each.name == name), None)
        named = infrastructure.text("spec", "credentialsRef", "name")
        return self._connections[0] if not named and len(self._connections) == 1 else None

    @property
    def _connections(self) -> tuple[Member, ...]:
        return self.connections or self.picture.of_kind("ProxmoxConnection")

    def missing_of(self, member: Member) -> tuple[tuple[str, Reference], ...]:
        """What an object names and is not there, with the paths."""
        return tuple((each.path, each.reference) for each in self.picture.missing if each.by == member.title)
