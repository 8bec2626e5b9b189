"""The users that programs of tenants run as: numbers that nobody else on this machine has.

Only where Nagaya is root. A tenant's user, and its group of the same number, need no entry in /etc/passwd. A number is
written down before it is used, and stays until nothing of the tenant is left. A number is not given if a user, a group
or a range of /etc/subuid and /etc/subgid has it, if a process runs as it, or if a file of a tenant or of a store
belongs to it. After that the next one is tried, so that a number that was given back is not given again for long.
"""

from __future__ import annotations

import grp
import hashlib
import os
import pwd
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from nagaya.pki.files import write_atomically
from nagaya.supervision.folders import let_through
from nagaya.supervision.processes import processes_of

_WHERE_OTHERS_ARE_MISSING: Final = range(30000, 60000)
"""For a container whose user namespace has no larger numbers."""
_SYS_ADMIN: Final = 1 << 21
_NEEDED: Final = sum(1 << each for each in (0, 1, 3, 6, 7, 8))  # CHOWN, DAC_OVERRIDE, FOWNER, SETGID, SETUID, SETPCAP


class NoUserLeft(ValueError):
    """All numbers of a range are taken."""


class _Given(msgspec.Struct):
    users: dict[str, int]
    last: int = 0


class Users:
    """The users of all tenants, and of the programs that they share. Reads and writes files: to be used in threads,
    but for `of`."""

    def __init__(self, folder: Path, candidates: range, *, enabled: bool) -> None:
        """`folder` holds tenants and stores. Without `enabled` nobody gets a user."""
        self.enabled = enabled
        self._folder = folder
        self._file = folder / "users.json"
        self._candidates = candidates
        self._given = _Given({})
        self._turn = threading.Lock()

    def load(self) -> None:
        """Read who has which. Raises ValueError, which names the file, if that cannot be understood."""
        if not self.enabled:
            return
        if not _effective() & _SYS_ADMIN:
            # Else whoever must get in there is shown what is its own (confine.py), and the folder stays closed.
            let_through(self._folder)
        if not any(map(_exists, (self._candidates[0], self._candidates[-1]))):
            self._candidates = _WHERE_OTHERS_ARE_MISSING
        with suppress(FileNotFoundError):
            try:
                self._given = msgspec.json.decode(self._file.read_bytes(), type=_Given)
            except msgspec.MsgspecError as error:
                raise ValueError(
                    f"{self._file} cannot be read ({error}). Remove it: the owners of folders tell who has which."
                ) from error

    def of(self, identity: str) -> int | None:
        """Whom a tenant has; None if it has nobody yet, or nobody gets one."""
        return self._given.users.get(identity)

    def give(self, identity: str, before: Path | None = None) -> int | None:
        """Whom a tenant has from now on. `before` is a folder that was handed over to it earlier: its owner is taken
        if no record of that is left. Raises NoUserLeft."""
        with self._turn:
            if not self.enabled or identity in self._given.users:
                return self.of(identity)
            user = self._choose(before)
            self._write(_Given({**self._given.users, identity: user}, user))
            return user

    def forget(self, identity: str) -> None:
        """Nothing of a tenant is left."""
        with self._turn:
            if identity in self._given.users:
                users = {name: each for name, each in self._given.users.items() if name != identity}
                self._write(_Given(users, self._given.last))

    def _write(self, given: _Given) -> None:
        write_atomically(self._file, msgspec.json.encode(given, order="sorted"))
        self._given = given

    def _choose(self, before: Path | None) -> int:
        has = set(self._given.users.values())
        if before is not None and before.exists():
            owner = before.lstat().st_uid
            if owner in self._candidates and owner not in has:
                return owner
        taken = has | set(self._owners())
        ranges = [*_ranges(Path("/etc/subuid")), *_ranges(Path("/etc/subgid"))]
        count = len(self._candidates)
        # Another Nagaya on this machine, with another folder, begins elsewhere.
        first = int.from_bytes(hashlib.sha256(os.fsencode(self._folder.absolute())).digest()[:4], "big")
        if self._given.last in self._candidates:
            first = self._candidates.index(self._given.last) + 1
        for step in range(count):
            user = self._candidates[(first + step) % count]
            if user in taken or any(user in each for each in ranges) or not _is_free(user):
                continue
            if not processes_of(user):
                return user
        raise NoUserLeft(
            f"No user from {self._candidates[0]} to {self._candidates[-1]} is free on this machine for the programs of "
            "a tenant. Delete control planes, or give Nagaya another range (--tenants-users)."
        )

    def _owners(self) -> Iterator[int]:
        """Of what tenants and stores have."""
        for pattern in ("tenants/*/*", "stores/*/*"):
            for each in self._folder.glob(pattern):
                with suppress(FileNotFoundError):
                    yield each.lstat().st_uid


def can_isolate() -> bool:
    """Whether this process may give its programs other users."""
    return os.geteuid() == 0 and _effective() & _NEEDED == _NEEDED


def _effective() -> int:
    """The capabilities of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff"))


def _is_free(user: int) -> bool:
    return _exists(user) and not (_knows(pwd.getpwuid, user) or _knows(grp.getgrgid, user))


def _knows(look: Callable[[int], object], number: int) -> bool:
    try:
        look(number)
    except KeyError:
        return False
    return True


def _exists(user: int) -> bool:
    """Whether the user namespace of this process has such a user and such a group."""
    return all(
        any(
            int(first) <= user < int(first) + int(count)
            for first, _, count in map(str.split, path.read_text().splitlines())
        )
        for path in (Path("/proc/self/uid_map"), Path("/proc/self/gid_map"))
    )


def _ranges(path: Path) -> Iterator[range]:
    """What is set apart for the containers of users."""
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    for line in lines:
        with suppress(ValueError):
            _, first, count = line.split(":")
            yield range(int(first), int(first) + int(count))
