"""Who is calling: a ticket in a cookie, the same in a header, or an API token.

Whatever is wrong with the credentials, the answer is the same, so that nobody learns which users and tokens there are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from nagaya.simulators.proxmox.access.names import checked_realm, token_parts
from nagaya.simulators.proxmox.access.rights import ROOT, Caller
from nagaya.simulators.proxmox.access.tickets import Tickets
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.access import Access, User
from nagaya.world import Clock

COOKIE = "PVEAuthCookie"
TOKEN = "PVEAPIToken"  # noqa: S105  (the name of a scheme, no secret)
_OPEN = frozenset(
    {
        ("GET", "/access/domains"),
        ("GET", "/access/ticket"),
        ("POST", "/access/ticket"),
        ("POST", "/access/vncticket"),
        ("POST", "/access/openid/auth-url"),
        ("POST", "/access/openid/login"),
    }
)
_UPLOAD = re.compile(r"/nodes/[^/]+/storage/([^/]+)/upload")
_FORMS = {name: re.compile(rf"(?:^|\s){name}[= ]([^;]*)") for name in (COOKIE, TOKEN)}


class Unauthenticated(Exception):
    """No credentials, or wrong ones; the reason is all that PVE says."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What the credentials of a request say."""

    caller: Caller
    token_given: bool = False
    upload: str | None = None
    """The storage that a file is to be sent to."""


def identify(
    method: str, path: str, headers: Mapping[str, str], access: Access, tickets: Tickets, clock: Clock
) -> Identity:
    """The caller of a request, whose path is relative to the root of the API."""
    ticket = _given(headers.get("cookie"), COOKIE) or _given(headers.get("authorization"), COOKIE)
    token = None if ticket else _given(headers.get("authorization"), TOKEN)
    if (method, path) in _OPEN:
        return Identity(Caller(""), token_given=bool(token))
    upload = _UPLOAD.fullmatch(path) if method == "POST" else None
    storage = None if upload is None else upload[1]
    if token:
        return Identity(_token(token, access, clock), token_given=True, upload=storage)
    if not ticket:
        raise Unauthenticated("No ticket")
    user = tickets.user(ticket)
    if user is None or not _enabled(user, access, clock):
        raise Unauthenticated("Authentication failed!")
    forgery_token = headers.get("csrfpreventiontoken", "")
    if method != "GET" and storage is None and not tickets.forgery_token_fits(forgery_token, user):
        raise Unauthenticated("Permission denied - invalid csrf token")
    return Identity(Caller(user, ticket=True), upload=storage)


def enabled_user(name: str, access: Access, clock: Clock) -> User:
    """A user who may log in now."""
    user = known_user(name, access)
    if not user.enable:
        raise Failure(f"user '{name}' is disabled\n")
    if user.expire and user.expire < clock.now().timestamp():
        raise Failure(f"user '{name}' access expired\n")
    return user


def known_user(name: str, access: Access) -> User:
    """A user who exists; root@pam always does."""
    checked_realm(name)
    user = access.users.get(name)
    if user is None and name == ROOT:
        user = access.users[ROOT] = User()
    if user is None:
        raise Failure(f"no such user ('{name}')\n")
    return user


def check_password(name: str, password: str, access: Access) -> None:
    """Refuse a password that a user's realm does not accept."""
    realm = checked_realm(name)
    if realm not in access.realms:
        raise Failure(f"auth domain '{realm}' does not exist\n")
    user = known_user(name, access)
    if access.realms[realm]["type"] == "pam":
        if user.password is None or user.password != password:
            raise Failure("Authentication failure\n")
    elif not password:
        raise Failure("no password\n")
    elif user.password is None:
        raise Failure("no password set\n")
    elif user.password != password:
        raise Failure("invalid credentials\n")


def _given(header: str | None, name: str) -> str | None:
    found = _FORMS[name].search(header) if header else None
    return None if found is None else unquote(found[1])


def _enabled(name: str, access: Access, clock: Clock) -> bool:
    try:
        enabled_user(name, access, clock)
    except Failure:
        return False
    return True


def _token(given: str, access: Access, clock: Clock) -> Caller:
    refusal = Unauthenticated("Authentication failed!")
    id, mark, secret = given.rpartition("=")
    parts = token_parts(id) if mark else None
    if parts is None:
        raise refusal
    name, token = parts
    if not _enabled(name, access, clock):
        raise refusal
    facts = known_user(name, access).tokens.get(token)
    if facts is None or (facts.expire and facts.expire < clock.now().timestamp()) or facts.secret != secret:
        raise refusal
    return Caller(name, token)
