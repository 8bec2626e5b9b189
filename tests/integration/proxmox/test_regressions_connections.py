"""Defects of others in how they talk to Proxmox VE, each played once. Named after their issues."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from nagaya.infrastructure.proxmox.client import Password
from nagaya.infrastructure.proxmox.client.errors import Forbidden, HostUnreachable, ProxmoxError
from nagaya.infrastructure.proxmox.privileges.place import Scope
from nagaya.infrastructure.proxmox.privileges.setup import setup
from nagaya.simulators.proxmox.control.control import Control
from nagaya.simulators.proxmox.faults.fault import Calls, Fault, Kind, When
from nagaya.simulators.proxmox.state.access import Token, User
from support.proxmox_plane import ProxmoxPlane, connection, credentials, make_cluster, play
from support.proxmox_rights import give
from support.proxmox_transport import data_center
from support.virtual_run import run

USUAL = "PVEVMAdmin"
"""The role that CAPMOX's quick start gives."""


@pytest.mark.parametrize(
    "password", ["a&b=c", "100 % sure?", "p+l u/s", "Grüße;#", '"quoted" \\back', "=ends="], ids=range(6)
)
def test_cappx_180_a_password_may_have_any_characters(password: str) -> None:
    """There a password was put into a form as it was, and `&` or `+` made it another one."""

    async def main() -> None:
        async with data_center() as there:
            there.emulator.datacenter.access.users["somebody@pve"] = User(password=password)
            there.client.replace(replace(there.client.facts, credentials=Password("somebody@pve", password)))
            assert (await there.client.cluster.version()).release == (9, 2)
            shown = [str(each) for each in there.client.trace.calls()]
            assert shown
            assert not any(password in each for each in shown)

    run(main())


@pytest.mark.parametrize(("release", "version"), [((8, 4), "8.4.14"), ((9, 2), "9.2.11")], ids=["8.4", "9.2"])
def test_csi_460_telmate_1365_roles_have_the_privileges_that_this_version_knows(
    release: tuple[int, int], version: str
) -> None:
    """PVE 9 has no VM.Monitor any more, and PVE 8 no VM.GuestAgent.Audit: a role with the wrong one cannot be made."""

    async def main() -> None:
        async with data_center(version=version) as there:
            made = setup(release, Scope("nagaya", templates=(9001,), storages=("local-lvm",)))
            for role, privileges in made.roles.items():
                await there.client.access.create_role(role, privileges)
            held = {each for privileges in made.roles.values() for each in privileges}
            assert ("VM.Monitor" in held) == (release < (9, 0))
            assert any(each.startswith("VM.GuestAgent.") for each in held) == (release >= (9, 0))

    run(main())


def test_csi_134_telmate_851_one_host_that_is_off_does_not_take_the_api_away() -> None:
    """There the one host that was named was the only one that was ever asked."""

    async def main() -> None:
        async with data_center() as there:
            control = Control(there.emulator)
            for dead in ("pve1", "pve2"):
                control.power_off(dead)
                assert (await there.client.cluster.version()).release == (9, 2)
                control.power_on(dead)

    run(main())


@pytest.mark.parametrize("status", [403, 595, 596])
def test_capmox_224_go_proxmox_115_an_answer_without_a_body_is_told_by_its_status(status: int) -> None:
    """An upload that is refused, and a host that is off, are answered with no body at all. There that was read as JSON:
    `unexpected end of JSON input` was all that anybody heard."""
    reasons = {403: "Permission check failed (/storage/local, Datastore.AllocateTemplate)", 595: "No route to host"}

    async def main() -> ProxmoxError:
        async with data_center() as there:
            control = Control(there.emulator)
            reason = reasons.get(status, "Connection timed out")
            fault = Fault(Kind.FAIL, Calls("GET", "/nodes/pve2/*"), When(times=1), status=status, reason=reason)
            control.faults.set(fault)
            with pytest.raises(ProxmoxError) as caught:
                await there.client.machines.config("pve2", 9002)
            return caught.value

    error = run(main())
    assert isinstance(error, Forbidden if status == 403 else HostUnreachable)
    assert "JSON" not in str(error)
    assert f"HTTP {status}" in str(error)


def test_capmox_quick_start_a_role_that_is_not_enough_is_told_right_away_and_whole() -> None:
    """Its own instructions grant PVEVMAdmin on `/`. That lets a client start, a cluster turn Ready, and no machine be
    made: neither hosts, nor storages, nor bridges may be used."""

    async def scenario(plane: ProxmoxPlane) -> None:
        access = plane.datacenter.access
        access.users["capmox@pve"] = User(tokens={"capi": Token("a-secret", privilege_separation=False)})
        access.acl["/", "user", "capmox@pve", USUAL] = True
        data = {"token": "capmox@pve!capi", "secret": "a-secret"}
        await plane.create(credentials(plane, **data), connection(insecure=True))
        message = await plane.told("ProxmoxConnection", "pve", "PrivilegesComplete", "Missing")
        assert "pveum" in message
        found = (await plane.get("ProxmoxConnection", "pve")).status.missing_privileges
        missing = {each.privilege for each in found}
        assert {"Sys.Audit", "Datastore.AllocateSpace", "SDN.Use"} <= missing, missing
        assert all(each.command.startswith("pveum ") for each in found)

    play(scenario)


def test_telmate_382_a_right_that_is_taken_later_is_noticed_within_the_hour() -> None:
    """There rights were looked at never, or at the start only."""

    async def scenario(plane: ProxmoxPlane) -> None:
        access = plane.datacenter.access
        made = setup((9, 2), Scope("nagaya"))
        give(plane.datacenter, made)
        data = {"token": made.token, "secret": "a-secret"}
        await plane.create(credentials(plane, **data), connection(pool="nagaya", insecure=True))
        await plane.told("ProxmoxConnection", "pve", "PrivilegesComplete", "Complete")
        access.roles["NagayaNetwork"] = frozenset()
        await asyncio.sleep(3600)
        message = await plane.told("ProxmoxConnection", "pve", "PrivilegesComplete", "Missing")
        assert "SDN.Use" in message

    play(scenario)


def test_capmox_221_cappx_109_credentials_may_come_after_the_cluster() -> None:
    """Operators bring objects in any order. There a cluster that came first had failed for good."""

    async def scenario(plane: ProxmoxPlane) -> None:
        await make_cluster(plane, connectionRef={"name": "pve"})
        await asyncio.sleep(60)
        await plane.create(connection(insecure=True))
        await asyncio.sleep(60)
        await plane.create(credentials(plane))
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")

    play(scenario)


def test_capi_8052_8602_what_is_gone_is_not_looked_at_again() -> None:
    """There deleted objects were put into the queue for ever, and each of hundreds of clusters had its own client and
    its own timers. Here the same credentials share one client, and when the last cluster is gone nobody asks."""

    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(credentials(plane), connection(insecure=True))
        names = [f"shop-{number}" for number in range(5)]
        for number, name in enumerate(names):
            endpoint = {"host": f"10.0.{number}.5", "port": 6443}
            net = f"10.0.{number}"
            addresses = {"addresses": [f"{net}.10-{net}.20"], "prefix": 24, "gateway": f"{net}.1"}
            await make_cluster(plane, name, controlPlaneEndpoint=endpoint, ipv4Config=addresses)
        for name in names:
            await plane.told("ProxmoxCluster", name, "Ready", "Provisioned")
        assert len(plane.transports) == 1
        for name in names:
            await plane.delete("Cluster", name)
            await plane.delete("ProxmoxCluster", name)
        for name in names:
            await plane.gone("ProxmoxCluster", name)
        await plane.delete("ProxmoxConnection", "pve")
        await plane.gone("ProxmoxConnection", "pve")
        asked = len(plane.asked())
        await asyncio.sleep(7200)
        assert plane.asked()[asked:] == []
        assert not [each.errors for each in plane.manager.controllers if each.errors]

    play(scenario)
