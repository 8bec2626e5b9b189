"""`nagaya up` as users run it: a process of its own, its data in a temporary folder, TLS on a free port.

It keeps its port and its data when it is killed and started again, so clients can go on where they were.
"""

from __future__ import annotations

import base64
import os
import re
import signal
import socket
import ssl
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from support.ports import free_ports, hold_port
from support.real_processes import Processes

NAGAYA = Path(sys.prefix) / "bin" / "nagaya"
PATIENCE = 240.0
"""Seconds for a server to start, or to stop, on a machine that is busy with other things; a calm one needs one."""
_READY = re.compile(r"ready at (https://\S+:\d+)")
_ALL_READY = re.compile(r"(?s)ready at (https://\S+:\d+).*The controllers run\.")


class RunningServer:
    """A process with the embedded server, and with all controllers if a test wants them."""

    def __init__(self, arguments: Sequence[str] = (), *, controllers: bool = False) -> None:
        self._processes = Processes("nagaya-up-")
        self._arguments = (*arguments, *(() if controllers else ("--without-controllers",)))
        self._ready = _ALL_READY if controllers else _READY
        self.folder = self._processes.folder
        self.data_dir = self.folder / "data"
        self.kubeconfig = self.folder / "admin.kubeconfig"
        self.url = ""
        [self.port] = free_ports(1)
        self._held: socket.socket | None = None
        self.ready_after = 0.0
        """Seconds from the start of the process to the moment it said that it is ready."""

    @property
    def pid(self) -> int:
        """The process."""
        return self._processes.pids["nagaya"]

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._processes.ended() is None

    @property
    def log(self) -> str:
        """What the process has said since its last start."""
        return self._processes.log("nagaya").read_text(errors="replace")

    def start(self) -> None:
        """Start, or start again on the same data and port; returns when the server is ready."""
        began = time.monotonic()
        # Also while the process is killed the port is nobody else's.
        self._held = self._held or hold_port(self.port)
        command = [NAGAYA, "up", "--data-dir", self.data_dir, "--listen", f"127.0.0.1:{self.port}"]
        self._processes.start("nagaya", [*command, "--write-kubeconfig", self.kubeconfig, *self._arguments])
        while time.monotonic() < began + PATIENCE:
            if found := self._ready.search(self.log):
                self.ready_after = time.monotonic() - began
                self.url = found[1]
                return
            if self._processes.ended():
                break
            time.sleep(0.01)
        raise AssertionError(f"the server did not get ready.\n{self._processes.tails()}")

    def kill(self) -> None:
        """End the process as a power cut would. Its port is kept for it."""
        self._processes.end_all()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Killed for as long as this lasts, and back however it ends: others need the server too."""
        self.kill()
        try:
            yield
        finally:
            self.start()

    def stop(self) -> None:
        """End the process as a user does, and wait for it."""
        os.kill(self.pid, signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while self._processes.ended() is None:
            assert time.monotonic() < deadline, f"the server did not stop.\n{self._processes.tails()}"
            time.sleep(0.01)
        self._processes.end_all()

    def credentials(self) -> tuple[Path, Path]:
        """Files with the authority, and with the administrator's certificate and key: what the kubeconfig holds."""
        config: dict[str, Any] = yaml.safe_load(self.kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority, pair = self.folder / "ca.crt", self.folder / "admin.pem"
        authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
        pair.touch(0o600)
        pair.write_bytes(b"".join(base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key")))
        return authority, pair

    def ssl_context(self) -> ssl.SSLContext:
        """TLS as the administrator."""
        authority, pair = self.credentials()
        context = ssl.create_default_context(cafile=authority)
        context.load_cert_chain(pair)
        return context

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        self._processes.close()
        if self._held is not None:
            self._held.close()
