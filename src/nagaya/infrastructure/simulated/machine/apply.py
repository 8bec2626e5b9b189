"""The calls that a plan for a simulated machine needs, in order. Any of them may be the last."""

from __future__ import annotations

import base64
import binascii
import logging
from typing import Final

from nagaya.api.simulated.conditions import SimulatedReason
from nagaya.api.simulated.simulated_machine import FINALIZER, SIMULATED_MACHINES, SimulatedMachine
from nagaya.infrastructure.simulated.authority import authority_key
from nagaya.infrastructure.simulated.elsewhere import Elsewhere
from nagaya.infrastructure.simulated.machine.node import node_settings, provider_id, tenant_settings
from nagaya.infrastructure.simulated.machine.plan import Plan
from nagaya.infrastructure.simulated.machine.seen import Seen
from nagaya.infrastructure.simulated.tenancy import Tenancy
from nagaya.infrastructure.simulated.tenants import Tenants
from nagaya.kube.api import Api
from nagaya.kube.errors import NotFound
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import TENANT_SECRETS, VALUE
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.secret_data import read_authority
from nagaya.simulators.tenant import boot_data
from nagaya.simulators.tenant.boot_data import KubeadmBoot
from nagaya.simulators.tenant.joining import JoinDelayed, JoinRefused

log = logging.getLogger(__name__)

PORT_RETRY: Final = 10.0
"""Seconds until a port is tried again that somebody else has: nothing tells when it is free."""
ETCD_RETRY: Final = 5.0
"""Seconds until a member is offered to etcd again that it would not take."""
AUTHORITY_RETRY: Final = 30.0
"""Seconds until the authority is looked for again: a Secret without the cluster's label brings no event."""


class CannotJoin(Exception):
    """The Node cannot join for now."""

    def __init__(self, reason: str, message: str, again_after: float | None = None) -> None:
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
        boot = await _boot(rt, seen)
        # What has joined a cluster in an earlier life of this process brings it back; whatever else runs kubeadm join
        # needs one that answers.
        if boot is not None and not boot.initializes and not seen.was_joined and not tenancy.serving:
            raise CannotJoin(
                SimulatedReason.WAITING_FOR_CONTROL_PLANE, "kubeadm join waits for the API of the cluster."
            )
        if isinstance(tenancy, Elsewhere):
            await _join_elsewhere(rt, tenancy, seen, boot)
        else:
            if plan.starts:
                await _start(rt, tenants, tenancy, seen)
            if tenancy.tenant is not None:
                await _join(tenancy, seen, boot)
    if plan.leaves:
        await tenancy.leave(metadata.name, metadata.uid)
    else:
        tenancy.afflict(metadata.name, metadata.uid, plan.faults)


async def _boot(rt: Runtime, seen: Seen) -> KubeadmBoot | None:
    """What the boot data of the machine tell kubeadm. Data that are not there are nothing to go by, and nobody's."""
    name = None if seen.machine is None else seen.machine.spec.bootstrap.data_secret_name
    if not name:
        return None
    try:
        found = await rt.client.get(TENANT_SECRETS, seen.host.metadata.namespace, name)
    except NotFound:
        return None
    try:
        return boot_data.read(base64.b64decode(found.data.get(VALUE, "")), seen.host.metadata.name)
    except (boot_data.Unusable, binascii.Error) as error:
        raise CannotJoin(SimulatedReason.JOIN_REFUSED, f"Secret {name} cannot be used: {error}.") from error


async def _join(tenancy: Tenancy, seen: Seen, boot: KubeadmBoot | None) -> None:
    try:
        await tenancy.join(seen.host.metadata.uid, node_settings(seen, boot), returns=seen.was_joined)
    except JoinRefused as error:
        raise CannotJoin(SimulatedReason.JOIN_REFUSED, str(error)) from error
    except JoinDelayed as error:
        raise CannotJoin(SimulatedReason.WAITING_FOR_ETCD, str(error), ETCD_RETRY) from error
    log.info("simulated machine %s: its Node has joined", Key.of(seen.host))


async def _join_elsewhere(rt: Runtime, elsewhere: Elsewhere, seen: Seen, boot: KubeadmBoot | None) -> None:
    authority = await _authority(rt, elsewhere.key)
    try:
        await elsewhere.join(seen.host.metadata.uid, node_settings(seen, boot), authority)
    except (JoinDelayed, OSError) as error:
        reason = SimulatedReason.WAITING_FOR_CONTROL_PLANE
        raise CannotJoin(reason, f"The API of the cluster does not take the Node yet: {error}.", ETCD_RETRY) from error
    log.info("simulated machine %s: its Node has joined", Key.of(seen.host))


async def _start(rt: Runtime, tenants: Tenants, tenancy: Tenancy, seen: Seen) -> None:
    if tenancy.tenant is not None:
        return
    authority = await _authority(rt, tenancy.key)
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


async def _authority(rt: Runtime, cluster: Key) -> CertificateAuthority:
    """The authority of a cluster. Raises CannotJoin."""
    secret = authority_key(cluster)
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
        return read_authority(found.data)
    except ValueError as error:
        raise CannotJoin(
            SimulatedReason.WAITING_FOR_CERTIFICATE_AUTHORITY,
            f"Secret {secret.name} is not the authority of a cluster: {error}.",
            AUTHORITY_RETRY,
        ) from error
