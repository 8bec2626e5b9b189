"""Switching machines on and off.

Starting and stopping are tasks whatever the state of the machine, even of one that does not exist; only what makes no
sense for a machine that is off is refused at once. A machine that the HA manager looks after is left to it: the task
then ends when the wish has been noted.
"""

from __future__ import annotations

import asyncio

from nagaya.simulators.proxmox.calls.call import Call, Handlers
from nagaya.simulators.proxmox.calls.qemu.shared import ask_manager, host_of, only_root, start_machine, start_task
from nagaya.simulators.proxmox.cluster.manager import SHUTDOWN_TIMEOUT
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.qemu.actions import suspending
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.saving import state_storage
from nagaya.simulators.proxmox.qemu.actions.starting import start as start_here
from nagaya.simulators.proxmox.qemu.actions.stopping import reboot as reboot_machine
from nagaya.simulators.proxmox.qemu.actions.stopping import stop as stop_machine
from nagaya.simulators.proxmox.qemu.options import family
from nagaya.simulators.proxmox.tasks.runner import Silence, Task

handlers = Handlers()

_STATUS = "/nodes/{node}/qemu/{vmid}/status"
_FOR_MIGRATION = (
    "stateuri", "skiplock", "migratedfrom", "migration_type", "migration_network", "targetstorage", "force-cpu",
    "with-conntrack-state", "nets-host-mtu",
)  # fmt: skip

_STANDING_STILL = ("paused", "prelaunch", "suspended")


def _refuse_stopped(host: Host, vmid: int) -> None:
    if host.process(vmid) is None:
        raise Failure(f"VM {vmid} not running\n")


def _paused(host: Host, vmid: int) -> bool:
    guest = host.guest(vmid)
    return guest is not None and guest.process is not None and guest.process.status in _STANDING_STILL


@handlers("POST", f"{_STATUS}/start")
async def start(call: Call) -> str:
    """Start a machine."""
    only_root(call, *_FOR_MIGRATION)
    if call.get("targetstorage") and not call.get("migratedfrom"):
        raise ParameterFailure({"targetstorage": "targetstorage can only by used with migratedfrom."})
    skip, machine = bool(call.get("skiplock")), call.get("machine")
    return start_machine(call, call["vmid"], skip_lock=skip, machine=machine)


@handlers("POST", f"{_STATUS}/stop")
async def stop(call: Call) -> str:
    """Pull the plug."""
    only_root(call, "skiplock", "keepActive", "migratedfrom")
    host, vmid = host_of(call), call["vmid"]
    if host.managed(vmid) and call.get("migratedfrom") is None:
        if call.get("overrule-shutdown"):
            raise ParameterFailure({"overrule-shutdown": "Not applicable for HA resources."})
        return _order_stop(call, vmid, 0)

    async def work(task: Task) -> None:
        if call.get("overrule-shutdown"):
            await _overrule(call, task)
        skip, timeout = bool(call.get("skiplock")), call.get("timeout")
        await stop_machine(host, vmid, task, force=True, timeout=timeout, skip_lock=skip)

    return start_task(call, "qmstop", vmid, work)


def _order_stop(call: Call, vmid: int, patience: int) -> str:
    told, order = f"Requesting HA stop for VM {vmid}", f"crm-command stop vm:{vmid} {patience}"
    return ask_manager(call, "hastop", vmid, told, order, {"stop": patience})


async def _overrule(call: Call, task: Task) -> None:
    """Stop the tasks that wait for the machine to shut down, as far as the caller may."""
    tasks = call.emulator.tasks
    may = call.rights.may(f"/nodes/{call.node.name}", ["Sys.Modify"])
    stopped = [
        other
        for other in tasks.active(call.node.name, "qmshutdown", str(call["vmid"]))
        if may or call.caller.id in (other.upid.user, other.upid.user.partition("!")[0])
    ]
    for other in stopped:
        await tasks.stop(other)
    if stopped:
        task.say(f"overruled qmshutdown tasks: {', '.join(str(other.upid) for other in stopped)}")


@handlers("POST", f"{_STATUS}/shutdown")
async def shutdown(call: Call) -> str:
    """Ask the system in a machine to shut down."""
    only_root(call, "skiplock", "keepActive")
    host, vmid = host_of(call), call["vmid"]
    forced, asked = bool(call.get("forceStop")), True
    if _paused(host, vmid):
        if not forced:
            raise Failure("VM is paused - cannot shutdown\n")
        asked = False
    if host.managed(vmid):
        return _order_stop(call, vmid, call.get("timeout", SHUTDOWN_TIMEOUT))

    async def work(task: Task) -> None:
        skip, timeout = bool(call.get("skiplock")), call.get("timeout")
        await stop_machine(host, vmid, task, shutdown=asked, force=forced, timeout=timeout, skip_lock=skip)

    return start_task(call, "qmshutdown", vmid, work)


@handlers("POST", f"{_STATUS}/reboot")
async def reboot(call: Call) -> str:
    """Shut a machine down and start it again."""
    host, vmid = host_of(call), call["vmid"]
    if _paused(host, vmid):
        raise Failure("VM is paused - cannot shutdown\n")
    _refuse_stopped(host, vmid)
    return start_task(call, "qmreboot", vmid, lambda task: reboot_machine(host, vmid, task, call.get("timeout")))


@handlers("POST", f"{_STATUS}/reset")
async def reset(call: Call) -> str:
    """Press the button that nobody should press."""
    only_root(call, "skiplock")
    host, vmid = host_of(call), call["vmid"]
    _refuse_stopped(host, vmid)

    async def work(task: Task) -> None:
        async with host.lock(vmid, task):
            configuration = host.load(vmid)
            if not call.get("skiplock"):
                configuration.check_lock()
            _refuse_stopped(host, vmid)
            await asyncio.sleep(call.emulator.pace.task)
            call.emulator.machines.backend.reset(vmid)

    return start_task(call, "qmreset", vmid, work)


@handlers("POST", f"{_STATUS}/suspend")
async def suspend(call: Call) -> str:
    """Let a machine stand still, or save it to disk."""
    only_root(call, "skiplock")
    host, vmid, skip = host_of(call), call["vmid"], bool(call.get("skiplock"))
    _refuse_stopped(host, vmid)
    if not call.get("todisk"):
        return start_task(call, "qmpause", vmid, lambda task: suspending.suspend(host, vmid, task, skip_lock=skip))
    if host.managed(vmid):
        raise Failure("Cannot suspend HA managed VM to disk\n")
    call.rights.check_machine(vmid, None, ["VM.Config.Disk"])
    configuration = host.load(vmid)
    if any(family(name) == "hostpci" for name in configuration.options):
        raise Failure(
            "cannot suspend VM to disk due to passed-through PCI device(s), which lack the"
            " possibility to save/restore their internal state\n"
        )
    storage = call.get("statestorage") or state_storage(host, configuration.options)
    call.rights.check(f"/storage/{storage}", ["Datastore.AllocateSpace"])
    return start_task(
        call,
        "qmsuspend",
        vmid,
        lambda task: suspending.suspend_to_disk(host, vmid, task, storage=storage, skip_lock=skip),
    )


@handlers("POST", f"{_STATUS}/resume")
async def resume(call: Call) -> str:
    """Let a machine go on, also one that was saved to disk."""
    only_root(call, "skiplock", "nocheck")
    host, vmid, skip = host_of(call), call["vmid"], bool(call.get("skiplock"))
    guest = host.guest(vmid)
    if guest is not None and guest.lock == "suspended":
        return start_task(call, "qmresume", vmid, lambda task: start_here(host, vmid, task, skip_lock=skip))
    if call.get("nocheck") and guest is None:
        raise Failure(f"VM {vmid} not running\n")
    _refuse_stopped(host, vmid)
    return start_task(call, "qmresume", vmid, lambda task: suspending.resume(host, vmid, task, skip_lock=skip))


@handlers("PUT", "/nodes/{node}/qemu/{vmid}/sendkey")
async def send_key(call: Call) -> None:
    """Press a key."""
    only_root(call, "skiplock")
    host, vmid = host_of(call), call["vmid"]
    async with host.lock(vmid, Silence()):
        host.load(vmid)
        if host.process(vmid) is None:
            raise Failure(f"VM {vmid} not running\n")
