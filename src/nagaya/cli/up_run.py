"""The process behind `nagaya up`: the management API, and the controllers beside it, from the first line to the last.

The controllers call the API within the process, without a socket; everybody else comes over the network. What always
holds: who runs a second one on the same data is refused before anything is changed, and what is stopped ends in order:
controllers first, as they have something to write, then the API.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import resource
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from nagaya.address_policy import POLICY
from nagaya.apiserver.server import ApiServer
from nagaya.cli import heap, presence, server_start
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.other_terminal import exports
from nagaya.cli.signals import Signals
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError, ServerError
from nagaya.kube.key import Key
from nagaya.kube.transport import Transport
from nagaya.pki import kubeconfig as kubeconfigs
from nagaya.world import World

if TYPE_CHECKING:
    from nagaya.cli.controllers_run import Controllers
    from nagaya.cli.controllers_run import Settings as ControllersSettings
    from nagaya.controlplane.hosted.host.settings import HostSettings

HOSTED: Final = "hosted"
"""The folder of hosted control planes, in that of the data."""
_REMEDY: Final = "Start with --without-controllers, and remove or correct them."


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says."""

    data_dir: Path
    listen: tuple[str, int]
    kubeconfig: Path
    hosting: HostSettings
    audit: tuple[Path, str] | None = None
    controllers: bool = True
    health: tuple[str, int] = ("127.0.0.1", 0)
    allowed: tuple[str, ...] = ()
    encryption_key: Path | None = None


@dataclass(frozen=True, slots=True)
class Guest:
    """Something that begins when the controllers run, in the same process, and is ended with them."""

    work: Callable[[Callable[[], Transport], World, str], Awaitable[None]]
    """Given ways to the API, the world, and the API's address."""
    ends: bool = False
    """Whether the process ends with it."""


async def serve(settings: Settings, guest: Guest | None = None) -> None:
    """Until a signal comes. Raises ClickException for what makes it end by itself, and what the guest raises."""
    _allow_many_files()
    signals = Signals()
    with _without_garbage_collection():
        server, sock = await server_start.start(
            settings.data_dir, settings.listen, settings.audit, settings.encryption_key
        )
    POLICY.refuse(*sock.getsockname()[:2])
    process = _Process(settings, server, guest)
    try:
        await server.listen(sock)
        await signals.until(process.work(server_start.url(settings.listen[0], sock.getsockname()[1])))
    finally:
        await process.close()
        await server.stop()
    click.echo(f"Stopped. Everything is kept in {settings.data_dir}.")


class _Process:
    def __init__(self, settings: Settings, server: ApiServer, guest: Guest | None) -> None:
        self._settings = settings
        self._guest = guest
        self._server = server
        self._client = Client(InProcessTransport(server), world=server.world)
        self._controllers: Controllers | None = None

    async def work(self, url: str) -> None:
        """Everything, in order, without end."""
        self._write_kubeconfig(url)
        click.echo(f"The management API is ready at {url}")
        click.echo(f"  data        {self._settings.data_dir}")
        click.echo(f"  kubeconfig  {self._settings.kubeconfig}")
        if not self._settings.controllers:
            await presence.withdraw(self._client)
            self._tell_next()
            await asyncio.Event().wait()
        # Only now, because they bring many modules, and the API answers meanwhile.
        from nagaya.cli.controllers_run import Controllers, Way, install_definitions

        settings = _controllers_settings(self._settings)
        try:
            await presence.announce(self._client)
            # Before the controllers are made: from then on they ask for their kinds.
            await install_definitions(self._client, settings.parts, _REMEDY)
        except ServerError as error:
            # Of an API in the same process, such as one whose disk is full: it says what to do.
            said = (error.message or str(error)).removeprefix("nothing was changed: ").rstrip(".")
            raise click.ClickException(f"the controllers cannot begin: {said}. Then start again.") from error
        way = Way(url, lambda: InProcessTransport(self._server))
        self._controllers = Controllers(settings, way, self._server.world)
        await self._with_guest(self._controllers, url)

    async def _with_guest(self, controllers: Controllers, url: str) -> None:
        guest = self._guest
        if guest is None:
            await controllers.work(self._tell_next)
            return
        begun = asyncio.Event()
        working = asyncio.create_task(controllers.work(begun.set), name="controllers")
        visiting = asyncio.create_task(self._visit(begun, guest, url), name="guest")
        try:
            await asyncio.wait([working, visiting], return_when=asyncio.FIRST_COMPLETED)
            if not visiting.done() or (visiting.exception() is None and not guest.ends):
                await working
        finally:
            for task in (visiting, working):
                task.cancel()
                await asyncio.wait([task])
        if not visiting.cancelled():
            visiting.result()

    async def _visit(self, begun: asyncio.Event, guest: Guest, url: str) -> None:
        await begun.wait()
        click.echo("The controllers run.")
        await guest.work(lambda: InProcessTransport(self._server), self._server.world, url)
        if not guest.ends:
            self._tell_next()

    async def close(self) -> None:
        """End the controllers."""
        if self._controllers is not None:
            await self._controllers.close()
            if not self._settings.hosting.stop_with_us:
                await self._tell_what_goes_on()
        await self._client.close()

    async def _tell_what_goes_on(self) -> None:
        from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES

        try:
            planes = (await self._client.list(HOSTED_CONTROL_PLANES)).items
        except ApiError:
            return  # the kind is not installed yet: it was stopped at its very start
        names = [str(Key.of(each)) for each in planes if each.status.replicas]
        if names:
            click.echo(
                f"Hosted control planes that go on without it: {', '.join(names)}. The next start finds them; with "
                "--stop-tenants they are stopped, too."
            )

    def _write_kubeconfig(self, url: str) -> None:
        file = self._settings.kubeconfig
        try:
            kubeconfigs.write(self._server.identity.kubeconfig(url), file)
        except OSError as error:
            remedy = "Name another place with --write-kubeconfig."
            raise click.ClickException(f"cannot write {file}: {error.strerror}. {remedy}") from error

    def _tell_next(self) -> None:
        if self._settings.controllers and self._guest is None:
            click.echo("The controllers run.")
        click.echo("\nNext, in another terminal:")
        for line in exports(self._settings.kubeconfig):
            click.echo(f"  {line}")
        click.echo("  kubectl get ns")
        if self._settings.controllers:
            click.echo("  nagaya create cluster first --infrastructure simulated --control-plane kubeadm --workers 2")
            click.echo("  nagaya describe cluster first --watch")
        else:
            click.echo("  nagaya controllers --install-crds")
        click.echo("\nStop with Ctrl-C.")


def _controllers_settings(settings: Settings) -> ControllersSettings:
    from nagaya.cli.controllers_run import Settings as ControllersSettings
    from nagaya.cli.plane import CONTROLLERS

    return ControllersSettings(
        tuple(CONTROLLERS),
        beside_api=True,
        health=settings.health,
        rate=None,  # calls within the process need no limit
        hosting=settings.hosting,
        allowed=settings.allowed,
    )


@contextlib.contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Look for no garbage meanwhile, and never among what is made meanwhile: modules, types and the first objects stay
    as long as the process, and searching them again and again is a sixth of the time that it takes to start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(heap.ALLOCATIONS)
        gc.enable()


def _allow_many_files() -> None:
    """Every client takes a file descriptor, and the usual limit of 1,024 is for programs of another sort."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
