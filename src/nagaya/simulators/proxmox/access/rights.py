"""What a caller may do: roles given on paths, to users, groups and tokens, narrowed by privilege separation.

Paths are those of PVE: `/`, `/vms/100`, `/storage/local`, `/pool/dev`, `/nodes/pve1`, `/sdn/zones/localnetwork/vmbr0`.
A machine or storage in a pool is also reached through the pool's path. On the way down to a path the lowest entry wins
as a whole: one for the token or user itself before those of groups. A role is passed on to what lies below only where
its entry says so. Rights change while tokens live, so nothing is remembered beyond one call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nagaya.simulators.proxmox.access.paths import ancestors
from nagaya.simulators.proxmox.access.roles import built_in
from nagaya.simulators.proxmox.failure import Forbidden
from nagaya.simulators.proxmox.state.datacenter import Datacenter

ROOT = "root@pam"
NO_ACCESS = "NoAccess"
_Entries = dict[str, tuple[dict[str, bool], dict[str, bool]]]
"""By path, roles and whether they are passed on: those of somebody himself, and those of his groups."""
_ALLOCATORS = {"storage": "Datastore.Allocate", "vms": "VM.Allocate", "pool": "Pool.Allocate"}


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody whose credentials were accepted; with an empty `user`: somebody who gave none where none are asked."""

    user: str
    token: str | None = None
    ticket: bool = False

    @property
    def id(self) -> str:
        """As in UPIDs: user@realm, or user@realm!token."""
        return self.user if self.token is None else f"{self.user}!{self.token}"

    @property
    def root(self) -> bool:
        """Whether this is root@pam with a ticket: some options are for nobody else, tokens of root included."""
        return self.id == ROOT


def caller_of(id: str) -> Caller:
    """The one with that name: user@realm, or user@realm!token."""
    user, mark, token = id.partition("!")
    return Caller(user, token if mark else None)


class Rights:
    """The rights of one caller in a data center."""

    def __init__(self, datacenter: Datacenter, caller: Caller) -> None:
        self._datacenter = datacenter
        self.caller = caller
        self._found: dict[str, Mapping[str, bool]] = {}
        self._listed: dict[str, _Entries] = {}
        self._known = built_in(datacenter.version)

    def on(self, path: str) -> Mapping[str, bool]:
        """Privileges held at a path, each with whether it is passed on to what lies below."""
        found = self._found.get(path)
        if found is None:
            found = self._found[path] = self._compiled(path)
        return found

    def may(self, path: str, privileges: Iterable[str], *, any: bool = False) -> bool:
        """Whether all (or one) of some privileges are held."""
        held = self.on(path)
        answers = [privilege in held for privilege in privileges]
        return (True in answers) if any else (False not in answers)

    def check(self, path: str, privileges: Iterable[str], *, any: bool = False) -> None:
        """Refuse, as PVE words it, what `may` denies: the first privilege missing, or all of which one would do."""
        wanted = list(privileges)
        if self.may(path, wanted, any=any):
            return
        held = self.on(path)
        raise Forbidden(path, "|".join(wanted) if any else next(each for each in wanted if each not in held))

    def may_machine(self, vmid: int, pool: str | None, privileges: Iterable[str], *, any: bool = False) -> bool:
        """Whether privileges are held on a machine, be it through the pool that it is to be put into."""
        wanted = list(privileges)
        return bool(pool and self.may(f"/pool/{pool}", wanted, any=any)) or self.may(f"/vms/{vmid}", wanted, any=any)

    def check_machine(self, vmid: int, pool: str | None, privileges: Iterable[str], *, any: bool = False) -> None:
        """Refuse what `may_machine` denies; the machine is named then, not the pool."""
        wanted = list(privileges)
        if not self.may_machine(vmid, pool, wanted, any=any):
            self.check(f"/vms/{vmid}", wanted, any=any)

    def may_grant(self, path: str) -> bool:
        """Whether rights on a path may be changed."""
        return self.may(path, _granting(path), any=True)

    def check_grant(self, path: str) -> None:
        """Refuse what `may_grant` denies."""
        self.check(path, _granting(path), any=True)

    def check_pool(self, pool: str) -> None:
        """Refuse a pool that does not exist: PVE calls that a missing right, for root too."""
        if pool not in self._datacenter.pools:
            raise Forbidden(f"pool '{pool}' does not exist")

    def may_bridge(self, zone: str, bridge: str, privileges: Iterable[str]) -> bool:
        """Whether one of some privileges is held on a bridge, or on any VLAN of it."""
        wanted = list(privileges)
        path = f"/sdn/zones/{zone}/{bridge}"
        if self.may(path, wanted, any=True):
            return True
        tags = {given for given, _, _, _ in self._datacenter.access.acl if given.startswith(path + "/")}
        return any(self.may(tag, wanted, any=True) for tag in tags)

    def _compiled(self, path: str) -> Mapping[str, bool]:
        user, token = self.caller.user, self.caller.token
        if token is None:
            return self._of_user(user, path)
        known = self._datacenter.access.users.get(user)
        facts = known.tokens.get(token) if known is not None else None
        if facts is None:
            return {}
        owner = self._of_user(user, path)
        if not facts.privilege_separation:
            return owner
        own = self._privileges(self._roles(self.caller.id, path))
        return {name: owner[name] and passed_on for name, passed_on in own.items() if name in owner}

    def _of_user(self, user: str, path: str) -> dict[str, bool]:
        if user == ROOT:
            return dict.fromkeys(self._known["Administrator"], True)
        return self._privileges(self._roles(user, path))

    def _privileges(self, roles: Mapping[str, bool]) -> dict[str, bool]:
        privileges: dict[str, bool] = {}
        for role, passed_on in roles.items():
            for privilege in self._role(role):
                privileges[privilege] = privileges.get(privilege, False) or passed_on
        return privileges

    def _role(self, name: str) -> frozenset[str]:
        return self._known.get(name) or self._datacenter.access.roles.get(name, frozenset())

    def _roles(self, id: str, path: str) -> Mapping[str, bool]:
        """Roles at a path for a user or token, those of pools that hold what the path names included."""
        roles = self._given(id, path)
        inherited = {role for pool in self._pools(path) for role in self._given(id, f"/pool/{pool}")}
        if not inherited or NO_ACCESS in roles:
            return roles
        if NO_ACCESS in inherited:
            return {NO_ACCESS: False}
        return {**dict.fromkeys(inherited, False), **roles}

    def _pools(self, path: str) -> list[str]:
        _, _, rest = path.partition("/")
        kind, _, name = rest.partition("/")
        if kind == "vms" and name.isdecimal():
            return [pool for pool, facts in self._datacenter.pools.items() if int(name) in facts.vms]
        if kind == "storage" and name:
            return [pool for pool, facts in self._datacenter.pools.items() if name in facts.storages]
        return []

    def _given(self, id: str, path: str) -> Mapping[str, bool]:
        """Roles that entries on a path and above it give."""
        entries, steps = self._entries_of(id), ancestors(path)
        for step in reversed(steps):
            for roles in entries.get(step, ()):
                here = roles if step == steps[-1] else {role: True for role, passed_on in roles.items() if passed_on}
                if here:
                    return {NO_ACCESS: here[NO_ACCESS]} if NO_ACCESS in here else here
        return {}

    def _entries_of(self, id: str) -> _Entries:
        """What the list says of a user or token. A call may ask for many paths, and the list is long."""
        found = self._listed.get(id)
        if found is None:
            found = self._listed[id] = self._sorted_out(id)
        return found

    def _sorted_out(self, id: str) -> _Entries:
        access = self._datacenter.access
        user = access.users.get(id)
        groups = user.groups if user is not None else set()
        found: _Entries = {}
        for (path, kind, holder, role), passed_on in access.acl.items():
            if kind == "group":
                if holder in groups:
                    shared = found.setdefault(path, ({}, {}))[1]
                    shared[role] = shared.get(role, False) or passed_on
            elif holder == id:
                found.setdefault(path, ({}, {}))[0][role] = passed_on
        return found


def _granting(path: str) -> list[str]:
    kind, _, name = path.removeprefix("/").partition("/")
    return ["Permissions.Modify", *([_ALLOCATORS[kind]] if name and kind in _ALLOCATORS else [])]
