"""The embedded API server as a command starts it: on a folder and at an address of this machine.

What always holds: if it cannot be started, one sentence says why and what to do, and nothing was made or changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Final, TypeVar

import click

from nagaya.api.admission.catalog import ADMISSION
from nagaya.api.conversion.proxmox.in_process import IN_PROCESS
from nagaya.apiserver.meta.status import ApiError
from nagaya.apiserver.server import ApiServer, Config, bind
from nagaya.apiserver.storage import DataInUse, DataRefused, StorageFailure
from nagaya.apiserver.storage.sqlite.layout import Files
from nagaya.apiserver.storage.sqlite.lock import DataLock
from nagaya.apiserver.web.audit import AuditSettings, Level

T = TypeVar("T")
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - to tell it, not to bind to it


async def start(
    data_dir: Path, listen: tuple[str, int], audit: tuple[Path, str] | None, key: Path | None = None
) -> tuple[ApiServer, socket.socket]:
    """A server that is ready, and the socket that it is to listen on. Raises ClickException."""
    host, port = listen
    # The port first: nothing is made or opened if the server could not be reached anyway.
    sock = _or_fail(lambda: bind(host, port), lambda error: _port_problem(host, port, data_dir, error))
    loop = asyncio.get_running_loop()
    patience = loop.call_later(1.0, lambda: click.echo(f"Reading {data_dir} ..."))
    try:
        return await ApiServer.start(_config(data_dir, host, sock.getsockname()[1], audit, key)), sock
    except Exception as error:
        sock.close()
        raise click.ClickException(_start_problem(data_dir, error)) from error
    finally:
        patience.cancel()


def _config(data_dir: Path, host: str, port: int, audit: tuple[Path, str] | None, key: Path | None) -> Config:
    settings = None if audit is None else AuditSettings(audit[0], Level(audit[1]))
    addresses = _own_addresses()
    hosts = (socket.gethostname(), *addresses) if host in _EVERYWHERE else ()
    return Config(
        data_dir=data_dir,
        encryption_key=key,
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


def url(host: str, port: int) -> str:
    """Where the kubeconfig leads: an address one can connect to, also if the server listens on all."""
    host = _EVERYWHERE.get(host, host)
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _or_fail(do: Callable[[], T], explain: Callable[[OSError], str]) -> T:
    try:
        return do()
    except OSError as error:
        raise click.ClickException(explain(error)) from error


def _port_problem(host: str, port: int, data_dir: Path, error: OSError) -> str:
    where = f"{host}:{port}"
    if error.errno == errno.EADDRINUSE:
        remedy = f"another program does already. Stop it, or choose another: --listen {host}:0"
        return data_problem(data_dir) or f"cannot listen on {where}: {remedy}"
    if error.errno == errno.EACCES:
        return f"cannot listen on {where}: ports below 1024 need more rights. Choose a higher one: --listen {host}:6443"
    if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        return f"cannot listen on {where}: this machine does not have that address. Use one of its own, or 127.0.0.1."
    return f"cannot listen on {where}: {error.strerror or error}."


def data_problem(data_dir: Path) -> str:
    """Who works on the data already, as a sentence; empty if nobody does. Whoever has a port that is taken is most
    likely the same."""
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
    if isinstance(error, ApiError) and error.code == HTTPStatus.SERVICE_UNAVAILABLE:
        # The objects that every server has could not be written, such as on a full disk.
        return f"the server cannot start: {str(error).removeprefix('nothing was changed: ').rstrip('.')}."
    raise error
