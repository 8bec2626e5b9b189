"""Machines that become templates."""

from __future__ import annotations

import asyncio

from nagaya.simulators.proxmox.calls.call import Call, Handlers
from nagaya.simulators.proxmox.calls.qemu.shared import host_of, start_task
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu.actions.bases import make_bases
from nagaya.simulators.proxmox.qemu.configuration import Configuration
from nagaya.simulators.proxmox.tasks.runner import Task

handlers = Handlers()


@handlers("POST", "/nodes/{node}/qemu/{vmid}/template")
async def template(call: Call) -> str:
    """Turn a machine into a template, or one disk of it into a base."""
    _load(call)

    async def work(task: Task) -> None:
        host = host_of(call)
        async with host.lock(call["vmid"], task):
            configuration = _load(call)
            configuration.options["template"] = 1
            host.write(configuration, task)
            await asyncio.sleep(call.emulator.pace.task)
            await make_bases(host, configuration, task, call.get("disk"))

    return start_task(call, "qmtemplate", call["vmid"], work)


def _load(call: Call) -> Configuration:
    host, vmid = host_of(call), call["vmid"]
    configuration = host.load(vmid)
    configuration.check_lock()
    if configuration.snapshots:
        raise Failure("unable to create template, because VM contains snapshots\n")
    if configuration.template and not call.get("disk"):
        raise Failure("you can't convert a template to a template\n")
    if host.process(vmid) is not None:
        raise Failure("you can't convert a VM to template if VM is running\n")
    return configuration
