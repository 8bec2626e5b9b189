"""What cloud-init does in a machine, in its order, each step in the machine's log.

Commands that fail stop nothing, as with cloud-init: bootstrap data say by a file of their own whether they succeeded.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nagaya.simulators.netns.cloud_config import CloudConfig, File
from nagaya.simulators.netns.command import Done

LOG: Final = "cloud-init.log"
_SCRIPTS: Final = "/var/lib/cloud/instance/scripts"
_BOOT_TIME: Final = 900.0
"""Seconds. kubeadm alone waits for up to nine minutes."""
_WRITE: Final = """
umask 077
mkdir -p -m 755 "$(dirname "$1")"
if [ "$4" = append ]; then cat >> "$1"; else cat > "$1"; fi
chown "$3" "$1"
chmod "$2" "$1"
"""

_FINISHED: Final = File("/var/lib/cloud/instance/boot-finished", b"")
"""How programs in a machine can tell that cloud-init has ended."""

Run = Callable[..., Awaitable[Done]]


@dataclass(frozen=True, slots=True)
class Booted:
    """A machine that has done what its user data say."""

    codes: tuple[tuple[str, int], ...]
    """What was done, and what it ended with."""
    notes: tuple[str, ...]

    @property
    def succeeded(self) -> bool:
        """Whether every step did. Bootstrap data may have succeeded all the same, or not: see their own file."""
        return not any(code for _, code in self.codes)


class Boot:
    """One run of cloud-init."""

    def __init__(self, run: Run, log: Path) -> None:
        self._run = run
        self._log = log
        self._codes: list[tuple[str, int]] = []

    async def run(self, config: CloudConfig) -> Booted:
        """From beginning to end."""
        for note in config.notes:
            await self._say(f"note: {note}")
        await self._script("bootcmd", config.boot)
        for file in (*config.files, *config.late_files):
            await self._write(file)
        await self._script("runcmd", config.run)
        await self._write(_FINISHED)
        return Booted(tuple(self._codes), config.notes)

    async def _script(self, name: str, text: str) -> None:
        if not text:
            return
        path = f"{_SCRIPTS}/{name}"
        await self._write(File(path, text.encode(), 0o700))
        # Its output goes to the log as it comes, so that a machine that hangs can be looked at.
        await self._step(name, ["sh", "-c", f"exec {shlex.quote(path)} >> /var/log/nagaya/{name}.log 2>&1"])

    async def _write(self, file: File) -> None:
        mode, kind = f"{file.mode:o}", "append" if file.append else "write"
        command = ["sh", "-ec", _WRITE, "sh", file.path, mode, file.owner, kind]
        await self._step(f"{kind} {file.path} ({len(file.content)} bytes, {mode}, {file.owner})", command, file.content)

    async def _step(self, name: str, command: Sequence[str], stdin: bytes = b"") -> None:
        done = await self._run(command, stdin, timeout=_BOOT_TIME)
        self._codes.append((name, done.code))
        said = f": {done.text.strip()}" if done.output else ""
        await self._say(f"{name}: {'done' if done.code == 0 else f'ended with {done.code}'}{said}")

    async def _say(self, sentence: str) -> None:
        await asyncio.to_thread(_append, self._log, f"{sentence}\n")


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)
