"""The calls that a plan for a simulated machine needs, in order. Any of them may be the last."""

from __future__ import annotations

import logging
from typing import Final

from nagaya.api.simulated.conditions import SimulatedReason
from nagaya.api.simulated.simulated_machine import FINALIZER, SIMULATED_MACHINES, SimulatedMachine
from nagaya.infrastructure.simulated.authority import authority_key
from nagaya.infrastructure.simulated.machine.node import node_settings, provider_id, tenant_settings
from nagaya.infrastructure.simulated.machine.plan import Plan
from nagaya.infrastructure.simulated.machine.seen import Seen
from nagaya.infrastructure.simulated.tenancy import Tenancy
from nagaya.infrastructure.simulated.tenants import Tenants
from nagaya.kube.api import Api
from nagaya.kube.errors import NotFound
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import TENANT_SECRETS
from nagaya.pki.secret_data import read_authority

log = logging.getLogger(__name__)

PORT_RETRY: Final = 10.0
"""Seconds until a port is tried again that somebody else has: nothing tells when it is free."""
AUTHORITY_RETRY: Final = 30.0
"""Seconds until the authority is looked for again: a Secret without the cluster's label brings no event."""


class CannotJoin(Exception):
    """The Node cannot join for now."""

    def __init__(self, reason: str, message: str, again_after: float) -> None:
        super().__init__(message)
        self.reason = reason
        self.again_after = again_after


async def hold(api: Api, host: SimulatedMachine) -> SimulatedMachine:
    """The machine begins to exist: finalizer and name in one patch."""
    finalizers = host.metadata.finalizers
    if FINALIZER in finalizers and host.spec.provider_id:
        return host
    kept = finalizers if FINALIZER in finalizers else (*finalizers, FINALIZER)
    content = {"metadata": {"finalizers": [*kept]}, "spec": {"providerID": provider_id(host)}}
    return await api.merge(SIMULATED_MACHINES, host, content, locked=True)


async def run(rt: Runtime, tenants: Tenants, seen: Seen, plan: Plan) -> None:
    """What happens to the machine itself. Raises CannotJoin."""
    metadata = seen.host.metadata
    tenancy = tenants.tenancy(seen.cluster_key)
    if tenancy is None:
        return
    if plan.joins:
        if plan.starts:
            await _start(rt, tenants, tenancy, seen)
        if tenancy.tenant is not None:
            await tenancy.join(metadata.uid, node_settings(seen))
            log.info("simulated machine %s: its Node has joined", Key.of(seen.host))
    if plan.leaves:
        await tenancy.leave(metadata.name, metadata.uid)
    else:
        tenancy.afflict(metadata.name, metadata.uid, plan.faults)


async def _start(rt: Runtime, tenants: Tenants, tenancy: Tenancy, seen: Seen) -> None:
    if tenancy.tenant is not None:
        return
    secret = authority_key(tenancy.key)
    try:
        # Asked for, not looked up: the content of authorities is not kept in the cache.
        found = await rt.client.get(TENANT_SECRETS, secret.namespace, secret.name)
    except NotFound:
        raise CannotJoin(
            SimulatedReason.WAITING_FOR_CERTIFICATE_AUTHORITY,
            f"Waiting for Secret {secret.name} with the authority of the cluster.",
            AUTHORITY_RETRY,
        ) from None
    try:
        authority = read_authority(found.data)
    except ValueError as error:
        raise CannotJoin(
            SimulatedReason.WAITING_FOR_CERTIFICATE_AUTHORITY,
            f"Secret {secret.name} is not the authority of a cluster: {error}.",
            AUTHORITY_RETRY,
        ) from error
    settings = tenant_settings(seen, authority, tenants.shared, listen=tenants.listen)
    try:
        await tenancy.start(settings, rt.world)
    except OSError as error:
        raise CannotJoin(
            SimulatedReason.API_NOT_STARTED,
            f"The simulated API cannot listen at {settings.control_plane_endpoint}: {error}. "
            f"End what uses the port; it is tried again.",
            PORT_RETRY,
        ) from error
    log.info("simulated cluster %s: its API runs at %s", tenancy.key, tenancy.url)
