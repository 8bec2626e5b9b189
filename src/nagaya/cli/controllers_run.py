"""The process behind `nagaya controllers`, from its first line to its last.

What always holds: it waits for what can come (an API that does not answer, kinds that are not installed, a lease that
another replica has) and says what it waits for; it ends at once with a sentence for what cannot; and it stops within
seconds whatever it is doing, also while the API is away. A second Ctrl-C does not wait for anything.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Final

import click
import uvloop

from nagaya.api.catalog import PARTS as DEFINITIONS
from nagaya.api.kind import Kind
from nagaya.cli import heap, management_api
from nagaya.cli.admission import AdmissionServer
from nagaya.cli.old_versions import is_converted
from nagaya.cli.plane import Plane, install
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.controlplane.hosted.pods.settings import PodSettings
from nagaya.kube.calls import nothing
from nagaya.kube.client import Client
from nagaya.kube.connection import Connection
from nagaya.kube.election import Election, LostLeadership, unique_identity
from nagaya.kube.endpoints import Endpoints
from nagaya.kube.errors import ApiError, Conflict
from nagaya.kube.http import HttpTransport
from nagaya.kube.rate import RateLimit
from nagaya.kube.transport import NoAnswer
from nagaya.world import World

LEASE: Final = "nagaya-controllers"
STOP_PATIENCE: Final = 12.0
"""How many seconds what is under way may take to end."""
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says."""

    connection: Connection
    parts: tuple[str, ...]
    install_crds: bool = False
    lease_namespace: str | None = None
    """Where the lease is; without one there is no election."""
    health: tuple[str, int] | None = None
    admission: tuple[str, int] | None = None
    rate: tuple[float, int] = (100.0, 200)
    namespaces: tuple[str, ...] = ()
    """Which are watched; all without any."""
    watch_filter: str = ""
    """The value of the label that objects must have to be looked after; without one all are."""
    hosting: HostSettings | None = None
    pods: PodSettings | None = None
    """If hosted control planes are to be pods of the management cluster."""
    """Where on this machine hosted control planes are."""


def run(settings: Settings) -> None:
    """Until a signal comes. Raises ClickException for what makes it end by itself."""
    # Made before the event loop runs, so that nothing is asked of an API that may not be there.
    process = _Process(settings)
    heap.settle()
    uvloop.run(process.run())


class _Process:
    def __init__(self, settings: Settings) -> None:
        world = World()
        transport = HttpTransport(settings.connection, world=world)
        self._settings = settings
        self._client = Client(transport, world=world, field_manager="nagaya")
        self._election: Election | None = None
        if settings.lease_namespace is not None:
            identity = unique_identity(world)
            self._election = Election(
                self._client, world, settings.lease_namespace, LEASE, identity, on_leader=self._tell_leader
            )
        self._plane = Plane(
            HttpTransport(settings.connection, world=world),
            world,
            lambda tenant: HttpTransport(tenant, world=world),
            parts=settings.parts,
            limit=RateLimit(*settings.rate, world.clock),
            guard=nothing if self._election is None else self._election.guard,
            namespaces=settings.namespaces,
            watch_filter=settings.watch_filter,
            hosting=settings.hosting,
            pods=settings.pods,
        )
        self._stopped = False
        self._endpoints = Endpoints(self._plane.manager)
        definitions = [each for part in settings.parts for each in DEFINITIONS[part]]
        self._rules = AdmissionServer(self._client, world, definitions)

    async def run(self) -> None:
        """Work until a signal comes, and leave nothing behind."""
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()

        def stop() -> None:
            stopping.set()
            for each in _SIGNALS:
                loop.remove_signal_handler(each)

        for each in _SIGNALS:
            loop.add_signal_handler(each, stop)
        work = asyncio.create_task(self._work(), name="controllers")
        signalled = asyncio.create_task(stopping.wait(), name="signals")
        try:
            await asyncio.wait([work, signalled], return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                click.echo("Stopping ...")
        finally:
            for task in (work, signalled):
                task.cancel()
            await asyncio.wait([work, signalled])
            await self._close()
        if work.cancelled():
            click.echo("Stopped.")
        else:
            work.result()

    async def _work(self) -> None:
        """Everything, in order, without end."""
        settings, election = self._settings, self._election
        try:
            if settings.health is not None:
                await _listening(self._endpoints.start(*settings.health), "--health", settings.health)
                click.echo(f"Health and metrics are at http://{_shown(settings.health[0])}:{self._endpoints.port}")
            await management_api.answers(self._client, click.echo)
            if settings.install_crds:
                await self._install()
            converted = [] if settings.admission is None else list(filter(is_converted, self._own_kinds()))
            await management_api.serves(self._client, self._own_kinds(), click.echo, convertible=converted)
            if election is None:
                await self._lead()
            else:
                # Whoever waits for its turn has everything in memory already, and is ready in the eyes of its host.
                self._plane.manager.stand_by()
                await election.run(self._lead)
        except LostLeadership as error:
            raise click.ClickException(f"{error}. Start it again, to wait for its turn.") from None
        except (ApiError, NoAnswer) as error:
            raise click.ClickException(str(error)) from error

    async def _close(self) -> None:
        await self._stop_plane()
        await self._endpoints.stop()
        await self._client.close()

    async def _lead(self) -> None:
        admission = self._settings.admission
        try:
            if admission is not None:
                await _listening(self._rules.start(*admission), "--admission", admission)
                await management_api.serves(self._client, self._own_kinds(), click.echo)
            await self._plane.start()
            parts, server = ", ".join(self._settings.parts), self._settings.connection.server
            click.echo(f"Running {parts} against {server}. Stop with Ctrl-C.")
            await asyncio.Event().wait()
        finally:
            # The rules last: until their end the controllers write under them. And all of it while this process leads.
            await self._stop_plane()
            if admission is not None:
                await self._rules.stop()

    async def _stop_plane(self) -> None:
        """Once, whether it has worked or only filled its cache."""
        if self._stopped:
            return
        self._stopped = True
        try:
            async with asyncio.timeout(STOP_PATIENCE):
                await self._plane.stop()
        except TimeoutError:
            click.echo(f"The controllers did not end within {STOP_PATIENCE:.0f} s and are left as they are.", err=True)

    async def _install(self) -> None:
        try:
            converting = self._settings.admission is not None
            await install(self._client, self._settings.parts, force=False, converting=converting)
        except Conflict as error:
            remedy = (
                "Leave out --install-crds to work with the definitions that are there. Those of CAPMOX are taken over "
                "with --admission."
            )
            raise click.ClickException(f"the definitions are somebody else's: {error}. {remedy}") from error
        click.echo(f"Installed the definitions of {', '.join(self._settings.parts)}.")

    def _own_kinds(self) -> list[Kind[Any]]:
        """The kinds that the controllers hear of and that Kubernetes does not have by itself."""
        defined = {each.kind for definitions in DEFINITIONS.values() for each in definitions}
        heard = (kind for controller in self._plane.manager.controllers for kind in controller.kinds)
        return [kind for kind in dict.fromkeys(heard) if kind in defined]

    def _tell_leader(self, leader: str) -> None:
        lease = f"{self._settings.lease_namespace}/{LEASE}"
        if self._election is not None and leader == self._election.identity:
            click.echo(f"This process has the lease {lease}.")
        elif leader:
            click.echo(f"{leader} has the lease {lease}. Waiting for it.")


async def _listening(start: Awaitable[object], option: str, where: tuple[str, int]) -> None:
    try:
        await start
    except OSError as error:
        address = f"{_shown(where[0])}:{where[1]}"
        raise click.ClickException(f"cannot listen on {address} for {option}: {error.strerror or error}.") from error


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
