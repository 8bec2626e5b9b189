"""ProxmoxConnections on an emulated data center: what they tell, and how soon they notice."""

from __future__ import annotations

import asyncio
import base64

from nagaya.simulators.proxmox.layouts.demo import secret
from nagaya.simulators.proxmox.state.access import Token, User
from support.proxmox_plane import ProxmoxPlane, connection, credentials, make_cluster, play


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_connection_tells_version_hosts_quorum_and_that_nothing_is_missing() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(credentials(plane), connection(pool="nagaya", insecure=True))
        await plane.told("ProxmoxConnection", "pve", "Ready", "Ready")
        found = await plane.get("ProxmoxConnection", "pve")
        told = found.status
        assert told.version.startswith("9.")
        assert (told.datacenter, told.quorate) == (plane.datacenter_id, True)
        assert [(host.name, host.online, host.cpus, host.memory_mib) for host in told.hosts] == [
            (f"pve{number}", True, 16, 65536) for number in (1, 2, 3)
        ]
        assert told.missing_privileges == ()
        assert {each.type: each.status for each in told.conditions} == dict.fromkeys(
            ("Ready", "CredentialsAccepted", "PrivilegesComplete", "Quorate"), "True"
        )

    play(scenario)


def test_capmox_86_refused_credentials_are_told_and_other_ones_work_without_a_restart() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(credentials(plane, secret="wrong"), connection(insecure=True))
        message = await plane.told("ProxmoxConnection", "pve", "CredentialsAccepted", "Refused")
        assert "wrong" not in message.split("Check")[0]
        found = await plane.get("ProxmoxConnection", "pve")
        assert {each.type: each.status for each in found.status.conditions}["Ready"] == "False"
        begun = asyncio.get_running_loop().time()
        await plane.merge("Secret", "pve", {"data": {"secret": encoded(secret(plane.datacenter))}})
        await plane.told("ProxmoxConnection", "pve", "Ready", "Ready")
        assert asyncio.get_running_loop().time() - begun < 30

    play(scenario)


def test_a_token_that_is_rotated_takes_effect_while_the_old_one_is_gone_already() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        tokens = plane.datacenter.access.users["root@pam"].tokens
        tokens["old"] = Token(plane.world.uid(), privilege_separation=False)
        await plane.create(
            credentials(plane, token="root@pam!old", secret=tokens["old"].secret), connection(insecure=True)
        )
        await plane.told("ProxmoxConnection", "pve", "Ready", "Ready")
        await make_cluster(plane)
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")
        del tokens["old"]
        message = await plane.told("ProxmoxConnection", "pve", "CredentialsAccepted", "Refused")
        assert message.startswith("Proxmox VE refuses the credentials of Secret default/pve: ")
        assert "nagaya proxmox connect pve1 -n default --name pve" in message
        tokens["new"] = Token(plane.world.uid(), privilege_separation=False)
        content = {"token": encoded("root@pam!new"), "secret": encoded(tokens["new"].secret)}
        await plane.merge("Secret", "pve", {"data": content})
        begun = asyncio.get_running_loop().time()
        await plane.told("ProxmoxConnection", "pve", "Ready", "Ready")
        assert asyncio.get_running_loop().time() - begun < 30
        assert len(plane.transports) == 1  # the same client goes on with other credentials

    play(scenario)


def test_a_secret_that_is_edited_counts_from_the_next_call_on() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        tokens = plane.datacenter.access.users["root@pam"].tokens
        await plane.create(credentials(plane), connection(insecure=True))
        await plane.told("ProxmoxConnection", "pve", "Ready", "Ready")
        await make_cluster(plane)
        cluster = await plane.get("ProxmoxCluster", "shop")
        before = (await plane.connections.of(cluster)).proxmox
        tokens["new"] = Token(plane.world.uid(), privilege_separation=False)
        content = {"token": encoded("root@pam!new"), "secret": encoded(tokens["new"].secret)}
        await plane.merge("Secret", "pve", {"data": content})
        await asyncio.sleep(0.1)
        del tokens["demo"]
        connected = await plane.connections.of(cluster)
        assert connected.proxmox is before
        assert await connected.proxmox.access.permissions()

    play(scenario)


def test_a_token_without_privileges_is_told_each_with_its_command_and_granting_them_is_noticed() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        token = Token(plane.world.uid(), privilege_separation=False)
        plane.datacenter.access.users["nagaya@pve"] = User(tokens={"nagaya": token})
        await plane.create(
            credentials(plane, token="nagaya@pve!nagaya", secret=token.secret),
            connection(pool="nagaya", insecure=True, defaults={"storage": "local-lvm", "isoStorage": "local"}),
        )
        message = await plane.told("ProxmoxConnection", "pve", "PrivilegesComplete", "Missing")
        assert message.startswith("nagaya@pve!nagaya has no privileges at all")
        found = (await plane.get("ProxmoxConnection", "pve")).status.missing_privileges
        lines = {(each.path, each.privilege): each.command for each in found}
        assert ("/storage/local-lvm", "Datastore.AllocateSpace") in lines
        assert "pveum acl modify /pool/nagaya" in lines["/pool/nagaya", "VM.Allocate"]
        plane.datacenter.access.acl["/", "user", "nagaya@pve", "Administrator"] = True
        await plane.told("ProxmoxConnection", "pve", "Ready", "Ready")
        assert (await plane.get("ProxmoxConnection", "pve")).status.missing_privileges == ()

    play(scenario)


def test_a_missing_or_unusable_secret_is_told_and_noticed_when_it_comes() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(connection(insecure=True))
        message = await plane.told("ProxmoxConnection", "pve", "CredentialsAccepted", "SecretMissing")
        assert message.startswith("Secret default/pve does not exist: ")
        await plane.create(credentials(plane, token="nonsense"))
        message = await plane.told("ProxmoxConnection", "pve", "CredentialsAccepted", "SecretUnusable")
        assert "user@realm!name" in message
        await plane.merge("Secret", "pve", {"data": {"token": encoded("root@pam!demo")}})
        await plane.told("ProxmoxConnection", "pve", "Ready", "Ready")

    play(scenario)


def test_a_host_that_is_off_is_told_and_does_not_matter() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        plane.datacenter.nodes["pve1"].online = False
        await plane.create(credentials(plane), connection(insecure=True))
        await plane.told("ProxmoxConnection", "pve", "Ready", "Ready")
        found = await plane.get("ProxmoxConnection", "pve")
        assert [host.name for host in found.status.hosts if not host.online] == ["pve1"]
        plane.datacenter.nodes["pve1"].online = True

        async def back() -> bool:
            return all(host.online for host in (await plane.get("ProxmoxConnection", "pve")).status.hosts)

        await plane.until("pve1 is back", back)

    play(scenario)


def test_a_data_center_that_does_not_answer_is_told_and_found_again() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        for node in plane.datacenter.nodes.values():
            node.online = False
        await plane.create(credentials(plane), connection(insecure=True))
        await plane.told("ProxmoxConnection", "pve", "Ready", "Unreachable")
        for node in plane.datacenter.nodes.values():
            node.online = True
        await plane.told("ProxmoxConnection", "pve", "Ready", "Ready")

    play(scenario)


def test_while_all_is_well_little_is_asked() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(credentials(plane), connection(insecure=True))
        await plane.told("ProxmoxConnection", "pve", "Ready", "Ready")
        before = len(plane.asked())
        version = (await plane.get("ProxmoxConnection", "pve")).metadata.resource_version
        await asyncio.sleep(1800)
        asked = plane.asked()[before:]
        assert set(asked) == {"GET /cluster/resources", "GET /cluster/status"}
        assert len(asked) <= 2 * 31
        assert (await plane.get("ProxmoxConnection", "pve")).metadata.resource_version == version
        await asyncio.sleep(2000)
        assert plane.asked()[before:].count("GET /access/permissions") == 1

    play(scenario)


def test_after_a_refusal_privileges_are_looked_at_at_once() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(credentials(plane), connection(insecure=True))
        await plane.told("ProxmoxConnection", "pve", "Ready", "Ready")
        before = plane.asked().count("GET /access/permissions")
        await make_cluster(plane)
        cluster = await plane.get("ProxmoxCluster", "shop")
        await asyncio.sleep(1)
        connected = await plane.connections.of(cluster)
        plane.connections.refused(connected.reference)
        await asyncio.sleep(1)
        assert plane.asked().count("GET /access/permissions") == before + 1

    play(scenario)


def test_two_connections_with_the_same_credentials_share_one_client() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(
            credentials(plane), connection("one", insecure=True), connection("two", insecure=True, pool="nagaya")
        )
        for name in ("one", "two"):
            await plane.told("ProxmoxConnection", name, "Ready", "Ready")
        assert len(plane.transports) == 1

    play(scenario)


def test_a_connection_stays_while_a_cluster_needs_it() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(credentials(plane), connection(insecure=True))
        await make_cluster(plane)
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")
        await plane.delete("ProxmoxConnection", "pve")
        message = await plane.told("ProxmoxConnection", "pve", "Ready", "Deleting")
        assert "ProxmoxCluster shop" in message
        await plane.delete("Cluster", "shop")
        await plane.delete("ProxmoxCluster", "shop")
        await plane.gone("ProxmoxConnection", "pve")

    play(scenario)


def test_credentials_outlive_what_needs_them_when_all_of_a_namespace_goes_at_once() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(credentials(plane), connection(insecure=True))
        await plane.told("ProxmoxConnection", "pve", "Ready", "Ready")
        await make_cluster(plane)
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")
        for kind, name in (("Secret", "pve"), ("ProxmoxConnection", "pve")):
            await plane.delete(kind, name)
        await plane.told("ProxmoxConnection", "pve", "Ready", "Deleting")
        await asyncio.sleep(120)
        assert (await plane.get("Secret", "pve")).metadata.deleting
        for kind in ("Cluster", "ProxmoxCluster"):
            await plane.delete(kind, "shop")
        for kind in ("ProxmoxConnection", "Secret"):
            await plane.gone(kind, "pve")

    play(scenario)


def test_credentials_that_are_deleted_alone_go_and_can_be_given_anew() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(credentials(plane), connection(insecure=True))
        await plane.told("ProxmoxConnection", "pve", "Ready", "Ready")
        await plane.delete("Secret", "pve")
        await plane.gone("Secret", "pve")
        await plane.told("ProxmoxConnection", "pve", "CredentialsAccepted", "SecretMissing")
        await plane.create(credentials(plane))
        await plane.told("ProxmoxConnection", "pve", "Ready", "Ready")
        await plane.merge("ProxmoxConnection", "pve", {"spec": {"credentialsRef": {"name": "other"}}})
        await plane.delete("Secret", "pve")
        await plane.gone("Secret", "pve")

    play(scenario)
