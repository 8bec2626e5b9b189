"""Calls about high availability, to an emulated data center."""

from __future__ import annotations

import pytest

from nagaya.infrastructure.proxmox.client.errors import Conflict, NotFound, ProxmoxError
from nagaya.infrastructure.proxmox.client.high_availability import NEGATIVE, HaResource
from support.proxmox_transport import DataCenter, data_center
from support.virtual_run import run


async def machines(there: DataCenter, *vmids: int) -> None:
    client = there.client
    for vmid in vmids:
        await client.tasks.wait(await client.machines.create("pve1", vmid, {"name": f"m{vmid}", "memory": 512}))
        await client.high_availability.manage(vmid, state="stopped")


def test_machines_are_managed_changed_and_let_go() -> None:
    async def main() -> None:
        async with data_center() as there:
            ha = there.client.high_availability
            await machines(there, 100)
            assert await ha.resources() == {100: HaResource(100, "stopped")}
            with pytest.raises(Conflict):
                await ha.add(100, {"state": "started"})
            await ha.change(100, {"max_restart": 3, "state": "started"})
            assert await ha.resources() == {100: HaResource(100, "started", max_restart=3)}
            await ha.change(100, {}, delete=("max_restart",))
            assert await ha.resources() == {100: HaResource(100, "started")}
            await ha.release(100)
            assert await ha.resources() == {}
            with pytest.raises(NotFound):
                await ha.release(100)

    run(main())


def test_a_rule_gets_further_machines_only_if_nobody_else_has_changed_it() -> None:
    async def main() -> None:
        async with data_center() as there:
            ha = there.client.high_availability
            await machines(there, 100, 101, 102)
            await ha.keep_apart("apart", [101, 100])
            with pytest.raises(Conflict):
                await ha.bind("apart", NEGATIVE, [100, 101])
            rule = (await ha.rules())["apart"]
            assert (rule.vmids, rule.affinity) == (frozenset({100, 101}), NEGATIVE)
            await ha.change_rule("apart", [100, 101, 102], digest=rule.digest)
            with pytest.raises(Conflict):
                await ha.change_rule("apart", [100, 102], digest=rule.digest)
            await ha.release(102)
            assert (await ha.rules())["apart"].vmids == {100, 101}
            await ha.delete_rule("apart")
            assert await ha.rules() == {}

    run(main())


def test_what_proxmox_ve_cannot_keep_is_refused_with_the_reason() -> None:
    async def main() -> None:
        async with data_center(hosts=2) as there:
            ha = there.client.high_availability
            await machines(there, 100, 101, 102)
            with pytest.raises(ProxmoxError, match="less than two resources"):
                await ha.keep_apart("apart", [100])
            with pytest.raises(ProxmoxError, match="more resources than available nodes"):
                await ha.keep_apart("apart", [100, 101, 102])

    run(main())
