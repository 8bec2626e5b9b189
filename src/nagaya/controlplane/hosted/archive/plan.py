"""What a restore would do, or why it does not: a decision list over an archive and what is there. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from nagaya.api.controlplane.data_store import ETCD
from nagaya.api.controlplane.hosted_control_plane import DEFAULT_DATA_STORE
from nagaya.clusters.kubernetes_version import parse
from nagaya.controlplane.hosted.archive import checks, objects
from nagaya.controlplane.hosted.archive.found import Found
from nagaya.controlplane.hosted.archive.objects import Content, Names
from nagaya.controlplane.hosted.archive.reader import Contents
from nagaya.controlplane.hosted.data_store.tenant_store import REGISTRY


class Way(Enum):
    """How a tenant is restored."""

    MAKE = auto()
    """It is not there."""
    CONTINUE = auto()
    """An earlier restore of the same archive did not come to its end."""
    REPLACE = auto()
    """It is there: its data and authorities become those of the archive, and its objects stay."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asked for."""

    names: Names
    data_store: str = ""
    """Another one than in the archive."""
    force: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, in sentences and in objects."""

    way: Way
    names: Names
    refused: str = ""
    """Why nothing is done; with the remedy."""
    steps: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    data_store: str = ""
    cluster: Content | None = None
    """To be made; None if it is there."""
    control_plane: Content | None = None
    secrets: Mapping[str, Content] = field(default_factory=dict, repr=False)
    """To be made, or to become like this."""
    replicas: int = 1
    """How many the control plane has in the end."""


def before(contents: Contents) -> Names:
    """How the tenant of an archive was called."""
    head = contents.head
    return Names(head.namespace, head.cluster, head.control_plane)


def plan(contents: Contents, asked: Asked, found: Found) -> Plan:
    """The first rule that fits."""
    names, old = asked.names, before(contents)
    way = _way(contents, found)
    if why := checks.forged(contents):
        return Plan(way, names, refused=f"This is not an archive that Nagaya has made: {why}.")
    contents = replace(
        contents,
        cluster=objects.kept(contents.cluster),
        control_plane=objects.kept(contents.control_plane),
        secrets={name: objects.kept(each) for name, each in contents.secrets.items()},
    )
    plane = found.plane
    store = asked.data_store or contents.head.data_store
    if plane is not None:
        store = plane.spec.data_store_ref.name
    base = Plan(way, names, data_store=store)
    if refused := _refused(contents, asked, found, way, store):
        return replace(base, refused=refused)
    control_plane = objects.control_plane_as(contents.control_plane, old, names, asked.data_store)
    declared = control_plane["spec"].get("replicas", 1) if plane is None else plane.spec.replicas
    replicas = found.mark.replicas if found.mark is not None else (1 if declared is None else declared)
    secrets = {
        name: content
        for name, content in objects.secrets_as(contents.secrets, old, names).items()
        if name not in found.secrets or not _same_data(found.secrets[name].raw, content)
    }
    made = replace(
        base,
        cluster=None if found.cluster is not None else objects.cluster_as(contents.cluster, old, names),
        control_plane=None if plane is not None else control_plane,
        secrets=secrets,
        replicas=replicas,
    )
    if why := checks.not_admitted(made.control_plane, made.cluster):
        return replace(
            base,
            refused=f"An object of the archive is not accepted: {why}. Create a HostedControlPlane of this name "
            "without that setting, then restore the data into it with --force.",
        )
    return replace(
        made,
        steps=tuple(_steps(contents, found, made, replicas)),
        warnings=tuple(_warnings(contents, found, made)),
    )


def _way(contents: Contents, found: Found) -> Way:
    if found.control_plane is None:
        return Way.MAKE
    if found.mark is not None and found.mark.archive == contents.digest:
        return Way.CONTINUE
    return Way.REPLACE


def _refused(contents: Contents, asked: Asked, found: Found, way: Way, store: str) -> str:
    names, plane = asked.names, found.plane
    called = f"HostedControlPlane {names.namespace}/{names.control_plane}"
    if plane is not None and plane.metadata.deleting:
        return f"{called} is being deleted. Wait until it is gone, or restore under another name with --as."
    if found.cluster is not None and found.cluster.metadata.deleting:
        return f"Cluster {names} is being deleted. Wait until it is gone, or restore under another name with --as."
    if plane is not None and plane.spec.tenant_id and plane.status.data_store is None:
        return (
            f"{called} was moved, and nobody has taken over its programs and data yet: its condition Available says "
            "what that waits for."
        )
    referred = None if found.cluster is None else found.cluster.at("spec", "controlPlaneRef")
    if isinstance(referred, Mapping) and (referred.get("kind"), referred.get("name")) != (
        "HostedControlPlane",
        names.control_plane,
    ):
        return (
            f"Cluster {names} exists and has another control plane, {referred.get('kind')} {referred.get('name')}. "
            "Restore under another name with --as."
        )
    if way is Way.REPLACE and not asked.force:
        return (
            f"{called} exists. Its data would be replaced by that of the archive: say --force if that is what you "
            "want, or restore beside it with --as NAME."
        )
    if plane is not None and asked.data_store and asked.data_store != plane.spec.data_store_ref.name:
        return f"{called} has its data in DataStore {plane.spec.data_store_ref.name}, and that cannot change."
    if way is Way.REPLACE and found.paused and found.mark is None:
        return f"{called} or its Cluster is paused, so nobody would stop its programs. Let it go on, then try again."
    if plane is not None and _older(plane.spec.version, contents.head.version):
        return (
            f"{called} runs Kubernetes {plane.spec.version}, and the archive was made with {contents.head.version}: an "
            "older API server may not understand the data of a newer one. Upgrade it first."
        )
    if found.data_store is None and store != DEFAULT_DATA_STORE:
        return f"There is no DataStore {store}. Create it, or name another with --data-store."
    if found.data_store is not None and found.data_store.metadata.deleting:
        return f"DataStore {store} is being deleted. Name another with --data-store."
    wanted = objects.secrets_as(contents.secrets, before(contents), names)
    for name, content in wanted.items():
        present = found.secrets.get(name)
        if present is None or _same_data(present.raw, content):
            continue
        if not objects.belongs_to_cluster(name, names):
            return (
                f"Secret {names.namespace}/{name} is another than in the archive, and the data cannot be read without "
                "that one. Rename one of them, or restore into another namespace with -n."
            )
        if not asked.force and way is not Way.CONTINUE:
            return (
                f"Secret {names.namespace}/{name} exists and holds another authority than the archive. Delete it if "
                "nobody needs it, replace it with --force, or restore under another name with --as."
            )
    return ""


def _steps(contents: Contents, found: Found, planned: Plan, replicas: int) -> Iterator[str]:
    names, head = planned.names, contents.head
    called = f"HostedControlPlane {names.namespace}/{names.control_plane}"
    if planned.control_plane is not None:
        yield f"Make {called}, paused, so that nothing is started before its data is there."
    elif planned.way is Way.CONTINUE:
        yield f"Go on with the restore of {called} that was begun before."
    else:
        yield f"Stop all programs of {called}, and pause it. Its API is away until the end."
        yield "Copy the data that it has now into an archive beside this one."
    if found.data_store is None:
        yield f"Make DataStore {planned.data_store}, an etcd that Nagaya starts itself."
    yield (
        f"Put {contents.keys} keys of revision {contents.revision}, taken {head.made} from {before(contents)}, into "
        f"DataStore {planned.data_store}{'' if planned.control_plane is not None else ', in place of what is there'}."
    )
    for name in planned.secrets:
        yield f"{'Replace' if name in found.secrets else 'Make'} Secret {names.namespace}/{name}."
    if planned.cluster is not None:
        yield f"Make Cluster {names}."
    if replicas:
        yield f"Let {called} go on, with {replicas} replica{'s' if replicas > 1 else ''}."
    else:
        yield f"Let {called} go on; it has no replicas, and so stays stopped."


def _warnings(contents: Contents, found: Found, planned: Plan) -> Iterator[str]:
    head, names, old = contents.head, planned.names, before(contents)
    if names != old:
        yield (
            f"{names} gets an address of its own and shares the authorities of {old}: whoever is trusted by one is "
            "trusted by the other. Nodes are in its data, but their machines are not: they belong to the first."
        )
    reference = None if planned.cluster is None else planned.cluster["spec"].get("infrastructureRef")
    if reference:
        yield (
            f"Cluster {names} refers to {reference.get('kind')} {reference.get('name')}, which is not in the archive: "
            "make it if it is lost. Neither are Machines."
        )
    uid = "" if found.plane is None else found.plane.tenant_id
    driver = ETCD if found.data_store is None else found.data_store.spec.driver
    if head.encrypted and _prefix(driver, uid) != _prefix(head.driver, head.uid):
        yield (
            "The data is encrypted, and will have other keys in the data store. Values that were encrypted with aesgcm "
            "or by a KMS are bound to their keys and cannot be read then; those of aescbc and secretbox can."
        )


def _prefix(driver: str, uid: str) -> str:
    """What keys begin with: in a store that is shared, with whose they are."""
    return f"/{uid}" if driver == ETCD else REGISTRY


def _older(running: str, archived: str) -> bool:
    one, other = parse(running), parse(archived)
    return one is not None and other is not None and (one.major, one.minor) < (other.major, other.minor)


def _same_data(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return bool((present.get("data") or {}) == (wanted.get("data") or {}))
