"""The calls that a plan for a HostedControlPlane needs. Actions of one round do not depend on each other.

Any of them may be the last, in any order: each is safe to be done again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from ipaddress import ip_address

import msgspec

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.controlplane.data_store import DATA_STORES, ETCD
from nagaya.api.controlplane.data_store import FINALIZER as STORE_FINALIZER
from nagaya.api.controlplane.hosted_arguments import (
    KONNECTIVITY_SERVER,
    KUBE_APISERVER,
    KUBE_CONTROLLER_MANAGER,
    KUBE_SCHEDULER,
)
from nagaya.api.controlplane.hosted_control_plane import (
    DEFAULT_DATA_STORE,
    FINALIZER,
    HOSTED_CONTROL_PLANES,
    HostedControlPlane,
)
from nagaya.api.controlplane.hosted_status import DataStoreUse
from nagaya.binaries.releases import DEFAULT_VERSION
from nagaya.clusters import owners
from nagaya.clusters.certificates import apply as certificates_apply
from nagaya.clusters.certificates.key_maker import Keys
from nagaya.controlplane.hosted.components import configuration
from nagaya.controlplane.hosted.components.facts import KineStore
from nagaya.controlplane.hosted.control_plane.components import versions
from nagaya.controlplane.hosted.control_plane.facts import Declared
from nagaya.controlplane.hosted.control_plane.known import Files, FilesFor
from nagaya.controlplane.hosted.control_plane.plan import Action, MakeDefaultStore, Plan, Run, TakeTenant, WriteFiles
from nagaya.controlplane.hosted.control_plane.seen import AUTHORITIES, Observer, Seen
from nagaya.controlplane.hosted.data_store.due import due, renewed
from nagaya.controlplane.hosted.data_store.errors import StoreError
from nagaya.controlplane.hosted.data_store.managed_etcd import PROCESS as ETCD_PROCESS
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.host import addresses, certificates, ownership, processes
from nagaya.controlplane.hosted.host.ownership import Owner
from nagaya.controlplane.hosted.host.ports import NoPortLeft
from nagaya.controlplane.hosted.host.processes import AUTHORITY, balancer_file, digest
from nagaya.controlplane.hosted.host.tenant_folder import TenantFolder
from nagaya.controlplane.hosted.host.users import NoUserLeft
from nagaya.controlplane.hosted.phases import (
    BindStore,
    Hold,
    MakeAuthorities,
    Provision,
    WriteEndpoint,
    WriteKubeconfig,
)
from nagaya.controlplane.hosted.tenant.declared import setup_of
from nagaya.controlplane.hosted.tenant.keepers import Keepers
from nagaya.kube.api import Api
from nagaya.kube.errors import AlreadyExists
from nagaya.kube.key import Key
from nagaya.pki.kubeadm.identities import CONTROLLER_MANAGER, SCHEDULER
from nagaya.pki.kubeadm.identities import KONNECTIVITY_SERVER as TUNNEL

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Apply:
    """Carries plans out."""

    observer: Observer
    api: Api
    keys: Keys
    keepers: Keepers
    _choosing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Ports are chosen one at a time."""

    async def all(self, seen: Seen, planned: Plan, *beside: Awaitable[None]) -> None:
        """Carry out all actions side by side; the first failure is raised when the last has ended."""
        actions = (self._one(seen, each) for each in planned.actions)
        ends = await asyncio.gather(*beside, *actions, return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException):
                raise end

    async def _one(self, seen: Seen, action: Action) -> None:
        match action:
            case Hold():
                finalizers = (*seen.plane.metadata.finalizers, FINALIZER)
                await self.api.metadata(HOSTED_CONTROL_PLANES, seen.plane, finalizers=finalizers)
            case TakeTenant():
                folder = self.observer.host.folder(seen.uid).path
                await asyncio.to_thread(ownership.write, folder, Owner.of(seen.plane.metadata))
            case MakeAuthorities():
                await self._make_authorities(seen)
            case WriteEndpoint():
                await self._write_endpoint(seen)
            case MakeDefaultStore():
                await self.make_default_store()
            case BindStore():
                await self._bind(seen.plane, action.use)
            case Provision():
                await self._provision(seen)
            case WriteKubeconfig():
                await self._write_kubeconfig(seen)
            case WriteFiles():
                await self._write_files(seen, action.made_for)
            case Run():
                await self._run(seen, action)

    async def set_up(self, seen: Seen) -> None:
        """Look at the tenant's own objects, and put right what is not as it shall be."""
        cluster = Key.of(seen.declared.cluster)
        remotes = self.observer.rt.remotes
        remotes.want(cluster)
        remote, files, given = remotes.get(cluster), seen.known.files, seen.given
        if remote is None or files is None or given is None:
            seen.known.setup = None
            return
        endpoint = seen.declared.listening.endpoint
        # Nodes get what goes with the oldest API server: nothing in a cluster may be newer.
        running = versions(seen.started)
        version = running[0].version if running else files.facts.version
        setup = setup_of(
            replace(files.facts, version=version), endpoint.host, endpoint.port or 0, given.cluster.certificate
        )
        serving = files.facts.serving
        if files.facts.replicas > 1 and not ip_address(serving.advertise_address).is_loopback:
            setup = replace(setup, api_address=serving.advertise_address, api_port=serving.port)
        seen.known.setup = await self.keepers.of(remote).ensure(setup)

    async def _make_authorities(self, seen: Seen) -> None:
        rt, owner = self.observer.rt, owners.controller(HOSTED_CONTROL_PLANES, seen.plane)
        await certificates_apply.apply(
            self.api, self.observer.reader, self.keys, seen.authorities, seen.authorities_plan, owner, rt.world.clock
        )

    async def _write_kubeconfig(self, seen: Seen) -> None:
        rt, owner = self.observer.rt, owners.controller(HOSTED_CONTROL_PLANES, seen.plane)
        await certificates_apply.apply_kubeconfig(
            self.api, self.keys, seen.kubeconfig, seen.kubeconfig_plan, owner, rt.world.clock, AUTHORITIES.algorithm
        )

    async def _write_endpoint(self, seen: Seen) -> None:
        """Chosen again with what is known now: another may have taken the port since it was seen to be free."""
        async with self._choosing:
            cache = self.observer.rt.cache
            plane = cache.get(HOSTED_CONTROL_PLANES, Key.of(seen.plane)) or seen.plane
            cluster = cache.get(CLUSTERS, Key.of(seen.declared.cluster)) or seen.declared.cluster
            listening = self.observer.listening(plane, cluster)
            if listening.message or listening.is_written:
                return
            log.info("HostedControlPlane %s: its API is at %s", Key.of(plane), listening.endpoint)
            content = {"spec": {"controlPlaneEndpoint": msgspec.to_builtins(listening.endpoint)}}
            await self.api.merge(HOSTED_CONTROL_PLANES, plane, content)

    async def make_default_store(self) -> None:
        """Make the DataStore that Nagaya starts itself. Its program is looked for meanwhile."""
        self.observer.host.programs(DEFAULT_VERSION, (ETCD_PROCESS,))
        metadata = {"name": DEFAULT_DATA_STORE, "finalizers": [STORE_FINALIZER]}
        content = {"metadata": metadata, "spec": {"driver": ETCD, "managed": True}}
        try:
            await self.api.create(DATA_STORES, content)
        except AlreadyExists:
            log.debug("somebody else was first to make DataStore %s", DEFAULT_DATA_STORE)

    async def _bind(self, plane: HostedControlPlane, use: DataStoreUse) -> None:
        await self.api.merge(
            HOSTED_CONTROL_PLANES, plane, {"status": {"dataStore": msgspec.to_builtins(use)}}, subresource="status"
        )

    async def _provision(self, seen: Seen) -> None:
        store, known = seen.store, seen.known
        driver = None if store is None else self.observer.stores.get(store.metadata.uid)
        if driver is None:
            return
        tenant = Tenant(seen.uid)
        try:
            folder = await asyncio.to_thread(self.observer.host.admit, seen.uid)
            kept = await asyncio.to_thread(folder.kept)
            place = await driver.provision(tenant, kept)
        except (StoreError, NoUserLeft) as error:
            known.store_problem = str(error)
            return
        await asyncio.to_thread(folder.keep, place.kept)
        if sentence := renewed(kept, place):
            self._tell_renewal(seen, sentence)
        known.store, known.store_problem = place, ""
        known.store_due = due(place, tenant, self.observer.rt.world.clock.now())

    async def _write_files(self, seen: Seen, made_for: FilesFor) -> None:
        host, known = self.observer.host, seen.known
        try:
            folder = await asyncio.to_thread(host.admit, seen.uid)
            ports = await self._ports(made_for.declared, folder)
            files = await asyncio.to_thread(self._files, made_for, folder, ports)
        except (ValueError, NoPortLeft) as error:
            known.files_problem = str(error)
            return
        except OSError as error:
            known.files_problem = f"{error.filename or host.settings.folder}: {error.strerror or error}."
            return
        known.files, known.files_problem = files, ""
        for sentence in files.certificates.renewed:
            self._tell_renewal(seen, sentence)

    def _tell_renewal(self, seen: Seen, sentence: str) -> None:
        note = f"{sentence} It was renewed."
        self.observer.rt.recorder.normal(HOSTED_CONTROL_PLANES, seen.plane, "CertificateRenewed", note)

    async def _ports(self, declared: Declared, folder: TenantFolder) -> dict[str, int]:
        ports, settings = self.observer.host.ports, self.observer.host.settings
        async with self._choosing:
            held = await asyncio.to_thread(ports.give, folder, declared.port_names(), settings.local_ports)
            held = await asyncio.to_thread(ports.give, folder, [processes.SLOT], processes.SLOTS, lambda _: True)
            asked = declared.plane.spec.addons.konnectivity.server.port
            if declared.tunnelled and asked:
                await asyncio.to_thread(expect_free, Endpoint(host=declared.listening.address, port=asked), folder)
            elif declared.tunnelled:
                taken = {declared.listening.port}
                for each in self.observer.rt.cache.list(HOSTED_CONTROL_PLANES):
                    taken.add(each.spec.control_plane_endpoint.port or 0)

                def free(port: int) -> bool:
                    return port not in taken and addresses.is_free(declared.listening.address, port)

                names = [processes.TUNNEL_AGENT_PORT]
                held = await asyncio.to_thread(ports.give, folder, names, settings.ports, free)
            return dict(held)

    def _files(self, made_for: FilesFor, folder: TenantFolder, ports: dict[str, int]) -> Files:
        """Everything that programs read, in a thread. Certificates first, because they are most of the work."""
        declared, store = made_for.declared, made_for.store
        facts = declared.facts(made_for.version, store.facts(folder.folders.pki, folder.kine_socket), folder, ports)
        if facts.tunnel is not None or isinstance(facts.store, KineStore):
            folder.expect_sockets()
        clock = self.observer.rt.world.clock
        issued = certificates.ensure(
            folder,
            made_for.authorities,
            declared.inputs(self.observer.host.settings),
            declared.server,
            declared.identities,
            clock,
        )
        written = {f"configuration/{name}": text.encode() for name, text in configuration.files(facts).items()}
        if made_for.encryption:
            written[f"encryption/{configuration.ENCRYPTION}"] = made_for.encryption
        folder.write({**written, **{f"pki/{name}": content for name, content in store.files.items()}})
        folder.write_for_balancer({AUTHORITY: made_for.authorities.cluster.certificate})
        return Files(made_for, facts, ports, _hashes(folder, made_for, written), issued, folder)

    async def _run(self, seen: Seen, action: Run) -> None:
        host, tenancy = self.observer.host, action.tenancy
        balancer = None
        if tenancy.balanced:
            # API servers that are to go serve until they are gone.
            servers = {*seen.processes, *(each.name for each in action.steps.start)}
            balancer = balancer_file(tenancy, sorted(servers))
        for each in action.steps.start:
            log.info("HostedControlPlane %s: starts %s %s", Key.of(seen.plane), each.program, each.version)
        await host.carry_out(seen.uid, action.steps, balancer)


def expect_free(at: Endpoint, folder: TenantFolder) -> None:
    """Raise NoPortLeft if something else than the tenant's own server listens at the port for its agents."""
    started = folder.started().get(f"{folder.path.name}.{KONNECTIVITY_SERVER}")
    if (started is None or started.listens not in ("", str(at))) and not addresses.is_free(at.host, at.port or 0):
        raise NoPortLeft(f"Konnectivity cannot listen at {at}: another program listens there. Choose another port.")


def _hashes(folder: TenantFolder, made_for: FilesFor, written: dict[str, bytes]) -> dict[str, str]:
    """What programs read at their start alone. All but one take new certificates by themselves."""
    accounts = {"accounts": made_for.authorities.service_accounts.key}
    trusted = {"authority": made_for.authorities.cluster.certificate}

    def own(*names: str) -> dict[str, bytes]:
        return {name: folder.read(name) or b"" for name in names}

    return {
        KUBE_APISERVER: digest({**written, **accounts}),
        KUBE_CONTROLLER_MANAGER: digest({**accounts, **trusted, **own(CONTROLLER_MANAGER.file)}),
        KUBE_SCHEDULER: digest({**trusted, **own(SCHEDULER.file)}),
        KONNECTIVITY_SERVER: digest({**trusted, **own(TUNNEL.file, "pki/apiserver.crt")}),
    }
