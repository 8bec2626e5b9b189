"""Which objects are a Cluster's: those that carry its label, that it or its objects own, or that they name.

Ownership is followed as far as it goes. A reference that leads nowhere is remembered: it is often the explanation.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.meta import ObjectMeta
from nagaya.api.untyped import Untyped
from nagaya.insight.picture.event import Event, read_event
from nagaya.insight.picture.kinds import SHARED
from nagaya.insight.picture.member import Member, member
from nagaya.insight.picture.picture import Missing, Picture
from nagaya.insight.picture.references import Reference, references


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was read: more than what belongs to one Cluster."""

    objects: tuple[tuple[Untyped, str], ...]
    """Objects, each with the contract that its kind fulfils."""
    secrets: tuple[ObjectMeta, ...] = ()
    """What is known of Secrets: their metadata."""
    events: tuple[Untyped, ...] = ()
    unread: tuple[str, ...] = ()
    hidden: frozenset[tuple[str, str]] = frozenset()
    """Groups and kinds of which nothing could be read: whether their objects exist is not known."""


def pictured(cluster: Member, gathered: Gathered) -> Picture:
    """The picture of a Cluster."""
    candidates = [cluster] + [
        member(each, contract) for each, contract in gathered.objects if each.metadata.uid != cluster.uid
    ]
    belonging, absent = _belonging(cluster, candidates)
    missing = [each for each in absent if (each.reference.group, each.reference.kind) not in gathered.hidden]
    members = tuple(sorted(belonging.values(), key=lambda each: (each.kind, each.name)))
    uids = frozenset(belonging)
    events = _events(map(read_event, gathered.events), members, uids, _others(candidates, uids))
    secrets = frozenset(each.name for each in gathered.secrets if _is_for(each, cluster))
    return Picture(cluster, members, tuple(sorted(missing)), secrets, events, gathered.unread)


def _belonging(cluster: Member, candidates: Collection[Member]) -> tuple[dict[str, Member], set[Missing]]:
    named = {Reference(each.group, each.kind, each.namespace, each.name): each for each in candidates}
    owned: defaultdict[str, list[Member]] = defaultdict(list)
    for each in candidates:
        for owner in each.metadata.owner_references:
            owned[owner.uid].append(each)
        if each.kind == "ProxmoxVirtualMachine":  # in no namespace, so it cannot be owned by what is in one
            owned[each.text("spec", "machineRef", "uid")].append(each)
    found = {cluster.uid: cluster}
    missing: set[Missing] = set()
    waiting = deque([cluster, *(each for each in candidates if _is_labelled(each, cluster))])
    while waiting:
        each = waiting.popleft()
        if each.kind == "Cluster" and each is not cluster:
            continue
        found[each.uid] = each
        for path, reference in references(each):
            target = named.get(reference)
            if target is None:
                missing.add(Missing(each.title, ".".join(path), reference))
            elif target.uid not in found:
                waiting.append(target)
        if each.kind not in SHARED:  # a pool owns addresses of other Clusters too
            waiting.extend(child for child in owned[each.uid] if child.uid not in found)
    return found, missing


def _is_labelled(each: Member, cluster: Member) -> bool:
    if _is_for(each.metadata, cluster):
        return True
    return each.namespace == cluster.namespace and each.text("spec", "clusterName") == cluster.name


def _is_for(metadata: ObjectMeta, cluster: Member) -> bool:
    """By the label. What is in no namespace says otherwise whose it is: the label does not tell namespaces apart."""
    return metadata.namespace == cluster.namespace and metadata.labels.get(CLUSTER_NAME) == cluster.name


def _others(candidates: Iterable[Member], uids: frozenset[str]) -> frozenset[tuple[str, str]]:
    """Objects that were read and are not this Cluster's."""
    return frozenset((each.kind, each.name) for each in candidates if each.uid not in uids)


def _events(
    events: Iterable[Event], members: Collection[Member], uids: frozenset[str], others: frozenset[tuple[str, str]]
) -> tuple[Event, ...]:
    """Those of the Cluster's objects, and of machines of its groups that are gone: they are known by their names."""
    kinds = ("MachineDeployment", "MachineSet", "KubeadmControlPlane")
    groups = tuple(f"{each.name}-" for each in members if each.kind in kinds)
    namespaces = {each.namespace for each in members}

    def ours(event: Event) -> bool:
        if event.uid in uids:
            return True
        gone = event.namespace in namespaces and bool(groups) and event.name.startswith(groups)
        return gone and (event.kind, event.name) not in others

    return tuple(sorted(filter(ours, events), key=lambda each: (each.first, each.identity)))
