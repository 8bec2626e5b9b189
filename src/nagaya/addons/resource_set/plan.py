"""Which clusters lack which resources of a set.

ApplyOnce brings a resource to a cluster until that succeeded once; Reconcile brings it again whenever it changed. A
Secret of a wrong type stops everything, since whoever wrote the set meant another one; a resource that does not exist
yet does not keep the others from being brought.
"""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.addons.resource_set.binding import noted, recorded
from nagaya.addons.resource_set.contents import Content
from nagaya.addons.resource_set.seen import Seen, Site
from nagaya.api.addons.cluster_resource_set import RECONCILE, ResourceRef


@dataclass(frozen=True, slots=True)
class Load:
    """A resource that a cluster lacks."""

    reference: ResourceRef
    content: Content


@dataclass(frozen=True, slots=True)
class Errand:
    """A cluster, and what it lacks: nothing, perhaps, but the note that the set is responsible for it."""

    site: Site
    loads: tuple[Load, ...]
    update: bool
    """Whether objects that are there already are changed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, and what is in the way."""

    errands: tuple[Errand, ...] = ()
    missing: tuple[ResourceRef, ...] = ()
    wrong_type: tuple[ResourceRef, ...] = ()
    unreachable: tuple[Site, ...] = ()

    @property
    def obstacles(self) -> tuple[str, ...]:
        """What is in the way, a sentence each."""
        return (
            *(f"Secret type of resource {each.name} is not supported." for each in self.wrong_type),
            *(f"{each.kind} {each.name} does not exist." for each in self.missing),
            *(f"Cluster {each.key} cannot be reached at present." for each in self.unreachable),
        )


def plan(seen: Seen) -> Plan:
    """What to bring where."""
    if not seen.sites:
        return Plan()
    missing = tuple(each.reference for each in seen.resources if each.content is None)
    wrong = tuple(each.reference for each in seen.resources if each.content is not None and each.content.wrong_type)
    if wrong:
        return Plan(missing=missing, wrong_type=wrong)
    update = seen.resource_set.spec.strategy == RECONCILE
    errands = [Errand(site, _loads(seen, site, update), update) for site in seen.sites]
    return Plan(
        errands=tuple(each for each in errands if each.loads or not _on_record(seen, each.site)),
        missing=missing,
        unreachable=tuple(site for site in seen.sites if not site.connected),
    )


def _on_record(seen: Seen, site: Site) -> bool:
    return site.binding is not None and recorded(site.binding, seen.resource_set, ()) is None


def _loads(seen: Seen, site: Site, update: bool) -> tuple[Load, ...]:
    if not site.connected:
        return ()
    found = []
    for resource in seen.resources:
        if resource.content is None:
            continue
        present = noted(site.binding, seen.resource_set.metadata.name, resource.reference)
        if present is None or not present.applied or (update and present.hash != resource.content.hash):
            found.append(Load(resource.reference, resource.content))
    return tuple(found)
