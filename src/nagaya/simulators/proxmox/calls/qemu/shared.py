"""What the calls on machines have in common."""

from __future__ import annotations

import asyncio

from nagaya.simulators.proxmox.calls.call import Call
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.starting import start
from nagaya.simulators.proxmox.tasks.runner import Task, Work


def host_of(call: Call) -> Host:
    """The machines of the host on which a call runs."""
    return Host(call.emulator, call.node.name)


def only_root(call: Call, *names: str) -> None:
    """Refuse options that are for root alone, if they are given and mean something."""
    for name in names:
        if call.get(name) and not call.caller.root:
            raise ParameterFailure({name: "Only root may use this option."})


def start_task(call: Call, kind: str, id: str | int, work: Work) -> str:
    """Set work going for the caller, and name it."""
    return str(call.emulator.tasks.start(call.node.name, kind, str(id), call.caller.id, work).upid)


def ask_manager(call: Call, kind: str, vmid: int, told: str, order: str, wish: dict[str, str | int]) -> str:
    """Note a wish for the HA manager, in a task that ends when it has been noted.

    What is to run is declared at once (`state`); to stop or move a machine is an order for the manager to carry out.
    PVE's task runs ha-manager with the words of `order`, which refuses a machine that the manager has given up on, and
    to declare something of one that it no longer looks after; orders for such a one are never carried out.
    """

    async def work(task: Task) -> None:
        task.say(told)
        await asyncio.sleep(call.emulator.pace.task)
        sid = f"vm:{vmid}"
        resource = call.emulator.datacenter.ha.resources.get(sid, {})
        why = None
        if resource.get("crm") == "error":
            why = f"service '{sid}' in error state, must be disabled and fixed first"
        elif not resource and "state" in wish:
            why = f"update resource failed: no such resource '{sid}'"
        if why is not None:
            task.say(why)
            raise Failure(f"command 'ha-manager {order}' failed: exit code 255\n")
        resource.update(wish)

    return start_task(call, kind, vmid, work)


def start_machine(call: Call, vmid: int, *, skip_lock: bool = False, machine: str | None = None) -> str:
    """Start a machine in a task, or have the HA manager start it if it looks after it."""
    host = host_of(call)
    host.check_quorum()
    if host.managed(vmid):
        told, order = f"Requesting HA start for VM {vmid}", f"set vm:{vmid} --state started"
        return ask_manager(call, "hastart", vmid, told, order, {"state": "started"})
    return start_task(call, "qmstart", vmid, lambda task: start(host, vmid, task, skip_lock=skip_lock, machine=machine))
