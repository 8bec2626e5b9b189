"""Who there is in a data center and what they may do, as an administrator sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nagaya.infrastructure.proxmox.client import Proxmox
from nagaya.infrastructure.proxmox.client.access import Account, Grant, KnownToken


@dataclass(frozen=True, slots=True)
class Accounts:
    """As far as it concerns one user."""

    pools: frozenset[str] = frozenset()
    roles: Mapping[str, frozenset[str]] = field(default_factory=dict)
    account: Account | None = None
    """The user; None if there is none."""
    tokens: Mapping[str, KnownToken] = field(default_factory=dict)
    """Those of the user."""
    grants: frozenset[Grant] = frozenset()


async def read_accounts(proxmox: Proxmox, user: str) -> Accounts:
    """Ask for all of it. Raises ProxmoxError."""
    access = proxmox.access
    account = (await access.accounts()).get(user)
    return Accounts(
        frozenset(await proxmox.pools.names()),
        await access.roles(),
        account,
        {} if account is None else await access.known_tokens(user),
        frozenset(await access.grants()),
    )
