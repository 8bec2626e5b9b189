"""`nagaya up`: the management API in this process, until Ctrl-C."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

T = TypeVar("T")
DEFAULT_PORT = 6443


def default_data_dir() -> Path:
    """Where data is kept unless the user says otherwise: the XDG data folder."""
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "nagaya"


class Address(click.ParamType):
    """HOST:PORT, with brackets around an IPv6 address; the host may be left out."""

    name = "HOST:PORT"

    def convert(
        self, value: str | tuple[str, int], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        host, separator, port = value.rpartition(":")
        host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
        if not separator or not port.isdigit() or not 0 <= int(port) < 65536:
            self.fail(
                f"{value!r} is not HOST:PORT. Write for example 127.0.0.1:{DEFAULT_PORT}, or :0 for any free port."
            )
        return host, int(port)


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=default_data_dir,
    show_default="~/.local/share/nagaya",
    help="Where everything is kept. Made if it does not exist.",
)
@click.option(
    "--listen",
    type=Address(),
    default=f"127.0.0.1:{DEFAULT_PORT}",
    show_default=True,
    help="Where clients connect. Only this machine can, unless you name another address. Port 0 takes any free one.",
)
@click.option(
    "--write-kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the administrator's kubeconfig goes, readable by you only.  [default: DATA_DIR/kubeconfig]",
)
def up(data_dir: Path, listen: tuple[str, int], write_kubeconfig: Path | None) -> None:
    """Start the management API and keep it running until Ctrl-C.

    It is a Kubernetes API: kubectl, Helm and client libraries work with it. Everything is kept in the data
    folder; start again and it is all there.

    \b
    Examples:
      nagaya up
      nagaya up --data-dir ./lab --listen 127.0.0.1:7443
      nagaya up --listen 0.0.0.0:6443 --write-kubeconfig ~/.kube/nagaya
    """
    import uvloop

    kubeconfig = write_kubeconfig or data_dir / "kubeconfig"
    try:
        uvloop.run(_serve(data_dir, listen, kubeconfig))
    except KeyboardInterrupt:
        sys.exit(130)


async def _serve(data_dir: Path, listen: tuple[str, int], kubeconfig: Path) -> None:
    from nagaya.apiserver.server import ApiServer, Config, bind
    from nagaya.apiserver.storage import DataRefused, StorageFailure
    from nagaya.pki import kubeconfig as kubeconfigs

    host, port = listen
    # The port first: nothing is made or opened if the server could not be reached anyway.
    sock = _or_fail(lambda: bind(host, port), lambda error: _port_problem(host, port, error))
    try:
        config = Config(data_dir=data_dir, host=host, port=sock.getsockname()[1])
        server = await ApiServer.start(config)
    except (DataRefused, StorageFailure, ValueError, OSError) as error:
        sock.close()
        raise click.ClickException(str(error)) from error
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stopping.set)
    try:
        url = await server.listen(sock)
        try:
            kubeconfigs.write(server.kubeconfig(), kubeconfig)
        except OSError as error:
            remedy = "Name another place with --write-kubeconfig."
            raise click.ClickException(f"cannot write {kubeconfig}: {error.strerror}. {remedy}") from error
        _announce(url, data_dir, kubeconfig)
        await stopping.wait()
        click.echo("Stopping ...")
    finally:
        await server.stop()
    click.echo(f"Stopped. Everything is kept in {data_dir}.")


def _announce(url: str, data_dir: Path, kubeconfig: Path) -> None:
    click.echo(f"The management API is ready at {url}")
    click.echo(f"  data        {data_dir}")
    click.echo(f"  kubeconfig  {kubeconfig}")
    click.echo("")
    click.echo("Next, in another terminal:")
    click.echo(f"  export KUBECONFIG={kubeconfig.absolute()}")
    click.echo("  kubectl get ns")
    click.echo("")
    click.echo("Stop with Ctrl-C.")


def _or_fail(do: Callable[[], T], explain: Callable[[OSError], str]) -> T:
    try:
        return do()
    except OSError as error:
        raise click.ClickException(explain(error)) from error


def _port_problem(host: str, port: int, error: OSError) -> str:
    where = f"{host}:{port}"
    if error.errno == errno.EADDRINUSE:
        return f"cannot listen on {where}: another program does already. Stop it, or choose another: --listen {host}:0"
    if error.errno == errno.EACCES:
        return f"cannot listen on {where}: ports below 1024 need more rights. Choose a higher one: --listen {host}:6443"
    if error.errno in (errno.EADDRNOTAVAIL, -2):
        return f"cannot listen on {where}: this machine does not have that address. Use one of its own, or 127.0.0.1."
    return f"cannot listen on {where}: {error.strerror or error}."
