"""Calls about users, roles, rights and tokens. Secrets that come back are in no `repr`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nagaya.infrastructure.proxmox.client.calls import Calls, Parameters, path_of


@dataclass(frozen=True, slots=True)
class Grant:
    """A line of the access control list."""

    path: str
    role: str
    subject: str
    """A user, a group (without @) or a token."""
    kind: str
    """user, group or token."""
    propagate: bool = True


@dataclass(frozen=True, slots=True)
class Account:
    """A user."""

    name: str
    enabled: bool = True
    expires: int = 0
    """Seconds since 1970; 0 for never."""


@dataclass(frozen=True, slots=True)
class KnownToken:
    """A token, without its secret, which PVE tells nobody again."""

    name: str
    comment: str = ""
    separate: bool = True
    """Whether it has only the rights that are granted to itself."""
    expires: int = 0
    """Seconds since 1970; 0 for never."""


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token, with the secret that PVE tells only now."""

    id: str
    secret: str = field(repr=False)


class Access:
    """Of one data center."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def permissions(self, path: str = "", user: str = "") -> Mapping[str, Mapping[str, bool]]:
        """Privileges by path, each with whether it is inherited below. Of the credentials themselves unless another
        user is named. A path that PVE does not know has none, which is no error."""
        given = {"path": path or None, "userid": user or None}
        found = await self._calls.call("GET", "/access/permissions", given)
        if not found.data:
            return {}
        if not all(isinstance(held, dict) for held in found.record().values()):
            raise found.wrong("a record of privileges by path")
        return {where: {name: on in (True, "1") for name, on in held.items()} for where, held in found.record().items()}

    async def users(self) -> tuple[str, ...]:
        """Those that the credentials may see."""
        return tuple(await self.accounts())

    async def accounts(self) -> Mapping[str, Account]:
        """The same with what is known of them."""
        rows = await self._calls.rows("/access/users")
        found = (
            Account(str(row["userid"]), bool(int(row.get("enable", 1))), int(row.get("expire") or 0)) for row in rows
        )
        return {each.name: each for each in found}

    async def create_user(self, user: str, comment: str = "") -> None:
        """A user without a password, who can only use tokens. Raises Conflict if there is one."""
        await self._calls.post("/access/users", {"userid": user, "comment": comment or None})

    async def delete_user(self, user: str) -> None:
        """With all tokens and grants."""
        await self._calls.delete(path_of("access", "users", user))

    async def roles(self) -> Mapping[str, frozenset[str]]:
        """The privileges of each role."""
        rows = await self._calls.rows("/access/roles")
        return {str(row["roleid"]): frozenset(filter(None, str(row.get("privs") or "").split(","))) for row in rows}

    async def create_role(self, role: str, privileges: Iterable[str]) -> None:
        """Raises Conflict if there is one, ParameterError for a privilege that this PVE does not have."""
        await self._calls.post("/access/roles", {"roleid": role, "privs": ",".join(privileges)})

    async def update_role(self, role: str, privileges: Iterable[str]) -> None:
        """Give it exactly these privileges."""
        await self._calls.put(path_of("access", "roles", role), {"privs": ",".join(privileges)})

    async def extend_role(self, role: str, privileges: Iterable[str]) -> None:
        """Give it these privileges besides those that it has."""
        await self._calls.put(path_of("access", "roles", role), {"privs": ",".join(privileges), "append": True})

    async def delete_role(self, role: str) -> None:
        """With all grants of it."""
        await self._calls.delete(path_of("access", "roles", role))

    async def grants(self) -> tuple[Grant, ...]:
        """Those that the credentials may see."""
        return tuple(
            Grant(row["path"], row["roleid"], row["ugid"], row["type"], bool(int(row.get("propagate", 1))))
            for row in await self._calls.rows("/access/acl")
        )

    async def grant(self, grant: Grant, *, revoke: bool = False) -> None:
        """Add a line, or take it away. Both can be repeated."""
        given: Parameters = {
            "path": grant.path,
            "roles": grant.role,
            f"{grant.kind}s": grant.subject,
            "propagate": grant.propagate,
            "delete": revoke or None,
        }
        await self._calls.put("/access/acl", given)

    async def tokens(self, user: str) -> tuple[str, ...]:
        """The names of a user's tokens."""
        return tuple(await self.known_tokens(user))

    async def known_tokens(self, user: str) -> Mapping[str, KnownToken]:
        """The same with what is known of them."""
        rows = await self._calls.rows(path_of("access", "users", user, "token"))
        found = (
            KnownToken(
                str(row["tokenid"]),
                str(row.get("comment") or ""),
                bool(int(row.get("privsep", 1))),
                int(row.get("expire") or 0),
            )
            for row in rows
        )
        return {each.name: each for each in found}

    async def create_token(self, user: str, name: str, *, comment: str = "", separate: bool = True) -> NewToken:
        """`separate`: it has only the rights that are granted to itself. Raises Conflict if there is one."""
        path = path_of("access", "users", user, "token", name)
        data = (await self._calls.call("POST", path, {"privsep": separate, "comment": comment or None})).record()
        return NewToken(str(data["full-tokenid"]), str(data["value"]))

    async def delete_token(self, user: str, name: str) -> None:
        """Raises NotFound."""
        await self._calls.delete(path_of("access", "users", user, "token", name))
