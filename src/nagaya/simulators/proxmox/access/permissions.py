"""The rights that a route asks for, in PVE's notation, held against what the caller has.

A check is a list with a verb first: `perm` wants privileges on a path made from the parameters, `and` and `or` combine,
`userid-param` and `userid-group` speak of the user that the call is about, `perm-modify` of passing on rights. These
are judged before parameters are: one that is missing leaves a dash in the path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from nagaya.simulators.proxmox.access.authentication import known_user
from nagaya.simulators.proxmox.access.names import checked_realm
from nagaya.simulators.proxmox.access.paths import normalised
from nagaya.simulators.proxmox.access.rights import Rights
from nagaya.simulators.proxmox.failure import Failure, Forbidden
from nagaya.simulators.proxmox.state.access import Access
from nagaya.simulators.proxmox.surface import Permissions
from nagaya.simulators.proxmox.verification import split_list

_HOLE = re.compile(r"\{([^{}]+)\}")


def require(permissions: Permissions | None, rights: Rights, parameters: Mapping[str, Any], access: Access) -> None:
    """Refuse a caller who lacks what a route asks for."""
    caller = rights.caller
    if not caller.user:
        if permissions is not None and permissions.user == "world":
            return
        raise Forbidden("user != null")
    if caller.root:
        return
    if permissions is None:
        raise Forbidden("user != root@pam")
    if permissions.user == "all":
        return
    if permissions.check is None:
        raise Forbidden
    Requirement(rights, parameters, access).holds(permissions.check)


class Requirement:
    """What one call has to hold. Inside an `or` a test that fails is quiet, but an `and` there is not: PVE's way."""

    def __init__(self, rights: Rights, parameters: Mapping[str, Any], access: Access) -> None:
        self._rights = rights
        self._parameters = parameters
        self._access = access

    def holds(self, check: Sequence[Any], *, quiet: bool = False) -> bool:
        """Whether a check is met. Unless `quiet`, one that is not raises."""
        verb, *rest = check
        match verb:
            case "and":
                return all(self.holds(part) for part in rest)
            case "or":
                return any(self.holds(part, quiet=True) for part in rest) or _refuse(quiet, Forbidden())
            case "perm":
                return self._privileges(rest[0], rest[1], _options(rest[2:]), quiet)
            case "userid-param":
                return self._about_user(rest[0], quiet)
            case "userid-group":
                return self._groups(rest[0], _options(rest[1:]).get("groups_param"), quiet)
            case "perm-modify":
                path = normalised(self._filled(rest[0]))
                return path is not None and self._rights_to_grant(path, quiet)
            case _:
                raise Failure(f"unknown permission test {verb}\n")

    def _privileges(self, template: str, privileges: Sequence[str], options: Mapping[str, Any], quiet: bool) -> bool:
        needed = options.get("require_param")
        if needed and self._parameters.get(needed) is None:
            return _refuse(quiet, Forbidden())
        path = normalised(self._filled(template))
        either = bool(options.get("any"))
        if path is None:
            return _refuse(quiet, Forbidden(f", {'|'.join(privileges) if either else privileges[0]}"))
        return self._holding(path, privileges, either, quiet)

    def _holding(self, path: str, privileges: Sequence[str], either: bool, quiet: bool) -> bool:
        if not quiet:
            self._rights.check(path, privileges, any=either)
        return self._rights.may(path, privileges, any=either)

    def _rights_to_grant(self, path: str, quiet: bool) -> bool:
        if not quiet:
            self._rights.check_grant(path)
        return self._rights.may_grant(path)

    def _about_user(self, test: str, quiet: bool) -> bool:
        name = str(self._parameters.get("userid", ""))
        realm = checked_realm(name)
        if test == "self":
            if not self._exists(name, quiet):
                return False
            return self._rights.caller.id == name or _refuse(quiet, Forbidden())
        return self._holding(f"/access/realm/{realm}", [test], False, quiet)

    def _groups(self, privileges: Sequence[str], changed: str | None, quiet: bool) -> bool:
        name = str(self._parameters.get("userid", ""))
        if changed != "create" and not self._exists(name, quiet):
            return False
        if self._rights.may("/access/groups", privileges, any=True):
            return True
        allowed = {
            group for group in self._access.groups if self._rights.may(f"/access/groups/{group}", privileges, any=True)
        }
        if changed:
            named = split_list(str(self._parameters.get("groups") or ""))
            if not named:
                raise Forbidden("/access/groups", "|".join(privileges))
            for group in named:
                if group not in allowed:
                    raise Forbidden(f"/access/groups/{group}", "|".join(privileges))
        if changed != "create" and not known_user(name, self._access).groups & allowed:
            return _refuse(quiet, Forbidden())
        return True

    def _exists(self, name: str, quiet: bool) -> bool:
        try:
            known_user(name, self._access)
        except Failure as failure:
            return _refuse(quiet, failure)
        return True

    def _filled(self, template: str) -> str:
        return _HOLE.sub(lambda hole: str(self._parameters.get(hole[1]) or "-"), template)


def _refuse(quiet: bool, failure: Failure) -> bool:
    if not quiet:
        raise failure
    return False


def _options(pairs: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(pairs[::2], pairs[1::2], strict=True))
