"""The same on a real kube-apiserver and on the clock: a selection, as nothing there is faster than it is."""

from __future__ import annotations

import asyncio

import pytest

from support.proxmox_town_calls import CLONE, DESTROY
from support.proxmox_town_life import CREATE, DELETE, SCALE_DOWN, SCALE_UP, live
from support.proxmox_town_manifests import Shop
from support.proxmox_town_mishaps import Mishap, Mode
from support.proxmox_town_real import real_town
from support.real import RealControlPlane

pytestmark = pytest.mark.long("plays on a real API server and on the clock: nothing there can be faster than it is")


def test_a_cluster_lives_on_a_real_api_server(real_control_plane: RealControlPlane) -> None:
    async def main() -> None:
        async with real_town(real_control_plane, Shop(1, 1)) as here:
            await here.begin()
            await live(here, (CREATE, SCALE_UP, SCALE_DOWN, DELETE))

    asyncio.run(main())


def test_a_lost_reply_makes_no_second_vm_and_leaves_none(real_control_plane: RealControlPlane) -> None:
    made, destroyed = Mishap(CLONE, Mode.REPLY_LOST), Mishap(DESTROY, Mode.REPLY_LOST)

    async def main() -> None:
        async with real_town(real_control_plane, Shop(1, 1)) as here:
            await here.begin()
            await live(here, (CREATE,), made.before, after=made.after)
            await live(here, (DELETE,), destroyed.before, after=destroyed.after)

    asyncio.run(main())
    assert made.happened
    assert destroyed.happened
