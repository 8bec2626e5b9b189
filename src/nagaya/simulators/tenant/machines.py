"""The machines behind the nodes: what the API only learns of when a kubelet reports it.

A Node says what was last heard; a `Machine` is how things are. A machine that has gone stays known, gone, as long as
its Node does, because others have to notice by its silence.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from nagaya.simulators.tenant.settings import SILENCING, Fault, NodeSettings
from nagaya.world import Clock

_FIRST_ADDRESS: Final = int(ipaddress.IPv4Address("172.16.0.1"))
_PODS_PER_RANGE: Final = 250


@dataclass(slots=True)
class Machine:
    """One machine with its kubelet."""

    settings: NodeSettings
    number: int  # in its cluster; addresses follow from it
    ready_at: float  # monotonic
    booted: datetime
    faults: set[Fault] = field(default_factory=set)
    gone: bool = False
    silent_since: float | None = None  # monotonic; None while it is heard
    pods_started: int = 0
    alarmed: frozenset[Fault] = frozenset()  # of which its etcd has raised alarms

    @property
    def heard(self) -> bool:
        """Whether its kubelet reaches the API."""
        return not self.gone and not self.faults & SILENCING

    @property
    def works(self) -> bool:
        """Whether its kubelet can start and stop pods."""
        return self.heard and Fault.RUNTIME_DOWN not in self.faults

    @property
    def address(self) -> str:
        """The address that its pods on the host network have."""
        internal = (address for kind, address in self.settings.addresses if kind == "InternalIP")
        return next(internal, str(ipaddress.IPv4Address(_FIRST_ADDRESS + self.number)))

    def pod_range(self, subnet: str) -> str:
        """The range that its pods have their addresses from."""
        network = ipaddress.IPv4Network(subnet)
        ranges = max(1, network.num_addresses // 256)
        return f"{network.network_address + self.number % ranges * 256}/24"

    def next_pod_address(self, subnet: str) -> str:
        """An address for one more pod."""
        self.pods_started += 1
        first = ipaddress.IPv4Address(self.pod_range(subnet).partition("/")[0])
        return str(first + 2 + (self.pods_started - 1) % _PODS_PER_RANGE)


class Machines:
    """All machines of a cluster by the names of their nodes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._machines: dict[str, Machine] = {}
        self._made = 0

    def get(self, name: str) -> Machine | None:
        """The machine of a node; None for nodes that somebody else made."""
        return self._machines.get(name)

    def __iter__(self) -> Iterator[Machine]:
        return iter(self._machines.values())

    def __len__(self) -> int:
        return len(self._machines)

    def boot(self, settings: NodeSettings, ready_after: float) -> Machine:
        """A machine comes up, for the first time or again."""
        known = self._machines.get(settings.name)
        number = known.number if known else self._made
        if known is None:
            self._made += 1
        machine = Machine(settings, number, self._clock.monotonic() + ready_after, self._clock.now())
        self._machines[settings.name] = machine
        return machine

    def forget(self, name: str) -> None:
        """Nothing is left of a machine, its Node neither."""
        self._machines.pop(name, None)

    def silence(self, machine: Machine) -> None:
        """Note since when a machine is not heard, or that it is heard again."""
        if machine.heard:
            machine.silent_since = None
        elif machine.silent_since is None:
            machine.silent_since = self._clock.monotonic()
