"""Addresses on the command line: HOST:PORT, where a command shall listen."""

from __future__ import annotations

import click


def address(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, int] | None:
    """HOST:PORT, with brackets around an IPv6 address; the host may be left out."""
    if value is None:
        return None
    host, separator, port = value.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not separator or not port.isdigit() or not 0 <= int(port) < 65536:
        raise click.BadParameter(
            f"{value!r} is not HOST:PORT. Write for example 127.0.0.1:6443, or :0 for any free port."
        )
    return host, int(port)
