"""The folder of one process: its lock, its record, its log; and how a life begins there.

    lock         held by the life and everything that it started, from before its first instruction
    record.json  which process that is (record.py)
    log, log.1   its words (logs.py)

A life is started only by whoever has just taken the lock, and hands it over by inheritance. So two lives would need two
holders of one lock, which the kernel does not permit.
"""

from __future__ import annotations

import asyncio
import fcntl
import functools
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from nagaya.supervision import launch
from nagaya.supervision.cgroups import Cgroups
from nagaya.supervision.errors import StillRunning
from nagaya.supervision.instance import KILL_PATIENCE, Instance, kill
from nagaya.supervision.logs import last_lines, open_log
from nagaya.supervision.processes import Identity, boot_id, command_of, holders_of, holds, identity_of, user_of
from nagaya.supervision.record import Record
from nagaya.supervision.spec import ProcessSpec

_RETRY = 0.05
_TASKS = 4096
"""Processes and threads of all confined processes of one user."""
_OOM_SCORE = 500
"""Confined processes may together ask for more memory than the machine has: they end before their supervisor does."""
_LAUNCH = os.fspath(Path(launch.__file__))


@dataclass(frozen=True, slots=True)
class Place:
    """Where one process lives."""

    folder: Path
    cgroups: Cgroups

    @property
    def log(self) -> Path:
        """What the process has said."""
        return self.folder / "log"

    @property
    def is_one(self) -> bool:
        """Whether a process ever lived here."""
        return self._lock.exists()

    @property
    def _lock(self) -> Path:
        return self.folder / "lock"

    @property
    def _record(self) -> Path:
        return self.folder / "record.json"

    def last_lines(self) -> tuple[str, ...]:
        """The last words."""
        return last_lines(self.log)

    def find(self) -> Instance | None:
        """The life that an earlier supervisor left here, if it goes on."""
        record = Record.read(self._record)
        if record is None or not record.is_alive(self._lock):
            return None
        try:
            pidfd = os.pidfd_open(record.identity.pid)
        except ProcessLookupError:
            return None
        # The pidfd is taken: what is confirmed now cannot become another process any more.
        if not record.is_alive(self._lock):
            os.close(pidfd)
            return None
        return Instance(record.identity, pidfd, record.digest, record.grace, self.clear)

    async def start(self, spec: ProcessSpec) -> Instance:
        """Begin a life. Whatever is left of earlier ones is ended first."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = await self._take_lock()
        try:
            process = self._launch(spec, lock)
        finally:
            os.close(lock)
        pidfd = os.pidfd_open(process.pid)
        identity = identity_of(process.pid)
        if identity is None:
            # It has ended already, and is kept by the kernel until it is collected: its number is still its own.
            identity = Identity(process.pid, 0, boot_id())
        return Instance(identity, pidfd, spec.digest, spec.grace, self.clear, process)

    def _launch(self, spec: ProcessSpec, lock: int) -> subprocess.Popen[bytes]:
        """No await in here: from the fork on, the child is in hand or the exception is."""
        confined = spec.confinement
        cgroups = self.cgroups.make(spec.name, spec.limits, confined=confined is not None)
        limits = {} if confined is None else {"RLIMIT_CORE": 0, "RLIMIT_NPROC": _TASKS}
        if confined is not None and spec.limits.file_size is not None:
            limits["RLIMIT_FSIZE"] = spec.limits.file_size
        oom_score = spec.limits.oom_score
        if confined is not None and oom_score is None:
            oom_score = _OOM_SCORE
        order = {
            "command": spec.command,
            "environment": dict(spec.environment),
            # The folder of the process has its record and its log: nothing for one that is confined.
            "folder": spec.folder or (self.folder if confined is None else "/"),
            "digest": spec.digest,
            "grace": spec.grace,
            "record": self._record,
            "open_files": spec.limits.open_files,
            "oom_score": oom_score,
            "limits": limits,
            "cgroups": cgroups,
            "confinement": None if confined is None else asdict(confined),
        }
        with os.fdopen(os.memfd_create("order"), "w+b") as whole:
            whole.write(json.dumps(order, default=os.fspath).encode())
            whole.seek(0)
            log = open_log(self.log)
            try:
                return subprocess.Popen(
                    [sys.executable, "-I", "-S", "-X", "utf8", _LAUNCH],
                    cwd=self.folder,
                    env={},
                    stdin=whole,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    pass_fds=(lock,),
                )
            finally:
                os.close(log)

    async def clear(self) -> None:
        """End all that is left of earlier lives. Raises StillRunning if it cannot."""
        if self.folder.exists():
            os.close(await self._take_lock())
            self.cgroups.forget(self.folder.name)

    async def _take_lock(self) -> int:
        """The lock, once everything that held it is ended."""
        for _ in range(int(KILL_PATIENCE / _RETRY)):
            lock = self._try_lock()
            record = Record.read(self._record)
            # A process may have closed what it inherited: then its record is all that tells of it.
            left = [record.identity.pid] if record is not None and record.is_alive(self._lock) else []
            left += self.cgroups.members(self.folder.name)
            if lock is not None:
                if not left:
                    return lock
                os.close(lock)
            else:
                holders = await asyncio.to_thread(holders_of, self._lock)
                left += [each for each in holders if self._is_ours(record, each)]
            await kill(left, functools.partial(self._is_ours, record))
            if not left:
                # Between a fork and an exec somewhere in this process a copy of the lock may exist for an instant.
                await asyncio.sleep(_RETRY)
        raise StillRunning(f"{self._lock} is held by a process that cannot be found.")

    def _is_ours(self, record: Record | None, pid: int) -> bool:
        if record is not None and record.identity.pid == pid and record.is_alive(self._lock):
            return True
        if pid in self.cgroups.members(self.folder.name):
            return True
        # A confined program can send what it has open to any process that takes it: that does not make it its own.
        is_own = record is None or record.user in (None, user_of(pid)) or _LAUNCH in command_of(pid)
        return is_own and holds(pid, self._lock)

    def _try_lock(self) -> int | None:
        # Only to be read: the program inherits it.
        descriptor = os.open(self._lock, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor
