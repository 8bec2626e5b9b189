"""What a plan says, done: one call per action, in order. Any of them may be the last.

What goes on in the tenant may fail like anything else; then the rest of the plan is left for the next look, because
what follows depends on it: a machine is not deleted whose etcd still leads.
"""

from __future__ import annotations

import logging

import msgspec

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS, KubeadmConfig
from nagaya.api.cluster.annotations import CERTIFICATES_EXPIRY
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.api.cluster.name_template import TemplateError
from nagaya.api.controlplane import conditions as kubeadm
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES
from nagaya.api.controlplane.names import FINALIZER, PRE_TERMINATE_HOOK_CLEANUP, REMEDIATION_IN_PROGRESS
from nagaya.api.untyped import Untyped
from nagaya.clusters.field_ownership import metadata_change
from nagaya.clusters.finalizer import release
from nagaya.controlplane.kubeadm import actions as act
from nagaya.controlplane.kubeadm.certificates_port import Certificates
from nagaya.controlplane.kubeadm.creation import create_machine
from nagaya.controlplane.kubeadm.hosts import Host
from nagaya.controlplane.kubeadm.machine_content import MANAGER, METADATA_MANAGER
from nagaya.controlplane.kubeadm.plan import TOLD_ON_MACHINES, Plan
from nagaya.controlplane.kubeadm.seen import Seen
from nagaya.controlplane.kubeadm.workload_port import Workload, WorkloadError
from nagaya.kube.conditions import condition, get, remove_condition, set_condition
from nagaya.kube.errors import ApiError, NotFound
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import TENANT_SECRETS

log = logging.getLogger(__name__)

REMEDIATION_MANAGER = "capi-kubeadmcontrolplane-remediation"
"""What is said about remediations has a manager of its own: it is told now and then, and what is applied without it by
the same manager would take it away."""
_UNKNOWN_TEMPLATE = Untyped({})


class Apply:
    """Carries out plans for control planes."""

    def __init__(self, rt: Runtime, certificates: Certificates) -> None:
        self._rt = rt
        self._certificates = certificates
        self._api = rt.api(MANAGER)
        self._metadata_api = rt.api(METADATA_MANAGER)
        self._remediation_api = rt.api(REMEDIATION_MANAGER)

    async def all(self, seen: Seen, plan: Plan, workload: Workload | None) -> None:
        """Do everything. Raises ApiError, WorkloadError or TemplateError of the first action that fails."""
        for action in plan.actions:
            log.debug("KubeadmControlPlane %s: %s", Key.of(seen.kcp), action.why)
            await self._one(seen, action, workload)

    async def _one(self, seen: Seen, action: act.Action, workload: Workload | None) -> None:
        match action:
            case act.Claim():
                finalizers = (*seen.kcp.metadata.finalizers, FINALIZER)
                await self._api.metadata(KUBEADM_CONTROL_PLANES, seen.kcp, finalizers=finalizers)
            case act.OwnTemplate(owners=owned):
                assert seen.template.kind is not None
                assert seen.template.object is not None
                await self._api.metadata(seen.template.kind, seen.template.object, owners=owned)
            case act.MakeAuthorities():
                await self._certificates.make_authorities(seen.cluster, seen.kcp)
            case act.MakeKubeconfig():
                await self._certificates.make_kubeconfig(seen.cluster, seen.kcp)
            case act.AdoptSecret(secret=secret, owners=owned):
                await self._api.metadata(TENANT_SECRETS, secret, owners=owned)
            case act.AdoptMachine(machine=machine, owners=owned):
                await self._api.metadata(MACHINES, machine, owners=owned)
                self._say(seen, action)
            case act.RememberRemediation(record=record):
                annotations = {REMEDIATION_IN_PROGRESS: record}
                await self._api.metadata(KUBEADM_CONTROL_PLANES, seen.kcp, annotations=annotations)
            case act.Warn(reason=reason, why=why):
                self._rt.recorder.warning(KUBEADM_CONTROL_PLANES, seen.kcp, reason, why)
            case act.Release():
                await release(self._rt, self._api, KUBEADM_CONTROL_PLANES, seen.kcp, FINALIZER)
            case act.Discard(made=made):
                await self._discard(seen, action, made)
            case act.CreateMachine():
                await self._create(seen, action)
            case act.DeleteMachine():
                await self._delete(seen, action)
            case (
                act.MoveLeader()
                | act.RemoveMember()
                | act.UpdateKubeadmConfig()
                | act.UpdateAddons()
                | act.NoteExpiry()
            ):
                await self._in_tenant(seen, action, workload)
            case _:
                await self._on_machine(seen, action)

    async def _on_machine(
        self,
        seen: Seen,
        action: act.SyncMachine
        | act.SyncDeleting
        | act.SyncHost
        | act.SyncConfig
        | act.TellMachine
        | act.TellRemediation
        | act.RemoveHook,
    ) -> None:
        """What is gone meanwhile needs nothing any more."""
        try:
            match action:
                case act.SyncMachine(content=content):
                    await self._api.apply(MACHINES, content)
                case act.SyncDeleting(machine=machine, content=content):
                    await self._api.merge(MACHINES, machine, content)
                case act.SyncHost():
                    await self._sync_host(seen, action)
                case act.SyncConfig():
                    await self._sync_config(seen, action)
                case act.TellMachine(machine=machine, conditions=conditions):
                    told = {"conditions": msgspec.to_builtins(conditions)}
                    await self._api.status(MACHINES, machine, told, conditions=TOLD_ON_MACHINES)
                case act.TellRemediation():
                    await self._tell_remediation(seen, action)
                case act.RemoveHook(machine=machine):
                    await self._api.metadata(MACHINES, machine, annotations={PRE_TERMINATE_HOOK_CLEANUP: None})
                    self._say(seen, action)
        except NotFound as error:
            log.debug("KubeadmControlPlane %s: %s", Key.of(seen.kcp), error)

    async def _in_tenant(
        self,
        seen: Seen,
        action: act.MoveLeader | act.RemoveMember | act.UpdateKubeadmConfig | act.UpdateAddons | act.NoteExpiry,
        workload: Workload | None,
    ) -> None:
        if workload is None:
            raise WorkloadError("the workload cluster cannot be reached at present")
        match action:
            case act.MoveLeader():
                await self._move_leader(seen, action, workload)
            case act.RemoveMember(member=member, through=through):
                await workload.remove_member(member, through)
                self._say(seen, action)
            case act.UpdateKubeadmConfig():
                await workload.allow_kubeadm(seen.kcp.spec.version)
                await workload.update_kubeadm_config(seen.kcp)
            case act.UpdateAddons():
                await workload.update_kube_proxy(seen.kcp)
                await workload.update_core_dns(seen.kcp)
            case act.NoteExpiry(config=config, node=node, port=port):
                expiry = await workload.certificate_expiry(node, port)
                annotations = {CERTIFICATES_EXPIRY: f"{expiry:%Y-%m-%dT%H:%M:%SZ}"}
                await self._api.metadata(KUBEADM_CONFIGS, config, annotations=annotations)

    async def _move_leader(self, seen: Seen, action: act.MoveLeader, workload: Workload) -> None:
        try:
            leader = await workload.move_leader(action.leader, action.candidates)
        except WorkloadError as error:
            if action.remediated is not None:
                reason = kubeadm.CANNOT_BE_REMEDIATED_REASON
                told = condition(MachineCondition.OWNER_REMEDIATED, False, reason, str(error))
                await self._tell_remediation(seen, act.TellRemediation(action.remediated, told, str(error)))
            raise
        log.info("KubeadmControlPlane %s: etcd's leader was %s and is %s", Key.of(seen.kcp), action.leader, leader)

    async def _create(self, seen: Seen, action: act.CreateMachine) -> None:
        try:
            machine = await create_machine(self._rt, self._api, seen, action)
        except (ApiError, TemplateError) as error:
            what, reason = ("additional", "FailedScaleUp") if action.join else ("initial", "FailedInitialization")
            cluster = Key.of(seen.cluster)
            note = f"Failed to create {what} control plane Machine for cluster {cluster} control plane: {error}"
            self._rt.recorder.warning(KUBEADM_CONTROL_PLANES, seen.kcp, reason, note)
            raise
        log.info("KubeadmControlPlane %s: Machine %s: %s", Key.of(seen.kcp), machine.metadata.name, action.why)

    async def _delete(self, seen: Seen, action: act.DeleteMachine) -> None:
        machine = action.machine
        try:
            await self._api.delete(MACHINES, machine)
        except ApiError as error:
            cluster = Key.of(seen.cluster)
            note = (
                f"Failed to delete control plane Machine {machine.metadata.name} for cluster {cluster} control plane: "
                f"{error}"
            )
            self._rt.recorder.warning(KUBEADM_CONTROL_PLANES, seen.kcp, action.failure, note)
            raise
        self._say(seen, action)

    async def _discard(self, seen: Seen, action: act.Discard, made: Host | KubeadmConfig) -> None:
        """Delete what has no machine. If it has one after all, the news of that brings the control plane back."""
        obj = made.object if isinstance(made, Host) else made
        try:
            machine: Machine = await self._rt.client.get(MACHINES, obj.metadata.namespace, obj.metadata.name)
        except NotFound:
            if isinstance(made, Host):
                await self._api.delete(made.kind, made.object)
            else:
                await self._api.delete(KUBEADM_CONFIGS, made)
            self._say(seen, action)
            return
        self._rt.cache.wrote(MACHINES, machine)

    async def _tell_remediation(self, seen: Seen, action: act.TellRemediation) -> None:
        machine, type = action.machine, MachineCondition.OWNER_REMEDIATED
        present = self._rt.cache.get(MACHINES, Key.of(machine)) or machine
        before = present.status.conditions
        if action.condition is None:
            after = remove_condition(before, type)
        else:
            generation = present.metadata.generation
            after = set_condition(before, action.condition, now=seen.now, generation=generation)
        if get(before, type) != get(after, type):
            told = {"conditions": msgspec.to_builtins(after)}
            await self._remediation_api.status(MACHINES, present, told, conditions=(type,))

    async def _sync_host(self, seen: Seen, action: act.SyncHost) -> None:
        host = action.host
        metadata = await self._managed_metadata(host.kind.path(*Key.of(host.object)))
        if metadata.get("uid") != host.object.metadata.uid:
            return
        template = seen.template.object if seen.template.made == host.kind else None
        change = metadata_change(metadata, action.wanted, template, manager=MANAGER, metadata_manager=METADATA_MANAGER)
        if change is None:
            return
        if change.move is not None:
            now = Untyped({**host.object.raw, "metadata": metadata})
            await self._api.merge(host.kind, now, {"metadata": change.move}, locked=True)
        place = {"namespace": host.object.metadata.namespace, "name": host.object.metadata.name}
        content = {"metadata": {**place, "uid": host.object.metadata.uid, **change.apply}}
        await self._metadata_api.apply(host.kind, content)
        self._say(seen, action)

    async def _sync_config(self, seen: Seen, action: act.SyncConfig) -> None:
        config = action.config
        metadata = await self._managed_metadata(KUBEADM_CONFIGS.path(*Key.of(config)))
        if metadata.get("uid") != config.metadata.uid:
            return
        # There is no template of KubeadmConfigs, hence no label that could be its.
        change = metadata_change(
            metadata, action.wanted, _UNKNOWN_TEMPLATE, manager=MANAGER, metadata_manager=METADATA_MANAGER
        )
        if change is None:
            return
        if change.move is not None:
            version = str(metadata.get("resourceVersion", ""))
            now = msgspec.structs.replace(
                config, metadata=msgspec.structs.replace(config.metadata, resource_version=version)
            )
            await self._api.merge(KUBEADM_CONFIGS, now, {"metadata": change.move}, locked=True)
        place = {"namespace": config.metadata.namespace, "name": config.metadata.name, "uid": config.metadata.uid}
        await self._metadata_api.apply(KUBEADM_CONFIGS, {"metadata": {**place, **change.apply}})
        self._say(seen, action)

    async def _managed_metadata(self, path: str) -> dict[str, object]:
        """The metadata with managedFields, which the cache does without. Raises NotFound."""
        answer = await self._rt.client.raw("GET", path)
        content = msgspec.json.decode(answer.body, type=dict[str, object])
        metadata = content.get("metadata")
        return metadata if isinstance(metadata, dict) else {}

    def _say(self, seen: Seen, action: act.Action) -> None:
        log.info("KubeadmControlPlane %s: %s", Key.of(seen.kcp), action.why)
