"""Upstream's own Cluster API managers as processes beside a real control plane.

They are the judges of Nagaya's controllers twice over: all of them together show how upstream behaves, and with one of
them left out they show whether Nagaya's part can stand in its place. So each part is chosen by itself, while the custom
resource definitions are upstream's throughout.

Everything is on loopback ports that are free, but for one thing that upstream fixes: the in-memory provider listens at
port 19000 of all addresses, and serves its clusters from port 20000 on. Two of them on one machine would collide, so
whoever wants that part waits for the one who has it, in whichever test run that is.
"""

from __future__ import annotations

import contextlib
import http.client
import shutil
import time
from collections.abc import Collection
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, get_args

import pytest

from nagaya.binaries.errors import BinariesError
from nagaya.binaries.installer import Binaries, Installer
from nagaya.binaries.programs import EXTRAS
from support.ports import free_ports, only_one
from support.real import RealControlPlane, missing_program
from support.real_certificates import Authority
from support.real_processes import Processes
from support.upstream_client import Client
from support.upstream_definitions import (
    WEBHOOKS,
    install_definitions,
    install_webhooks,
    read_manifest,
    remove_definitions,
    remove_webhooks,
)

Part = Literal["core", "bootstrap", "controlplane", "infrastructure"]

PARTS: tuple[Part, ...] = get_args(Part)
PROGRAMS: dict[Part, str] = {
    "core": "cluster-api-core",
    "bootstrap": "cluster-api-bootstrap-kubeadm",
    "controlplane": "cluster-api-controlplane-kubeadm",
    "infrastructure": "cluster-api-infrastructure-docker",
}
START_TIMEOUT = 120.0
IN_MEMORY_PORT = 19000
IN_MEMORY_TIMEOUT = 600.0
"""Seconds to wait for the in-memory provider: every worker of every test run on the machine may be before us."""


class StartFailed(Exception):
    """A manager did not get ready; the message has the last lines of the logs."""


def upstream_binaries() -> Binaries:
    """Upstream's programs and manifests; skips the test, with the reason, when one is missing."""
    command = "nagaya kubernetes install --with cluster-api"
    try:
        found, missing = Installer().find(programs=EXTRAS["cluster-api"])
    except BinariesError as error:
        pytest.skip(f"upstream's Cluster API cannot be used: {error}")
    if missing:
        pytest.skip(missing_program(f"{', '.join(missing)} of upstream's Cluster API", command))
    return found


class UpstreamManagers:
    """The chosen parts of upstream's Cluster API, running; leaving the context removes every trace of them."""

    def __init__(
        self,
        control_plane: RealControlPlane,
        parts: Collection[Part] = PARTS,
        *,
        definitions: Collection[Part] = PARTS,
        logs: Path | None = None,
    ) -> None:
        """`definitions` are the parts whose kinds are installed; they may be more than those that run.

        The logs of the parts are left in the folder `logs`, for whoever looks for the reason of a failure.
        """
        self._control_plane = control_plane
        self._binaries = upstream_binaries()
        self._parts = [part for part in PARTS if part in parts]
        self._definitions = [part for part in PARTS if part in definitions]
        self._logs = logs
        self._open = contextlib.ExitStack()
        self._processes: Processes
        self.client: Client
        """A connection to the API server as the administrator."""
        self._webhooks: dict[Part, list[str]] = {}
        self.diagnostics: dict[Part, int] = {}
        """The port on loopback where each part serves its metrics."""

    @property
    def pids(self) -> dict[str, int]:
        """The process of each part, for those who measure."""
        return self._processes.pids

    def end(self, part: Part) -> None:
        """End one part for good, so that another can take its place."""
        self._processes.end(part)
        remove_webhooks(self.client, self._webhooks.pop(part))

    def log(self, part: Part) -> Path:
        """Where a part's words are, as long as it runs."""
        return self._processes.log(part)

    def tails(self) -> str:
        """The last words of every part, for a message."""
        return self._processes.tails()

    def __enter__(self) -> Self:
        with self._open:
            if "infrastructure" in self._parts:
                self._open.enter_context(only_one(IN_MEMORY_PORT, IN_MEMORY_TIMEOUT))
            self._processes = Processes("nagaya-upstream-")
            self._open.callback(self._processes.close)
            self._open.callback(self._keep_logs)
            self.client = Client(self._control_plane)
            self._open.callback(self.client.close)
            self._install()
            self._open = self._open.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(self.tails())
        self._open.close()

    def _install(self) -> None:
        documents = {part: read_manifest(self._binaries.path(f"{PROGRAMS[part]}.yaml")) for part in PARTS}
        kinds = [
            document
            for part in self._definitions
            for document in documents[part]
            if document["kind"] == "CustomResourceDefinition"
        ]
        self._open.callback(remove_definitions, self.client, install_definitions(self.client, kinds))
        # Before the definitions go: what no longer runs can put no finalizer back.
        self._open.callback(self._processes.end_all)
        self._open.callback(self._remove_webhooks)
        authority = Authority("upstream-webhooks")
        certificates = self._write_certificates(authority)
        ports = [tuple(free_ports(3)) for _ in self._parts]
        for part, (webhook_port, health_port, diagnostics_port) in zip(self._parts, ports, strict=True):
            self.diagnostics[part] = diagnostics_port
            self._processes.start(part, self._command(part, webhook_port, health_port, certificates))
        for part, (webhook_port, health_port, _) in zip(self._parts, ports, strict=True):
            self._await(part, health_port)
            hooks = [document for document in documents[part] if document["kind"] in WEBHOOKS]
            made = install_webhooks(self.client, hooks, part, webhook_port, authority.pair.certificate)
            self._webhooks[part] = made

    def _remove_webhooks(self) -> None:
        for made in self._webhooks.values():
            remove_webhooks(self.client, made)

    def _keep_logs(self) -> None:
        if self._logs is not None:
            for file in self._processes.folder.glob("*.log"):
                shutil.copy(file, self._logs)

    def _write_certificates(self, authority: Authority) -> Path:
        folder = self._processes.folder / "webhook-certificates"
        folder.mkdir()
        pair = authority.server("upstream-webhooks", ("127.0.0.1", "localhost"))
        (folder / "tls.crt").write_bytes(pair.certificate)
        (folder / "tls.key").touch(0o600)
        (folder / "tls.key").write_bytes(pair.key)
        return folder

    def _command(self, part: Part, webhook_port: int, health_port: int, certificates: Path) -> list[str | Path]:
        command: list[str | Path] = []
        if part == "infrastructure":
            # The address under which the provider's fake API servers are told to the others.
            command += ["env", "POD_IP=127.0.0.1"]
        command += [
            self._binaries.path(PROGRAMS[part]),
            f"--kubeconfig={self._control_plane.kubeconfig}",
            f"--webhook-port={webhook_port}",
            f"--webhook-cert-dir={certificates}",
            f"--health-addr=127.0.0.1:{health_port}",
            f"--diagnostics-address=127.0.0.1:{self.diagnostics[part]}",
            "--insecure-diagnostics",
            # There is but one version, so there is nothing to migrate.
            "--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields",
            "--feature-gates=ClusterTopology=true",
        ]
        return command

    def _await(self, part: Part, port: int) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            if _is_ready(port):
                return
            ended = self._processes.ended()
            if ended is not None:
                raise StartFailed(f"{ended} ended before {part} was ready.\n{self._processes.tails()}")
            time.sleep(0.05)
        raise StartFailed(f"{part} was not ready after {START_TIMEOUT:.0f} s.\n{self._processes.tails()}")


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
