"""What a cluster on Proxmox VE needs beside what every cluster needs: found in the management API and in Proxmox VE, as
far as there is only one answer, and asked for or refused where there is not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from nagaya.blueprints import surroundings
from nagaya.blueprints.surroundings import Missing
from nagaya.blueprints.wish import HOSTED, KUBEADM, Pool, ProxmoxWish, Ranges, Size, Wish
from nagaya.cli.output.ended import Ended
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.output.prompt import ask, can_ask
from nagaya.infrastructure.proxmox.client.errors import ProxmoxError
from nagaya.infrastructure.proxmox.image.way import NoWay

if TYPE_CHECKING:
    from nagaya.cli.create_run import Given
    from nagaya.cli.output.session import Session

_ADDRESSES = "--dhcp, --pool NAME, or --addresses RANGE with --gateway and --dns"


async def completed(session: Session, given: Given, wish: Wish) -> Wish:
    """The wish with all that Proxmox VE needs. Raises Ended and UsageError."""
    if sum((given.dhcp, bool(given.pool), bool(given.addresses))) > 1:
        raise click.UsageError("Machines get their addresses in one way: give one of --dhcp, --pool and --addresses.")
    if given.endpoint and given.endpoint_pool:
        raise click.UsageError("Give one of --endpoint and --endpoint-pool.")
    if (given.endpoint or given.endpoint_pool) and wish.control_plane == HOSTED:
        raise click.UsageError("A hosted control plane brings its own address: leave out --endpoint, --endpoint-pool.")
    try:
        connected = await surroundings.connection(session.client, wish.namespace, given.connection)
        addresses = await _addresses(session, given, wish)
        endpoint = await _endpoint(session, given, wish, addresses)
        version = await _version(session, given, wish, connected.name)
    except Missing as error:
        raise Ended(f"{error}") from error
    proxmox = ProxmoxWish(
        connected.name,
        addresses,
        _listed(given.dns) or _asked_dns(addresses),
        endpoint,
        given.bridge or connected.bridge,
        _listed(given.template_tags),
        given.image,
        Size(given.cores, given.memory, given.disk),
    )
    return replace(wish, proxmox=proxmox, version=version)


async def _addresses(session: Session, given: Given, wish: Wish) -> Ranges | Pool | None:
    if given.dhcp:
        return None
    if given.pool:
        return await surroundings.pool(session.client, wish.namespace, given.pool)
    ranges, gateway = given.addresses, given.gateway
    if not ranges:
        shared = await surroundings.pools(session.client, wish.namespace)
        if len(shared) == 1:
            return shared[0]
        if not can_ask():
            why = "no pool of addresses" if not shared else f"several pools ({', '.join(each.name for each in shared)})"
            raise Missing(f"Namespace {wish.namespace} has {why}: say where machines get theirs with {_ADDRESSES}.")
        ranges = ask("Addresses for machines, such as 10.0.0.20-10.0.0.39, or dhcp")
        if ranges == "dhcp":
            return None
    if not gateway:
        if not can_ask():
            raise click.UsageError("--addresses needs --gateway, the router of their network.")
        gateway = ask("Gateway of their network")
    return Ranges(_listed(ranges), gateway, given.prefix)


async def _endpoint(session: Session, given: Given, wish: Wish, addresses: Ranges | Pool | None) -> str | Pool:
    if wish.control_plane != KUBEADM or given.endpoint:
        return given.endpoint
    if given.endpoint_pool:
        return await surroundings.pool(session.client, wish.namespace, given.endpoint_pool)
    if isinstance(addresses, Pool):
        return addresses
    return str(ask("Address of the API, which no machine has")) if can_ask() else ""


def _asked_dns(addresses: Ranges | Pool | None) -> tuple[str, ...]:
    if addresses is None or not can_ask():
        return ()
    usual = addresses.gateway if isinstance(addresses, Ranges) else None
    return _listed(ask("Name servers of machines", default=usual))


async def _version(session: Session, given: Given, wish: Wish, connection: str) -> str:
    """The one that is wanted, if there is a template for it; without a wish that of the newest template."""
    if given.output is not None and given.version:
        return wish.version  # nothing is made, so nothing has to be there yet
    try:
        there = await surroundings.template_tags(session.client, wish.namespace, connection, session.world)
    except NoWay as error:
        raise Ended(str(error)) from error
    except ProxmoxError as error:
        remedy = f"See what is wrong: nagaya proxmox check --namespace {wish.namespace} {connection}"
        raise Ended(f"Proxmox VE cannot be asked for its templates: {error} {remedy}", ExitCode.UNREACHABLE) from error
    tags = _listed(given.template_tags)
    known = surroundings.versions(there, tags)
    version = wish.version if given.version or given.image or wish.version in known or not known else known[0]
    surroundings.check_template(there, version, tags, given.image)
    return version


def _listed(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (each.strip() for each in text.split(","))))
