"""Everything that a decision about a HostedControlPlane of pods may depend on, at one moment."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.cluster.secrets import Purpose
from nagaya.api.controlplane.data_store import DATA_STORES, DataStore
from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER
from nagaya.api.controlplane.hosted_control_plane import (
    DEFAULT_REPLICAS,
    HOSTED_CONTROL_PLANES,
    HostedControlPlane,
)
from nagaya.api.kind import Kind
from nagaya.api.meta import OwnerReference
from nagaya.api.untyped import Untyped
from nagaya.clusters import owners
from nagaya.clusters.certificates import kubeconfig_plan
from nagaya.clusters.certificates import plan as authorities_plan
from nagaya.clusters.certificates import seen as certificates_seen
from nagaya.clusters.certificates.kubeconfig_plan import KubeconfigPlan, KubeconfigSeen
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.clusters.certificates.seen import AuthoritiesSeen
from nagaya.clusters.certificates.wanted import Etcd, Wanted
from nagaya.controlplane.hosted.control_plane import upgrade
from nagaya.controlplane.hosted.control_plane.encryption import EncryptionSecrets
from nagaya.controlplane.hosted.control_plane.kubelets import kubelets
from nagaya.controlplane.hosted.control_plane.upgrade import Target
from nagaya.controlplane.hosted.control_plane.workers import waits_for_workers
from nagaya.controlplane.hosted.data_store_controller.stores import Stores
from nagaya.controlplane.hosted.host.certificates import Authorities
from nagaya.controlplane.hosted.kubernetes import kinds, names, rollout
from nagaya.controlplane.hosted.kubernetes.kinds import Planned
from nagaya.controlplane.hosted.kubernetes.rollout import DeploymentSeen
from nagaya.controlplane.hosted.pods import endpoint
from nagaya.controlplane.hosted.pods.known import Known
from nagaya.controlplane.hosted.pods.settings import PodSettings
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.key import Key
from nagaya.kube.remote import Probe
from nagaya.kube.runtime import Runtime
from nagaya.pki.keys import KeyAlgorithm

PODS: Final = Kind("", "v1", "Pod", "pods", Untyped)
_OF_PODS: Final = frozenset({"name", "namespace", "uid", "resourceVersion", "labels", "deletionTimestamp"})
AUTHORITIES: Final = Wanted(Etcd.NONE, KeyAlgorithm.ECDSA_P256)


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a control plane."""

    plane: HostedControlPlane
    cluster: Cluster
    settings: PodSettings
    reached: endpoint.Reached
    target: Target
    authorities: AuthoritiesSeen
    authorities_plan: authorities_plan.Plan
    kubeconfig: KubeconfigSeen
    kubeconfig_plan: KubeconfigPlan
    store: DataStore | None
    store_reached: bool
    """Whether this process has reached the store."""
    encryption: bytes = field(repr=False)
    encryption_problem: str
    objects: Mapping[str, Untyped] = field(repr=False)
    """What there is of the tenant, by what `Planned` says of itself."""
    service: Untyped | None
    """By which the API is reached."""
    api_servers: DeploymentSeen | None
    controllers: DeploymentSeen | None
    pods: int
    """All pods of the tenant, also those that are about to end: an API server that ends still writes."""
    connected: bool
    """Whether the tenant's API is connected."""
    probe: Probe
    known: Known
    now: datetime
    ending: str = ""
    """What it waits for before it goes, if it is to go."""

    @property
    def uid(self) -> str:
        """What the tenant is called: the uid of the control plane that it began with."""
        return self.plane.tenant_id

    @property
    def owner(self) -> OwnerReference:
        """Whose all objects are."""
        return owners.controller(HOSTED_CONTROL_PLANES, self.plane)

    @property
    def port(self) -> int:
        """Where API servers listen."""
        return endpoint.port(self.plane, self.cluster)

    @property
    def replicas(self) -> int:
        """How many API servers there shall be."""
        declared = self.plane.spec.replicas
        return DEFAULT_REPLICAS if declared is None else declared

    @property
    def given(self) -> Authorities | None:
        """The authorities, if all are there and can be used to sign."""
        return Authorities.of(self.authorities)

    @property
    def initialized(self) -> bool:
        """Whether the API has answered once."""
        return self.plane.status.initialization.control_plane_initialized is True

    @property
    def tunnelled(self) -> bool:
        """Whether there is a tunnel to the nodes."""
        return self.plane.spec.addons.konnectivity.enabled is True


def keep_objects(cache: Cache) -> None:
    """Have the objects of all tenants in the cache: ours alone, which their label tells."""
    for kind in kinds.ALL:
        if not cache.has(kind):
            cache.start(kind, labels=names.CONTROL_PLANE)
    if not cache.has(PODS):
        cache.start(PODS, labels=names.CONTROL_PLANE, transform=_trim)


def objects_of(cache: Cache, plane: HostedControlPlane) -> dict[str, Untyped]:
    """What there is of a tenant, by what `Planned` says of itself; also what is in its way under the same label."""
    short, namespace = names.short_name(plane.metadata.name), plane.metadata.namespace
    found = {}
    for kind in kinds.ALL:
        for each in cache.list(kind, namespace):
            if each.metadata.labels.get(names.CONTROL_PLANE) == short:
                found[str(Planned(kind, namespace, each.metadata.name, {}))] = each
    return found


def pods_of(cache: Cache, plane: HostedControlPlane) -> list[Untyped]:
    """The pods of a tenant."""
    short = names.short_name(plane.metadata.name)
    pods = cache.list(PODS, plane.metadata.namespace)
    return [each for each in pods if each.metadata.labels.get(names.CONTROL_PLANE) == short]


def _trim(pod: Untyped) -> Untyped:
    """All that is asked of a pod is that it is there."""
    metadata = {name: each for name, each in pod.raw["metadata"].items() if name in _OF_PODS}
    return Untyped({"apiVersion": PODS.api_version, "kind": PODS.kind, "metadata": metadata})


@dataclass(frozen=True, slots=True)
class OfPods:
    """A pod is gone."""

    cache: Cache

    def __call__(self, change: Change[Untyped]) -> Iterable[Key]:
        """The control plane that it was of: it may wait for the last."""
        if change.new is not None or change.old is None:
            return ()
        metadata = change.old.metadata
        label = metadata.labels.get(names.CONTROL_PLANE)
        planes = self.cache.list(HOSTED_CONTROL_PLANES, metadata.namespace)
        return [Key.of(each) for each in planes if names.short_name(each.metadata.name) == label]


@dataclass(slots=True)
class Observer:
    """Looks."""

    rt: Runtime
    stores: Stores
    reader: SecretReader
    settings: PodSettings
    encryption: EncryptionSecrets

    def cluster_of(self, plane: HostedControlPlane) -> Cluster | None:
        """The Cluster that owns a control plane; None before its controller has said so, or if it is gone."""
        for each in plane.metadata.owner_references:
            if owners.is_a(each, CLUSTERS):
                return self.rt.cache.get(CLUSTERS, Key(plane.metadata.namespace, each.name))
        return None

    def store_of(self, plane: HostedControlPlane) -> DataStore | None:
        """The DataStore that a control plane has its data in, or refers to."""
        name = plane.store_name or plane.spec.data_store_ref.name
        return self.rt.cache.get(DATA_STORES, Key("", name))

    async def observe(self, plane: HostedControlPlane, cluster: Cluster, known: Known) -> Seen:
        """Everything. Raises what the server refuses."""
        rt, key, now = self.rt, Key.of(cluster), self.rt.world.clock.now()
        owner = owners.controller(HOSTED_CONTROL_PLANES, plane)
        authorities, secret = await asyncio.gather(
            certificates_seen.observe(self.reader, key, AUTHORITIES),
            certificates_seen.observe_kubeconfig(self.reader, key),
        )
        encryption, problem = await self.encryption.read(plane)
        objects = objects_of(rt.cache, plane)
        own = {name: each for name, each in objects.items() if _is_own(each, plane)}
        servers, controllers = (_deployment(own, plane, part) for part in (KUBE_APISERVER, names.CONTROLLERS))
        service = _of(own, kinds.SERVICES.kind, plane, KUBE_APISERVER)
        reached = endpoint.look(plane, cluster, service)
        running = [_version(each.version) for each in (servers, controllers) if each is not None and each.version]
        store, remote = self.store_of(plane), rt.remotes.get(key)
        written = reached.endpoint if reached.is_written else Endpoint()
        of_kubeconfig = KubeconfigSeen(key, written, authorities.get(Purpose.CLUSTER_AUTHORITY), secret, now)
        initialized = plane.status.initialization.control_plane_initialized is True
        return Seen(
            plane=plane,
            cluster=cluster,
            settings=self.settings,
            reached=reached,
            target=upgrade.target(plane.spec.version, running, kubelets(remote)),
            authorities=authorities,
            authorities_plan=authorities_plan.plan(authorities, initialized=initialized, maker=owner),
            kubeconfig=of_kubeconfig,
            kubeconfig_plan=kubeconfig_plan.plan_kubeconfig(of_kubeconfig, owner),
            store=store,
            store_reached=store is not None and self.stores.get(store.metadata.uid) is not None,
            encryption=encryption,
            encryption_problem=problem,
            objects=objects,
            service=service,
            api_servers=servers,
            controllers=controllers,
            pods=len(pods_of(rt.cache, plane)),
            connected=remote is not None,
            probe=rt.remotes.probe(key),
            known=known,
            now=now,
            ending=waits_for_workers(rt.cache, plane, cluster),
        )


def _is_own(present: Untyped, plane: HostedControlPlane) -> bool:
    return any(each.controller and each.uid == plane.metadata.uid for each in present.metadata.owner_references)


def _of(objects: Mapping[str, Untyped], kind: str, plane: HostedControlPlane, part: str) -> Untyped | None:
    metadata = plane.metadata
    return objects.get(f"{kind} {metadata.namespace}/{names.object_name(metadata.name, part)}")


def _deployment(objects: Mapping[str, Untyped], plane: HostedControlPlane, part: str) -> DeploymentSeen | None:
    found = _of(objects, kinds.DEPLOYMENTS.kind, plane, part)
    return None if found is None else rollout.seen(found.raw)


def _version(tag: str) -> str:
    """A version from the label of pods, where a plus sign cannot stand."""
    return tag.replace("_", "+")
