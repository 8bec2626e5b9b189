from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from nagaya.simulators.proxmox.layouts.lab import lab as layout
from nagaya.simulators.proxmox.request import Answer
from nagaya.simulators.proxmox.state.access import Group
from support.proxmox_lab import ProxmoxLab, proxmox_lab, token
from support.virtual_run import run


def said(answer: Answer) -> Any:
    """Status, and what went wrong."""
    body = orjson.loads(answer.body)
    return answer.status, body.get("errors") or body.get("message", "").strip()


async def logged_in(lab: ProxmoxLab, **parameters: object) -> Answer:
    return await lab.ask("POST", "/access/ticket", parameters, headers={})


def test_a_ticket_opens_the_api_until_it_is_old() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            answer = await logged_in(lab, username="root", realm="pam", password="root-password")
            data = orjson.loads(answer.body)["data"]
            assert data["username"] == "root@pam"
            assert data["clustername"] == "lab"
            assert "VM.Allocate" in data["cap"]["vms"]
            cookie = {"cookie": f"PVEAuthCookie={data['ticket']}"}
            assert (await lab.ask("GET", "/version", headers=cookie)).status == 200
            await asyncio.sleep(7300)
            assert (await lab.ask("GET", "/version", headers=cookie)).status == 401

    run(main())


def test_a_ticket_can_be_renewed_with_itself_and_root_can_log_in_as_anyone() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            for user in ("alice@pve", "root@pam"):
                renewed = await logged_in(lab, username="alice@pve", password=lab.emulator.tickets.ticket(user))
                assert renewed.status == 200
            foreign = await logged_in(lab, username="root@pam", password=lab.emulator.tickets.ticket("alice@pve"))
            assert foreign.status == 401

    run(main())


def test_a_ticket_can_be_verified_for_a_privilege() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            right = {"username": "alice@pve", "password": "alice-password", "path": "/vms/200", "privs": "VM.Audit"}
            assert (await logged_in(lab, **right)).status == 401
            lab.datacenter.access.acl["/vms", "user", "alice@pve", "PVEAuditor"] = True
            data = orjson.loads((await logged_in(lab, **right)).body)["data"]
            assert data["username"] == "alice@pve"
            assert "ticket" not in data

    run(main())


def test_a_wrong_password_is_answered_late() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            answer = await logged_in(lab, username="alice@pve", password="wrong")
            assert said(answer) == (401, "authentication failure")
            assert asyncio.get_running_loop().time() == pytest.approx(3)

    run(main())


def test_whoever_changes_a_password_confirms_it_with_an_own_one() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            alice = lab.ticket("alice@pve")
            change = {"userid": "alice@pve", "password": "new-password"}
            wrong = await lab.ask(
                "PUT", "/access/password", {**change, "confirmation-password": "wrong"}, headers=alice
            )
            assert wrong.status == 500
            await lab.data(
                "PUT", "/access/password", {**change, "confirmation-password": "alice-password"}, headers=alice
            )
            assert (await logged_in(lab, username="alice@pve", password="new-password")).status == 200
            await lab.data("PUT", "/access/password", {"userid": "alice@pve", "password": "another-one"})
            assert (await logged_in(lab, username="alice@pve", password="another-one")).status == 200

    run(main())


def test_a_new_token_works_at_once_and_a_renewed_secret_ends_the_old_one() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            path = "/access/users/root@pam/token/new"
            made = await lab.data("POST", path, {"privsep": 0, "comment": "c"})
            assert made["info"] == {"privsep": "0", "comment": "c"}
            old = {"authorization": f"PVEAPIToken={made['full-tokenid']}={made['value']}"}
            assert (await lab.ask("GET", "/version", headers=old)).status == 200
            renewed = await lab.data("PUT", path, {"regenerate": 1, "delete": "comment"})
            assert renewed["value"] != made["value"]
            assert "comment" not in renewed
            assert (await lab.ask("GET", "/version", headers=old)).status == 401

    run(main())


def test_deleting_a_token_or_user_takes_their_rights_with_them() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            both = {
                "path": "/vms",
                "roles": "PVEVMUser",
                "users": "alice@pve",
                "tokens": "alice@pve!sep,alice@pve!full",
            }
            await lab.data("PUT", "/access/acl", both)
            await lab.data("DELETE", "/access/users/alice@pve/token/sep")
            left = {entry["ugid"] for entry in await lab.data("GET", "/access/acl")}
            assert left == {"alice@pve", "alice@pve!full"}
            await lab.data("DELETE", "/access/users/alice@pve")
            assert await lab.data("GET", "/access/acl") == []
            assert (await lab.ask("GET", "/version", headers=token("alice@pve!full"))).status == 401

    run(main())


def test_users_see_themselves_and_auditors_see_all() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            alice = lab.ticket("alice@pve")
            assert [user["userid"] for user in await lab.data("GET", "/access/users", headers=alice)] == ["alice@pve"]
            lab.datacenter.access.acl["/access", "user", "alice@pve", "PVEAuditor"] = True
            assert len(await lab.data("GET", "/access/users", headers=alice)) == 6

    run(main())


def test_a_user_lives_through_creation_change_and_deletion() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.access.groups = {"staff": Group(), "more": Group("c")}
            new = {"userid": "eve@pve", "password": "eve-password", "groups": "staff", "email": "eve@example.org"}
            await lab.data("POST", "/access/users", new)
            assert said(await lab.ask("POST", "/access/users", new)) == (
                500,
                "create user failed: user 'eve@pve' already exists",
            )
            await lab.data("PUT", "/access/users/eve@pve", {"groups": "more", "append": 1, "enable": 0, "comment": "x"})
            assert await lab.data("GET", "/access/users/eve@pve") == {
                "enable": 0,
                "expire": 0,
                "email": "eve@example.org",
                "comment": "x",
                "groups": ["more", "staff"],
                "tokens": None,
            }
            assert await lab.data("GET", "/access/groups/more") == {"members": ["eve@pve"], "comment": "c"}
            full = await lab.data("GET", "/access/users", {"full": 1, "enabled": 0})
            assert next(user for user in full if user["userid"] == "eve@pve")["groups"] == "more,staff"
            await lab.data("DELETE", "/access/users/eve@pve")
            assert said(await lab.ask("GET", "/access/users/eve@pve")) == (500, "no such user ('eve@pve')")
            assert await lab.data("GET", "/access/groups/more") == {"members": [], "comment": "c"}

    run(main())


def test_a_failed_change_of_a_user_leaves_nothing_behind() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            answer = await lab.ask("POST", "/access/users", {"userid": "eve@pve", "groups": "nosuch"})
            assert said(answer) == (500, "create user failed: no such group 'nosuch'")
            assert "eve@pve" not in lab.datacenter.access.users

    run(main())


def test_deleting_a_group_takes_its_rights_and_memberships() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("POST", "/access/groups", {"groupid": "staff"})
            await lab.data("PUT", "/access/groups/staff", {"comment": "c"})
            await lab.data("PUT", "/access/users/alice@pve", {"groups": "staff"})
            await lab.data("PUT", "/access/acl", {"path": "/vms", "roles": "PVEVMUser", "groups": "staff"})
            assert await lab.data("GET", "/access/groups") == [
                {"groupid": "staff", "comment": "c", "users": "alice@pve"}
            ]
            assert (await lab.ask("GET", "/nodes/pve1/qemu/200/config", headers=lab.ticket("alice@pve"))).status == 200
            await lab.data("DELETE", "/access/groups/staff")
            assert await lab.data("GET", "/access/acl") == []
            assert lab.datacenter.access.users["alice@pve"].groups == set()

    run(main())


def test_names_of_roles_that_begin_like_pves_own_are_reserved() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            status, errors = said(await lab.ask("POST", "/access/roles", {"roleid": "pveMine"}))
            assert status == 400
            assert errors["roleid"].startswith("cannot use role ID starting with")

    run(main())


def test_each_version_knows_its_own_privileges() -> None:
    async def main() -> None:
        datacenter = layout()
        datacenter.version = "8.4.14"
        async with proxmox_lab(datacenter) as lab:
            assert (await lab.data("GET", "/version"))["release"] == "8.4"
            await lab.data("POST", "/access/roles", {"roleid": "Mine", "privs": "VM.Monitor"})
            answer = await lab.ask("POST", "/access/roles", {"roleid": "Other", "privs": "VM.GuestAgent.Audit"})
            assert said(answer) == (400, {"privs": "invalid format - invalid privilege 'VM.GuestAgent.Audit'\n"})

    run(main())


def test_who_only_allocates_machines_hands_out_no_more_than_they_have() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.access.acl["/vms/200", "user", "alice@pve", "PVEVMUser"] = True
            lab.datacenter.access.acl["/vms/200", "user", "alice@pve", "PVEVMAdmin"] = False
            alice = lab.ticket("alice@pve")

            async def gives(role: str, **rest: object) -> Any:
                asked = {"path": "/vms/200", "roles": role, "users": "bob@pve", **rest}
                return said(await lab.ask("PUT", "/access/acl", asked, headers=alice))

            failed = "ACL update failed: 400 Parameter verification failed."
            assert await gives("PVEVMUser") == (200, "")
            assert (await gives("PVEVMAdmin"))[1].startswith(
                f"{failed}\nrole: Cannot add role 'PVEVMAdmin' with propag"
            )
            assert await gives("PVEVMAdmin", propagate=0) == (200, "")
            assert (await gives("Administrator"))[1].startswith(
                f"{failed}\nrole: Cannot add role 'Administrator' - requ"
            )
            assert (await gives("NoAccess"))[1] == (
                f"{failed}\nrole: Cannot add role 'NoAccess' - requires 'Permissions.Modify'"
            )
            assert await gives("Nosuch") == (500, "ACL update failed: role 'Nosuch' does not exist")

    run(main())


def test_an_entry_needs_somebody_to_be_for() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            status, errors = said(await lab.ask("PUT", "/access/acl", {"path": "/vms", "roles": "PVEVMUser"}))
            assert status == 400
            assert set(errors) == {"users", "groups", "tokens"}

    run(main())


def test_permissions_of_owned_tokens_may_be_asked_for() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("PUT", "/access/acl", {"path": "/", "roles": "PVEAuditor", "users": "alice@pve"})
            await lab.data("PUT", "/access/acl", {"path": "/vms", "roles": "PVEVMAdmin", "tokens": "alice@pve!sep"})
            alice = lab.ticket("alice@pve")
            found = await lab.data("GET", "/access/permissions", {"userid": "alice@pve!sep"}, headers=alice)
            assert found == {
                "/vms": {"VM.Audit": 1, "VM.GuestAgent.Audit": 1},
                "/vms/200": {"VM.Audit": 1, "VM.GuestAgent.Audit": 1},
            }

    run(main())


def test_realms_can_be_added_changed_and_removed_but_pves_own_stay() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            new = {
                "realm": "corp",
                "type": "ldap",
                "server1": "ldap.example.org",
                "base_dn": "dc=x",
                "user_attr": "uid",
            }
            await lab.data("POST", "/access/domains", new)
            before = await lab.data("GET", "/access/domains/corp")
            assert before["server1"] == "ldap.example.org"
            await lab.data("PUT", "/access/domains/corp", {"comment": "c", "digest": before["digest"]})
            stale = await lab.ask("PUT", "/access/domains/corp", {"comment": "d", "digest": before["digest"]})
            assert stale.status == 500
            assert "detected modified configuration" in stale.reason
            await lab.data("DELETE", "/access/domains/corp")
            names = {realm["realm"] for realm in await lab.data("GET", "/access/domains", headers={})}
            assert names == {"pam", "pve"}

    run(main())


def test_without_quorum_nothing_of_this_can_be_changed() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.expected_votes = 2
            for method, path, what in (
                ("POST", "/access/users/alice@pve/token/t9", "generating token failed"),
                ("DELETE", "/access/roles/Mine", "delete role failed"),
                ("DELETE", "/access/domains/pve", "delete auth server failed"),
            ):
                answer = await lab.ask(method, path)
                assert answer.status == 500
                assert answer.reason.startswith(f"{what}: cfs-lock 'file-")
                assert answer.reason.endswith("no quorum!")

    run(main())


def test_a_password_is_kept_by_the_realm() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            new = {"userid": "eve@pam", "password": "long-enough"}
            refusal = "change password failed: user 'eve' does not exist"
            assert said(await lab.ask("POST", "/access/users", new)) == (500, f"create user failed: {refusal}")
            assert "eve@pam" not in lab.datacenter.access.users
            await lab.data("POST", "/access/users", {"userid": "eve@pam"})
            assert said(await lab.ask("PUT", "/access/password", new)) == (500, refusal)
            lab.datacenter.access.realms["corp"] = {"type": "ldap"}
            await lab.data("POST", "/access/users", {"userid": "eve@corp"})
            other = await lab.ask("PUT", "/access/password", {**new, "userid": "eve@corp"})
            assert said(other) == (500, "can't set password on auth type 'ldap'")
            lab.datacenter.expected_votes = None
            without = await lab.ask("PUT", "/access/password", {**new, "userid": "alice@pve"})
            assert said(without) == (500, "cfs-lock 'file-priv_shadow_cfg' error: no quorum!")

    run(main())


def test_permissions_are_told_for_the_way_to_an_entry_too() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            acl = lab.datacenter.access.acl
            acl["/sdn", "user", "alice@pve", "PVESDNUser"] = True
            acl["/sdn/zones/localnetwork/vmbr0", "user", "bob@pve", "PVESDNUser"] = True
            told = await lab.data("GET", "/access/permissions", headers=lab.ticket("alice@pve"))
            assert told.keys() == {"/sdn", "/sdn/zones", "/sdn/zones/localnetwork", "/sdn/zones/localnetwork/vmbr0"}

    run(main())


def test_a_realm_needs_its_options_and_only_one_is_the_default() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            new = {
                "realm": "corp",
                "type": "ldap",
                "server1": "ldap.example.org",
                "base_dn": "dc=example",
                "default": 1,
            }
            missing = await lab.ask("POST", "/access/domains", new)
            refusal = "add auth server failed: missing value for required option 'user_attr'"
            assert said(missing) == (500, refusal)
            await lab.data("PUT", "/access/domains/pve", {"default": 1})
            await lab.data("POST", "/access/domains", {**new, "user_attr": "uid"})
            realms = {row["realm"]: row.get("default") for row in await lab.data("GET", "/access/domains")}
            assert realms == {"pam": None, "pve": None, "corp": 1}
            tried = await lab.ask("PUT", "/access/domains/pve", {"check-connection": 1})
            assert "can only be set for realms of type 'ldap' or 'ad'" in tried.reason

    run(main())


def test_what_root_is_given_is_not_written_down() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            given = {"path": "/vms", "roles": "PVEVMUser", "users": "root@pam,alice@pve"}
            await lab.data("PUT", "/access/acl", given)
            assert [entry["ugid"] for entry in await lab.data("GET", "/access/acl")] == ["alice@pve"]

    run(main())


def test_an_answer_to_a_second_factor_that_nobody_asked_for_is_refused() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            right = {"username": "alice@pve", "password": "alice-password"}
            assert (await logged_in(lab, **right, otp="123456")).status == 200
            assert (await logged_in(lab, **right, **{"tfa-challenge": "PVE:!tfa!x:00000000::x"})).status == 401

    run(main())


def test_the_realm_of_the_host_says_by_what_it_works() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            assert (await lab.data("GET", "/access/domains/pam"))["plugin"] == "PVE::Auth::PAM"
            assert "plugin" not in await lab.data("GET", "/access/domains/pve")

    run(main())


def test_an_address_that_is_missing_is_shown_as_empty_before_a_comment() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("POST", "/access/users", {"userid": "eve@pve", "comment": "Eve"})
            assert (await lab.data("GET", "/access/users/eve@pve"))["email"] == ""
            await lab.data("PUT", "/access/users/eve@pve", {"comment": ""})
            assert "email" not in await lab.data("GET", "/access/users/eve@pve")

    run(main())


def test_nobody_holds_a_ticket_for_a_console() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            given = {"authid": "root@pam", "vncticket": "PVEVNC:0", "path": "/vms/200", "privs": "VM.Console"}
            answer = await lab.ask("POST", "/access/vncticket", given, headers={})
            assert (answer.status, answer.reason) == (401, "authentication failure")

    run(main())


def test_a_path_may_be_asked_for_without_its_first_slash() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            acl = lab.datacenter.access.acl
            acl["/", "user", "alice@pve", "PVEAuditor"] = True
            acl["/vms/200", "user", "alice@pve", "PVETemplateUser"] = False
            own = lab.ticket("alice@pve")
            found = await lab.data("GET", "/access/permissions", {"path": "vms/200"}, headers=own)
            assert found == {"vms/200": {"VM.Audit": 0, "VM.Clone": 0}}
            assert await lab.data("GET", "/access/permissions", {"path": "vms/201"}, headers=own) == {"vms/201": {}}

    run(main())
