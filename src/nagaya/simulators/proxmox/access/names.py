"""Names of users and tokens: what they may look like, and their parts."""

from __future__ import annotations

import re

from nagaya.simulators.proxmox.failure import Failure

_USER = r"[^\s:/]+"
_REALM = r"[A-Za-z][A-Za-z0-9.\-_]+"
_USERID = re.compile(rf"({_USER})@({_REALM})")
_TOKENID = re.compile(rf"({_USER}@{_REALM})!({_REALM})")
_LONGEST = 64
_SHORTEST = 3


def realm_of(user: str) -> str | None:
    """The realm of user@realm, None if that is no name of a user."""
    if not _SHORTEST <= len(user) <= _LONGEST or (found := _USERID.fullmatch(user)) is None:
        return None
    return found[2]


def checked_realm(user: str) -> str:
    """The realm of user@realm; refuses what is no name of a user, as PVE words it."""
    realm = realm_of(user)
    if realm is not None:
        return realm
    if len(user) < _SHORTEST:
        raise Failure(f"user name '{user}' is too short\n")
    if len(user) > _LONGEST:
        raise Failure(f"user name '{user}' is too long ({len(user)} > {_LONGEST})\n")
    raise Failure(f"value '{user}' does not look like a valid user name\n")


def token_parts(id: str) -> tuple[str, str] | None:
    """User and token of user@realm!token, None if that is no name of a token."""
    found = _TOKENID.fullmatch(id)
    return None if found is None else (found[1], found[2])
