"""`nagaya simulate`: something to try Nagaya with that needs no hardware."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import click

from nagaya.cli.addresses import address

if TYPE_CHECKING:
    from nagaya.allowed_endpoints import Publication
    from nagaya.simulators.proxmox.emulator import Emulator
    from nagaya.simulators.proxmox.state.datacenter import Datacenter
    from nagaya.simulators.proxmox.web.web import Web

DEFAULT_PORT = 8006
VERSIONS: Final = {"9.2": "9.2.11", "8.4": "8.4.14"}
"""Of Proxmox VE, by what the emulator calls them."""


@click.group()
def simulate() -> None:
    """Start emulated systems for tries, demos and tests."""


@simulate.command()
@click.option(
    "--listen",
    metavar="HOST:PORT",
    callback=address,
    default=f"127.0.0.1:{DEFAULT_PORT}",
    show_default=True,
    help="Where the first host answers; the others take the ports after it. Port 0 takes any free ones.",
)
@click.option(
    "--layout",
    type=click.Choice(["demo", "lab"]),
    default="demo",
    show_default=True,
    help="What is in it: some hosts with templates, or the data center of the recorded answers (pve2 is off).",
)
@click.option(
    "--hosts", type=click.IntRange(1, 32), default=3, show_default=True, help="How many hosts the layout demo has."
)
@click.option(
    "--version",
    type=click.Choice([*VERSIONS]),
    default="9.2",
    show_default=True,
    help="Which Proxmox VE answers. Privileges, HA and some calls are otherwise in 8.4. The layout lab is of 9.2.",
)
@click.option(
    "--pace",
    type=click.Choice(["fast", "realistic"]),
    default="fast",
    show_default=True,
    help="How long clones, starts and boots take: little, so that a try is short, or what a modest host needs.",
)
@click.option(
    "--boot",
    type=click.Choice(["nothing", "simulated"]),
    default="nothing",
    show_default=True,
    help="What machines do with their boot data: nothing, or become Nodes of a simulated cluster, whose API is then at "
    "its address on this computer, such as 127.0.0.10:6443, or of one with a real API, if that answers.",
)
@click.option(
    "--seed",
    type=int,
    help="Where chance begins, to see the same again: numbers, secrets, mishaps. Anybody can then guess the token.",
)
def proxmox(
    listen: tuple[str, int], layout: str, hosts: int, version: str, pace: str, boot: str, seed: int | None
) -> None:
    """An emulated Proxmox VE data center with templates, until Ctrl-C.

    It speaks PVE's API over HTTPS, each host on a port of its own. Machines that are started in it run nothing; with
    --boot simulated they become Nodes of simulated clusters all the same. Power of hosts, mishaps and counts of calls
    are under /nagaya on each host.

    \b
    Examples:
      nagaya simulate proxmox --boot simulated
      nagaya simulate proxmox --hosts 5 --pace realistic --listen 127.0.0.1:18006
      nagaya simulate proxmox --version 8.4
      nagaya simulate proxmox --layout lab
    """
    if layout == "lab" and version != "9.2":
        raise click.UsageError("the answers of --layout lab were recorded from 9.2: leave out --version, or --layout.")
    asyncio.run(_run(listen, layout, hosts, version, pace, boot, seed))


async def _run(
    listen: tuple[str, int], layout: str, hosts: int, version: str, pace: str, boot: str, seed: int | None
) -> None:
    import random

    from nagaya.allowed_endpoints import Publication
    from nagaya.simulators.proxmox.control.control import Control
    from nagaya.simulators.proxmox.control.web import ControlWeb
    from nagaya.simulators.proxmox.emulator import Emulator
    from nagaya.simulators.proxmox.layouts.demo import demo
    from nagaya.simulators.proxmox.layouts.lab import lab
    from nagaya.simulators.proxmox.pace import Pace, realistic
    from nagaya.simulators.proxmox.web.web import served
    from nagaya.world import World

    world = World() if seed is None else World(random=random.Random(seed))
    datacenter = lab() if layout == "lab" else demo(world, hosts=hosts)
    datacenter.version = VERSIONS[version]
    emulator = Emulator(world, datacenter, realistic() if pace == "realistic" else Pace())
    publication = Publication()
    if boot == "simulated":
        _boot_simulated(emulator, publication)
    control = Control(emulator)
    ControlWeb(control)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(each, stopping.set)
    try:
        async with served(emulator, addresses(listen, list(emulator.datacenter.nodes))) as web:
            if layout == "demo":
                control.manager.start()
            for url in web.endpoints.values():
                publication.add(url.removeprefix("https://"))
            _announce(web, emulator.datacenter)
            await stopping.wait()
            click.echo("Stopping ...")
    except OSError as error:
        remedy = "Name another place with --listen."
        raise click.ClickException(f"cannot listen on {listen[0]}:{listen[1]}: {error.strerror}. {remedy}") from error
    finally:
        publication.close()
        await control.close()
        await emulator.close()


def _boot_simulated(emulator: Emulator, publication: Publication) -> None:
    """Have machines become Nodes of clusters that are in this process too, each at a port of its own."""
    import logging

    from nagaya.cli.logs import TextLines

    # Only now, because they bring a whole API server with them.
    from nagaya.simulators.proxmox.guests.clusters import Clusters
    from nagaya.simulators.proxmox.guests.tenants import TenantGuests
    from nagaya.simulators.tenant.shared import Shared

    handler = logging.StreamHandler()
    handler.setFormatter(TextLines("%(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    world, shared = emulator.world, Shared(publication=publication)
    emulator.machines.backend = TenantGuests(world, emulator.pace, Clusters(world, shared, listen=True, network=True))


def addresses(listen: tuple[str, int], names: list[str]) -> Mapping[str, tuple[str, int]]:
    """Where each host answers."""
    host, port = listen
    return {name: (host, port + number if port else 0) for number, name in enumerate(names)}


def _announce(web: Web, datacenter: Datacenter) -> None:
    tokens = [
        f"{user}!{name}={token.secret}"
        for user, found in datacenter.access.users.items()
        for name, token in found.tokens.items()
    ]
    token = next(each for each in tokens if each.startswith("root@pam!"))
    endpoint = next(iter(web.endpoints.values()))
    click.echo(f"An emulated Proxmox VE {datacenter.version} data center runs. Nothing in it is real.\n")
    for name, url in web.endpoints.items():
        click.echo(f"  {name}  {url}  SHA-256 {web.certificates[name].fingerprint}")
    click.echo()
    for each in tokens:
        click.echo(f"  token  {each}")
    for user, found in datacenter.access.users.items():
        if found.password is not None:
            click.echo(f"  password of {user}  {found.password}")
    click.echo("\nAsk it:\n")
    click.echo(f"  curl -k -H 'Authorization: PVEAPIToken={token}' {endpoint}/api2/json/cluster/resources")
    click.echo("\nConnect Nagaya to it, as root@pam:\n")
    click.echo(f"  nagaya proxmox connect {' '.join(web.endpoints.values())}")
    click.echo("\nTake the power from a host:\n")
    click.echo(
        f"  curl -k -X PUT -H 'Content-Type: application/json' -d '{{\"power\": \"off\"}}' {endpoint}/nagaya/hosts/"
        f"{list(web.endpoints)[-1]}"
    )
    click.echo("\nStop it with Ctrl-C.")
