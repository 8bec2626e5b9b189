"""QEMU's own console, for those who know what they do.

Which right a command asks for is listed; one that is not listed is for root. What QEMU would print is imitated only for
what a machine here has: its state, its name, and the buttons on its front.
"""

from __future__ import annotations

import re

from nagaya.simulators.proxmox.calls.call import Call, Handlers
from nagaya.simulators.proxmox.calls.qemu.shared import host_of
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu.identity import QEMU_VERSION
from nagaya.simulators.proxmox.state.guest import Guest, Process

handlers = Handlers()

_COMMANDS = {
    "none": "help ? info",
    "root": (
        "backup block_stream change chardev-add chardev-change chardev-remove client_migrate_info device_add"
        " device_del drive_add drive_backup drive_del drive_mirror dump-guest-memory dumpdtb gdbserver hostfwd_add"
        " hostfwd_remove logfile mce memsave migrate migrate_incoming migrate_recover nbd_server_add"
        " nbd_server_remove nbd_server_start nbd_server_stop netdev_add netdev_del nmi o object_add object_del"
        " pcie_aer_inject_error pmemsave qom-set savevm-end savevm-start screendump snapshot_blkdev watchdog_action"
        " wavcapture xen-event-inject xen-event-list"
    ),
    "Sys.Modify": (
        "announce_self backup_cancel balloon block_job_cancel block_job_complete block_job_pause block_job_resume"
        " block_job_set_speed block_resize block_set_io_throttle boot_set c calc_dirty_rate cancel_vcpu_dirty_limit"
        " chardev-send-break closefd commit cont cpu delvm eject exit_preconfig expire_password getfd gpa2hpa"
        " gpa2hva gva2gpa i loadvm log migrate_cancel migrate_continue migrate_pause migrate_set_capability"
        " migrate_set_parameter migrate_start_postcopy mouse_button mouse_move mouse_set one-insn-per-tb p print q"
        " qemu-io qom-get qom-list quit replay_break replay_delete_break replay_seek ringbuf_read ringbuf_write s"
        " savevm sendkey set_link set_password set_vcpu_dirty_limit snapshot_blkdev_internal"
        " snapshot_delete_blkdev_internal stop stopcapture sum sync-profile system_powerdown system_reset"
        " system_wakeup trace-event x x_colo_lost_heartbeat xp"
    ),
}
_RIGHTS = {name: right for right, names in _COMMANDS.items() for name in names.split()}
_READING = re.compile(r"\s*(?:info\s|help\s*$|help\s)")


@handlers("POST", "/nodes/{node}/qemu/{vmid}/monitor")
async def monitor(call: Call) -> str:
    """Run a command. That it fails is an answer like any other."""
    command = str(call["command"])
    if call.emulator.version[0] == "8":
        if not _READING.match(f"{command} "):
            call.rights.check("/", ["Sys.Modify"])
    else:
        _check(call, command)
    host, vmid = host_of(call), call["vmid"]
    host.load(vmid)
    guest = host.present(vmid)
    if guest.process is None:
        return f"ERROR: VM {vmid} not running\n"
    return _run(call, guest, guest.process, command.split())


def _check(call: Call, command: str) -> None:
    if command in ("", "0"):
        raise Failure("no command specified\n")
    if not command.strip():
        raise Failure(f"unexpected command '{command}'\n")
    name = command.split()[0]
    right = _RIGHTS.get(name)
    if right == "Sys.Modify":
        call.rights.check("/", [right])
    elif right == "root" and not call.caller.root:
        raise Failure(f"root-only command '{name}'\n")
    elif right is None and not call.caller.root:
        unknown = f"command '{name}' non-existent or not assigned a required permission yet, limiting to root user"
        raise Failure(f"{unknown}\n")


def _run(call: Call, guest: Guest, process: Process, words: list[str]) -> str:
    backend = call.emulator.machines.backend
    match words:
        case ["info", "status"]:
            still = {"running": "running", "paused": "paused"}.get(process.status, f"paused ({process.status})")
            return f"VM status: {still}\r\n"
        case ["info", "name"]:
            return f"{process.config.get('name') or f'vm{guest.vmid}'}\r\n"
        case ["info", "version"]:
            return f"{QEMU_VERSION}\r\n"
        case ["stop" | "s"] | ["cont" | "c"]:
            process.status = "paused" if words[0] in ("stop", "s") else "running"
            backend.pause(guest.vmid, process.status == "paused")
        case ["system_reset"]:
            backend.reset(guest.vmid)
        case ["system_powerdown"]:
            backend.press_power_button(guest.vmid)
        case ["quit" | "q"]:
            call.emulator.machines.power_off(guest)
        case [name, *_] if name not in _RIGHTS:
            return f"unknown command: '{name}'\r\n"
    return ""
