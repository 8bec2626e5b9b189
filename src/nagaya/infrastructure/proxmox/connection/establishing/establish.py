"""Making a connection: the changes in Proxmox VE, the token, the objects in the management API, and the proof.

What always holds:

- Run again after an interruption at any call, it completes: each step looks for what is there, and the name of a token
  is written down before the token is made.
- The token that works now stays until another has been verified and stored in its place.
- Nothing is stored that does not work: the new token is tried first, and all its privileges are looked at.
- No secret is said to anybody.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from nagaya.infrastructure.proxmox.client import Facts, Proxmox, Token
from nagaya.infrastructure.proxmox.client.errors import NotFound
from nagaya.infrastructure.proxmox.connection.establishing.changes import Change, GiveRole
from nagaya.infrastructure.proxmox.connection.establishing.chosen import chosen
from nagaya.infrastructure.proxmox.connection.establishing.management import Management, Stored
from nagaya.infrastructure.proxmox.connection.establishing.manifests import Wanted
from nagaya.infrastructure.proxmox.connection.establishing.plan import Asked, Connect, Plan, beside, recognised
from nagaya.infrastructure.proxmox.connection.establishing.site import read_site
from nagaya.infrastructure.proxmox.connection.establishing.token import comment_for
from nagaya.infrastructure.proxmox.connection.findings import find
from nagaya.infrastructure.proxmox.privileges.image import ImageScope, image_missing
from nagaya.infrastructure.proxmox.privileges.missing import Missing, named
from nagaya.infrastructure.proxmox.privileges.operations import Feature
from nagaya.infrastructure.proxmox.privileges.place import Scope
from nagaya.infrastructure.proxmox.privileges.preflight import Preflight, preflight

Say = Callable[[str], None]
_WAYS: Final = (Feature.ALWAYS, Feature.ISO, Feature.NATIVE)
"""What the preflight looks at anyway."""


class Incomplete(Exception):
    """The token may not do all that is needed."""

    def __init__(self, token: str, missing: tuple[Missing, ...]) -> None:
        super().__init__(f"{token} lacks {named(missing)}.")
        self.token = token
        self.missing = missing


@dataclass(frozen=True, slots=True)
class Established:
    """A token that works."""

    token: str
    secret: str = field(repr=False)
    preflight: Preflight
    wanted: Wanted


async def establish(
    plan: Plan, proxmox: Proxmox, connect: Connect, say: Say, management: Management | None = None
) -> Established:
    """Do what is planned, up to a token that is stored and verified. Raises ProxmoxError, ApiError, Incomplete."""
    await _applied(plan.before, proxmox, say)
    if plan.token.new:
        secret = await _new_token(plan, proxmox, management)
        say(f"Done: {plan.token.sentence}.")
    else:
        assert management is not None
        secret = management.stored.token_secret
    await _applied(plan.after, proxmox, say)
    checked = await verified(plan.wanted, plan.setup.token, secret, connect)
    if management is not None:
        user = plan.setup.user
        leaving = tuple(f"{user}!{name}" for name in plan.token.leaving)
        if await management.store(plan.wanted, plan.setup.token, secret, leaving):
            say(f"Done: store the token in Secret {management.secret}, and the ProxmoxConnection {management.key}.")
    return Established(plan.setup.token, secret, checked, plan.wanted)


async def adopt(asked: Asked, token: Token, connect: Connect, say: Say, management: Management | None) -> Established:
    """Store and verify a token that somebody made by hand: nothing is changed in Proxmox VE. Raises what `establish`
    raises, and Unsuitable."""
    asked, dropped = beside(asked, Stored() if management is None else management.stored)
    client = connect(Facts(asked.endpoints, token, asked.trust))
    try:
        site = await read_site(client)
        trust, notes = await recognised(asked, client, connect, site)
        choice = chosen(asked.scope, site, asked.features)
    finally:
        await client.close()
    for each in (*choice.notes, *notes, *dropped):
        say(each)
    wanted = asked.wanted(trust, choice)
    checked = await verified(wanted, token.id, token.secret, connect)
    before = "" if management is None else management.stored.token
    if before and before != token.id:
        say(f"The token {before}, which the Secret had until now, stays in Proxmox VE: remove it if nobody uses it.")
    if management is not None and await management.store(wanted, token.id, token.secret, management.stored.leaving):
        say(f"Done: store the token in Secret {management.secret}, and the ProxmoxConnection {management.key}.")
    return Established(token.id, token.secret, checked, wanted)


async def clear(plan: Plan, proxmox: Proxmox, say: Say, management: Management | None) -> None:
    """Remove tokens that another has replaced. Raises ProxmoxError."""
    for name in plan.token.leaving:
        with suppress(NotFound):
            await proxmox.access.delete_token(plan.setup.user, name)
        say(f"Done: remove the token {plan.setup.user}!{name}.")
    if management is not None:
        await management.removed()


async def verified(wanted: Wanted, token: str, secret: str, connect: Connect) -> Preflight:
    """What a token is good for, asked with the token itself. Raises Incomplete, ProxmoxError."""
    client = connect(Facts(wanted.endpoints, Token(token, secret), wanted.trust))
    try:
        found = await find(client)
        hosts = tuple((await client.inventory.get()).hosts)
    finally:
        await client.close()
    choice = wanted.chosen
    more = tuple(each for each in choice.features if each not in _WAYS)
    checked = preflight(found.held, choice.scope, found.version.release, token, more)
    missing = checked.missing
    if Feature.IMAGES in choice.features:
        missing += image_missing(found.held, _for_images(choice.scope, hosts), found.version.release, token)
    if missing:
        raise Incomplete(token, missing)
    return checked


async def _applied(changes: tuple[Change, ...], proxmox: Proxmox, say: Say) -> None:
    given = 0
    for change in changes:
        await change.apply(proxmox)
        if isinstance(change, GiveRole):
            given += 1
        else:
            say(f"Done: {change.sentence}.")
    if given:
        say(f"Done: give {given} role{'' if given == 1 else 's'}.")


def _for_images(scope: Scope, hosts: tuple[str, ...]) -> ImageScope:
    bridge = scope.bridges[0] if scope.bridges else ""
    return ImageScope(scope.hosts or hosts, scope.import_storages, scope.storages, scope.pool, bridge)


async def _new_token(plan: Plan, proxmox: Proxmox, management: Management | None) -> str:
    user, name = plan.setup.user, plan.token.name
    if management is not None:
        await management.reserve(plan.setup.token)
    if plan.token.unusable:
        with suppress(NotFound):
            await proxmox.access.delete_token(user, plan.token.unusable)
    comment = comment_for("" if management is None else str(management.key))
    return (await proxmox.access.create_token(user, name, comment=comment)).secret
