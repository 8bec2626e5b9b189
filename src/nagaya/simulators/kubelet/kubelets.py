"""The simulated kubelets of one cluster, by the names of their nodes."""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.simulators.kubelet.calls import Calls, Credentials, Refused
from nagaya.simulators.kubelet.kubelet import Kubelet
from nagaya.simulators.tenant.joining import JoinDelayed
from nagaya.simulators.tenant.machines import Machine, Machines
from nagaya.simulators.tenant.settings import Fault, NodeSettings, Timing
from nagaya.world import World


@dataclass(slots=True)
class _Running:
    machine: Machine
    calls: Calls
    kubelet: Kubelet


class Kubelets:
    """Those that run in this process."""

    def __init__(self, endpoint: str, world: World) -> None:
        self._endpoint = endpoint
        self._world = world
        self._machines = Machines(world.clock)
        self._running: dict[str, _Running] = {}

    async def start(self, node: NodeSettings, credentials: Credentials) -> None:
        """Register a Node and look after it; one of the same name makes room. Raises JoinDelayed and OSError."""
        await self.stop(node.name)
        calls = Calls(self._endpoint, credentials.context())
        try:
            version = str((await calls.get("/version")).get("gitVersion") or "")
            machine = self._machines.boot(node, Timing().node_ready)
            kubelet = Kubelet(calls, machine, version, self._world)
            await kubelet.register()
        except Refused as error:
            await calls.close()
            raise JoinDelayed(f"the Node {node.name} cannot be registered: {error}") from error
        except BaseException:
            await calls.close()
            raise
        kubelet.start()
        self._running[node.name] = _Running(machine, calls, kubelet)

    async def stop(self, name: str) -> None:
        """Be silent for good."""
        running = self._running.pop(name, None)
        if running is not None:
            await running.kubelet.stop()
            await running.calls.close()

    def suffer(self, name: str, faults: frozenset[Fault]) -> None:
        """Have a machine suffer from these faults and no others: silenced by some, else it says what is wrong."""
        running = self._running.get(name)
        if running is None or running.machine.faults == faults:
            return
        running.machine.faults = set(faults)
        running.kubelet.pause()
        if running.machine.heard:
            running.kubelet.start()

    async def close(self) -> None:
        """All of them are silent."""
        for name in [*self._running]:
            await self.stop(name)
