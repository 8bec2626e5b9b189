"""Everything that a decision about a HostedControlPlane may depend on, at one moment."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.cluster.secrets import Purpose
from nagaya.api.controlplane.data_store import DATA_STORES, DataStore
from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES, HostedControlPlane
from nagaya.clusters import owners
from nagaya.clusters.certificates import kubeconfig_plan
from nagaya.clusters.certificates import plan as authorities_plan
from nagaya.clusters.certificates import seen as certificates_seen
from nagaya.clusters.certificates.held import Held
from nagaya.clusters.certificates.kubeconfig_plan import KubeconfigPlan, KubeconfigSeen
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.clusters.certificates.seen import AuthoritiesSeen
from nagaya.clusters.certificates.wanted import Etcd, Wanted
from nagaya.controlplane.hosted.control_plane import endpoint, upgrade
from nagaya.controlplane.hosted.control_plane.encryption import EncryptionSecrets
from nagaya.controlplane.hosted.control_plane.endpoint import Machine
from nagaya.controlplane.hosted.control_plane.facts import Declared
from nagaya.controlplane.hosted.control_plane.known import Known
from nagaya.controlplane.hosted.control_plane.kubelets import kubelets
from nagaya.controlplane.hosted.control_plane.upgrade import Target
from nagaya.controlplane.hosted.control_plane.workers import waits_for_workers
from nagaya.controlplane.hosted.data_store_controller.stores import Stores
from nagaya.controlplane.hosted.host import addresses
from nagaya.controlplane.hosted.host.certificates import Authorities
from nagaya.controlplane.hosted.host.host import Host
from nagaya.controlplane.hosted.host.leaving import marked_servers, waits_for_connections
from nagaya.controlplane.hosted.host.ownership import Claim
from nagaya.controlplane.hosted.host.programs import Programs
from nagaya.controlplane.hosted.host.tenant_folder import Started
from nagaya.kube.key import Key
from nagaya.kube.remote import Probe
from nagaya.kube.runtime import Runtime
from nagaya.pki.keys import KeyAlgorithm
from nagaya.supervision.status import ProcessStatus

AUTHORITIES: Final = Wanted(Etcd.NONE, KeyAlgorithm.ECDSA_P256)
_NONE: Final[Mapping[str, Started]] = {}


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a control plane."""

    declared: Declared
    target: Target
    authorities: AuthoritiesSeen
    authorities_plan: authorities_plan.Plan
    kubeconfig: KubeconfigSeen
    kubeconfig_plan: KubeconfigPlan
    store: DataStore | None
    store_reached: bool
    """Whether this process has reached the store."""
    encryption: bytes
    encryption_problem: str
    programs: Programs
    processes: Mapping[str, ProcessStatus]
    started: Mapping[str, Started]
    connected: bool
    """Whether the tenant's API is connected."""
    probe: Probe
    known: Known
    now: datetime
    ending: str = ""
    """What it waits for before it goes, if it is to go."""
    recorded: bool = True
    """Whether the folder of the tenant says that it is this control plane's."""
    leaving: frozenset[str] = frozenset()
    """API servers whose exchange was begun: the balancer sends no clients there."""
    not_isolated: str = ""
    """Why programs are not, or not wholly, kept apart from each other and from Nagaya."""
    waits_for_connections: str = ""
    """What such an exchange waits for, in a sentence."""

    @property
    def plane(self) -> HostedControlPlane:
        """The control plane itself."""
        return self.declared.plane

    @property
    def uid(self) -> str:
        """What the tenant is called: the uid of the control plane that it began with."""
        return self.plane.tenant_id

    @property
    def given(self) -> Authorities | None:
        """The authorities, if all are there and can be used to sign."""
        return Authorities.of(self.authorities)

    @property
    def initialized(self) -> bool:
        """Whether the API has answered once."""
        return self.plane.status.initialization.control_plane_initialized is True


@dataclass(frozen=True, slots=True)
class Observer:
    """Looks."""

    rt: Runtime
    host: Host
    stores: Stores
    reader: SecretReader
    encryption: EncryptionSecrets

    def cluster_of(self, plane: HostedControlPlane) -> Cluster | None:
        """The Cluster that owns a control plane; None before its controller has said so, or if it is gone."""
        for each in plane.metadata.owner_references:
            if owners.is_a(each, CLUSTERS):
                return self.rt.cache.get(CLUSTERS, Key(plane.metadata.namespace, each.name))
        return None

    def listening(
        self, plane: HostedControlPlane, cluster: Cluster, started: Mapping[str, Started] = _NONE
    ) -> endpoint.Listening:
        """Where the API of a control plane is, or shall be."""
        settings, others = self.host.settings, self.rt.cache.list(HOSTED_CONTROL_PLANES)

        @cache
        def held_by_others() -> set[str]:
            """Where programs of other tenants were started to listen, whether or not they run right now."""
            folders = [self.host.folder(other.tenant_id) for other in others if other.tenant_id != plane.tenant_id]
            return {program.listens for folder in folders for program in folder.started().values()}

        def is_free(address: str, port: int) -> bool:
            return addresses.is_free(address, port) and str(Endpoint(host=address, port=port)) not in held_by_others()

        machine = Machine(
            lambda family: settings.address or addresses.default_address(family),
            addresses.is_own,
            is_free,
            settings.ports,
            self.host.ports.taken(but=plane.tenant_id),
        )
        # What runs without a record of it may be at any address.
        names = {*started, *self.host.processes(plane.tenant_id)}
        listens = {started[name].listens if name in started else "" for name in names if f".{KUBE_APISERVER}-" in name}
        return endpoint.look(plane, cluster, others, machine, listens)

    def claim(self, plane: HostedControlPlane) -> Claim:
        """Whether a control plane may have the tenant that it goes on with, or begin one."""
        return self.host.claim(plane.metadata, plane.tenant_id, self.host.folder(plane.tenant_id).path)

    def store_of(self, plane: HostedControlPlane) -> DataStore | None:
        """The DataStore that a control plane has its data in, or refers to."""
        name = plane.store_name or plane.spec.data_store_ref.name
        return self.rt.cache.get(DATA_STORES, Key("", name))

    async def observe(self, plane: HostedControlPlane, cluster: Cluster, known: Known) -> Seen:
        """Everything. Raises what the server refuses."""
        rt, uid, key = self.rt, plane.tenant_id, Key.of(cluster)
        owner = owners.controller(HOSTED_CONTROL_PLANES, plane)
        authorities, secret = await asyncio.gather(
            certificates_seen.observe(self.reader, key, AUTHORITIES),
            certificates_seen.observe_kubeconfig(self.reader, key),
        )
        encryption, problem = await self.encryption.read(plane)
        started = self.host.folder(uid).started()
        declared = Declared(plane, cluster, self.listening(plane, cluster, started))
        remote = rt.remotes.get(key)
        running = upgrade.running((each.version for each in started.values()), plane.status.version)
        target = upgrade.target(plane.spec.version, running, kubelets(remote))
        store = self.store_of(plane)
        now = rt.world.clock.now()
        initialized = plane.status.initialization.control_plane_initialized is True
        of_kubeconfig = _kubeconfig(declared, authorities, secret, now)
        return Seen(
            declared=declared,
            target=target,
            authorities=authorities,
            authorities_plan=authorities_plan.plan(authorities, initialized=initialized, maker=owner),
            kubeconfig=of_kubeconfig,
            kubeconfig_plan=kubeconfig_plan.plan_kubeconfig(of_kubeconfig, owner),
            store=store,
            store_reached=store is not None and self.stores.get(store.metadata.uid) is not None,
            encryption=encryption,
            encryption_problem=problem,
            programs=self.host.programs(target.version, declared.programs(known.store)),
            processes=self.host.processes(uid),
            started=started,
            connected=remote is not None,
            probe=rt.remotes.probe(key),
            known=known,
            now=now,
            ending=waits_for_workers(rt.cache, plane, cluster),
            recorded=self.claim(plane).recorded,
            leaving=marked_servers(self.host.folder(uid)),
            not_isolated=self.host.not_isolated(),
            waits_for_connections=waits_for_connections(self.host.folder(uid)),
        )


def _kubeconfig(declared: Declared, authorities: AuthoritiesSeen, secret: Held | None, now: datetime) -> KubeconfigSeen:
    authority = authorities.get(Purpose.CLUSTER_AUTHORITY)
    listening = declared.listening
    written = listening.endpoint if listening.is_written else Endpoint()
    return KubeconfigSeen(authorities.cluster, written, authority, secret, now)
