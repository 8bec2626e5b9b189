"""The calls that a plan for a Cluster needs, in order. Any of them may be the last: the next run goes on from there.

What the server refuses in one place does not keep the rest from being done: the infrastructure is adopted although the
control plane cannot be. The refusals come back, so that the status is told before they are raised.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.cluster.secrets import AUTHORITY
from nagaya.core.cluster.kubeconfig import BadAuthority, kubeconfig_secret
from nagaya.core.cluster.plan import Plan
from nagaya.core.cluster.seen import Seen
from nagaya.kube.api import Api
from nagaya.kube.errors import AlreadyExists, ApiError, NotFound
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import SUFFIX, TENANT_SECRETS

log = logging.getLogger(__name__)

AUTHORITY_WAIT: Final = 30.0
"""Seconds until a missing authority is looked for again: a Secret without the cluster's label brings no event."""

Failure = ApiError | BadAuthority


@dataclass(slots=True)
class Applied:
    """What came of a plan."""

    cluster: Cluster
    failures: list[Failure] = field(default_factory=list)
    look_again: float | None = None
    """Seconds after which something may be there that is missed now."""


async def apply(rt: Runtime, api: Api, seen: Seen, plan: Plan) -> Applied:
    """Carry out a plan."""
    applied = Applied(seen.cluster)
    key = Key.of(seen.cluster)
    label = {labels.CLUSTER_NAME: key.name}
    for each in plan.adopt:
        log.info("cluster %s: takes ownership of %s %s", key, each.kind.kind, each.object.metadata.name)
        await _try(applied, api.metadata(each.kind, each.object, labels=label, owners=each.owners))
    if plan.endpoint is not None:
        await _try(applied, _write_endpoint(api, applied, plan.endpoint))
    if plan.kubeconfig and applied.cluster.spec.control_plane_endpoint.valid:
        await _try(applied, _make_kubeconfig(rt, api, applied))
    for doomed in plan.deletion.delete if plan.deletion is not None else ():
        log.info("cluster %s: deletes %s %s", key, doomed.kind.kind, doomed.object.metadata.name)
        await _try(applied, api.delete(doomed.kind, doomed.object))
    return applied


async def _try(applied: Applied, call: Awaitable[object]) -> None:
    try:
        await call
    except NotFound as error:
        log.debug("%s", error)  # what is gone needs nothing; the event about it is on its way
    except (ApiError, BadAuthority) as error:
        applied.failures.append(error)


async def _write_endpoint(api: Api, applied: Applied, endpoint: Endpoint) -> None:
    log.info("cluster %s: its API is at %s", Key.of(applied.cluster), endpoint)
    content = {"spec": {"controlPlaneEndpoint": msgspec.to_builtins(endpoint)}}
    applied.cluster = await api.merge(CLUSTERS, applied.cluster, content)


async def _make_kubeconfig(rt: Runtime, api: Api, applied: Applied) -> None:
    """Secrets are asked for, not looked up: those without the cluster's label are not in the cache, and of
    authorities the content never is."""
    cluster = applied.cluster
    namespace, name = cluster.metadata.namespace, cluster.metadata.name
    try:
        await rt.client.get(TENANT_SECRETS, namespace, name + SUFFIX)
    except NotFound:
        pass
    else:
        return
    try:
        authority = await rt.client.get(TENANT_SECRETS, namespace, name + AUTHORITY)
    except NotFound:
        log.info("cluster %s: waits for Secret %s to make a kubeconfig", Key.of(cluster), name + AUTHORITY)
        applied.look_again = AUTHORITY_WAIT
        return
    try:
        await api.create(TENANT_SECRETS, kubeconfig_secret(cluster, authority.data, rt.world.clock))
    except AlreadyExists:
        return  # made by a life before this one; the cache will tell
    log.info("cluster %s: has a kubeconfig", Key.of(cluster))
