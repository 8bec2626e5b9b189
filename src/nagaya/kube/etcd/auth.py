"""Users and roles.

Users here have no passwords: etcd knows them by the common name of the certificate that they show.
"""

from __future__ import annotations

from nagaya.kube.etcd.caller import Caller
from nagaya.kube.etcd.kv import after_prefix
from nagaya.wire.etcd.auth import (
    AuthStatusResponse,
    Permission,
    PermissionType,
    RoleGetResponse,
    RoleGrantPermissionRequest,
    RoleListResponse,
    RoleRequest,
    RoleRevokePermissionRequest,
    UserAddOptions,
    UserAddRequest,
    UserGetResponse,
    UserListResponse,
    UserRequest,
    UserRoleRequest,
)
from nagaya.wire.etcd.header import Nothing, OnlyHeader


class Auth:
    """Calls of etcd's Auth service. Raise EtcdError."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def enabled(self) -> bool:
        """Whether anybody is asked who they are. Must itself be asked by somebody known, once it is so."""
        return (await self._caller.ask("Auth/AuthStatus", Nothing(), AuthStatusResponse)).enabled

    async def enable(self) -> None:
        """From now on only those who are known may do something. Needs the user `root` with the role `root`."""
        await self._caller.ask("Auth/AuthEnable", Nothing(), OnlyHeader)

    async def disable(self) -> None:
        """From now on everybody may do everything."""
        await self._caller.ask("Auth/AuthDisable", Nothing(), OnlyHeader)

    async def add_user(self, name: str) -> None:
        """A user without a password. Raises UserExists."""
        request = UserAddRequest(name=name, options=UserAddOptions(no_password=True))
        await self._caller.ask("Auth/UserAdd", request, OnlyHeader)

    async def user_roles(self, name: str) -> tuple[str, ...]:
        """The roles of a user. Raises UserNotFound."""
        return (await self._caller.ask("Auth/UserGet", UserRequest(name=name), UserGetResponse)).roles

    async def users(self) -> tuple[str, ...]:
        """All users."""
        return (await self._caller.ask("Auth/UserList", Nothing(), UserListResponse)).users

    async def delete_user(self, name: str) -> None:
        """Forget a user. Raises UserNotFound."""
        await self._caller.ask("Auth/UserDelete", UserRequest(name=name), OnlyHeader)

    async def grant_role(self, user: str, role: str) -> None:
        """Give a user a role; one that it has already is fine."""
        await self._caller.ask("Auth/UserGrantRole", UserRoleRequest(user=user, role=role), OnlyHeader)

    async def revoke_role(self, user: str, role: str) -> None:
        """Take a role from a user."""
        await self._caller.ask("Auth/UserRevokeRole", UserRoleRequest(user=user, role=role), OnlyHeader)

    async def add_role(self, role: str) -> None:
        """A role that may do nothing yet. Raises RoleExists."""
        await self._caller.ask("Auth/RoleAdd", RoleRequest(role=role), OnlyHeader)

    async def permissions(self, role: str) -> tuple[Permission, ...]:
        """What a role may do. Raises RoleNotFound."""
        return (await self._caller.ask("Auth/RoleGet", RoleRequest(role=role), RoleGetResponse)).permissions

    async def roles(self) -> tuple[str, ...]:
        """All roles."""
        return (await self._caller.ask("Auth/RoleList", Nothing(), RoleListResponse)).roles

    async def delete_role(self, role: str) -> None:
        """Forget a role. Raises RoleNotFound."""
        await self._caller.ask("Auth/RoleDelete", RoleRequest(role=role), OnlyHeader)

    async def grant(self, role: str, permission: Permission) -> None:
        """Let a role do more."""
        request = RoleGrantPermissionRequest(role=role, permission=permission)
        await self._caller.ask("Auth/RoleGrantPermission", request, OnlyHeader)

    async def grant_prefix(self, role: str, prefix: bytes) -> None:
        """Let a role read and write all keys that begin with a prefix, which cannot be empty."""
        if not prefix:
            raise ValueError("an empty prefix would grant every key")
        await self.grant(role, Permission(PermissionType.READWRITE, prefix, after_prefix(prefix)))

    async def revoke(self, role: str, key: bytes, range_end: bytes = b"") -> None:
        """Let a role do less: exactly what was granted with this key and end."""
        request = RoleRevokePermissionRequest(role=role, key=key, range_end=range_end)
        await self._caller.ask("Auth/RoleRevokePermission", request, OnlyHeader)
