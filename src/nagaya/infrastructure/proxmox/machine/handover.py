"""Boot data handed over by the guest agent: the calls, in the order that boot/native gives.

Any of them may be the last, and any reply may be lost. The marker in the guest is read first: if it says that these
very data were written for this very machine, only the restart is left to be ordered, as often as it takes. A guest that
has been restarted with them several times and is still not the instance that they are for is left alone, and told of.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from nagaya.infrastructure.proxmox.boot import native
from nagaya.infrastructure.proxmox.client import Proxmox
from nagaya.infrastructure.proxmox.client.errors import AgentFailed, AgentNotReady, Forbidden

log = logging.getLogger(__name__)

MOST_RESTARTS: Final = 3


class NotTaken(Exception):
    """The guest does not take its boot data. The message says why."""


async def hand_over(
    proxmox: Proxmox, node: str, vmid: int, machine: str, files: Mapping[str, bytes], *, stuck: bool = False
) -> None:
    """Write the data if they are not there, and have the guest restart. One that is `stuck` and has restarted with them
    is left to come up. Raises ProxmoxError and NotTaken."""
    wanted = native.Marker(machine, native.digest(files))
    there = await marker(proxmox, node, vmid)
    if there is None or (there.machine, there.digest) != (wanted.machine, wanted.digest):
        for step in native.steps(files):
            await _carry_out(proxmox, node, vmid, step)
        there = wanted
    boot = (await _read(proxmox, node, vmid, native.BOOT_ID)).strip()
    if not boot or boot != there.boot:
        if stuck and there.restarts:
            return
        if there.restarts >= MOST_RESTARTS:
            raise NotTaken(
                f"The guest was restarted {there.restarts} times with its boot data, and cloud-init does not take them "
                f"from {native.SEED}. See /var/log/cloud-init.log there: its data source NoCloud has to be enabled. "
                "Set bootDelivery.method to iso, or delete the Machine to get another one."
            )
        there = replace(there, restarts=there.restarts + 1, boot=boot)
        await _carry_out(proxmox, node, vmid, there.written())
    log.info("VM %d on %s has its boot data and restarts", vmid, node)
    await proxmox.agent.execute(node, vmid, native.RESTART.command)


async def erase(proxmox: Proxmox, node: str, vmid: int) -> None:
    """Take what is secret out of the data in the guest. Raises ProxmoxError."""
    there = await marker(proxmox, node, vmid)
    if there is None or there.erased:
        return
    await _carry_out(proxmox, node, vmid, native.erased())
    await _carry_out(proxmox, node, vmid, replace(there, erased=True).written())


async def is_erased(proxmox: Proxmox, node: str, vmid: int) -> bool | None:
    """Whether nothing secret is left in the guest; None if it cannot be asked now."""
    try:
        there = await marker(proxmox, node, vmid)
    except AgentNotReady:
        return None
    except Forbidden as error:
        log.warning("the boot data in VM %d on %s cannot be taken out: %s", vmid, node, error)
        return True
    return there is None or there.erased


async def marker(proxmox: Proxmox, node: str, vmid: int) -> native.Marker | None:
    """What stands in the guest about its boot data. Raises ProxmoxError."""
    return native.read_marker(await _read(proxmox, node, vmid, native.MARKER))


async def instance(proxmox: Proxmox, node: str, vmid: int) -> str:
    """The instance that cloud-init takes the guest for; empty if it does not say. Raises ProxmoxError."""
    return (await _read(proxmox, node, vmid, native.INSTANCE)).strip()


async def _read(proxmox: Proxmox, node: str, vmid: int, path: str) -> str:
    try:
        return await proxmox.agent.read(node, vmid, path)
    except AgentFailed:
        return ""


async def _carry_out(proxmox: Proxmox, node: str, vmid: int, step: native.Step) -> None:
    if isinstance(step, native.WriteFile):
        await proxmox.agent.write_bytes(node, vmid, step.path, step.content)
        return
    done = await proxmox.agent.run(node, vmid, step.command)
    name = step.command[0]
    if not done.exited:
        raise NotTaken(f"`{name}` has not ended in the guest in time. It is tried again.")
    if done.code != 0:
        said = " ".join((done.errors or done.output).split())
        raise NotTaken(f"`{name}` failed in the guest with exit code {done.code}: {said[:200]}. It is tried again.")
    if step.output is not None and done.output.split() != step.output.split():
        raise NotTaken("The boot data in the guest are not those that were written. They are written anew.")
