"""The lines of `pveum`, PVE's own program for users and rights, that people can run on any host."""

from __future__ import annotations

import shlex
from collections.abc import Iterable


def role_line(role: str, privileges: Iterable[str]) -> str:
    """Makes a role, or adds privileges to one that is there."""
    privs = shlex.quote(",".join(privileges))
    name = shlex.quote(role)
    return f"pveum role add {name} --privs {privs} || pveum role modify {name} --append 1 --privs {privs}"


def grant_line(path: str, role: str, subject: str, *, propagate: bool) -> str:
    """Grants a role. `subject` is a user, or a token: a token with rights of its own has only those that its user has
    too, so both get it."""
    user, token, _ = subject.partition("!")
    holders = f"--users {shlex.quote(user)}" + (f" --tokens {shlex.quote(subject)}" if token else "")
    return f"pveum acl modify {shlex.quote(path)} {holders} --roles {shlex.quote(role)} --propagate {int(propagate)}"


def user_line(user: str, comment: str) -> str:
    """Makes a user without a password."""
    return f"pveum user add {shlex.quote(user)} --comment {shlex.quote(comment)}"


def token_line(user: str, name: str, comment: str) -> str:
    """Makes a token that has rights of its own only. The secret is printed once."""
    return f"pveum user token add {shlex.quote(user)} {shlex.quote(name)} --privsep 1 --comment {shlex.quote(comment)}"


def pool_line(pool: str, comment: str) -> str:
    """Makes a pool."""
    return f"pveum pool add {shlex.quote(pool)} --comment {shlex.quote(comment)}"
