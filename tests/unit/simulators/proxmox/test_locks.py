from __future__ import annotations

import asyncio

import pytest

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.locks import Locks
from support.virtual_run import run


def test_who_does_not_get_a_lock_file_in_time_learns_its_name() -> None:
    async def main() -> None:
        locks = Locks()
        async with locks.file("pve1", "/var/lock/a"):
            with pytest.raises(Failure, match="can't lock file '/var/lock/a' - got timeout"):
                async with locks.file("pve1", "/var/lock/a", timeout=1):
                    pass
            async with locks.file("pve2", "/var/lock/a"), locks.file("pve1", "/var/lock/b"):
                pass
        async with locks.file("pve1", "/var/lock/a"):
            pass

    run(main())


def test_those_who_share_a_lock_only_keep_out_who_does_not() -> None:
    async def main() -> None:
        locks = Locks()
        async with locks.file("pve1", "a", shared=True), locks.file("pve1", "a", shared=True):
            with pytest.raises(Failure):
                async with locks.file("pve1", "a", timeout=1):
                    pass

    run(main())


def test_a_lock_of_the_cluster_is_waited_for() -> None:
    async def main() -> None:
        locks, order = Locks(), []

        async def work(name: str) -> None:
            async with locks.cluster("file-user_cfg"):
                order.append(name)
                await asyncio.sleep(1)

        await asyncio.gather(work("one"), work("two"))
        assert order == ["one", "two"]
        assert asyncio.get_running_loop().time() == pytest.approx(2)

    run(main())


def test_without_quorum_a_lock_of_the_cluster_is_refused_late() -> None:
    async def main() -> None:
        locks = Locks(lambda: False)
        with pytest.raises(Failure, match="cfs-lock 'file-user_cfg' error: no quorum!"):
            async with locks.cluster("file-user_cfg"):
                pass
        assert asyncio.get_running_loop().time() == pytest.approx(10)

    run(main())
