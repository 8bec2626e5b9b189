"""`nagaya kubernetes`: the real Kubernetes programs that tenants and tests run."""

from __future__ import annotations

import signal
import sys
from types import FrameType

import click

from nagaya.binaries.errors import BinariesError
from nagaya.binaries.programs import STANDARD, names_of
from nagaya.binaries.releases import DEFAULT_VERSION
from nagaya.cli.output.document import output_option, printed


@click.group()
def kubernetes() -> None:
    """Provide the real Kubernetes programs on this machine."""


@kubernetes.command()
@click.option(
    "--version",
    default=DEFAULT_VERSION,
    show_default=True,
    metavar="VERSION",
    help="The Kubernetes version, in full.",
)
@click.option(
    "--with",
    "extras",
    multiple=True,
    metavar="NAME[,NAME...]",
    help="Also provide this; can be given more than once. kine: SQL databases as stores of hosted control planes. "
    "konnectivity: the tunnel from a hosted control plane to its nodes. e2e: Kubernetes' own end-to-end tests "
    "(e2e.test). cluster-api: clusterctl, and upstream's managers with their manifests, for comparison.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME[,NAME...]",
    help="Provide only these programs, by name, or control-plane: kube-apiserver, kube-controller-manager and "
    "kube-scheduler.",
)
@click.option("--verify", is_flag=True, help="Hash what is there already and replace what has changed.")
@click.option(
    "--no-build",
    is_flag=True,
    help="Download what is missing, but compile nothing, and do not wait for another process that does.",
)
@output_option
def install(
    version: str, extras: tuple[str, ...], only: tuple[str, ...], verify: bool, no_build: bool, output: str | None
) -> None:
    """Provide the Kubernetes programs and etcd.

    They come from the folder in NAGAYA_KUBERNETES_BIN, the cache, the official release sites, or are built with Go,
    whichever has them first.

    \b
    Examples:
      nagaya kubernetes install
      nagaya kubernetes install --version v1.35.4 --only control-plane
      nagaya kubernetes install --with konnectivity,kine --verify
    """
    # Not at the top: `nagaya --help` need not load a downloader.
    from nagaya.binaries.installer import Installer
    from nagaya.binaries.progress import duration, reporter_for
    from nagaya.world import World

    world = World()
    began = world.clock.monotonic()
    installer = Installer(reporter=reporter_for(sys.stderr, world.clock), world=world, build=not no_build)
    previous = {number: signal.signal(number, _stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        programs = [*(names_of(only) or STANDARD), *names_of(extras)]
        binaries = installer.ensure(version, programs, thorough=verify)
    except BinariesError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        click.echo(
            "Stopped. What was finished is kept; nothing half done is left. The same command continues.", err=True
        )
        raise SystemExit(130) from None
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    found = binaries.programs.values()
    if output is not None:
        told = [{"name": each.name, "version": each.version, "path": str(each.path)} for each in found]
        click.echo(printed({"programs": told}, output), nl=False)
    else:
        width = max(len(each.name) for each in found)
        for each in found:
            click.echo(f"{each.name:<{width}}  {each.version:<9}  {each.path}")
    click.echo(f"{len(binaries.programs)} programs are ready ({duration(world.clock.monotonic() - began)}).", err=True)


def _stop(number: int, frame: FrameType | None) -> None:
    """A polite kill or a closed terminal is treated as Ctrl-C, so that a running build is ended with us."""
    raise KeyboardInterrupt
