"""What each host is asked for itself: its clock and its version. All at the same time, and none for long: a host that
hangs delays no other, and is told as one that did not tell."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from nagaya.infrastructure.proxmox.client import Proxmox, Snapshot
from nagaya.infrastructure.proxmox.client.calls import path_of
from nagaya.infrastructure.proxmox.client.errors import HostUnreachable, ProxmoxError

ANSWER: Final = 10.0
"""Seconds that a host has for an answer."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answers:
    """What hosts told, by their names."""

    skews: Mapping[str, float] = field(default_factory=dict)
    """Seconds that a host's clock is ahead of this machine's, or behind if less than 0."""
    versions: Mapping[str, str] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)
    """Hosts that are on and did not answer, and why."""
    refused: str = ""
    """What Proxmox VE said where it does not let the credentials ask."""


async def ask_hosts(proxmox: Proxmox, snapshot: Snapshot) -> Answers:
    """Ask all that are on. Nothing is raised: what cannot be had is told."""
    names = sorted(name for name, host in snapshot.hosts.items() if host.online)
    skews: dict[str, float] = {}
    versions: dict[str, str] = {}
    silent: dict[str, str] = {}
    refused: list[str] = []

    async def one(name: str, ask: Callable[[Proxmox, str], Awaitable[T]], told: dict[str, T]) -> None:
        try:
            async with asyncio.timeout(ANSWER):
                told[name] = await ask(proxmox, name)
        except TimeoutError:
            silent[name] = f"no answer within {ANSWER:.0f} s"
        except HostUnreachable as error:
            silent[name] = error.why
        except ProxmoxError as error:
            refused.append(str(error))

    await asyncio.gather(
        *(one(name, lambda asked, node: asked.cluster.clock_ahead(node), skews) for name in names),
        *(one(name, _version, versions) for name in names),
    )
    return Answers(skews, versions, silent, refused[0] if refused else "")


async def _version(proxmox: Proxmox, node: str) -> str:
    return str((await proxmox.calls.record(path_of("nodes", node, "version"))).get("version") or "")
