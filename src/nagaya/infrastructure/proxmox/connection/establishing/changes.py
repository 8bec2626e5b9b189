"""What is to be done in Proxmox VE so that a setup is there: only what is missing, in an order in which it works.

Each change is a value with a sentence for people and the call that does it. All of them can be repeated: one that finds
its work done already, by somebody else or by a run whose reply was lost, is done.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from nagaya.infrastructure.proxmox.client import Proxmox
from nagaya.infrastructure.proxmox.client.access import Grant
from nagaya.infrastructure.proxmox.client.errors import Conflict
from nagaya.infrastructure.proxmox.connection.establishing.accounts import Accounts
from nagaya.infrastructure.proxmox.privileges.setup import COMMENT, Setup


class Change(Protocol):
    """Something to be done."""

    @property
    def sentence(self) -> str:
        """For people."""
        ...

    async def apply(self, proxmox: Proxmox) -> None:
        """Do it. Raises ProxmoxError."""
        ...


@dataclass(frozen=True, slots=True)
class MakePool:
    """A pool."""

    pool: str

    @property
    def sentence(self) -> str:
        return f"make the pool {self.pool}"

    async def apply(self, proxmox: Proxmox) -> None:
        try:
            await proxmox.pools.create(self.pool, COMMENT)
        except Conflict:
            return


@dataclass(frozen=True, slots=True)
class MakeRole:
    """A role."""

    role: str
    privileges: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return f"make the role {self.role}: {' '.join(self.privileges)}"

    async def apply(self, proxmox: Proxmox) -> None:
        try:
            await proxmox.access.create_role(self.role, self.privileges)
        except Conflict:
            await proxmox.access.extend_role(self.role, self.privileges)


@dataclass(frozen=True, slots=True)
class ExtendRole:
    """A role that lacks something."""

    role: str
    privileges: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return f"add to the role {self.role}: {' '.join(self.privileges)}"

    async def apply(self, proxmox: Proxmox) -> None:
        await proxmox.access.extend_role(self.role, self.privileges)


@dataclass(frozen=True, slots=True)
class MakeUser:
    """A user."""

    user: str

    @property
    def sentence(self) -> str:
        return f"make the user {self.user}, who has no password and can only use tokens"

    async def apply(self, proxmox: Proxmox) -> None:
        try:
            await proxmox.access.create_user(self.user, COMMENT)
        except Conflict:
            return


@dataclass(frozen=True, slots=True)
class GiveRole:
    """A line of the access control list."""

    grant: Grant

    @property
    def sentence(self) -> str:
        grant = self.grant
        below = " and all below" if grant.propagate else " (nothing below)"
        return f"give {grant.kind} {grant.subject} the role {grant.role} on {grant.path}{below}"

    async def apply(self, proxmox: Proxmox) -> None:
        await proxmox.access.grant(self.grant)


def changes(setup: Setup, present: Accounts, *, token_is_new: bool) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """What is missing: what goes before the token, and what the token gets when it is there."""
    before: list[Change] = []
    if setup.pool and setup.pool not in present.pools:
        before.append(MakePool(setup.pool))
    for role, wanted in setup.roles.items():
        held = present.roles.get(role)
        if held is None:
            before.append(MakeRole(role, wanted))
        elif lacking := tuple(each for each in wanted if each not in held):
            before.append(ExtendRole(role, lacking))
    if present.account is None:
        before.append(MakeUser(setup.user))
    missing = [each for each in setup.grants if each not in present.grants]
    before += _given(each for each in missing if each.kind == "user")
    # What was granted to a token of that name went with it.
    wanted_by_token = setup.grants if token_is_new else missing
    return tuple(before), tuple(_given(each for each in wanted_by_token if each.kind == "token"))


def superfluous(setup: Setup, present: Accounts) -> dict[str, tuple[str, ...]]:
    """Privileges that roles of ours have and this setup does not need, by role: others may."""
    found = {
        role: tuple(sorted(present.roles.get(role, frozenset()) - {*wanted})) for role, wanted in setup.roles.items()
    }
    return {role: more for role, more in found.items() if more}


def _given(grants: Iterable[Grant]) -> list[Change]:
    return [GiveRole(each) for each in dict.fromkeys(grants)]
