"""A second management API for the same data center: where clusters of a town can move to."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from nagaya.cli.in_process import InProcessTransport
from support.prepared import start_prepared
from support.proxmox_town import PARTS, Town
from support.proxmox_town_witness import Witness


@contextlib.asynccontextmanager
async def second_town(first: Town) -> AsyncIterator[Town]:
    """Another town with the hosts, machines and clusters of the first, and nothing in its API yet. Without controllers
    yet."""
    server = await start_prepared(first.world)
    made = Town(
        lambda: InProcessTransport(server), first.world, first.namespace, PARTS, real=False, emulator=first.emulator,
        clusters=first.clusters, shop=first.shop,
    )  # fmt: skip
    made.control, made.clones, made.untouched = first.control, first.clones, first.untouched
    made.witness = Witness(made)
    await made.open()
    try:
        yield made
    finally:
        await made.witness.stop()
        await made.stop()
        await server.stop()
