"""The network between a host and its machines: a bridge of the host's own, and a cable to each machine.

Addresses come from ranges that nobody routes (RFC 2544 for machines, RFC 6598 for their pods), and of those one that
the host does not use. A lock of the network namespace keeps two processes from choosing the same one at the same time.
Nothing is translated and nothing leaves the host. Interfaces carry the host's mark in their names, so that what a
killed run left behind is found.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network
from typing import Final

from nagaya.simulators.netns.command import attempt, run

_SLOTS: Final = 256
_NAMESPACE: Final = "/proc/self/ns/net"
MACHINE_LIMIT: Final = 64


@dataclass(frozen=True, slots=True)
class Plan:
    """Which addresses a host and its machines have."""

    slot: int

    @property
    def gateway(self) -> IPv4Interface:
        """The host's own address, which machines reach it by."""
        return IPv4Interface(f"198.18.{self.slot}.1/24")

    def machine(self, number: int) -> IPv4Interface:
        """An address for a machine that did not ask for one."""
        return IPv4Interface((self.gateway.network[10 + number], 24))

    def pods(self, number: int) -> IPv4Network:
        """The range that a machine gives its pods addresses from."""
        second, third = 64 + self.slot // 4, self.slot % 4 * MACHINE_LIMIT + number
        return IPv4Network(f"100.{second}.{third}.0/24")


def choose(mark: str, taken: Iterable[IPv4Network]) -> Plan:
    """The addresses of a host, always the same for the same mark unless somebody else has them. Raises OSError if all
    are taken."""
    used = [*taken]
    first = int(mark, 16) % _SLOTS
    for step in range(_SLOTS):
        plan = Plan((first + step) % _SLOTS)
        if not any(plan.gateway.network.overlaps(network) for network in used):
            return plan
    raise OSError("no network is left in 198.18.0.0/16 for machines: remove bridges that are not used any more")


async def networks(ip: str) -> list[IPv4Network]:
    """The IPv4 networks that the host is in. `ip` is how the program of that name is called."""
    found = json.loads(await run(ip, "-json", "-4", "address", "show"))
    return [
        IPv4Interface(f"{address['local']}/{address['prefixlen']}").network
        for link in found
        for address in link.get("addr_info", ())
    ]


@asynccontextmanager
async def choosing() -> AsyncIterator[None]:
    """Be the only process of the network namespace that chooses addresses, until the chosen ones are seen by others.

    The lock is on the namespace itself: it covers the processes that share the addresses, and ends with its holder.
    """
    descriptor = os.open(_NAMESPACE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        await asyncio.to_thread(fcntl.flock, descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class Bridge:
    """The host's side of the network."""

    def __init__(self, mark: str, ip: str = "ip") -> None:
        """`ip` is how the program of that name is called on this host."""
        self.name = f"ngy{mark}"
        self._ip = ip
        self.plan = Plan(0)

    async def open(self, mark: str) -> None:
        """Make it, with an address of its own."""
        async with choosing():
            self.plan = choose(mark, await networks(self._ip))
            await run(self._ip, "link", "add", self.name, "type", "bridge")
            await run(self._ip, "address", "add", str(self.plan.gateway), "dev", self.name)
        await run(self._ip, "link", "set", self.name, "up")

    async def close(self) -> None:
        """Remove it, and every cable that is still there, whoever made them."""
        found = json.loads(await run(self._ip, "-json", "link", "show"))
        for link in found:
            name = link["ifname"]
            if name == self.name or name.startswith(f"{self.name}."):
                await attempt([self._ip, "link", "delete", name])  # the other end may just have taken it away

    async def connect(
        self, number: int, pid: int, address: IPv4Interface, pods: IPv4Network, hardware_address: str = ""
    ) -> None:
        """A cable from the bridge to the network namespace of a process, where it becomes eth0."""
        cable = self._cable(number)
        hardware = ("address", hardware_address) if hardware_address else ()
        await run(self._ip, "link", "add", cable, "type", "veth", "peer", "name", "eth0", *hardware, "netns", str(pid))
        await run(self._ip, "link", "set", cable, "master", self.name, "up")
        inside = ("nsenter", f"--net=/proc/{pid}/ns/net", "--")
        await run(*inside, self._ip, "link", "set", "lo", "up")
        await run(*inside, self._ip, "address", "add", str(address), "dev", "eth0")
        await run(*inside, self._ip, "link", "set", "eth0", "up")
        await run(*inside, self._ip, "route", "add", "default", "via", str(self.plan.gateway.ip))
        # What runs on the host reaches pods, and their answers to it find the way.
        await run(self._ip, "route", "replace", str(pods), "via", str(address.ip), "dev", self.name)

    async def disconnect(self, number: int, pods: IPv4Network) -> None:
        """Take the cable away, if the end of the machine has not done it."""
        await attempt([self._ip, "link", "delete", self._cable(number)])
        await attempt([self._ip, "route", "delete", str(pods), "dev", self.name])

    def _cable(self, number: int) -> str:
        return f"{self.name}.{number}"
