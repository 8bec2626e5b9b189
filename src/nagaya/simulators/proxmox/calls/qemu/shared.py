"""What the calls on machines have in common."""

from __future__ import annotations

from nagaya.simulators.proxmox.calls.call import Call
from nagaya.simulators.proxmox.failure import ParameterFailure
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.tasks.runner import Work


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
