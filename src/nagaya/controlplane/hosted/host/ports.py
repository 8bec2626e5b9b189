"""Ports of this machine that tenants have: chosen once, written down before they are used, never given twice.

What a tenant has stands in its folder, so it is the same after any restart, whether or not its programs run then. All
of them are read at the start; from then on this is the only place where ports are given, one at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

import msgspec

from nagaya.controlplane.hosted.host.tenant_folder import TenantFolder
from nagaya.pki.files import write_atomically


class NoPortLeft(Exception):
    """All ports of a range are taken."""


class Ports:
    """The ports of all tenants of this machine."""

    def __init__(self, tenants: Path, free: Callable[[int], bool]) -> None:
        """`free` tells whether nobody listens at a port."""
        self._tenants = tenants
        self._free = free
        self._held: dict[str, dict[str, int]] = {}

    def load(self) -> None:
        """Read what tenants have. Raises ValueError, which names the file, if one cannot be understood."""
        if not self._tenants.is_dir():
            return
        for each in self._tenants.iterdir():
            folder = TenantFolder(each)
            content = folder.read(folder.ports_file.name) if each.is_dir() else None
            if content is None:
                continue
            try:
                self._held[each.name] = msgspec.json.decode(content, type=dict[str, int])
            except msgspec.MsgspecError as error:
                raise ValueError(
                    f"{folder.ports_file} cannot be read ({error}). Restore it; without it ports are given anew, and "
                    "machines that have joined do not find an API server whose port has changed."
                ) from error

    def of(self, uid: str) -> Mapping[str, int]:
        """What a tenant has, by name."""
        return self._held.get(uid, {})

    def taken(self, *, but: str = "") -> frozenset[int]:
        """What all tenants have, but one."""
        return frozenset(port for uid, held in self._held.items() if uid != but for port in held.values())

    def give(
        self,
        folder: TenantFolder,
        names: Collection[str],
        candidates: range,
        free: Callable[[int], bool] | None = None,
    ) -> Mapping[str, int]:
        """Have a number of a range under each of these names, and nobody else. `free` says of which nobody makes use,
        if they are not ports on loopback. Raises NoPortLeft."""
        uid = folder.path.name
        held = dict(self._held.get(uid, {}))
        missing = [name for name in names if name not in held]
        if not missing:
            return held
        taken = self.taken() | set(held.values())
        for name in missing:
            port = next(
                (each for each in _turned(candidates, uid) if each not in taken and (free or self._free)(each)), None
            )
            if port is None:
                raise NoPortLeft(
                    f"No port from {candidates.start} to {candidates.stop - 1} is free on this machine. "
                    "Delete control planes, or give Nagaya a larger range."
                )
            held[name] = port
            taken |= {port}
        folder.make()
        write_atomically(folder.ports_file, msgspec.json.encode(held, order="sorted"))
        self._held[uid] = held
        return held

    def forget(self, uid: str) -> None:
        """A tenant is gone, and its folder with it."""
        self._held.pop(uid, None)


def _turned(candidates: range, uid: str) -> Iterator[int]:
    """All of them, from another one on for each tenant. A port is free until the program that it was given to has
    started: two Nagayas on one machine would give the same ones to tenants of theirs in the same moment."""
    first = int.from_bytes(hashlib.sha256(uid.encode()).digest()[:4], "big")
    return (candidates[(first + step) % len(candidates)] for step in range(len(candidates)))
