"""`nagaya simulate proxmox`, `nagaya up` and what a user types beside them: real processes, real HTTPS."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.running_server import NAGAYA

PATIENCE = 240.0
CTRL_C, CTRL_D, CTRL_BACKSLASH = "\x03", "\x04", "\x1c"
_KEYS = (CTRL_C, CTRL_D, CTRL_BACKSLASH)
HANG_UP = "the terminal is closed"


@dataclass(frozen=True, slots=True)
class Desk:
    """What a user has in front of them."""

    folder: Path
    kubeconfig: Path
    url: str
    """The first host."""
    urls: tuple[str, ...]
    fingerprint: str
    token: str
    """Of root, as PVE wants it in a header."""
    password: Path

    @property
    def environment(self) -> Mapping[str, str]:
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "COLUMNS": "200"}

    def nagaya(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [NAGAYA, *arguments],
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def kubectl(self, *arguments: str, given: str = "") -> str:
        """Run kubectl, which has to succeed."""
        done = subprocess.run(
            [NAGAYA.with_name("kubectl"), *arguments],
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def connect(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `nagaya proxmox connect` without a terminal."""
        words = ("proxmox", "connect", self.url, "--password-file", str(self.password), "--wait", "1", *arguments)
        return self.nagaya(*words)

    def at_a_terminal(self, answers: Mapping[str, str], *arguments: str) -> tuple[int, str]:
        """Run a command at a terminal, and type an answer to each question when it is asked."""
        return at_a_terminal([str(NAGAYA), *arguments], self.environment, answers)


def at_a_terminal(
    command: Sequence[str], environment: Mapping[str, str], answers: Mapping[str, str]
) -> tuple[int, str]:
    """Run a program in a pseudo-terminal. Each answer is typed when its question (a regular expression) is printed.

    CTRL_C, CTRL_D, CTRL_BACKSLASH and HANG_UP are answers, too. Returns the exit code and what was printed.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(command[0], list(command), dict(environment))
    printed, waiting, end = "", dict(answers), time.monotonic() + PATIENCE
    try:
        while True:
            ready, _, _ = select.select([terminal], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"it waits, and has printed {printed!r}"
            try:
                chunk = os.read(terminal, 4096).decode(errors="replace")
            except OSError:  # how a terminal says that nobody is at its other end any more
                break
            if not chunk:
                break
            printed += chunk
            for question in [question for question in waiting if re.search(question, printed)]:
                answer = waiting.pop(question)
                if answer == HANG_UP:
                    break
                os.write(terminal, (answer if answer in _KEYS else f"{answer}\n").encode())
            else:
                continue
            break
    finally:
        os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), printed


@contextmanager
def desk(folder: Path, *options: str) -> Iterator[Desk]:
    """An emulated data center and a management API that knows the kinds of the provider. `options`: of the former."""
    with (
        _running("simulate", "proxmox", "--listen", "127.0.0.1:0", *options) as emulator,
        _running("up", "--data-dir", str(folder / "data"), "--listen", "127.0.0.1:0", "--without-controllers") as plane,
    ):
        found = emulator.says(r"(?s)pve1  (https://\S+)  SHA-256 (\S+).*?token  (\S+).*Stop it with Ctrl-C")
        urls = tuple(re.findall(r"pve\d  (https://\S+)", emulator.said))
        plane.says("Stop with Ctrl-C")
        password = folder / "password"
        password.write_text("demo-password\n")
        made = Desk(folder, folder / "data" / "kubeconfig", found[1], urls, found[2], found[3], password)
        yield made


class _Process:
    """One that talks."""

    def __init__(self, *arguments: str) -> None:
        self.said = ""
        self.process = subprocess.Popen([NAGAYA, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def says(self, pattern: str) -> re.Match[str]:
        assert self.process.stdout is not None
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.said)):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"it did not say {pattern!r} but {self.said!r}"
            chunk = os.read(self.process.stdout.fileno(), 65536).decode()
            assert chunk, f"it ended with {self.said!r}"
            self.said += chunk
        return found


@contextmanager
def _running(*arguments: str) -> Iterator[_Process]:
    made = _Process(*arguments)
    try:
        yield made
    finally:
        made.process.send_signal(signal.SIGTERM)
        try:
            made.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            made.process.kill()
            made.process.communicate()
