"""A data center, as everything else in the provider sees it: one `Proxmox` per ProxmoxConnection."""

from __future__ import annotations

from collections.abc import Callable

from nagaya.infrastructure.proxmox.client.access import Access
from nagaya.infrastructure.proxmox.client.agent import Agent
from nagaya.infrastructure.proxmox.client.calls import Calls
from nagaya.infrastructure.proxmox.client.cluster import Cluster
from nagaya.infrastructure.proxmox.client.facts import Facts
from nagaya.infrastructure.proxmox.client.high_availability import HighAvailability
from nagaya.infrastructure.proxmox.client.hosts import Hosts
from nagaya.infrastructure.proxmox.client.http import HttpTransport
from nagaya.infrastructure.proxmox.client.inventory import Inventory
from nagaya.infrastructure.proxmox.client.machines import Machines
from nagaya.infrastructure.proxmox.client.metrics import ClientMetrics
from nagaya.infrastructure.proxmox.client.pools import Pools
from nagaya.infrastructure.proxmox.client.storages import Storages
from nagaya.infrastructure.proxmox.client.tasks import Tasks
from nagaya.infrastructure.proxmox.client.trace import Trace
from nagaya.infrastructure.proxmox.client.transport import Transport
from nagaya.kube.calls import nothing
from nagaya.world import World


class Proxmox:
    """Calls to one data center, what is known of it, and the tasks that run there."""

    def __init__(
        self,
        facts: Facts,
        world: World,
        *,
        transport: Transport | None = None,
        metrics: ClientMetrics | None = None,
        guard: Callable[[], None] = nothing,
    ) -> None:
        """Nothing is asked yet. `metrics` are shared by all connections of a registry; `guard` is called before every
        call that may change something, and raises if this process may not."""
        self.calls = Calls(facts, transport or HttpTransport(), world, metrics, guard)
        self.tasks = Tasks(self.calls)
        self.inventory = Inventory(self.calls)
        self.cluster = Cluster(self.calls)
        self.machines = Machines(self.calls)
        self.agent = Agent(self.calls)
        self.storages = Storages(self.calls)
        self.pools = Pools(self.calls)
        self.access = Access(self.calls)
        self.high_availability = HighAvailability(self.calls)

    @property
    def facts(self) -> Facts:
        """Where is asked, and as whom."""
        return self.calls.facts

    @property
    def hosts(self) -> Hosts:
        """Which hosts answer."""
        return self.calls.hosts

    @property
    def trace(self) -> Trace:
        """What was lately asked."""
        return self.calls.trace

    def replace(self, facts: Facts) -> None:
        """Use other endpoints, credentials or trust from the next call on."""
        self.calls.replace(facts)
        self.inventory.retry()

    async def close(self) -> None:
        """End all that runs, and let go of every connection."""
        await self.tasks.close()
        await self.inventory.close()
        await self.calls.close()
