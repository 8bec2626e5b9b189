from __future__ import annotations

from support.proxmox_lab import proxmox_lab, token
from support.virtual_run import run


def test_a_pool_lies_in_the_pool_that_its_name_begins_with() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("POST", "/pools", {"poolid": "a"})
            await lab.data("POST", "/pools", {"poolid": "a/b", "comment": "inner"})
            await lab.data("PUT", "/pools", {"poolid": "a/b", "vms": "201", "storage": "local"})
            assert {"poolid": "a/b", "comment": "inner"} in await lab.data("GET", "/pools")
            assert (await lab.ask("DELETE", "/pools", {"poolid": "a"})).status == 500
            await lab.data("PUT", "/pools", {"poolid": "a/b", "vms": "201", "storage": "local", "delete": 1})
            await lab.data("DELETE", "/pools", {"poolid": "a/b"})
            await lab.data("DELETE", "/pools/a")
            assert "a" not in lab.datacenter.pools

    run(main())


def test_a_change_that_fails_on_the_way_changes_nothing() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            answer = await lab.ask("PUT", "/pools", {"poolid": "other", "vms": "201,200", "comment": "x"})
            assert answer.reason == (
                "update pools failed: VM 200 belongs already to pool 'dev' and 'allow-move' is not set"
            )
            assert lab.datacenter.pools["other"].vms == set()
            assert lab.datacenter.pools["other"].comment == ""

    run(main())


def test_members_twice_or_not_at_all_are_refused() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            change = {"poolid": "dev", "vms": "200"}
            assert (await lab.ask("PUT", "/pools", change)).reason == (
                "update pools failed: VM 200 is already a pool member"
            )
            await lab.data("PUT", "/pools/dev", {"storage": "store"})
            assert (await lab.ask("PUT", "/pools/dev", {"storage": "store"})).reason == (
                "update pools failed: Storage 'store' is already a pool member"
            )
            assert (await lab.ask("PUT", "/pools/dev", {"storage": "local", "delete": 1})).reason == (
                "update pools failed: Storage 'local' is not a pool member"
            )

    run(main())


def test_moving_a_machine_needs_a_right_on_both_pools_and_the_machine() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            acl = lab.datacenter.access.acl
            change = {"poolid": "other", "vms": "200", "allow-move": 1}
            ops = token("ops@pve!k1")
            acl["/pool/other", "user", "ops@pve", "PVEPoolAdmin"] = True
            refused = await lab.ask("PUT", "/pools", change, headers=ops)
            assert refused.reason == (
                "update pools failed: 403 Permission check failed (/vms/200, Permissions.Modify|VM.Allocate)"
            )
            acl["/vms/200", "user", "ops@pve", "PVEVMAdmin"] = True
            refused = await lab.ask("PUT", "/pools", change, headers=ops)
            assert refused.reason == "update pools failed: 403 Permission check failed (/pool/dev, Pool.Allocate)"
            acl["/pool/dev", "user", "ops@pve", "PVEPoolAdmin"] = True
            await lab.data("PUT", "/pools", change, headers=ops)
            assert lab.datacenter.pools["dev"].vms == set()
            assert lab.datacenter.pools["other"].vms == {200}

    run(main())


def test_deleting_a_pool_takes_the_rights_on_it() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("PUT", "/access/acl", {"path": "/pool/other", "roles": "PVEVMUser", "users": "alice@pve"})
            await lab.data("DELETE", "/pools/other")
            assert await lab.data("GET", "/access/acl") == []

    run(main())


def test_only_auditors_of_a_pool_see_it_in_the_list() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.access.acl["/pool/dev", "user", "ops@pve", "PVEPoolUser"] = True
            found = await lab.data("GET", "/pools", headers=token("ops@pve!k1"))
            assert found == [{"poolid": "dev", "comment": "dev pool"}]

    run(main())


def test_members_are_shown_as_reports_have_them() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("POST", "/cluster/ha/resources", {"sid": "vm:200"})
            lab.datacenter.guests[200].config |= {"lock": "clone", "tags": "a"}
            await lab.data("PUT", "/pools/dev", {"vms": "777", "storage": "off,onlypve2,gone"})
            members = (await lab.data("GET", "/pools/dev"))["members"]
            assert [row["id"] for row in members] == [
                "qemu/200",
                "qemu/777",
                "storage/pve1/off",
                "storage/pve2/onlypve2",
            ]
            assert not members[0].keys() & {"lock", "tags", "hastate", "pool"}
            assert [row["status"] for row in members] == ["stopped", "unknown", "unknown", "unknown"]
            of_kind = (await lab.data("GET", "/pools", {"poolid": "dev", "type": "storage"}))[0]["members"]
            assert of_kind == members[2:]

    run(main())


def test_a_storage_of_a_host_that_nobody_knows_is_a_member_all_the_same() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.storages["onlypve2"].options["nodes"] = "pve9"
            await lab.data("PUT", "/pools/other", {"storage": "onlypve2"})
            members = (await lab.data("GET", "/pools/other"))["members"]
            assert [(row["id"], row["status"]) for row in members] == [("storage/pve9/onlypve2", "unknown")]

    run(main())


def test_of_several_members_the_first_by_its_letters_keeps_a_pool() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.task("POST", "/nodes/pve1/qemu", {"vmid": 1000, "pool": "dev"})
            assert (await lab.ask("DELETE", "/pools/dev")).reason == (
                "delete pool failed: pool 'dev' is not empty (contains VM 1000)"
            )

    run(main())
