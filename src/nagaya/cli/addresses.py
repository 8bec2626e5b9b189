"""Addresses on the command line: HOST:PORT, where a command shall listen, addresses of this machine, and its ports."""

from __future__ import annotations

import ipaddress
from typing import Final

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


def own_address(_: click.Context, __: click.Parameter, value: str | None) -> str:
    """An IP address that others can connect to; empty if none is given."""
    if value is None:
        return ""
    try:
        found = ipaddress.ip_address(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not an IP address.") from None
    if found.is_unspecified:
        raise click.BadParameter(
            f"{value!r} is no address that clients can connect to. Name one of this machine's own."
        )
    return str(found)


def endpoints(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Entries of the list of allowed endpoints."""
    from nagaya.address_policy import parse

    for each in value:
        try:
            parse(each)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    return value


allow_endpoint: Final = click.option(
    "--allow-endpoint",
    "allowed",
    metavar="HOST|CIDR[:PORT]",
    multiple=True,
    callback=endpoints,
    help="Also connect there for objects that tenants write (ProxmoxConnections, kubeconfigs in Secrets): loopback, "
    "link-local and metadata addresses and the management API are refused otherwise. Can be given several times.",
)


def port_range(_: click.Context, __: click.Parameter, value: str) -> range:
    """FIRST-LAST, both included."""
    first, _dash, last = value.partition("-")
    if not (first.isdigit() and last.isdigit() and 0 < int(first) <= int(last) < 65536):
        raise click.BadParameter(f"{value!r} is not FIRST-LAST. Write for example 16443-17442.")
    return range(int(first), int(last) + 1)


def user_range(_: click.Context, __: click.Parameter, value: str) -> range:
    """FIRST-LAST, both included, without users that mean something on every machine."""
    first, _dash, last = value.partition("-")
    if not (first.isdigit() and last.isdigit() and 1000 <= int(first) <= int(last) < 2**32 - 1):
        raise click.BadParameter(f"{value!r} is not FIRST-LAST, from 1000 on. Write for example 200000-265535.")
    if int(first) <= 65535 and int(last) >= 65534:
        raise click.BadParameter(
            f"{value!r} contains 65534 or 65535, which are nobody. Write for example 200000-265535."
        )
    return range(int(first), int(last) + 1)


tenants_users_option = click.option(
    "--tenants-users",
    metavar="FIRST-LAST",
    callback=user_range,
    default="200000-265535",
    show_default=True,
    help="Numbers for the users that programs of hosted control planes run as, where this command runs as root.",
)
