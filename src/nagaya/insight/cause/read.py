"""The object that was meant, and all that its explanation may depend on, by asking once. The only I/O of this room."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from typing import Final

import msgspec

from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.clusters.leases import BESIDE_API, ELECTED
from nagaya.infrastructure.proxmox.connection.opening import Opener
from nagaya.insight.cause.surroundings import Lead, Surroundings
from nagaya.insight.picture.kinds import GROUP, Found, Kinds
from nagaya.insight.picture.member import Member, member
from nagaya.insight.picture.picture import Missing, Picture
from nagaya.insight.picture.read import read_cluster, read_picture
from nagaya.insight.picture.references import references
from nagaya.insight.picture.search import not_found
from nagaya.insight.story.asking import ask
from nagaya.insight.story.tasks import tasks
from nagaya.kube.client import Client
from nagaya.kube.election import LEASES, Lease
from nagaya.kube.errors import Forbidden, NotFound
from nagaya.kube.key import Key
from nagaya.world import World

USUAL_SECONDS: Final = 15


class NotMeant(LookupError):
    """Nothing is called so; the text is a sentence that says what was probably meant."""


async def read_subject(client: Client, kinds: Kinds, word: str, namespace: str, name: str) -> Member:
    """The object KIND/NAME. Raises NotMeant, and what the client does."""
    found = kinds.called(word)
    if not found:
        raise NotMeant(_unknown_kind(kinds, word))
    for each in found:
        with suppress(NotFound):
            return member(await client.get(each.kind, namespace if each.kind.namespaced else "", name), each.contract)
    raise NotMeant(await _unknown_name(client, found[0], namespace, name))


async def read_surroundings(client: Client, kinds: Kinds, subject: Member, now: datetime) -> Surroundings:
    """Everything around an object. Raises what the client does, except for what may not be read."""
    picture, lost = await _picture(client, kinds, subject)
    unserved = frozenset(
        (each.reference.group, each.reference.kind)
        for each in picture.missing
        if kinds.get(each.reference.group, each.reference.kind) is None
    )
    return Surroundings(
        picture,
        now,
        await _leads(client),
        await _connections(client, kinds, picture),
        unserved,
        lost,
    )


async def with_logs(
    client: Client, world: World, around: Surroundings, wanted: frozenset[str], open: Opener | None = None
) -> Surroundings:
    """The same, with what Proxmox VE says of tasks. `open`: how a data center is reached, for tests."""
    named = [each for each in tasks(around.picture) if each.upid.text in wanted]
    return replace(around, told=await ask(client, world, around.picture, named, open)) if named else around


async def _picture(client: Client, kinds: Kinds, subject: Member) -> tuple[Picture, str]:
    """That of its Cluster; of an object without one, itself. Then also the name of a Cluster that does not exist."""
    if subject.kind == "Cluster" and subject.group == GROUP:
        return await read_picture(client, kinds, subject, events=True), ""
    name = _cluster_of(subject)
    # A reservation is in no namespace; its machine, and so its Cluster, is.
    namespace = subject.namespace or subject.text("spec", "machineRef", "namespace")
    if name and namespace:
        try:
            cluster = await read_cluster(client, kinds, namespace, name)
        except NotFound:
            # A reservation stays for what its machine has left, though the Cluster is gone.
            return await _alone(client, kinds, subject), name if subject.namespace else ""
        picture = await read_picture(client, kinds, cluster, events=True)
        if picture.with_uid(subject.uid) is not None:
            return picture, ""
        return replace(picture, members=(*picture.members, subject)), ""
    return await _alone(client, kinds, subject), ""


async def _alone(client: Client, kinds: Kinds, subject: Member) -> Picture:
    """An object, and what it names."""
    members, missing = [subject], []
    for path, reference in references(subject):
        found = kinds.get(reference.group, reference.kind)
        try:
            if found is None:
                raise LookupError
            place = reference.namespace if found.kind.namespaced else ""
            if found.kind.namespaced and not place:
                continue  # of an object in no namespace that does not say where
            members.append(member(await client.get(found.kind, place, reference.name), found.contract))
        except (LookupError, NotFound):
            missing.append(Missing(subject.title, ".".join(path), reference))
        except Forbidden:
            continue  # whether it exists is not known
    return Picture(subject, tuple(members), tuple(missing))


def _cluster_of(subject: Member) -> str:
    owner = next((each.name for each in subject.metadata.owner_references if each.kind == "Cluster"), "")
    return subject.text("spec", "clusterName") or subject.metadata.labels.get(CLUSTER_NAME, "") or owner


async def _leads(client: Client) -> tuple[Lead, ...]:
    found: list[Lease] = []
    try:
        found += (await client.list(LEASES, fields=f"metadata.name={ELECTED}")).items
    except Forbidden:
        with suppress(Forbidden, NotFound):
            found.append(await client.get(LEASES, "default", ELECTED))
    with suppress(Forbidden, NotFound):
        found.append(await client.get(LEASES, *BESIDE_API))
    return tuple(map(_lead, found))


def _lead(lease: Lease) -> Lead:
    if Key.of(lease) == BESIDE_API:
        return Lead(str(BESIDE_API), lease.spec.holder_identity or "")
    renewed = None
    if lease.spec.renew_time:
        with suppress(msgspec.ValidationError):
            renewed = msgspec.convert(lease.spec.renew_time, datetime)
    seconds = lease.spec.lease_duration_seconds or USUAL_SECONDS
    return Lead(str(Key.of(lease)), lease.spec.holder_identity or "", renewed, seconds)


async def _connections(client: Client, kinds: Kinds, picture: Picture) -> tuple[Member, ...]:
    """The connections of the namespace, if a ProxmoxCluster leaves open which it means."""
    found = kinds.get("infrastructure.cluster.x-k8s.io", "ProxmoxConnection")
    open = [each for each in picture.of_kind("ProxmoxCluster") if not each.text("spec", "connectionRef", "name")]
    if found is None or not open:
        return ()
    try:
        listed = (await client.list(found.kind, picture.cluster.namespace)).items
    except Forbidden:
        return ()
    return tuple(member(each, found.contract) for each in listed)


def _unknown_kind(kinds: Kinds, word: str) -> str:
    names = sorted({name for each in kinds for name in each.names})
    near = get_close_matches(word.lower(), names, n=3)
    hint = f" Did you mean {', '.join(near)}?" if near else " `kubectl api-resources` lists all."
    return f"The API has no kind {word} of Cluster API or its providers.{hint}"


async def _unknown_name(client: Client, found: Found, namespace: str, name: str) -> str:
    kind = found.kind
    if not kind.namespaced:
        there = sorted(each.metadata.name for each in (await client.list(kind)).items)
        near = get_close_matches(name, there, n=3)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        return f"There is no {kind.kind} {name}.{hint}"
    try:
        keys, whole = [Key.of(each) for each in (await client.list(kind)).items], True
    except Forbidden:
        keys, whole = [Key.of(each) for each in (await client.list(kind, namespace)).items], False
    return not_found(Key(namespace, name), keys, whole, kind.kind)
