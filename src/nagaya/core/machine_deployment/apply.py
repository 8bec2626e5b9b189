"""The calls that carry a plan out, in its order. Any of them may be the last: the next reconcile sees what was done."""

from __future__ import annotations

import logging

from nagaya.api.cluster.annotations import REVISION
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.cluster.machine_deployment import FINALIZER, MACHINE_DEPLOYMENTS, MachineDeployment
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.api.meta import OwnerReference
from nagaya.clusters import owners
from nagaya.core.machine_deployment.applied import Applied
from nagaya.core.machine_deployment.plan import Plan, Planned
from nagaya.core.machine_deployment.seen import Seen
from nagaya.core.machine_deployment.templates import Template
from nagaya.kube.api import Api
from nagaya.kube.errors import ApiError, Conflict, NotFound
from nagaya.kube.recorder import Recorder

log = logging.getLogger(__name__)


async def adopt(api: Api, recorder: Recorder, seen: Seen) -> None:
    """Take over the sets that the selector matches and nobody controls."""
    deployment = seen.deployment
    owner = owners.controller(MACHINE_DEPLOYMENTS, deployment)
    for each in seen.orphans:
        name = each.metadata.name
        try:
            await api.metadata(MACHINE_SETS, each, owners=owners.with_owner(each.metadata.owner_references, owner))
        except ApiError as error:
            note = f'Failed to adopt MachineSet "{name}": {error}'
            recorder.warning(MACHINE_DEPLOYMENTS, deployment, "FailedAdopt", note)
            raise
        log.info("MachineDeployment %s adopted MachineSet %s", deployment.metadata.name, name)
        recorder.normal(MACHINE_DEPLOYMENTS, deployment, "SuccessfulAdopt", f'Adopted MachineSet "{name}"')


async def prepare(api: Api, seen: Seen, cluster: Cluster, plan: Plan) -> None:
    """See to it that the deployment and its templates belong to the Cluster, before there is anything to clean up."""
    deployment = seen.deployment
    metadata = deployment.metadata
    owner = owners.owner(CLUSTERS, cluster)
    finalizers = metadata.finalizers if FINALIZER in metadata.finalizers else (*metadata.finalizers, FINALIZER)
    await api.metadata(
        MACHINE_DEPLOYMENTS,
        deployment,
        labels={CLUSTER_NAME: deployment.spec.cluster_name},
        annotations={REVISION: plan.revision} if plan.revision else {},
        finalizers=finalizers,
        owners=owners.with_owner(metadata.owner_references, owner),
    )
    for template in seen.templates.all:
        await _own(api, template, owner)


async def apply(api: Api, recorder: Recorder, applied: Applied, seen: Seen, plan: Plan) -> None:
    """Make, change and delete MachineSets."""
    deployment = seen.deployment
    applied.keep([each.metadata.uid for each in seen.sets])
    for each in plan.sets:
        if each.present is None:
            await _make(api, recorder, applied, deployment, each, plan.says)
        else:
            await _change(api, recorder, applied, deployment, each, each.present)
    for gone in plan.delete:
        await _delete(api, recorder, deployment, gone)


async def _own(api: Api, template: Template, owner: OwnerReference) -> None:
    if template.kind is None or template.provider is None:
        return
    owned = owners.with_owner(template.provider.metadata.owner_references, owner)
    await api.metadata(template.kind, template.provider.object, owners=owned)


async def _make(
    api: Api, recorder: Recorder, applied: Applied, deployment: MachineDeployment, planned: Planned, why: str
) -> None:
    content = MACHINE_SETS.content(planned.wanted)
    name = _named(planned.wanted)
    try:
        applied.tell(await api.apply(MACHINE_SETS, content), content)
    except ApiError as error:
        note = f"Failed to create MachineSet {name}: {error}"
        recorder.warning(MACHINE_DEPLOYMENTS, deployment, "FailedCreate", note, action="Create")
        raise
    log.info("MachineSet %s created, it is now the current MachineSet: %s", name, why)
    note = f"Created MachineSet {name} with {planned.size} replicas"
    recorder.normal(MACHINE_DEPLOYMENTS, deployment, "SuccessfulCreate", note, action="Create")


async def _change(
    api: Api,
    recorder: Recorder,
    applied: Applied,
    deployment: MachineDeployment,
    planned: Planned,
    present: MachineSet,
) -> None:
    content = MACHINE_SETS.content(planned.wanted)
    if applied.settled(present, content):
        return
    name = _named(present)
    try:
        answer = await api.apply(MACHINE_SETS, content)
    except ApiError as error:
        if present.metadata.deleting and isinstance(error, Conflict | NotFound):
            return  # gone meanwhile
        note = f"Failed to update MachineSet {name}: {error}"
        recorder.warning(MACHINE_DEPLOYMENTS, deployment, "FailedUpdate", note, action="Update")
        raise
    applied.tell(answer, content)
    before, after = planned.size_before, planned.size
    role = "current" if planned.current else "old"
    if before == after:
        if answer.metadata.resource_version != present.metadata.resource_version:
            log.info("Updated %s MachineSet %s%s", role, name, f": {planned.why}" if planned.why else "")
        return
    way = "down" if after < before else "up"
    log.info("Scaled %s %s MachineSet %s from %d to %d replicas: %s", way, role, name, before, after, planned.why)
    note = f"Scaled {way} MachineSet {present.metadata.name}: {before} -> {after}"
    recorder.normal(MACHINE_DEPLOYMENTS, deployment, "SuccessfulScale", note, action="Scale")


async def _delete(api: Api, recorder: Recorder, deployment: MachineDeployment, gone: MachineSet) -> None:
    name = gone.metadata.name
    cleanup = not deployment.metadata.deleting
    try:
        await api.delete(MACHINE_SETS, gone)
    except ApiError as error:
        note = f'Failed to delete MachineSet "{name}": {error}'
        recorder.warning(MACHINE_DEPLOYMENTS, deployment, "FailedDelete", note, action="Delete")
        raise
    why = "cleanup of old MachineSets" if cleanup else "MachineDeployment deleting"
    log.info("MachineSet %s deleting (%s)", _named(gone), why)
    if cleanup:
        note = f'Deleted MachineSet "{name}"'
        recorder.normal(MACHINE_DEPLOYMENTS, deployment, "SuccessfulDelete", note, action="Delete")


def _named(machine_set: MachineSet) -> str:
    return f"{machine_set.metadata.namespace}/{machine_set.metadata.name}"
