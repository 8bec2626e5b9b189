"""The calls that a plan for a machine needs. Any of them may be the last, and any reply may be lost: the next look at
the world shows what came of it."""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Collection, Mapping
from typing import Any, Final

from nagaya.api.cluster import labels
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS
from nagaya.api.proxmox.proxmox_machine import FINALIZER, PROXMOX_MACHINES, ProxmoxMachine
from nagaya.api.proxmox.proxmox_virtual_machine import FINALIZER as RESERVED
from nagaya.api.proxmox.proxmox_virtual_machine import (
    PROXMOX_VIRTUAL_MACHINES,
    ProxmoxVirtualMachine,
    ProxmoxVirtualMachinePhase,
    reservation_name,
)
from nagaya.clusters.finalizer import release
from nagaya.clusters.owners import controller
from nagaya.infrastructure.proxmox.boot import ignition, iso9660, nocloud
from nagaya.infrastructure.proxmox.boot.network import Network
from nagaya.infrastructure.proxmox.client import Proxmox, Upid
from nagaya.infrastructure.proxmox.client import Upload as File
from nagaya.infrastructure.proxmox.client.errors import Conflict, Forbidden, ParameterError, WrongState
from nagaya.infrastructure.proxmox.client.errors import NotFound as NotFoundThere
from nagaya.infrastructure.proxmox.machine import managing
from nagaya.infrastructure.proxmox.machine.handover import erase, hand_over
from nagaya.infrastructure.proxmox.machine.hardware import surplus
from nagaya.infrastructure.proxmox.machine.seen import Seen
from nagaya.infrastructure.proxmox.machine.steps import (
    Attach,
    Bind,
    ClaimAddresses,
    CloneTemplate,
    Configure,
    Eject,
    Erase,
    GiveUpReservation,
    HandOver,
    LeaveToReaper,
    Manage,
    Name,
    ReleaseClaims,
    Remove,
    Reserve,
    Resize,
    Resume,
    Start,
    Step,
    TakeOver,
    Unmanage,
    Upload,
)
from nagaya.infrastructure.proxmox.virtual_machine.link import Link
from nagaya.infrastructure.proxmox.virtual_machine.marker import CLAIM, Marker, fingerprint, marked, new_claim, read
from nagaya.infrastructure.proxmox.virtual_machine.removing import ISO, boot_image, leftovers, remove
from nagaya.infrastructure.proxmox.virtual_machine.reservations import has_machine, is_untouched
from nagaya.kube.api import Api
from nagaya.kube.errors import AlreadyExists, NotFound
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import TENANT_SECRETS, VALUE

log = logging.getLogger(__name__)

HIGHEST_VMID: Final = 999_999_999
_RESERVATION: Final = ("node", "phase", "task", "message", "bootDataOn")
_REFUSALS: Final = (Conflict, Forbidden, NotFoundThere, ParameterError, WrongState)
"""Answers that say that nothing was begun."""
_FORMAT: Final = "format"
_IGNITION: Final = "ignition"


class NoVmid(Exception):
    """No VMID can be had. The message says why."""


class UnusableBootData(Exception):
    """The boot data cannot be given to the machine. The message says why."""


async def hold(api: Api, machine: ProxmoxMachine) -> ProxmoxMachine:
    """The machine begins: what is made for it from here on is cleaned up."""
    return await api.metadata(PROXMOX_MACHINES, machine, finalizers=(*machine.metadata.finalizers, FINALIZER))


async def carry_out(
    rt: Runtime, api: Api, seen: Seen, link: Link, step: Step, reserving: set[tuple[str, int]]
) -> Upid | None:
    """Do it. Returns the task that was begun, if it takes one. Raises ProxmoxError, NoVmid, UnusableBootData.

    `reserving` has the VMIDs that this process is about to reserve, by data center.
    """
    proxmox, vmid = link.proxmox, seen.objects.vmid or 0
    match step:
        case Reserve(pool):
            await _reserve(rt, api, seen, link, pool, reserving)
        case TakeOver(pool):
            await _take_over(rt, api, seen, link, pool)
        case CloneTemplate():
            return await _clone(api, seen, proxmox, step)
        case Name(number, provider_id):
            content: dict[str, Any] = {"spec": {"virtualMachineID": number, "providerID": provider_id}}
            if seen.objects.reservation is not None and seen.objects.reservation.spec.claim:
                content["metadata"] = {"annotations": {CLAIM: seen.objects.reservation.spec.claim}}
            await api.merge(PROXMOX_MACHINES, seen.machine, content)
            if seen.found is not None and (why := surplus(seen.machine, seen.found.config)):
                rt.recorder.warning(PROXMOX_MACHINES, seen.machine, "DiskLargerThanAsked", why)
        case Configure(node, change, digest):
            given, machines = dict(change.options), proxmox.machines
            configure = machines.begin_configure if change.volumes else machines.configure
            return await configure(node, vmid, given, delete=change.delete, with_volumes=change.drives, digest=digest)
        case Resize(node, disk, size):
            return await proxmox.machines.resize(node, vmid, disk, size)
        case ClaimAddresses(claims):
            for claim in claims:
                await _claim(api, seen, claim.name, claim.pool.kind, claim.pool.name, claim.pool.api_group)
        case Upload(node, storage, _):
            image = iso9660.image(nocloud.LABEL, await _boot_files(rt, seen, step.network), seen.now)
            return await proxmox.storages.upload(node, storage, "iso", File(boot_image(vmid), image))
        case Attach(node, slot, volume, digest):
            options = {slot: f"{volume},media=cdrom"}
            await proxmox.machines.configure(node, vmid, options, digest=digest)
        case HandOver(node, network, stuck):
            files = await _boot_files(rt, seen, network, by_agent=True)
            await hand_over(proxmox, node, vmid, seen.objects.uid, files, stuck=stuck)
        case Erase(node):
            await erase(proxmox, node, vmid)
        case Manage(options, delete, new):
            await managing.manage(proxmox, vmid, dict(options), delete, new)
        case Unmanage():
            await managing.unmanage(proxmox, vmid)
        case Bind(rule, new):
            await managing.bind(proxmox, rule, new)
        case Start(node):
            return await proxmox.machines.start(node, vmid)
        case Resume(node):
            return await proxmox.machines.resume(node, vmid)
        case Eject():
            return await _eject(proxmox, vmid, step)
        case Remove(what):
            identity = seen.objects.identity
            return await remove(proxmox, identity, what) if identity is not None else None
        case GiveUpReservation() | LeaveToReaper() | ReleaseClaims():
            await let_go(rt, api, seen, step)
    return None


async def let_go(rt: Runtime, api: Api, seen: Seen, step: GiveUpReservation | LeaveToReaper | ReleaseClaims) -> None:
    """Those steps that need nobody but our own API."""
    reservation = seen.objects.reservation
    if isinstance(step, ReleaseClaims):
        for claim in seen.objects.claims.values():
            await api.delete(IP_ADDRESS_CLAIMS, claim)
    elif reservation is None:
        return
    elif isinstance(step, LeaveToReaper):
        hosts = reservation.status.boot_data_on
        await tell_reservation(api, reservation, step.node, ProxmoxVirtualMachinePhase.ORPHANED, hosts)
    else:
        if step.why:
            rt.recorder.warning(PROXMOX_MACHINES, seen.machine, "VMIDGivenUp", step.why)
        await give_up(rt, api, reservation)


async def give_up(rt: Runtime, api: Api, reservation: ProxmoxVirtualMachine) -> None:
    """Let a VMID go."""
    left = await api.delete(PROXMOX_VIRTUAL_MACHINES, reservation)
    if left is not None:
        await release(rt, api, PROXMOX_VIRTUAL_MACHINES, left, RESERVED)


async def tell_reservation(
    api: Api,
    reservation: ProxmoxVirtualMachine,
    node: str,
    phase: ProxmoxVirtualMachinePhase,
    hosts: Collection[str],
) -> None:
    """Write down in a reservation where its VM is, how far, and which hosts may have its boot data."""
    where = {"node": node} if node else {}
    told = {**where, "phase": phase.value, **({"bootDataOn": [*hosts]} if hosts else {})}
    await api.status(PROXMOX_VIRTUAL_MACHINES, reservation, told, fields=_RESERVATION)


async def _reserve(rt: Runtime, api: Api, seen: Seen, link: Link, pool: str, reserving: set[tuple[str, int]]) -> None:
    """Reserve a VMID that nobody has, in our API or in Proxmox VE: the lowest. Nothing is sure until it is reserved."""
    machine, given, snapshot = seen.machine, seen.machine.spec.vm_id_range, seen.snapshot
    seen_there = {*snapshot.machines, *snapshot.containers} if snapshot is not None else set()
    first = given.start if given is not None else await link.proxmox.cluster.next_id()
    last = given.end if given is not None else HIGHEST_VMID
    for vmid in range(first, last + 1):
        candidate = (link.datacenter, vmid)
        if vmid in seen_there or candidate in reserving or _is_reserved(rt, *candidate):
            continue
        reserving.add(candidate)  # so that others here do not try the same one in vain
        try:
            # What the credentials may not see is in no list, so each candidate is asked for by itself.
            if not await link.proxmox.cluster.is_free(vmid):
                continue
            if await _make_reservation(rt, api, seen, link, vmid, pool, claim=new_claim()):
                log.info("proxmox machine %s: VMID %d is reserved", Key.of(machine), vmid)
                return
        finally:
            reserving.discard(candidate)
    where = f" from {given.start} to {given.end} (vmIDRange)" if given is not None else ""
    remedy = (
        "Widen vmIDRange in another template" if given is not None else "Widen next-id in the data center's options"
    )
    raise NoVmid(f"No VMID is free{where}: each is that of a VM, or reserved for a machine. {remedy}, or remove VMs.")


async def _take_over(rt: Runtime, api: Api, seen: Seen, link: Link, pool: str) -> None:
    """Write the marker, unless somebody has changed the VM since it was looked at. Reservation and machine know a claim
    before the VM has its fingerprint, and the machine forgets the one from before only afterwards: whatever is missing
    is seen and done again. What an earlier owner knew is worth nothing from then on. A new reservation comes last, as
    it would take a VM without the marker for somebody else's."""
    machine, found, reservation, vmid = seen.machine, seen.found, seen.objects.reservation, seen.objects.vmid or 0
    assert found is not None
    description = found.config.get("description")
    before, claim = read(description), reservation.spec.claim if reservation is not None else ""
    if not claim or (before is not None and before.plane not in ("", seen.objects.plane)):
        claim = new_claim()
        if reservation is not None:
            await api.merge(PROXMOX_VIRTUAL_MACHINES, reservation, {"spec": {"claim": claim}})
    marker = _marker(seen, reservation.spec.machine_ref.uid if reservation is not None else seen.objects.uid, claim)
    known = machine.metadata.annotations.get(CLAIM, "")
    if before != marker:
        if claim not in known.split():
            known = f"{known} {claim}".lstrip()
            await api.merge(PROXMOX_MACHINES, machine, {"metadata": {"annotations": {CLAIM: known}}})
        options = {"description": marked(description, marker)}
        await link.proxmox.machines.configure(found.node, vmid, options, digest=found.config.digest)
    if known != claim:
        await api.merge(PROXMOX_MACHINES, machine, {"metadata": {"annotations": {CLAIM: claim}}})
    if reservation is None and not await _make_reservation(rt, api, seen, link, vmid, pool, claim=claim, owned=True):
        name = reservation_name(link.datacenter, vmid)
        raise NoVmid(f"ProxmoxVirtualMachine {name} is that of another machine, so VM {vmid} is not ours.")


async def _make_reservation(
    rt: Runtime, api: Api, seen: Seen, link: Link, vmid: int, pool: str, *, claim: str, owned: bool = False
) -> bool:
    """Whether the VMID is now reserved for this very machine. The API server lets one of all who try have it. `owned`:
    the VM is known to be that of the machine, so a reservation without a machine is left from an earlier VM."""
    content = _reservation(seen, link, vmid, pool, claim)
    try:
        await api.create(PROXMOX_VIRTUAL_MACHINES, content)
    except AlreadyExists:
        try:
            there = await rt.client.get(PROXMOX_VIRTUAL_MACHINES, "", reservation_name(link.datacenter, vmid))
        except NotFound:
            return False
        if owned and not await has_machine(rt.client, there):
            why = f"VM {vmid} is that of {Key.of(seen.machine)}: this reservation is left from an earlier VM."
            rt.recorder.warning(PROXMOX_VIRTUAL_MACHINES, there, "VMIDGivenUp", why)
            await give_up(rt, api, there)
            await api.create(PROXMOX_VIRTUAL_MACHINES, content)
            return True
        if there.spec.machine_ref.uid != seen.machine.metadata.uid or there.metadata.deleting:
            return False
        # An earlier try of ours whose answer was lost: taking another VMID would leave this one behind.
        rt.cache.wrote(PROXMOX_VIRTUAL_MACHINES, there)
    return True


def _marker(seen: Seen, uid: str, claim: str) -> Marker:
    metadata = seen.machine.metadata
    cluster, namespace = metadata.labels.get(labels.CLUSTER_NAME, ""), metadata.namespace
    own = f"{namespace}/{metadata.name}"
    return Marker(own, uid, f"{namespace}/{cluster}", seen.objects.plane, fingerprint(claim))


def _reservation(seen: Seen, link: Link, vmid: int, pool: str, claim: str) -> dict[str, Any]:
    machine = seen.machine
    return {
        "metadata": {
            "name": reservation_name(link.datacenter, vmid),
            "finalizers": [RESERVED],
            "labels": {labels.CLUSTER_NAME: machine.metadata.labels.get(labels.CLUSTER_NAME, "")},
        },
        "spec": {
            "datacenter": link.datacenter,
            "vmid": vmid,
            "machineRef": {
                "namespace": machine.metadata.namespace,
                "name": machine.metadata.name,
                "uid": machine.metadata.uid,
            },
            "connectionRef": {
                "namespace": link.reference.namespace,
                "name": link.reference.name,
                **({"kind": link.reference.kind} if link.reference.kind else {}),
            },
            "name": machine.metadata.name,
            "claim": claim,
            **({"pool": pool} if pool else {}),
        },
    }


def _is_reserved(rt: Runtime, datacenter: str, vmid: int) -> bool:
    return rt.cache.get(PROXMOX_VIRTUAL_MACHINES, Key("", reservation_name(datacenter, vmid))) is not None


async def _clone(api: Api, seen: Seen, proxmox: Proxmox, step: CloneTemplate) -> Upid:
    """That it is ordered is written down first. Nobody can see whose a VM is that is not in our pool yet, but under a
    VMID for which nothing was ordered it is somebody else's."""
    reservation = seen.objects.reservation
    assert reservation is not None
    node, hosts = reservation.status.node, reservation.status.boot_data_on
    await tell_reservation(api, reservation, node, ProxmoxVirtualMachinePhase.CLONING, hosts)
    try:
        return await _order(seen, proxmox, step, reservation)
    except _REFUSALS:
        # An earlier order of which nobody knows what became of it may still be obeyed.
        if is_untouched(reservation):
            await tell_reservation(api, reservation, node, ProxmoxVirtualMachinePhase.RESERVED, hosts)
        raise


async def _order(seen: Seen, proxmox: Proxmox, step: CloneTemplate, reservation: ProxmoxVirtualMachine) -> Upid:
    machine, placed = seen.machine, step.placed
    spec, whose = machine.spec, reservation.spec.machine_ref
    marker = _marker(seen, whose.uid, reservation.spec.claim)
    full = spec.full is not False
    return await proxmox.machines.clone(
        placed.template.host,
        placed.template.vmid,
        reservation.spec.vmid,
        name=reservation.spec.name,
        description=marked(spec.description, marker),
        pool=reservation.spec.pool,
        full=full,
        storage=placed.disks.copied_to if full else "",
        format=(spec.format or "") if full else "",
        target=placed.host if placed.to_another_host else "",
        snapshot=spec.snap_name,
    )


async def _claim(api: Api, seen: Seen, name: str, kind: str, pool: str, group: str) -> None:
    machine = seen.machine
    cluster = machine.metadata.labels.get(labels.CLUSTER_NAME, "")
    owner = controller(PROXMOX_MACHINES, machine)
    content = {
        "metadata": {
            "namespace": machine.metadata.namespace,
            "name": name,
            "labels": {labels.CLUSTER_NAME: cluster},
            "ownerReferences": [
                {
                    "apiVersion": owner.api_version,
                    "kind": owner.kind,
                    "name": owner.name,
                    "uid": owner.uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {"clusterName": cluster, "poolRef": {"apiGroup": group, "kind": kind, "name": pool}},
    }
    try:
        await api.create(IP_ADDRESS_CLAIMS, content)
    except AlreadyExists:
        log.debug("claim %s/%s is there already", machine.metadata.namespace, name)


async def _boot_files(rt: Runtime, seen: Seen, network: Network, *, by_agent: bool = False) -> Mapping[str, bytes]:
    """The files of the seed. Their content is secret: it is held no longer than it takes to send it."""
    machine, owner, found = seen.machine, seen.objects.owner, seen.found
    assert owner is not None
    assert found is not None
    name = owner.spec.bootstrap.data_secret_name or ""
    try:
        secret = await rt.client.get(TENANT_SECRETS, machine.metadata.namespace, name)
        data = base64.b64decode(secret.data[VALUE])
        form = base64.b64decode(secret.data.get(_FORMAT, "")).decode().strip()
    except NotFound as error:
        raise UnusableBootData(f"Secret {name} with the bootstrap data does not exist.") from error
    except KeyError as error:
        raise UnusableBootData(f"Secret {name} with the bootstrap data has no key `{VALUE}`.") from error
    except (binascii.Error, UnicodeDecodeError) as error:
        raise UnusableBootData(f"Secret {name} with the bootstrap data cannot be read: {error}.") from error
    settings = machine.spec.metadata_settings
    uuid = found.config.uuid.lower()
    hostname = machine.metadata.name
    meta = nocloud.meta_data(
        uuid,
        hostname,
        owner.spec.version or "",
        settings is not None and settings.provider_id_injection,
        nocloud.node_ip(network),
    )
    if form != _IGNITION:
        return nocloud.seed(data, meta, network)
    if by_agent:
        raise UnusableBootData(
            f"Secret {name} has boot data for Ignition, which reads them from a CD image only. Set bootDelivery.method "
            "to iso, and delete the Machine to get another one."
        )
    try:
        data = ignition.enriched(data, hostname, uuid, network)
    except ignition.UnusableIgnition as error:
        raise UnusableBootData(f"Secret {name}: {error}.") from error
    return nocloud.seed(data, meta, None)


async def _eject(proxmox: Proxmox, vmid: int, step: Eject) -> Upid | None:
    """Take the image out of the drives, then remove it. The VM runs on with an empty drive."""
    if step.slots:
        options = dict.fromkeys(step.slots, "none,media=cdrom")
        await proxmox.machines.configure(step.node, vmid, options, digest=step.digest)
    for volume in await leftovers(proxmox, vmid, step.node, (ISO,)):
        if volume.endswith(f"iso/{boot_image(vmid)}"):
            try:
                return await proxmox.storages.delete(step.node, volume)
            except NotFoundThere:
                continue
    return None
