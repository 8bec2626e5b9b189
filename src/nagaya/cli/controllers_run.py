"""Controllers at work, alone (`nagaya controllers`) or beside the API (`nagaya up`), from the first line to the last.

What always holds: it waits for what can come (an API that does not answer, kinds that are not installed, a lease that
another replica has) and says what it waits for; it ends at once with a sentence for what cannot; and it stops within
seconds whatever it is doing, also while the API is away. A second Ctrl-C does not wait for anything.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import click
import uvloop

from nagaya.address_policy import POLICY, parse
from nagaya.allowed_endpoints import Publication
from nagaya.api.catalog import PARTS as DEFINITIONS
from nagaya.api.kind import Kind
from nagaya.cli import heap, management_api, presence
from nagaya.cli.admission import AdmissionServer
from nagaya.cli.endpoints import Endpoints
from nagaya.cli.old_versions import is_converted
from nagaya.cli.plane import BURST, QPS, Plane, install
from nagaya.cli.signals import Signals
from nagaya.clusters.leases import ELECTED
from nagaya.controlplane.hosted.host.addresses import default_address
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.controlplane.hosted.pods.settings import PodSettings
from nagaya.kube.calls import nothing
from nagaya.kube.client import Client
from nagaya.kube.connection import Connection
from nagaya.kube.election import Election, LostLeadership, unique_identity
from nagaya.kube.errors import ApiError, Conflict, Forbidden, Unauthorized
from nagaya.kube.http import HttpTransport
from nagaya.kube.rate import RateLimit
from nagaya.kube.transport import NoAnswer, Transport
from nagaya.world import World

_REMEDY: Final = (
    "To work with the definitions that are there, run `nagaya controllers --leader-elect` without --install-crds. If "
    "they are Nagaya's of another version, renew them: `nagaya crds | kubectl apply --server-side -f -`. Those of "
    "CAPMOX are taken over with --admission."
)
_NOBODY: Final = "Take a newer kubeconfig, or name another with --kubeconfig or --context."
_RIGHTS: Final = (
    "Use a kubeconfig that may: `nagaya manifests --no-crds` prints a ServiceAccount with all rights that controllers "
    "need. To install kinds is an administrator's right (`nagaya crds | kubectl apply --server-side -f -`); `nagaya "
    "controllers --leader-elect` does without it."
)
STOP_PATIENCE: Final = 12.0
"""How many seconds what is under way may take to end."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says."""

    parts: tuple[str, ...]
    beside_api: bool = False
    """Whether the management API is in this process too."""
    install_crds: bool = False
    lease_namespace: str | None = None
    """Where the lease is; without one there is no election."""
    health: tuple[str, int] | None = None
    admission: tuple[str, int] | None = None
    rate: tuple[float, int] | None = (QPS, BURST)
    """Requests per second and at once; as many as there are without."""
    namespaces: tuple[str, ...] = ()
    """Which are watched; all without any."""
    watch_filter: str = ""
    """The value of the label that objects must have to be looked after; without one all are."""
    hosting: HostSettings | None = None
    """Where on this machine hosted control planes are."""
    pods: PodSettings | None = None
    """If hosted control planes are to be pods of the management cluster."""
    allowed: tuple[str, ...] = ()
    """Endpoints that an administrator allows."""


@dataclass(frozen=True, slots=True)
class Way:
    """How the management API is reached."""

    server: str
    """Its address, for people."""
    transport: Callable[[], Transport]


def run(settings: Settings, connection: Connection) -> None:
    """Until a signal comes. Raises ClickException for what makes it end by itself."""
    world = World()
    # Made before the event loop runs, so that nothing is asked of an API that may not be there.
    way = Way(connection.server, lambda: HttpTransport(connection, world=world))
    controllers = Controllers(settings, way, world)
    heap.settle()
    uvloop.run(_alone(controllers))


async def _alone(controllers: Controllers) -> None:
    signals = Signals()
    try:
        stopped = await signals.until(controllers.work())
    finally:
        await controllers.close()
    if stopped:
        click.echo("Stopped.")


class Controllers:
    """The controllers of a process: made, brought to work, and ended."""

    def __init__(self, settings: Settings, way: Way, world: World) -> None:
        self._settings = settings
        self._way = way
        self._publication = Publication()
        self._allow_endpoints()
        self._client = Client(way.transport(), world=world, field_manager="nagaya")
        self._election: Election | None = None
        if settings.lease_namespace is not None:
            identity = unique_identity(world)
            self._election = Election(
                self._client, world, settings.lease_namespace, ELECTED, identity, on_leader=self._tell_leader
            )
        self._plane = Plane(
            way.transport(),
            world,
            lambda tenant: HttpTransport(tenant, world=world),
            parts=settings.parts,
            limit=None if settings.rate is None else RateLimit(*settings.rate, world.clock),
            guard=nothing if self._election is None else self._election.guard,
            namespaces=settings.namespaces,
            watch_filter=settings.watch_filter,
            hosting=settings.hosting,
            pods=settings.pods,
            publication=self._publication,
        )
        election = self._election
        # Whoever competes with nobody leads.
        self._plane.metrics.leading.labels(ELECTED).set_function(lambda: float(election is None or election.leading))
        self._stopped = False
        self._endpoints = Endpoints(self._plane.manager)
        definitions = [each for part in settings.parts for each in DEFINITIONS[part]]
        self._rules = AdmissionServer(self._client, world, definitions)

    async def work(self, running: Callable[[], None] | None = None) -> None:
        """Everything, in order, without end. `running` is called when they work, in place of a line that says so."""
        settings, election = self._settings, self._election
        lead = partial(self._lead, running or self._tell_running)
        try:
            if settings.health is not None:
                await _listening(self._endpoints.start(*settings.health), "--health", settings.health)
                click.echo(f"Health and metrics are at http://{_shown(settings.health[0])}:{self._endpoints.port}")
            await management_api.answers(self._client, click.echo)
            if not settings.beside_api:
                await self._refuse_others()
            if settings.install_crds:
                converting = settings.admission is not None
                await install_definitions(self._client, settings.parts, _REMEDY, converting=converting)
            converted = [] if settings.admission is None else list(filter(is_converted, self._own_kinds()))
            await management_api.serves(self._client, self._own_kinds(), click.echo, convertible=converted)
            if election is None:
                await lead()
            else:
                # Whoever waits for its turn has everything in memory already, and is ready in the eyes of its host.
                self._plane.manager.stand_by()
                await election.run(lead)
        except LostLeadership as error:
            raise click.ClickException(f"{error}. Start it again, to wait for its turn.") from None
        except Unauthorized as error:
            said = f"{self._way.server} does not know you: {error.message.rstrip('.')}. {_NOBODY}"
            raise click.ClickException(said) from error
        except Forbidden as error:
            raise click.ClickException(f"{str(error).rstrip('.')}. {_RIGHTS}") from error
        except (ApiError, NoAnswer) as error:
            raise click.ClickException(str(error)) from error

    def _allow_endpoints(self) -> None:
        """Those that an administrator allows for this process, and those of hosted control planes if they are on
        loopback, of which other processes of the user hear."""
        settings, hosting = self._settings, self._settings.hosting
        POLICY.allow(*map(parse, settings.allowed))
        if hosting is not None and settings.pods is None:
            address = hosting.address or default_address()
            if ipaddress.ip_address(address).is_loopback:
                served = f"{_shown(address)}:{hosting.ports.start}-{hosting.ports.stop - 1}"
                POLICY.allow(parse(served))
                self._publication.add(served)
        if not settings.beside_api:  # whoever starts the API knows all of its addresses
            POLICY.refuse_server(self._way.server)

    async def close(self) -> None:
        """Leave nothing behind."""
        self._publication.close()
        await self._stop_plane()
        await self._endpoints.stop()
        await self._client.close()

    async def _refuse_others(self) -> None:
        if holder := await presence.announced(self._client):
            raise click.ClickException(
                f"the controllers run already, in the process of the management API itself ({holder}): a second set "
                "would work against them. To run them on their own, start the API with `nagaya up "
                "--without-controllers`."
            )

    async def _lead(self, running: Callable[[], None]) -> None:
        admission = self._settings.admission
        try:
            if admission is not None:
                await _listening(self._rules.start(*admission), "--admission", admission)
                await management_api.serves(self._client, self._own_kinds(), click.echo)
            await self._plane.start()
            running()
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

    def _own_kinds(self) -> list[Kind[Any]]:
        """The kinds that the controllers hear of and that Kubernetes does not have by itself."""
        defined = {each.kind for definitions in DEFINITIONS.values() for each in definitions}
        heard = (kind for controller in self._plane.manager.controllers for kind in controller.kinds)
        return [kind for kind in dict.fromkeys(heard) if kind in defined]

    def _tell_running(self) -> None:
        click.echo(f"Running {', '.join(self._settings.parts)} against {self._way.server}. Stop with Ctrl-C.")

    def _tell_leader(self, leader: str) -> None:
        lease = f"{self._settings.lease_namespace}/{ELECTED}"
        if self._election is not None and leader == self._election.identity:
            click.echo(f"This process has the lease {lease}.")
        elif leader:
            click.echo(f"{leader} has the lease {lease}. Waiting for it.")


async def install_definitions(client: Client, parts: Collection[str], remedy: str, *, converting: bool = False) -> None:
    """Have the API know the kinds of parts. Raises ClickException, with the remedy, if somebody else has defined them
    differently."""
    try:
        await install(client, parts, force=False, converting=converting)
    except Conflict as error:
        raise click.ClickException(f"the definitions are somebody else's: {error}. {remedy}") from error
    click.echo(f"Installed the definitions of {', '.join(parts)}.")


async def _listening(start: Awaitable[object], option: str, where: tuple[str, int]) -> None:
    try:
        await start
    except OSError as error:
        address = f"{_shown(where[0])}:{where[1]}"
        raise click.ClickException(f"cannot listen on {address} for {option}: {error.strerror or error}.") from error


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
