"""One host: how it is, what it runs, its own options, and switching it off."""

from __future__ import annotations

import hashlib
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.calls.rrd import check_seen, empty_graph
from nagaya.simulators.proxmox.calls.shared_file import check_digest
from nagaya.simulators.proxmox.calls.version import version as version_of
from nagaya.simulators.proxmox.cluster import hosts, reports
from nagaya.simulators.proxmox.cluster.options import commented
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
_KERNEL = {"9": "6.17.2-1-pve", "8": "6.8.12-9-pve"}
_PROCESSOR = "AMD EPYC 7402P 24-Core Processor"
_CONFIG = "/nodes/{node}/config"


@handlers("GET", "/nodes/{node}/version")
async def version(call: Call) -> Json:
    """What runs there."""
    return await version_of(call)


@handlers("GET", "/nodes/{node}/status")
async def status(call: Call) -> Json:
    """How it is."""
    node, emulator = call.node, call.emulator
    used, disk = reports.memory_used(emulator, node), reports.root_disk(emulator, node)
    free = node.memory - used
    kernel = _KERNEL.get(emulator.version[0], _KERNEL["9"])
    versions = await version_of(call)
    return {
        "uptime": reports.uptime(emulator, node),
        "idle": 0,
        "wait": 0,
        "cpu": 0.01,
        "loadavg": ["0.10", "0.10", "0.10"],
        "memory": {"total": node.memory, "used": used, "free": free, "available": free},
        "swap": {"total": 0, "used": 0, "free": 0},
        "rootfs": {
            "total": disk["total"],
            "used": disk["used"],
            "free": disk["total"] - disk["used"],
            "avail": disk["total"] - disk["used"],
        },
        "ksm": {"shared": 0},
        "cpuinfo": {
            "model": _PROCESSOR,
            "family": "23",
            "vendor": "AuthenticAMD",
            "sockets": 1,
            "cores": node.cpus,
            "cpus": node.cpus,
            "mhz": "2800.000",
            "user_hz": 100,
            "hvm": "1" if node.kvm else "",
            "flags": "fpu sse sse2 ssse3 sse4_1 sse4_2 avx avx2 aes svm",
        },
        "kversion": f"Linux {kernel} #1 SMP PREEMPT_DYNAMIC PMX",
        "current-kernel": {
            "sysname": "Linux",
            "release": kernel,
            "version": "#1 SMP PREEMPT_DYNAMIC PMX",
            "machine": "x86_64",
        },
        "boot-info": {"mode": "legacy-bios"},
        "pveversion": f"pve-manager/{versions['version']}/{versions['repoid']}",
    }


@handlers("POST", "/nodes/{node}/status")
async def command(call: Call) -> Json:
    """Switch it off, or off and on again. It answers first."""
    how = hosts.reboot if call["command"] == "reboot" else hosts.shut_down
    call.emulator.machines.in_background(how(call.emulator, call.node.name))
    return None


@handlers("GET", _CONFIG)
async def options(call: Call) -> Json:
    """Its own options."""
    given = call.node.options
    asked = call.get("property")
    if asked is not None and asked != "all":
        return {asked: _read(given)[asked]} if asked in given else {}
    return {**_read(given), "digest": _digest(given)} if given else {}


@handlers("PUT", _CONFIG)
async def update(call: Call) -> Json:
    """Change some of its own options."""
    given = call.node.options
    path = f"/etc/pve/nodes/{call.node.name}/config"
    if given:
        check_digest(call, _digest(given))
    if not call.emulator.datacenter.quorate:
        raise Failure(f"unable to open file '{path}.tmp.{call.emulator.tasks.pid()}' - Permission denied\n")
    given |= {name: value for name, value in call.parameters.items() if name not in ("node", "delete", "digest")}
    for name in split_list(call.get("delete") or ""):
        given.pop(name, None)
    return None


@handlers("GET", "/nodes/{node}/rrddata")
async def graph(call: Call) -> Json:
    """How it was over time, as the host that was asked has heard. Nobody keeps that here."""
    check_seen(call, "node", call["node"], call["node"])
    return empty_graph(call)


@handlers("GET", "/nodes/{node}/time")
async def time(call: Call) -> Json:
    """The time there."""
    now = int(call.emulator.world.clock.now().timestamp())
    return {"time": now, "localtime": now, "timezone": "UTC"}


@handlers("GET", "/nodes/{node}/dns")
async def resolver(call: Call) -> Json:
    """How it looks up names."""
    return {name: call.node.options[name] for name in ("search", "dns1", "dns2", "dns3") if name in call.node.options}


@handlers("GET", "/nodes/{node}/hardware/pci")
async def devices(call: Call) -> Json:
    """Devices that could be passed through: it has none."""
    return []


@handlers("GET", "/nodes/{node}/hardware/usb")
async def usb_devices(call: Call) -> Json:
    """Nothing is plugged in."""
    return []


@handlers("GET", "/nodes/{node}/netstat")
async def traffic(call: Call) -> Json:
    """What the network devices of running machines sent and received: nobody counts that here."""
    return []


def _read(given: dict[str, Any]) -> dict[str, Any]:
    """The options as they are read from the file, in which the description is a comment."""
    if not given.get("description"):
        return {name: value for name, value in given.items() if name != "description"}
    return {**given, "description": commented(str(given["description"]))}


def _digest(given: dict[str, Any]) -> str:
    return hashlib.sha1(repr(sorted(given.items())).encode(), usedforsecurity=False).hexdigest()
