"""From a picture to a tree: the Cluster, what it stands on, its control plane, its workers, and each one's machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nagaya.insight.picture.member import Member
from nagaya.insight.picture.picture import Picture
from nagaya.insight.picture.references import references
from nagaya.insight.tree.branch import Branch, Counts, State, state
from nagaya.insight.tree.grouping import grouped
from nagaya.insight.tree.shown import Shown

WORKERS = "Workers"
OTHER = "Other"
_DEFAULT = Shown()


def tree(picture: Picture, shown: Shown = _DEFAULT) -> Branch:
    """The tree of a Cluster."""
    return _Grower(picture, shown).cluster()


class _Grower:
    """Makes the branches of one tree; knows which Machines have a place already."""

    def __init__(self, picture: Picture, shown: Shown) -> None:
        self._picture = picture
        self._shown = shown
        self._placed: set[str] = set()

    def cluster(self) -> Branch:
        picture, cluster = self._picture, self._picture.cluster
        parts = []
        if picture.infrastructure is not None:
            parts.append(self._leaf(picture.infrastructure))
        if picture.control_plane is not None:
            parts.append(self._control_plane(picture.control_plane))
        parts += self._missing(cluster)
        workers = self._workers()
        if workers:
            parts.append(Branch(name=WORKERS, children=_ordered(workers)))
        return replace(
            self._branch(cluster, "Available", _cluster_counts(cluster), cluster.text("spec", "topology", "version")),
            simulated=picture.simulated,
            children=_ordered(parts),
        )

    def _control_plane(self, plane: Member) -> Branch:
        old = plane.contract == "v1beta1"
        counts = Counts(
            plane.number("spec", "replicas"),
            plane.number("status", "replicas"),
            plane.number("status", "availableReplicas"),
            plane.number("status", "readyReplicas"),
            plane.number("status", "updatedReplicas" if old else "upToDateReplicas"),
        )
        aspect = "Available" if plane.condition("Available") is not None else "Ready"
        machines = self._machines(self._picture.control_plane_machines)
        branch = self._branch(plane, aspect, counts, plane.text("spec", "version"))
        return replace(branch, children=_ordered(machines))

    def _workers(self) -> list[Branch]:
        found = [self._deployment(each) for each in self._picture.of_kind("MachineDeployment")]
        found += [
            self._set(each)
            for each in self._picture.of_kind("MachineSet")
            if each.metadata.controller is None  # made by hand
        ]
        found += [self._pool(each) for each in self._picture.of_kind("MachinePool")]
        rest = [each for each in self._picture.machines if each.uid not in self._placed]
        if rest:
            found.append(Branch(name=OTHER, children=_ordered(self._machines(rest, grouping=False))))
        return found

    def _deployment(self, deployment: Member) -> Branch:
        sets = self._picture.owned(deployment, "MachineSet")
        if self._shown.machine_sets:
            below = [self._set(each) for each in sets]
        else:
            below = self._machines(
                sorted(
                    (machine for each in sets for machine in self._picture.owned(each, "Machine")),
                    key=lambda each: each.name,
                )
            )
        return self._group(deployment, "Available", below)

    def _set(self, machine_set: Member) -> Branch:
        return self._group(machine_set, "", self._machines(self._picture.owned(machine_set, "Machine")))

    def _pool(self, pool: Member) -> Branch:
        machines = self._machines(self._picture.owned(pool, "Machine"))
        path = ("spec", "template", "spec")
        parts = (
            self._picture.referred(pool, *path, "infrastructureRef"),
            self._picture.referred(pool, *path, "bootstrap", "configRef"),
        )
        return self._group(pool, "Available", [*machines, *self._told(pool, parts), *self._missing(pool)])

    def _group(self, member: Member, aspect: str, below: Iterable[Branch]) -> Branch:
        counts = Counts(
            member.number("spec", "replicas"),
            member.number("status", "replicas"),
            member.number("status", "availableReplicas"),
            member.number("status", "readyReplicas"),
            member.number("status", "upToDateReplicas"),
        )
        version = member.text("spec", "template", "spec", "version")
        return replace(self._branch(member, aspect, counts, version), children=_ordered(below))

    def _machines(self, machines: Sequence[Member], *, grouping: bool = True) -> list[Branch]:
        self._placed.update(each.uid for each in machines)
        branches = [self._machine(each) for each in machines]
        return grouped(branches, machines) if grouping and self._shown.grouping else branches

    def _machine(self, machine: Member) -> Branch:
        counts = Counts(
            replicas=1,
            available=int(machine.holds("Available")),
            ready=int(machine.holds("Ready")),
            up_to_date=int(machine.holds("UpToDate")),
        )
        parts = (
            self._picture.referred(machine, "spec", "infrastructureRef"),
            self._picture.referred(machine, "spec", "bootstrap", "configRef"),
        )
        branch = self._branch(machine, "Ready", counts, machine.text("spec", "version"))
        return replace(branch, children=_ordered([*self._told(machine, parts), *self._missing(machine)]))

    def _told(self, parent: Member, parts: Iterable[Member | None]) -> list[Branch]:
        """Objects of a machine that say more than the machine does."""
        above = parent.condition("Ready")
        found = []
        for part in parts:
            if part is None:
                continue
            ready = part.condition("Ready")
            same = ready is None and above is None
            if ready is not None and above is not None:
                same = (ready.status, ready.reason) == (above.status, above.reason)
            if self._shown.echo or not (same or part.holds("Ready")):
                found.append(self._leaf(part))
        return found

    def _missing(self, member: Member) -> list[Branch]:
        """What an object names and is not there. Of one that goes, its parts go first."""
        if member.metadata.deleting:
            return []
        absent = {each.reference: each for each in self._picture.missing if each.by == member.title}
        return [
            Branch(
                reference.kind,
                reference.namespace,
                reference.name,
                state=State("Ready", "Unknown", "NotFound", None, f"{absent[reference]}."),
            )
            for _, reference in references(member)
            if reference in absent
        ]

    def _leaf(self, member: Member) -> Branch:
        return self._branch(member, "Ready")

    def _branch(self, member: Member, aspect: str, counts: Counts | None = None, version: str = "") -> Branch:
        shown = state(member.condition(aspect)) if aspect else None
        if member.unreadable:
            shown = State(aspect or "Ready", "Unknown", "Unreadable", None, member.unreadable)
        return Branch(
            member.kind,
            member.namespace,
            member.name,
            version,
            counts or Counts(),
            shown,
            self._shown.conditions_of(member),
            member.metadata.deletion_timestamp,
            member.simulated,
        )


def _cluster_counts(cluster: Member) -> Counts:
    def total(field: str) -> int | None:
        told = [cluster.number("status", part, field) for part in ("controlPlane", "workers")]
        return None if told == [None, None] else sum(each or 0 for each in told)

    return Counts(
        total("desiredReplicas"),
        total("replicas"),
        total("availableReplicas"),
        total("readyReplicas"),
        total("upToDateReplicas"),
    )


def _ordered(branches: Iterable[Branch]) -> tuple[Branch, ...]:
    return tuple(sorted(branches, key=lambda each: each.label))
