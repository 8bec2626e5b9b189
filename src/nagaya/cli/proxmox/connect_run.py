"""What `nagaya proxmox connect` does, in order: the management API first, then who answers, then who asks, the plan,
the question, and only then anything that changes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import click

from nagaya.cli.output.document import YAML, printed_manifests
from nagaya.cli.output.ended import Ended
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.output.prompt import agree, can_ask
from nagaya.cli.proxmox.api import management_client
from nagaya.cli.proxmox.ask import code_of, secret_from, trusted
from nagaya.infrastructure.proxmox.client import BadFacts, Endpoint, Facts, Proxmox, Token, Trust
from nagaya.infrastructure.proxmox.client import facts as reading
from nagaya.infrastructure.proxmox.client.errors import HostUnreachable, ProxmoxError, Unauthorized
from nagaya.infrastructure.proxmox.client.http import HttpTransport
from nagaya.infrastructure.proxmox.connection.establishing.chosen import Unseen, Unsuitable
from nagaya.infrastructure.proxmox.connection.establishing.establish import (
    Established,
    Incomplete,
    adopt,
    clear,
    establish,
)
from nagaya.infrastructure.proxmox.connection.establishing.login import SecondFactor, login
from nagaya.infrastructure.proxmox.connection.establishing.management import Management, NotManaged
from nagaya.infrastructure.proxmox.connection.establishing.manifests import manifests
from nagaya.infrastructure.proxmox.connection.establishing.plan import Asked, Plan, plan
from nagaya.infrastructure.proxmox.connection.establishing.remembered import ANNOTATION, Purpose, read, settled
from nagaya.infrastructure.proxmox.connection.look import is_distrusted
from nagaya.infrastructure.proxmox.connection.reference import connection_reference
from nagaya.infrastructure.proxmox.connection.source import Unusable, facts_of, source_by
from nagaya.infrastructure.proxmox.privileges.missing import commands
from nagaya.infrastructure.proxmox.privileges.setup import setup
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError
from nagaya.kube.transport import NoAnswer
from nagaya.world import World

_UNREACHED: Final = (
    "See whether the host is on, `systemctl status pveproxy` is well there, and the address is right; then run the "
    "same again: it goes on where it was."
)
GRACE: Final = 3.0
"""Seconds between a new token and the end of the old one: calls that are under way still carry that."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says."""

    endpoints: tuple[Endpoint, ...]
    purpose: Purpose
    user: str
    password_file: str | None
    token: str | None
    secret_file: str | None
    trust: Trust | None
    insecure: str | None
    rotate: bool
    kubeconfig: Path | None
    context: str | None
    namespace: str
    name: str
    output: str | None
    dry_run: bool
    yes: bool
    wait: float


def print_setup(said: Purpose, version: str, urls: tuple[str, ...]) -> None:
    """The commands for somebody who gives nobody a password."""
    major, _, minor = version.partition(".")
    if not major.isdigit() or not (minor or "0").isdigit():
        raise click.BadParameter(f"{version!r} is no version: write 9, or 8.4.", param_hint="--pve-version")
    purpose = settled(said, Purpose())
    made = setup((int(major), int(minor or 0)), purpose.scope, user=purpose.user, features=purpose.features)
    click.echo("# Run as root on any host of the cluster. The command that makes the token prints its secret once.")
    for line in made.commands():
        click.echo(line)
    click.echo(f"# Then, with the same options: nagaya proxmox connect {' '.join(urls)} --token '{made.token}'")


async def run(settings: Settings) -> None:
    """Do it. Raises Ended."""
    changes = not settings.dry_run and not settings.token
    if changes and not settings.yes and not can_ask():
        raise click.UsageError("nobody can be asked here whether to do it: add --yes, or --dry-run to see the plan.")
    try:
        async with AsyncExitStack() as stack:
            await _Run(settings, stack).run()
    except Unauthorized as error:
        raise Ended(str(error), ExitCode.REFUSED) from error
    except SecondFactor as error:
        raise Ended(str(error), ExitCode.REFUSED) from error
    except HostUnreachable as error:
        new = "If the host has another certificate now, give --fingerprint or --ca-file."
        what_next = new if is_distrusted(error) else _UNREACHED
        raise Ended(f"{error} {what_next}", ExitCode.UNREACHABLE) from error
    except Unseen as error:
        raise Ended(str(error), ExitCode.INCOMPLETE) from error
    except (ProxmoxError, Unsuitable) as error:
        raise Ended(str(error), ExitCode.PROBLEM) from error
    except (NotManaged, ApiError, NoAnswer) as error:
        raise Ended(str(error), ExitCode.MANAGEMENT_API) from error
    except Incomplete as error:
        lines = "\n".join(f"  {each}" for each in commands(error.missing))
        raise Ended(f"{error} Run as root on any host:\n{lines}", ExitCode.INCOMPLETE) from error


def _before(management: Management | None) -> Purpose:
    """What the connection was asked to be good for, if there is one."""
    connection = None if management is None else management.stored.connection
    return Purpose() if connection is None else read(connection.metadata.annotations.get(ANNOTATION, ""))


class _Run:
    """One run of the command."""

    def __init__(self, settings: Settings, stack: AsyncExitStack) -> None:
        self._settings = settings
        self._stack = stack
        self._world = World()
        # What is printed for programs is on standard output, and nothing else then.
        self._say: Callable[[str], None] = partial(click.echo, err=settings.output is not None)

    async def run(self) -> None:
        settings = self._settings
        management, client = await self._management()
        trust, kept = await self._trust(management, client)
        purpose = settled(settings.purpose, _before(management))
        asked = Asked(
            settings.endpoints,
            trust,
            purpose.scope,
            purpose.features,
            purpose.user,
            settings.rotate,
            settings.insecure or "",
            kept,
        )
        if settings.token:
            await self._adopt(asked, management)
            return
        proxmox = await self._admin(trust)
        planned = await plan(asked, proxmox, self._connect, management)
        self._show(planned, management)
        if settings.dry_run:
            self._say("Nothing was changed (--dry-run).")
            return
        if not planned.nothing and not settings.yes:
            agree("Do this?", default=True)
        done = await establish(planned, proxmox, self._connect, self._say, management)
        await self._finish(done, management)
        if planned.token.leaving and management is not None:
            await asyncio.sleep(GRACE)
        await clear(planned, proxmox, self._say, management)

    async def _management(self) -> tuple[Management | None, Client | None]:
        settings = self._settings
        if settings.output is not None:
            return None, None
        try:
            client = management_client(settings.kubeconfig, settings.context, self._world)
        except Ended as ended:
            raise Ended(f"{ended} Nothing was made in Proxmox VE.", ended.code) from ended
        self._stack.push_async_callback(client.close)
        management = Management(client, settings.namespace, settings.name)
        await management.read()
        return management, client

    async def _trust(self, management: Management | None, client: Client | None) -> tuple[Trust, bool]:
        """By what hosts are recognised, and whether the stored connection says so already."""
        settings = self._settings
        connection = None if management is None else management.stored.connection
        if settings.trust is None and connection is not None and management is not None and client is not None:
            try:
                source = source_by(connection)
                facts = await facts_of(client, connection_reference(connection), source)
            except Unusable:
                facts = None
            known = facts is not None and set(settings.endpoints) <= set(facts.endpoints)
            # An authority recognises hosts that nobody has named yet, too.
            if facts is not None and (known or facts.trust.authority is not None):
                return facts.trust, True
        return await trusted(settings.endpoints, settings.trust), False

    async def _admin(self, trust: Trust) -> Proxmox:
        settings = self._settings
        password = secret_from(settings.password_file, f"Password of {settings.user}")
        transport = HttpTransport()
        self._stack.push_async_callback(transport.close)
        ask = code_of if can_ask() else None
        credentials = None
        for number, endpoint in enumerate(settings.endpoints, 1):
            try:
                credentials = await login(transport, endpoint, trust, settings.user, password, ask)
                break
            except HostUnreachable:
                if number == len(settings.endpoints):
                    raise
        assert credentials is not None
        proxmox = self._connect(Facts(settings.endpoints, credentials, trust))
        self._stack.push_async_callback(proxmox.close)
        return proxmox

    def _connect(self, facts: Facts) -> Proxmox:
        return Proxmox(facts, self._world)

    async def _adopt(self, asked: Asked, management: Management | None) -> None:
        settings = self._settings
        secret = secret_from(settings.secret_file, f"Secret of {settings.token}")
        said = {"token": (settings.token or "").encode(), "secret": secret.encode()}
        try:
            token = reading.read(said, endpoints=[each.url for each in settings.endpoints]).credentials
        except BadFacts as error:
            raise click.UsageError(f"{error}.") from error
        assert isinstance(token, Token)
        await self._finish(await adopt(asked, token, self._connect, self._say, management), management)

    def _show(self, planned: Plan, management: Management | None) -> None:
        say, site = self._say, planned.site
        hosts = site.snapshot.hosts.values()
        where = f"cluster {site.snapshot.cluster}" if site.snapshot.cluster else "a host alone"
        on = sum(host.online for host in hosts)
        say(f"Proxmox VE {site.version.text}, {where}: {on} of {len(hosts)} hosts are on.")
        for note in planned.notes:
            say(f"  {note}")
        sentences = planned.sentences()
        if planned.nothing:
            say("\nNothing to do: all of it is there.")
            return
        say("\nIn Proxmox VE:" if sentences else "\nIn Proxmox VE: nothing.")
        for number, sentence in enumerate(sentences, 1):
            say(f"  {number:2}. {sentence}")
        if management is None:
            say("\nThen: print the manifests of the Secret and the ProxmoxConnection.")
        elif planned.to_store or planned.token.new:
            say(f"\nThen: store Secret {management.secret} and ProxmoxConnection {management.key}.")
        say("")

    async def _finish(self, done: Established, management: Management | None) -> None:
        settings, say = self._settings, self._say
        way = {"iso": "on a CD", "native": "by the guest agent"}.get(done.preflight.delivery, "in no way")
        say(f"Verified: {done.token} has all rights that are needed. Boot data goes {way}.")
        if management is None:
            objects = manifests(done.wanted, settings.namespace, settings.name, done.token, done.secret)
            sys.stdout.write(printed_manifests(objects, settings.output or YAML))
            return
        condition = await management.ready(settings.wait)
        if condition is None:
            say(
                f"No controller has looked at ProxmoxConnection {management.key} within {settings.wait:g} s: start "
                "them with `nagaya up`, or `nagaya controllers --install-crds`."
            )
        elif condition.status == "True":
            say(f"ProxmoxConnection {management.key} is ready.")
        else:
            raise Ended(f"ProxmoxConnection {management.key} is not ready: {condition.message}", ExitCode.INCOMPLETE)
