"""Which cluster addresses and node ports are taken, and which are still free.

The services in the store are the truth: what they hold is taken. Only what a request has chosen and not yet stored is
kept beside it, as a reservation, from the choice until the request has ended. So nothing has to be repaired after a
crash, and nothing given back when a service goes. All services are read once; from then on the changes are followed.

Free ones are found from a random point on, in the upper part of the range first: the lower part is left to those who
ask for something particular.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from ipaddress import IPv4Network
from random import Random
from typing import Final, TypeVar

from nagaya.apiserver.builtins.kinds import service_forms as forms
from nagaya.apiserver.meta import addresses
from nagaya.apiserver.storage import Compacted, Record, Store, Watch

_T = TypeVar("_T")

NETWORK: Final = IPv4Network("10.96.0.0/12")
NODE_PORTS: Final = range(30000, 32768)


class Refused(Exception):
    """An address or a port cannot be had; the message says why."""


class RangeFull(Exception):
    """Nothing is left."""

    def __init__(self) -> None:
        super().__init__("range is full")


class ServiceAddresses:
    """The addresses and ports of one server's services."""

    def __init__(self, network: IPv4Network = NETWORK, node_ports: range = NODE_PORTS) -> None:
        self.network = network
        self.node_ports = node_ports
        self._hosts = range(int(network.network_address) + 1, int(network.broadcast_address))
        self._seen: dict[str, tuple[frozenset[str], frozenset[int]]] = {}
        self._changes: Watch | None = None
        self._ips: Counter[str] = Counter()
        self._ports: Counter[int] = Counter()

    def refresh(self, store: Store, table: str) -> None:
        """Learn what has happened to services since the last time."""
        try:
            while self._changes is not None and (events := self._changes.poll()):
                for event in events:
                    self._learn(event.key, event.record)
        except Compacted:
            self._changes = None
        if self._changes is None:
            for key in list(self._seen):
                self._forget(key)
            services = store.list(table)
            for record in services.records:
                self._learn(record.key, record)
            self._changes = store.watch(table, services.revision)

    def _learn(self, key: str, record: Record | None) -> None:
        if key in self._seen:
            self._forget(key)
        if record is not None:
            spec = record.object().get("spec") or {}
            ips, ports = frozenset(map(_plain, _held_ips(spec))), frozenset(_held_ports(spec))
            self._seen[key] = ips, ports
            self._ips.update(ips)
            self._ports.update(ports)

    def _forget(self, key: str) -> None:
        ips, ports = self._seen.pop(key)
        _release(self._ips, ips)
        _release(self._ports, ports)

    def has_port(self, port: int) -> bool:
        """Whether a port is taken."""
        return port in self._ports

    def take_ip(self, ip: str) -> None:
        """Take an address. Raises Refused."""
        number = _number(ip)
        if number is None or number not in self._hosts:
            raise Refused("the provided network does not match the current range")
        if _plain(ip) in self._ips:
            raise Refused("provided IP is already allocated")
        self._ips[_plain(ip)] += 1

    def take_any_ip(self, random: Random) -> str:
        """Take some address. Raises RangeFull."""
        offset = _static_part(self.network.num_addresses, 16, 256, 16)
        upper, lower = self._hosts[offset:], self._hosts[:offset]
        for part in (upper, lower):
            for number in _from_somewhere(part, random):
                ip = str(self.network[number - int(self.network.network_address)])
                if ip not in self._ips:
                    self._ips[ip] += 1
                    return ip
        raise RangeFull

    def take_port(self, port: int) -> None:
        """Take a port. Raises Refused."""
        if port not in self.node_ports:
            valid = f"{self.node_ports.start}-{self.node_ports.stop - 1}"
            raise Refused(f"provided port is not in the valid range. The range of valid ports is {valid}")
        if port in self._ports:
            raise Refused("provided port is already allocated")
        self._ports[port] += 1

    def take_any_port(self, random: Random) -> int:
        """Take some port. Raises RangeFull."""
        offset = _static_part(len(self.node_ports), 32, 128, 16)
        for part in (self.node_ports[offset:], self.node_ports[:offset]):
            for port in _from_somewhere(part, random):
                if port not in self._ports:
                    self._ports[port] += 1
                    return port
        raise RangeFull

    def give_back(self, ips: Iterable[str], ports: Iterable[int]) -> None:
        """End a reservation. What has been stored meanwhile is known from the store."""
        _release(self._ips, map(_plain, ips))
        _release(self._ports, ports)


class Reservation:
    """What one request has chosen so far."""

    def __init__(self, pool: ServiceAddresses, random: Random) -> None:
        self._pool = pool
        self._random = random
        self._ips: list[str] = []
        self._ports: list[int] = []

    def ip(self, wanted: str) -> str:
        """An address: the wanted one, or any. Raises Refused and RangeFull."""
        if wanted:
            self._pool.take_ip(wanted)
        else:
            wanted = self._pool.take_any_ip(self._random)
        self._ips.append(wanted)
        return wanted

    def port(self, wanted: int) -> int:
        """A port: the wanted one, or any. Raises Refused and RangeFull."""
        if wanted:
            self._pool.take_port(wanted)
        else:
            wanted = self._pool.take_any_port(self._random)
        self._ports.append(wanted)
        return wanted

    def end(self, stored: bool = False) -> None:
        """The request has ended, whether what it chose was stored or not."""
        self._pool.give_back(self._ips, self._ports)
        self._ips, self._ports = [], []


class Rehearsal(Reservation):
    """What a request would choose that changes nothing. It does not look for free ones: they might not stay free."""

    def ip(self, wanted: str) -> str:
        """An address, if one is wanted; else the network itself stands for any."""
        network = self._pool.network
        if not wanted:
            return str(network.network_address)
        number = _number(wanted)
        if number is None or number not in range(int(network[1]), int(network[-1])):
            why = f"the provided IP ({_plain(wanted)}) is not in the valid range. The range of valid IPs is {network}"
            raise Refused(why)
        return wanted

    def port(self, wanted: int) -> int:
        """A port; numbers above the range stand for any."""
        if wanted and (self._pool.has_port(wanted) or wanted in self._ports):
            raise Refused("provided port is already allocated")
        port = wanted or max(self._ports, default=self._pool.node_ports.stop) + 1
        self._ports.append(port)
        return port

    def end(self, stored: bool = False) -> None:
        """Nothing was taken."""


def _held_ips(spec: dict[str, object]) -> list[str]:
    if not forms.needs_cluster_ip(spec) or forms.is_headless(spec):
        return []
    return forms.ips(spec)


def _held_ports(spec: dict[str, object]) -> list[int]:
    health = spec.get("healthCheckNodePort")
    return [*forms.node_ports(spec), *([health] if isinstance(health, int) and health else [])]


def _plain(ip: str) -> str:
    """An address in its one spelling; odd ones can only come from older data."""
    parsed = addresses.parse_address(ip)
    return ip if parsed is None else addresses.canonical(parsed)


def _number(ip: str) -> int | None:
    parsed = addresses.parse_address(ip)
    return int(parsed) if parsed is not None and parsed.version == 4 else None


def _static_part(size: int, step: int, most: int, least: int) -> int:
    """How much of a range is left to those who ask for something particular."""
    return 0 if size <= least else max(least, min(size // step, most))


def _from_somewhere(part: range, random: Random) -> Iterable[int]:
    """The numbers of a part, each once, beginning at a random one."""
    if not part:
        return
    start = random.randrange(len(part))
    for distance in range(len(part)):
        yield part[(start + distance) % len(part)]


def _release(counts: Counter[_T], gone: Iterable[_T]) -> None:
    for each in gone:
        counts[each] -= 1
        if counts[each] <= 0:
            del counts[each]
