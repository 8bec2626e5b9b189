"""The computer on which hosted control planes run, and their programs: stand-ins that take virtual time and no other.

A program reads its command line and its files when it is started, and serves when all is there that it needs: etcd, a
store that lets it in, an API. It outlives the controllers that have started it. What kube-apiserver serves is a
simulated cluster, which stays as it is for as long as its keys are in the store, however often its programs end.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER
from nagaya.controlplane.hosted.host.leaving import BalancerFile
from nagaya.controlplane.hosted.host.processes import BALANCER
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.proxmox.guests.clusters import Clusters
from nagaya.simulators.tenant.settings import TenantSettings
from nagaya.simulators.tenant.shared import Shared
from nagaya.simulators.tenant.tenant import Tenant
from nagaya.supervision.spec import ProcessSpec
from nagaya.wire.etcd.kv import PutRequest
from nagaya.world import World
from support.plane.store_room import StoreRoom

ADDRESS: Final = "10.0.0.3"
"""Of this computer, as machines see it."""
ETCD: Final = "etcd"
_START: Final = {ETCD: 0.5, KUBE_APISERVER: 2.5, BALANCER: 0.2}
_STARTS: Final = 1.0
"""Seconds that others take."""
_ENDS: Final = 0.4
_LOOK: Final = 1.0
_FIRST: Final = 1000


@dataclass(slots=True, eq=False)
class Program:
    """One that runs."""

    spec: ProcessSpec
    pid: int
    began: float
    exit: asyncio.Future[int]
    serves: bool = False
    work: asyncio.Task[None] | None = None

    @property
    def owner(self) -> str:
        """Whose it is: what its name begins with."""
        return self.spec.name.partition(".")[0]

    @property
    def kind(self) -> str:
        """Which program it is."""
        found = self.spec.name.partition(".")[2]
        return KUBE_APISERVER if found.startswith(f"{KUBE_APISERVER}-") else found

    @property
    def version(self) -> str:
        """Of Kubernetes, as the folder of the program tells."""
        return Path(self.spec.command[0]).parent.name

    def argument(self, name: str) -> str:
        """What it was told in its command line."""
        start = f"--{name}="
        return next((each.removeprefix(start) for each in self.spec.command if each.startswith(start)), "")


@dataclass(slots=True)
class Hosted:
    """A cluster whose API kube-apiserver serves."""

    endpoint: str
    tenant: Tenant
    way: str = ""


@dataclass(slots=True)
class MachineRoom:
    """All that runs."""

    world: World
    clusters: Clusters
    folder: Path
    name_of: Callable[[str], str]
    """The name of the cluster whose API is to be at an address."""
    shared: Shared
    store: StoreRoom = field(default_factory=StoreRoom)
    programs: dict[str, Program] = field(default_factory=dict)
    hosted: dict[str, Hosted] = field(default_factory=dict)
    """By the prefix of their keys."""
    problems: list[str] = field(default_factory=list)
    _pids: itertools.count[int] = field(default_factory=lambda: itertools.count(_FIRST))
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.store.deleted = self._forget_deleted

    @property
    def settings(self) -> HostSettings:
        """What controllers are told."""
        return HostSettings(self.folder, address=ADDRESS, isolated=False)

    def is_own(self, address: str) -> bool:
        """Whether the computer has an address."""
        return address == ADDRESS or address.startswith("127.")

    def is_free(self, address: str, port: int) -> bool:
        """Whether no program listens there."""
        return (address, str(port)) not in {_listens(each) for each in self.programs.values()}

    def start(self, spec: ProcessSpec) -> Program:
        """Let a program run."""
        if spec.name in self.programs:
            self.problems.append(f"{spec.name} was started while it ran")
        loop = asyncio.get_running_loop()
        program = Program(spec, next(self._pids), loop.time(), loop.create_future())
        self.programs[spec.name] = program
        program.work = asyncio.create_task(self._run(program), name=spec.name)
        return program

    async def end(self, program: Program) -> None:
        """Let it end in good order."""
        if not program.exit.done():
            program.serves = False
            await self.look()
            await asyncio.sleep(_ENDS)
            self.kill(program, 0)

    def kill(self, program: Program, code: int = -9) -> None:
        """It ends at once."""
        if program.exit.done():
            return
        del self.programs[program.spec.name]
        program.serves = False
        if program.work is not None:
            program.work.cancel()
        if program.kind == ETCD:
            self.store.running = False
        program.exit.set_result(code)
        self._soon(self.look())

    async def look(self, *, again: bool = False) -> None:
        """Let every API answer, hang or refuse, as its programs and the store do."""
        async with self._turn:
            for prefix, hosted in self.hosted.items():
                way = self._way(prefix)
                if way == hosted.way and not again:
                    continue
                hosted.way = way
                if way == "answers":
                    await hosted.tenant.recover_api()
                elif way == "hangs":
                    hosted.tenant.hang()
                else:
                    await hosted.tenant.refuse()

    async def close(self) -> None:
        """End everything."""
        for each in [*self.programs.values()]:
            self.kill(each)
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for hosted in self.hosted.values():
            await hosted.tenant.stop()

    def _way(self, prefix: str) -> str:
        servers = [each for each in self._servers(prefix) if each.serves]
        if not servers:
            return "refuses"
        addresses = {_listens(each) for each in servers}
        if all(address.startswith("127.") for address, _ in addresses):
            front = self.programs.get(f"{servers[0].owner}.{BALANCER}")
            if front is None or not front.serves or not addresses & _backends(front):
                return "refuses"
        return "answers" if self.store.answers else "hangs"

    def _servers(self, prefix: str) -> list[Program]:
        found = [each for each in self.programs.values() if each.kind == KUBE_APISERVER]
        return [each for each in found if each.argument("etcd-prefix") == prefix]

    async def _run(self, program: Program) -> None:
        await asyncio.sleep(_START.get(program.kind, _STARTS))
        while not await self._begin(program):  # noqa: ASYNC110 - programs, too, try again and again
            await asyncio.sleep(_LOOK)
        program.serves = True
        await self.look()

    async def _begin(self, program: Program) -> bool:
        """Whether it has all that it needs."""
        if program.kind == ETCD:
            self.store.running = True
            return True
        if program.kind == KUBE_APISERVER:
            return await self._serve(program)
        if program.kind == BALANCER:
            reached = {_listens(each) for each in self.programs.values() if each.serves}
            return bool(reached & _backends(program))
        return any(
            each.serves and each.owner == program.owner
            for each in self.programs.values()
            if each.kind == KUBE_APISERVER
        )

    async def _serve(self, program: Program) -> bool:
        prefix = program.argument("etcd-prefix")
        if not self.store.answers or not self.store.admits(prefix):
            return False
        async with self._turn:
            if prefix not in self.hosted:
                self.hosted[prefix] = hosted = await self._made(program)
                self.clusters.add(hosted.endpoint, hosted.tenant)
            self.store.keys.put(PutRequest(key=f"{prefix}/registry/namespaces/default".encode(), value=b"k8s"))
        return True

    async def _made(self, program: Program) -> Hosted:
        certificate = Path(program.argument("client-ca-file"))
        authority = CertificateAuthority.load(certificate.read_bytes(), certificate.with_suffix(".key").read_bytes())
        host, port = program.argument("advertise-address"), program.argument("secure-port")
        endpoint = f"{host}:{port}"
        settings = TenantSettings(
            self.name_of(endpoint),
            authority,
            version=program.version,
            host=host,
            port=int(port),
            listen=False,
            control_plane_endpoint=endpoint,
            shared=self.shared,
        )
        return Hosted(endpoint, await Tenant.start(settings, self.world))

    def _forget_deleted(self) -> None:
        for prefix in [each for each in self.hosted if not self.store.has(each)]:
            hosted = self.hosted.pop(prefix)
            if self._servers(prefix):
                self.problems.append(f"the keys of {prefix} were deleted while its kube-apiserver ran")
            self.clusters.remove(hosted.endpoint)
            self._soon(hosted.tenant.stop())

    def _soon(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _listens(program: Program) -> tuple[str, str]:
    if program.kind == BALANCER:
        address, port, _ = program.spec.command[-3:]
        return address, port
    return program.argument("bind-address"), program.argument("secure-port")


def _backends(balancer: Program) -> set[tuple[str, str]]:
    """Where a balancer may send connections, as its file says now."""
    try:
        content = Path(balancer.spec.command[-1]).read_bytes()
    except OSError:
        return set()
    return {(address, str(port)) for address, port in msgspec.json.decode(content, type=BalancerFile).backends}


def ready(room: MachineRoom, name: str) -> Callable[[], Coroutine[None, None, bool]]:
    """A probe of a program that takes no network."""

    async def probe() -> bool:
        found = room.programs.get(name)
        return found is not None and found.serves

    return probe


def programs_folder(version: str) -> Path:
    """Where the programs of a version would be."""
    return Path(os.sep, "programs", version)
