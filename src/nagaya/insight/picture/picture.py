"""The value: all objects of one Cluster at one moment.

It is immutable and complete: whoever explains a cluster needs nothing else, and the same picture always gives the same
explanation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from nagaya.api.cluster.labels import CONTROL_PLANE, SIMULATED
from nagaya.insight.picture.event import Event
from nagaya.insight.picture.member import Member
from nagaya.insight.picture.references import Reference, reference_at


@dataclass(frozen=True, slots=True, order=True)
class Missing:
    """An object that is named and is not there."""

    by: str
    """The title of the object that names it."""
    path: str
    reference: Reference

    def __str__(self) -> str:
        return f"{self.by} names {self.reference} in .{self.path}, which does not exist"


@dataclass(frozen=True)
class Picture:
    """A Cluster and everything that belongs to it."""

    cluster: Member
    members: tuple[Member, ...]
    """All objects, the Cluster too, by kind and name."""
    missing: tuple[Missing, ...] = ()
    secrets: frozenset[str] = frozenset()
    """The names of its Secrets: that they exist is all that is read."""
    events: tuple[Event, ...] = ()
    unread: tuple[str, ...] = ()
    """What could not be read, and why, a sentence each."""

    @property
    def infrastructure(self) -> Member | None:
        """What its machines share."""
        return self.referred(self.cluster, "spec", "infrastructureRef")

    @property
    def control_plane(self) -> Member | None:
        """What runs the tenant's API, if that is an object of its own."""
        return self.referred(self.cluster, "spec", "controlPlaneRef")

    @property
    def machines(self) -> tuple[Member, ...]:
        """All Machines, by name."""
        return self.of_kind("Machine")

    @property
    def control_plane_machines(self) -> tuple[Member, ...]:
        """The Machines that are part of the control plane."""
        return tuple(each for each in self.machines if CONTROL_PLANE in each.metadata.labels)

    @property
    def simulated(self) -> bool:
        """Whether the cluster stands on simulated infrastructure, or says itself that nothing runs in it."""
        infrastructure = self.infrastructure
        stands_on_it = infrastructure is not None and infrastructure.simulated
        return stands_on_it or SIMULATED in self.cluster.metadata.labels

    def of_kind(self, kind: str) -> tuple[Member, ...]:
        """All objects of a kind, by name."""
        return self._by_kind.get(kind, ())

    def named(self, kind: str, name: str) -> Member | None:
        """The object of a kind with a name."""
        return next((each for each in self.of_kind(kind) if each.name == name), None)

    def with_uid(self, uid: str) -> Member | None:
        """The object with a uid."""
        return self._by_uid.get(uid)

    def owned(self, owner: Member, kind: str = "") -> tuple[Member, ...]:
        """What an object owns, by kind and name; only what it controls counts for what has a controller."""
        return tuple(each for each in self._owned.get(owner.uid, ()) if not kind or each.kind == kind)

    def referred(self, member: Member, *path: str) -> Member | None:
        """The object that another names at a path; None if it names none, or one that is not there."""
        reference = reference_at(member, *path)
        if reference is None:
            return None
        return next(
            (
                each
                for each in self.of_kind(reference.kind)
                if (each.group, each.name) == (reference.group, reference.name)
            ),
            None,
        )

    @cached_property
    def _by_kind(self) -> Mapping[str, tuple[Member, ...]]:
        found: defaultdict[str, list[Member]] = defaultdict(list)
        for each in self.members:
            found[each.kind].append(each)
        return {kind: tuple(each) for kind, each in found.items()}

    @cached_property
    def _by_uid(self) -> Mapping[str, Member]:
        return {each.uid: each for each in self.members}

    @cached_property
    def _owned(self) -> Mapping[str, tuple[Member, ...]]:
        found: defaultdict[str, list[Member]] = defaultdict(list)
        for each in self.members:
            controller = each.metadata.controller
            owners = each.metadata.owner_references if controller is None else (controller,)
            for owner in owners:
                found[owner.uid].append(each)
        return {uid: tuple(each) for uid, each in found.items()}
