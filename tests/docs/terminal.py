"""A terminal for one page: a home of its own, the commands of the checkout, and a server when the page asks for one.

Pages name loopback addresses of their own (`127.0.0.6`). Another test run may type the same page at the same time, so
in their place stand addresses that only this terminal has; what commands print has the page's again.
"""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from support.ports import loopback_network

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]
PATIENCE = 240  # seconds for a block, and for a server to be ready
_NETWORK = "127.0.0"
_ADDRESS = re.compile(r"\b127\.0\.0\.(?!1\b)(?=[0-9])")


class Terminal:
    """Runs a page's blocks. What one exports, later ones see; files they make stay in `folder`."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "checkout"
        self.folder.mkdir(parents=True)
        self._home = home
        self._network = loopback_network()
        self._exported = home / "exported"
        self._exported.touch()
        self._servers: dict[Path, subprocess.Popen[bytes]] = {}
        (self.folder / ".venv").symlink_to(BIN.parent)
        (self.folder / "examples").symlink_to(ROOT / "examples")

    @property
    def environment(self) -> Mapping[str, str]:
        """Nothing of the one who runs the tests but what programs need to start."""
        return {"HOME": str(self._home), "PATH": f"{BIN}:{os.environ['PATH']}", "LANG": "C.UTF-8"}

    def shell(self, text: str) -> tuple[int, str]:
        """Run a block; its exit code, and all it printed."""
        typed = self.own_addresses(text)
        script = f"source {self._exported}\nset -euo pipefail\n{typed}\nexport -p > {self._exported}\n"
        return self._run(["bash", "-c", script])

    def python(self, text: str) -> tuple[int, str]:
        """Run a block of Python."""
        return self._run([str(BIN / "python"), "-c", self.own_addresses(text)])

    def own_addresses(self, text: str) -> str:
        """A page's text with the addresses of this terminal."""
        return _ADDRESS.sub(f"{self._network}.", text)

    def _run(self, command: list[str]) -> tuple[int, str]:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
        )
        return done.returncode, done.stdout.replace(f"{self._network}.", f"{_NETWORK}.")

    def start_server(self, typed: str) -> None:
        """What the page types to start a server, in its home; the management API on a free port."""
        name = next((each for each in ("controllers", "simulate") if f"nagaya {each}" in typed), "up")
        output = self._home / f"{name}.log"
        assert output not in self._servers, f"the page starts `nagaya {name}` although it is running"
        # There are several ways to type the first, such as `make up`.
        options = f"{typed.partition('nagaya up')[2].strip()} --listen 127.0.0.1:0"
        command = self.own_addresses(typed).strip() if name != "up" else f"{BIN}/nagaya up {options}"
        with output.open("wb") as file:
            server = self._servers[output] = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + PATIENCE
        while "with Ctrl-C" not in output.read_text():
            assert server.poll() is None, f"the server ended: {output.read_text()}"
            assert time.monotonic() < deadline, f"the server is not ready: {output.read_text()}"
            time.sleep(0.05)

    def stop_server(self) -> None:
        """Ctrl-C, in every terminal, the last one first."""
        assert self._servers, "the page stops a server although none is running"
        while self._servers:
            output, server = self._servers.popitem()
            server.send_signal(signal.SIGINT)
            assert server.wait(PATIENCE) == 0, output.read_text()

    def close(self) -> None:
        """Leave nothing behind."""
        for server in self._servers.values():
            server.kill()
            server.wait(PATIENCE)


def prints(expected: str, output: str) -> bool:
    """Whether an output is what a page says: `...` is anything, alone on a line any number of lines. Space does not
    count, nor do empty lines; and lines behind each other that begin with names that end at random may have any order.
    """
    runs = itertools.groupby(_lines(expected), _ends_at_random)
    pattern = "".join(_any_order([*run]) if random else "".join(map(_line, run)) for random, run in runs)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _lines(output))) is not None


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def _ends_at_random(line: str) -> bool:
    return line.split()[0].endswith("-...")


def _any_order(lines: list[str]) -> str:
    orders = sorted({"".join(map(_line, order)) for order in itertools.permutations(lines)})
    return f"(?:{'|'.join(orders)})"


def _line(text: str) -> str:
    if text == "...":
        return r"(?:[^\n]*\n)*"
    return re.escape(text).replace(r"\.\.\.", r"[^\n]*") + "\n"
