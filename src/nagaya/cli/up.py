"""`nagaya up`: the management API in this process, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import resource
import shlex
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from nagaya.cli import heap
from nagaya.cli.addresses import address

if TYPE_CHECKING:
    from nagaya.apiserver.server import ApiServer, Config

T = TypeVar("T")
DEFAULT_PORT = 6443
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - to tell it, not to bind to it


def default_data_dir() -> Path:
    """Where data is kept unless the user says otherwise: the XDG data folder."""
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "nagaya"


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
    metavar="HOST:PORT",
    callback=address,
    default=f"127.0.0.1:{DEFAULT_PORT}",
    show_default=True,
    help="Where clients connect. Only this machine can, unless you name another address. Port 0 takes any free one.",
)
@click.option(
    "--write-kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the administrator's kubeconfig goes, readable by you only.  [default: DATA_DIR/kubeconfig]",
)
@click.option(
    "--audit-log",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write who did what, a line of JSON per request, to this file, readable by you only.",
)
@click.option(
    "--audit-level",
    type=click.Choice(["Metadata", "Request", "RequestResponse"]),
    default="Metadata",
    show_default=True,
    help="How much the audit log holds: only what was asked and by whom, also what was sent, or also the answers. "
    "Contents of Secrets, ConfigMaps and tokens never are in it.",
)
def up(
    data_dir: Path,
    listen: tuple[str, int],
    write_kubeconfig: Path | None,
    audit_log: Path | None,
    audit_level: str,
) -> None:
    """Start the management API and keep it running until Ctrl-C.

    It is a Kubernetes API: kubectl, Helm and client libraries work with it. Everything is kept in the data
    folder; start again and it is all there.

    \b
    Examples:
      nagaya up
      nagaya up --data-dir ./lab --listen 127.0.0.1:7443
      nagaya up --listen 0.0.0.0:6443 --write-kubeconfig ~/.kube/nagaya
    """
    import logging

    import uvloop

    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    _allow_many_files()
    kubeconfig = write_kubeconfig or data_dir / "kubeconfig"
    uvloop.run(_serve(data_dir, listen, kubeconfig, (audit_log, audit_level) if audit_log else None))


async def _serve(data_dir: Path, listen: tuple[str, int], kubeconfig: Path, audit: tuple[Path, str] | None) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(each, stopping.set)
    with _without_garbage_collection():
        server, sock = await _start(data_dir, listen, audit)
    from nagaya.pki import kubeconfig as kubeconfigs

    try:
        await server.listen(sock)
        url = _url(listen[0], sock.getsockname()[1])
        try:
            kubeconfigs.write(server.identity.kubeconfig(url), kubeconfig)
        except OSError as error:
            remedy = "Name another place with --write-kubeconfig."
            raise click.ClickException(f"cannot write {kubeconfig}: {error.strerror}. {remedy}") from error
        _announce(url, data_dir, kubeconfig)
        await stopping.wait()
        click.echo("Stopping ...")
    finally:
        await server.stop()
    click.echo(f"Stopped. Everything is kept in {data_dir}.")


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


async def _start(
    data_dir: Path, listen: tuple[str, int], audit: tuple[Path, str] | None
) -> tuple[ApiServer, socket.socket]:
    """A server that is ready, and the socket that it is to listen on. Raises ClickException."""
    from nagaya.apiserver.server import ApiServer, bind

    host, port = listen
    # The port first: nothing is made or opened if the server could not be reached anyway.
    sock = _or_fail(lambda: bind(host, port), lambda error: _port_problem(host, port, data_dir, error))
    loop = asyncio.get_running_loop()
    patience = loop.call_later(1.0, lambda: click.echo(f"Reading {data_dir} ..."))
    try:
        return await ApiServer.start(_config(data_dir, host, sock.getsockname()[1], audit)), sock
    except Exception as error:
        sock.close()
        raise click.ClickException(_start_problem(data_dir, error)) from error
    finally:
        patience.cancel()


def _config(data_dir: Path, host: str, port: int, audit: tuple[Path, str] | None) -> Config:
    from nagaya.api.admission.catalog import ADMISSION
    from nagaya.api.conversion.proxmox.in_process import IN_PROCESS
    from nagaya.apiserver.server import Config
    from nagaya.apiserver.web.audit import AuditSettings, Level

    settings = None if audit is None else AuditSettings(audit[0], Level(audit[1]))
    addresses = _own_addresses()
    hosts = (socket.gethostname(), *addresses) if host in _EVERYWHERE else ()
    return Config(
        data_dir=data_dir,
        host=host,
        port=port,
        hosts=hosts,
        addresses=addresses,
        nodes=True,
        rules=ADMISSION,
        versions=IN_PROCESS,
        audit=settings,
        metrics=True,
    )


def _own_addresses() -> tuple[str, ...]:
    """The addresses by which others know this machine."""
    found = set()
    for family, target in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))  # sends nothing, but chooses the address that others see
            found.add(probe.getsockname()[0])
    return tuple(sorted(found))


def _url(host: str, port: int) -> str:
    """Where the kubeconfig leads: an address one can connect to, also if the server listens on all."""
    host = _EVERYWHERE.get(host, host)
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _allow_many_files() -> None:
    """Every client takes a file descriptor, and the usual limit of 1,024 is for programs of another sort."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _announce(url: str, data_dir: Path, kubeconfig: Path) -> None:
    click.echo(f"The management API is ready at {url}")
    click.echo(f"  data        {data_dir}")
    click.echo(f"  kubeconfig  {kubeconfig}")
    click.echo("")
    click.echo("Next, in another terminal:")
    click.echo(f"  export KUBECONFIG={shlex.quote(str(kubeconfig.absolute()))}")
    click.echo("  kubectl get ns")
    click.echo("")
    click.echo("Stop with Ctrl-C.")


def _or_fail(do: Callable[[], T], explain: Callable[[OSError], str]) -> T:
    try:
        return do()
    except OSError as error:
        raise click.ClickException(explain(error)) from error


def _port_problem(host: str, port: int, data_dir: Path, error: OSError) -> str:
    where = f"{host}:{port}"
    if error.errno == errno.EADDRINUSE:
        remedy = f"another program does already. Stop it, or choose another: --listen {host}:0"
        return _data_problem(data_dir) or f"cannot listen on {where}: {remedy}"
    if error.errno == errno.EACCES:
        return f"cannot listen on {where}: ports below 1024 need more rights. Choose a higher one: --listen {host}:6443"
    if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        return f"cannot listen on {where}: this machine does not have that address. Use one of its own, or 127.0.0.1."
    return f"cannot listen on {where}: {error.strerror or error}."


def _data_problem(data_dir: Path) -> str:
    """Who works on the data already: then it is most likely the same who has the port."""
    from nagaya.apiserver.storage import DataInUse, DataRefused
    from nagaya.apiserver.storage.sqlite.layout import Files
    from nagaya.apiserver.storage.sqlite.lock import DataLock

    lock = Files(data_dir).lock
    if not lock.exists():
        return ""
    try:
        DataLock(lock).release()
    except DataInUse as error:
        return f"{error}."
    except DataRefused:
        return ""  # the port is the first thing to put right
    return ""


def _start_problem(data_dir: Path, error: Exception) -> str:
    """Why the server did not start, as a sentence. An error nobody foresaw is raised as it is."""
    from nagaya.apiserver.storage import DataRefused, StorageFailure

    if isinstance(error, OSError):
        named = error.filename or data_dir
        if error.errno == errno.ENOSPC:
            return f"cannot write {named}: the disk is full. Free some space there, or choose another --data-dir."
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            remedy = "Let it belong to you, or choose another place with --data-dir."
            return f"cannot use {named}: {error.strerror}. {remedy}"
        return f"cannot use {named}: {error.strerror or error}. Choose another place with --data-dir."
    if isinstance(error, DataRefused | StorageFailure | ValueError):
        return f"{str(error).rstrip('.')}."
    raise error
