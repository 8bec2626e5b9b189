"""What machines are given of a connection, by way of the registry of connections."""

from __future__ import annotations

import asyncio

import pytest

from nagaya.api.proxmox.proxmox_virtual_machine import NamespacedConnectionReference
from nagaya.infrastructure.proxmox.client.errors import Evidence, Forbidden, RootOnly
from nagaya.infrastructure.proxmox.connection.connections import REMEMBERED
from nagaya.infrastructure.proxmox.connection.look import LACKING
from nagaya.infrastructure.proxmox.privileges.operations import Feature
from nagaya.infrastructure.proxmox.privileges.place import Scope
from nagaya.infrastructure.proxmox.privileges.setup import setup
from nagaya.infrastructure.proxmox.virtual_machine.connected import ConnectedLinks
from nagaya.infrastructure.proxmox.virtual_machine.link import Link
from support.proxmox_plane import NAMESPACE, ProxmoxPlane, connection, credentials, make_cluster, play
from support.proxmox_rights import give

DEFAULTS = {"storage": "local-lvm", "isoStorage": "local", "bridge": "vmbr0"}
UPLOAD = Evidence("POST", "/nodes/pve1/storage/local/upload", status=403)
CLONE = Evidence("POST", "/nodes/pve1/qemu/9001/clone", status=403)


async def links_of(plane: ProxmoxPlane, *features: Feature) -> ConnectedLinks:
    """A connection that has no more rights than these need, and a cluster that uses it."""
    scope = Scope("nagaya", storages=("local-lvm",), iso_storage="local", bridges=("vmbr0",))
    made = setup((9, 2), scope, features=(Feature.ALWAYS, *features))
    give(plane.datacenter, made)
    await plane.create(
        credentials(plane, token=made.token, secret="a-secret"),
        connection(pool="nagaya", insecure=True, defaults=DEFAULTS),
    )
    await make_cluster(plane, connectionRef={"name": "pve"})
    return ConnectedLinks(plane.connections)


@pytest.mark.parametrize(
    ("features", "uploads", "enters"),
    [
        ((Feature.ISO,), True, False),
        ((Feature.NATIVE,), False, True),
        ((Feature.ISO, Feature.NATIVE), True, True),
        # Where neither is allowed both are tried: what Proxmox VE refuses, it names.
        ((), True, True),
    ],
    ids=["iso", "native", "both", "neither"],
)
def test_machines_learn_how_boot_data_can_be_delivered(
    features: tuple[Feature, ...], uploads: bool, enters: bool
) -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        links = await links_of(plane, *features)
        link = await links.of_cluster(await plane.get("ProxmoxCluster", "shop"))
        assert isinstance(link, Link)
        assert (link.uploads, link.enters) == (uploads, enters)
        assert (link.pool, link.storage, link.iso_storage, link.bridge) == ("nagaya", "local-lvm", "local", "vmbr0")

    play(scenario)


def test_a_reservation_leads_to_the_same_client_as_its_cluster() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        links = await links_of(plane, Feature.ISO)
        link = await links.of_cluster(await plane.get("ProxmoxCluster", "shop"))
        assert isinstance(link, Link)
        again = await links.of_reference(link.reference, NAMESPACE)
        assert isinstance(again, Link)
        assert again.proxmox is link.proxmox
        assert (again.datacenter, again.pool) == (link.datacenter, link.pool)
        assert link.datacenter == plane.datacenter_id

    play(scenario)


def test_a_connection_that_cannot_be_used_is_a_sentence() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        links = await links_of(plane, Feature.ISO)
        missing = NamespacedConnectionReference(namespace=NAMESPACE, name="nowhere")
        said = await links.of_reference(missing, NAMESPACE)
        assert isinstance(said, str)
        assert "nowhere" in said
        await plane.delete("Secret", "pve")

        async def told() -> bool:
            said = await links.of_cluster(await plane.get("ProxmoxCluster", "shop"))
            return isinstance(said, str) and "Secret default/pve does not exist" in said

        await plane.until("the missing Secret is told", told)

    play(scenario)


def test_a_refusal_has_rights_looked_at_again() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        links = await links_of(plane, Feature.ISO)
        cluster = await plane.get("ProxmoxCluster", "shop")
        link = await links.of_cluster(cluster)
        assert isinstance(link, Link)
        assert not link.enters
        access = plane.datacenter.access
        access.roles["NagayaMachines"] |= {"VM.GuestAgent.Unrestricted"}
        link.refused(Forbidden(UPLOAD))

        async def noticed() -> bool:
            now = await links.of_cluster(cluster)
            return isinstance(now, Link) and now.enters

        await plane.until("the new right is noticed", noticed)

    play(scenario)


def test_a_refusal_is_told_with_all_commands_that_grant_what_is_missing() -> None:
    """PVE does not say what an upload was refused for, so it may be any of what is missing."""

    async def scenario(plane: ProxmoxPlane) -> None:
        links = await links_of(plane, Feature.ISO)
        link = await links.of_cluster(await plane.get("ProxmoxCluster", "shop"))
        assert isinstance(link, Link)
        roles = plane.datacenter.access.roles
        roles["NagayaMachines"] -= {"VM.PowerMgmt"}
        roles["NagayaImages"] -= {"Datastore.AllocateSpace"}
        link.refused(Forbidden(UPLOAD))
        said = await link.remedy(Forbidden(UPLOAD))
        assert said.startswith(" On any host run: ")
        assert "NagayaMachines" in said
        assert "NagayaImages" in said
        assert "NagayaImages" not in await link.remedy(Forbidden(UPLOAD, "/vms/100", ("VM.PowerMgmt",)))
        assert not await link.remedy(RootOnly(UPLOAD)), "no privilege helps"

    play(scenario)


def test_a_refusal_where_the_preflight_does_not_look_is_told_until_the_right_is_granted() -> None:
    """The role for machines has VM.Clone, too, so it is held somewhere; which template it is missing for, only a call
    knows. Machines that wait are tried when what is missing gets less."""

    async def scenario(plane: ProxmoxPlane) -> None:
        links = await links_of(plane, Feature.ISO)
        await plane.told("ProxmoxConnection", "pve", "Ready", "Ready")
        link = await links.of_cluster(await plane.get("ProxmoxCluster", "shop"))
        assert isinstance(link, Link)
        link.refused(Forbidden(CLONE, "/vms/9001", ("VM.Clone",)))
        said = await plane.told("ProxmoxConnection", "pve", "PrivilegesComplete", "Missing")
        assert "lacks VM.Clone on /vms/9001, to clone machines. On any host run: pveum role add" in said
        missing = (await plane.get("ProxmoxConnection", "pve")).status.missing_privileges
        assert [(each.path, each.privilege) for each in missing] == [("/vms/9001", "VM.Clone")]
        assert "pveum acl modify /vms/9001" in missing[0].command
        await plane.told("ProxmoxConnection", "pve", "Ready", "Ready")
        access = plane.datacenter.access
        access.roles["ForTemplates"] = frozenset({"VM.Audit", "VM.Clone"})
        access.acl |= {
            ("/vms/9001", kind, subject, "ForTemplates"): True
            for kind, subject in (("user", "nagaya@pve"), ("token", "nagaya@pve!nagaya"))
        }
        await plane.told("ProxmoxConnection", "pve", "PrivilegesComplete", "Complete")
        assert not (await plane.get("ProxmoxConnection", "pve")).status.missing_privileges

    play(scenario)


def test_a_refusal_that_does_not_come_again_is_forgotten() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        links = await links_of(plane, Feature.ISO)
        link = await links.of_cluster(await plane.get("ProxmoxCluster", "shop"))
        assert isinstance(link, Link)
        link.refused(Forbidden(CLONE, "/vms/9001", ("VM.Clone",)))
        await plane.told("ProxmoxConnection", "pve", "PrivilegesComplete", "Missing")
        await asyncio.sleep(REMEMBERED + LACKING)
        await plane.told("ProxmoxConnection", "pve", "PrivilegesComplete", "Complete")

    play(scenario)
