"""Who may do what in an etcd that tenants share.

Everyone is known by the common name of a client certificate; nobody has a password. A tenant's user has one role, and
the role one permission: to read and write the keys of its prefix. What is more than that is taken away, whoever gave
it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.kube.etcd.client import EtcdClient
from nagaya.kube.etcd.errors import RoleExists, RoleNotFound, UserExists, UserNotFound
from nagaya.kube.etcd.kv import after_prefix
from nagaya.wire.etcd.auth import Permission, PermissionType

ROOT: Final = "root"
"""The user and the role that etcd wants to exist before it asks anybody who they are."""


def keys_of(tenant: Tenant) -> bytes:
    """What all keys of a tenant begin with, slash included: /a does not cover /aa."""
    return f"{tenant.prefix}/".encode()


async def close_to_strangers(client: EtcdClient, own_name: str) -> None:
    """Have etcd ask everybody who they are, if it does not yet. `own_name` is who we are, and becomes a root user."""
    if await client.auth.enabled():
        return
    with suppress(RoleExists):
        await client.auth.add_role(ROOT)
    for user in {ROOT, own_name}:
        with suppress(UserExists):
            await client.auth.add_user(user)
        await client.auth.grant_role(user, ROOT)
    await client.auth.enable()


async def admit(client: EtcdClient, tenant: Tenant) -> None:
    """Let a tenant read and write its own keys, and nothing else. Changes nothing if that is so already: every change
    of users disturbs what other tenants are doing at that moment."""
    name, prefix = tenant.user, keys_of(tenant)
    wanted = Permission(PermissionType.READWRITE, prefix, after_prefix(prefix))
    granted = await _permissions(client, name)
    for surplus in granted:
        if surplus != wanted:
            await client.auth.revoke(name, surplus.key, surplus.range_end)
    if wanted not in granted:
        await client.auth.grant(name, wanted)
    roles = await _roles(client, name)
    for role in roles:
        if role != name:
            await client.auth.revoke_role(name, role)
    if name not in roles:
        await client.auth.grant_role(name, name)


async def expel(client: EtcdClient, tenant: Tenant) -> None:
    """Let a tenant do nothing any more."""
    with suppress(UserNotFound):
        await client.auth.delete_user(tenant.user)
    with suppress(RoleNotFound):
        await client.auth.delete_role(tenant.user)


async def _permissions(client: EtcdClient, role: str) -> tuple[Permission, ...]:
    """What a role may do; it is made if there is none."""
    try:
        return await client.auth.permissions(role)
    except RoleNotFound:
        with suppress(RoleExists):
            await client.auth.add_role(role)
        return await client.auth.permissions(role)


async def _roles(client: EtcdClient, user: str) -> tuple[str, ...]:
    """The roles of a user; it is made if there is none."""
    try:
        return await client.auth.user_roles(user)
    except UserNotFound:
        with suppress(UserExists):
            await client.auth.add_user(user)
        return await client.auth.user_roles(user)
