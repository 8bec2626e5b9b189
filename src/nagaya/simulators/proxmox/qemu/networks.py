"""Network devices: their parts, and addresses for those that came without one."""

from __future__ import annotations

from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.verification import Properties
from nagaya.world import World

COUNT = 32
PREFIX = "BC:24:11"
"""Of addresses that PVE makes, unless the data center has another."""


def is_network(option: str) -> bool:
    """Whether an option is a network device."""
    return options.family(option) == "net" and option != "net"


def random_address(world: World, prefix: str | None = None) -> str:
    """A hardware address that nobody has yet, one may hope."""
    given = [part for part in (prefix or PREFIX).upper().replace("-", ":").split(":") if part]
    made = [f"{world.random.getrandbits(8):02X}" for _ in range(6 - len(given))]
    return ":".join(given + made)


def parse_network(option: str, text: str, world: World, prefix: str | None = None) -> Properties:
    """The parts of a device; it gets an address if it has none."""
    found = options.parts(option, text)
    if "macaddr" not in found:
        found["macaddr"] = random_address(world, prefix)
    return found


def networks_of(section: dict[str, object]) -> dict[str, Properties]:
    """The devices among some options, by name, in order."""
    found = sorted((name for name in section if is_network(name)), key=lambda name: int(name.removeprefix("net")))
    return {name: options.parts(name, str(section[name])) for name in found}


def address_family(text: str) -> dict[str, str]:
    """The parts of an `ipconfigN`. One that contradicts itself says nothing; one that says nothing means DHCP."""
    found = {name: str(value) for name, value in options.parts("ipconfig0", text).items()}
    ip, ip6 = found.get("ip"), found.get("ip6")
    if found.get("gw") and (not ip or ip == "dhcp"):
        return {}
    if found.get("gw6") and (not ip6 or ip6 in ("auto", "dhcp")):
        return {}
    return found if ip or ip6 else {"ip": "dhcp", "ip6": "dhcp"}
