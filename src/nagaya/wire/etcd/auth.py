"""Users, roles and what these may touch."""

from __future__ import annotations

from typing import Annotated

from nagaya.wire.etcd.header import NO_HEADER, ResponseHeader
from nagaya.wire.protobuf import Enumeration, Message, UInt64


class PermissionType(Enumeration):
    """What may be done."""

    READ = 0
    WRITE = 1
    READWRITE = 2


class Permission(Message, frozen=True):
    """What may be done with the keys from `key` up to, not including, `range_end`; without an end, with that key."""

    type: Annotated[PermissionType, 1] = PermissionType.READ
    key: Annotated[bytes, 2] = b""
    range_end: Annotated[bytes, 3] = b""


class AuthStatusResponse(Message, frozen=True):
    """Whether users are asked who they are."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    enabled: Annotated[bool, 2] = False
    auth_revision: Annotated[UInt64, 3] = 0


class UserAddOptions(Message, frozen=True):
    """Without a password a user is known by the common name of its certificate only."""

    no_password: Annotated[bool, 1] = False


class UserAddRequest(Message, frozen=True):
    """A new user."""

    name: Annotated[str, 1] = ""
    password: Annotated[str, 2] = ""
    options: Annotated[UserAddOptions | None, 3] = None


class UserRequest(Message, frozen=True):
    """Get or delete a user."""

    name: Annotated[str, 1] = ""


class UserGetResponse(Message, frozen=True):
    """The roles of a user."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    roles: Annotated[tuple[str, ...], 2] = ()


class UserListResponse(Message, frozen=True):
    """All users."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    users: Annotated[tuple[str, ...], 2] = ()


class UserRoleRequest(Message, frozen=True):
    """Grant a role to a user, or revoke it."""

    user: Annotated[str, 1] = ""
    role: Annotated[str, 2] = ""


class RoleRequest(Message, frozen=True):
    """Add, get or delete a role."""

    role: Annotated[str, 1] = ""


class RoleGetResponse(Message, frozen=True):
    """What a role may do."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    permissions: Annotated[tuple[Permission, ...], 2] = ()


class RoleListResponse(Message, frozen=True):
    """All roles."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    roles: Annotated[tuple[str, ...], 2] = ()


class RoleGrantPermissionRequest(Message, frozen=True):
    """Let a role do more."""

    role: Annotated[str, 1] = ""
    permission: Annotated[Permission, 2] = Permission()


class RoleRevokePermissionRequest(Message, frozen=True):
    """Let a role do less."""

    role: Annotated[str, 1] = ""
    key: Annotated[bytes, 2] = b""
    range_end: Annotated[bytes, 3] = b""
