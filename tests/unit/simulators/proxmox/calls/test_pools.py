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
