"""The calls that a plan for a HostedControlPlane of pods needs. Any of them may be the last."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace

import msgspec

from nagaya.api.controlplane.hosted_control_plane import FINALIZER, HOSTED_CONTROL_PLANES
from nagaya.clusters.certificates import apply as certificates_apply
from nagaya.clusters.certificates.key_maker import Keys
from nagaya.controlplane.hosted.components.facts import TenantFacts
from nagaya.controlplane.hosted.control_plane.components import lowest
from nagaya.controlplane.hosted.data_store.due import due, renewed
from nagaya.controlplane.hosted.data_store.errors import StoreError
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.kubernetes import kinds
from nagaya.controlplane.hosted.kubernetes.kinds import Planned
from nagaya.controlplane.hosted.phases import (
    BindStore,
    Hold,
    MakeAuthorities,
    Provision,
    WriteEndpoint,
    WriteKubeconfig,
)
from nagaya.controlplane.hosted.pods import applying, certificates, components, tenancies
from nagaya.controlplane.hosted.pods.endpoint import agents_port
from nagaya.controlplane.hosted.pods.known import FilesFor
from nagaya.controlplane.hosted.pods.plan import Action, ApplyObjects, MakeFiles, Plan
from nagaya.controlplane.hosted.pods.seen import AUTHORITIES, Observer, Seen
from nagaya.controlplane.hosted.tenant.declared import setup_of
from nagaya.controlplane.hosted.tenant.keepers import Keepers
from nagaya.kube.api import Api
from nagaya.kube.errors import NotFound
from nagaya.kube.key import Key

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Apply:
    """Carries plans out."""

    observer: Observer
    api: Api
    keys: Keys
    keepers: Keepers

    async def all(self, seen: Seen, planned: Plan) -> None:
        """Carry out all actions side by side; the first failure is raised when the last has ended."""
        ends = await asyncio.gather(*(self._one(seen, each) for each in planned.actions), return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException):
                raise end

    async def set_up(self, seen: Seen) -> None:
        """Look at the tenant's own objects, and put right what is not as it shall be."""
        cluster, known = Key.of(seen.cluster), seen.known
        remotes = self.observer.rt.remotes
        remotes.want(cluster)
        remote, given = remotes.get(cluster), seen.given
        if remote is None or given is None or known.store is None or known.files is None:
            known.setup = None
            return
        setup = setup_of(
            _facts(seen), seen.reached.endpoint.host, seen.reached.endpoint.port or 0, given.cluster.certificate
        )
        known.setup = await self.keepers.of(remote).ensure(setup)

    async def _one(self, seen: Seen, action: Action) -> None:
        plane, clock = seen.plane, self.observer.rt.world.clock
        match action:
            case Hold():
                finalizers = (*plane.metadata.finalizers, FINALIZER)
                await self.api.metadata(HOSTED_CONTROL_PLANES, plane, finalizers=finalizers)
            case MakeAuthorities():
                await certificates_apply.apply(
                    self.api,
                    self.observer.reader,
                    self.keys,
                    seen.authorities,
                    seen.authorities_plan,
                    seen.owner,
                    clock,
                )
            case WriteEndpoint():
                content = {"spec": {"controlPlaneEndpoint": msgspec.to_builtins(seen.reached.endpoint)}}
                await self.api.merge(HOSTED_CONTROL_PLANES, plane, content, locked=True)
            case BindStore(use):
                content = {"status": {"dataStore": msgspec.to_builtins(use)}}
                await self.api.merge(HOSTED_CONTROL_PLANES, plane, content, subresource="status")
            case Provision():
                await self._provision(seen)
            case WriteKubeconfig():
                await certificates_apply.apply_kubeconfig(
                    self.api, self.keys, seen.kubeconfig, seen.kubeconfig_plan, seen.owner, clock, AUTHORITIES.algorithm
                )
            case MakeFiles(made_for):
                await self._make_files(seen, made_for)
            case ApplyObjects(planned):
                for each in planned:
                    await self.apply(seen, each)

    async def apply(self, seen: Seen, planned: Planned) -> None:
        """Apply an object, unless one of this name is somebody else's."""
        name, known = str(planned), seen.known
        present = seen.objects.get(name)
        if present is None:
            # The cache has only what bears our label.
            try:
                present = await self.observer.rt.client.get(planned.kind, planned.namespace, planned.name)
            except NotFound:
                present = None
        if present is not None and (why := applying.stranger(present, seen.owner)):
            known.strangers[name] = why
            return
        known.strangers.pop(name, None)
        content = applying.content_of(planned)
        answer = await self.api.apply(planned.kind, content)
        hashed = content["metadata"]["annotations"][applying.APPLIED]
        known.answered[name] = f"{hashed} {applying.whole(answer)}"
        log.info("HostedControlPlane %s: applied %s", Key.of(seen.plane), name)

    async def _provision(self, seen: Seen) -> None:
        store, known = seen.store, seen.known
        driver = None if store is None else self.observer.stores.get(store.metadata.uid)
        if driver is None:
            return
        tenant, kept = Tenant(seen.uid), tenancies.kept_credentials(seen)
        try:
            place = await driver.provision(tenant, kept)
        except StoreError as error:
            known.store_problem = str(error)
            return
        planned = tenancies.credentials(seen, place.kept)
        present = seen.objects.get(str(planned))
        if present is None or not applying.is_current(applying.content_of(planned), present):
            await self.apply(seen, planned)
        if sentence := renewed(kept, place):
            self._tell_renewal(seen, sentence)
        known.store, known.store_problem = place, ""
        known.store_due = due(place, tenant, self.observer.rt.world.clock.now())

    async def _make_files(self, seen: Seen, made_for: FilesFor) -> None:
        known, clock = seen.known, self.observer.rt.world.clock
        secrets = [each for each in seen.objects.values() if each.kind == kinds.SECRETS.kind]
        own = [each for each in secrets if not applying.stranger(each, seen.owner)]
        before = certificates.kept(own, certificates.wanted(identity for identity, _ in made_for.servers))
        try:
            files = await asyncio.to_thread(
                certificates.ensure, before, made_for.authorities, made_for.inputs, dict(made_for.servers), clock
            )
        except ValueError as error:
            known.files_problem = str(error)
            return
        known.files, known.files_for, known.files_problem = files, made_for, ""
        for sentence in files.renewed:
            self._tell_renewal(seen, sentence)

    def _tell_renewal(self, seen: Seen, sentence: str) -> None:
        note = f"{sentence} It was renewed."
        self.observer.rt.recorder.normal(HOSTED_CONTROL_PLANES, seen.plane, "CertificateRenewed", note)


def _facts(seen: Seen) -> TenantFacts:
    """What the tenant's own objects depend on. Nodes get what goes with the oldest API server: nothing in a cluster may
    be newer."""
    facts = tenancies.bare(seen).facts
    oldest = lowest(each.version for each in components.versions(seen))
    outside = agents_port(seen.plane, seen.service)
    tunnel = replace(facts.tunnel, agent_port=outside) if facts.tunnel is not None and outside else facts.tunnel
    return replace(facts, version=oldest or facts.version, tunnel=tunnel)
