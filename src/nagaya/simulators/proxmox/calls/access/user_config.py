"""Changes of user.cfg, the file that holds users, groups, roles, rights and pools: one at a time in the whole cluster.

A change that fails says first what failed, and a failure inside with a number of its own shows it in the text only:
so a missing right becomes a 500. Nothing of it is kept.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call
from nagaya.simulators.proxmox.failure import Failure


@asynccontextmanager
async def user_config(call: Call, failed: str) -> AsyncIterator[None]:
    """Change it, or say what failed."""
    datacenter = call.emulator.datacenter
    try:
        async with call.emulator.locks.cluster("file-user_cfg"):
            access = datacenter.access
            parts: list[dict[Any, Any]] = [access.users, access.groups, access.roles, access.acl, datacenter.pools]
            before = copy.deepcopy(parts)
            try:
                yield
            except Failure:
                for part, kept in zip(parts, before, strict=True):
                    part.clear()
                    part.update(kept)
                raise
    except Failure as failure:
        raise Failure(f"{failed}: {failure.text}") from failure
