"""A management API with Nagaya's controllers for hosted control planes beside it, as users run them.

Two processes, `nagaya up` and `nagaya controllers`, of which the second can be killed and started again, and tenants
that are processes as well. Leaving the context ends all of them.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import yaml

from nagaya.supervision.record import Record
from support.controllers_process import RUNNING, Controllers
from support.ports import free_ports, free_range
from support.real import RealControlPlane, installed_binaries
from support.running_server import RunningServer

T = TypeVar("T")
PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "etcd")
PATIENCE = 240.0
_LOOK = 0.1
_CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def manifests(name: str, **spec: object) -> str:
    """A Cluster and its HostedControlPlane."""
    reference = {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "HostedControlPlane", "name": name}
    cluster = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"controlPlaneRef": reference},
    }
    plane = {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1alpha1",
        "kind": "HostedControlPlane",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"version": "v1.36.3", **spec},
    }
    return yaml.safe_dump_all([cluster, plane])


def tenant_ports() -> range:
    """Ports for APIs of tenants that no other test chooses from."""
    return free_range()


def eventually(look: Callable[[], T], what: str, within: float = PATIENCE) -> T:
    """What a look finds, once it is something; an assertion in it counts as nothing."""
    deadline = time.monotonic() + within
    problem: object = None
    while time.monotonic() < deadline:
        try:
            if found := look():
                return found
        except AssertionError as error:
            problem = error
        time.sleep(_LOOK)
    raise AssertionError(f"{what}: not within {within:.0f} s. {problem or ''}")


class Tenant:
    """The API of a hosted control plane, as its administrator reaches it."""

    def __init__(self, name: str, uid: str, kubeconfig: Path) -> None:
        self.name = name
        self.uid = uid
        self.kubeconfig = kubeconfig
        config: dict[str, Any] = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server: str = cluster["server"]
        self.address, _, port = self.server.removeprefix("https://").rpartition(":")
        self.port = int(port)
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.context = ssl.create_default_context(cadata=authority)
        pair = kubeconfig.with_suffix(".pem")
        pair.touch(0o600)
        pair.write_bytes(b"".join(base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key")))
        self.context.load_cert_chain(pair)

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, str]:
        """One request over a connection of its own: status and answer."""
        connection = http.client.HTTPSConnection(self.address, self.port, timeout=20, context=self.context)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            return 0, repr(error)
        finally:
            connection.close()

    def is_ready(self) -> bool:
        """Whether /readyz says ok."""
        return self.ask("GET", "/readyz") == (200, "ok")

    def serial_number(self) -> str:
        """Of the certificate that the API shows now."""
        with (
            socket.create_connection((self.address, self.port), timeout=60) as plain,
            self.context.wrap_socket(plain, server_hostname=self.address) as secured,
        ):
            return str((secured.getpeercert() or {})["serialNumber"]).lower()


class Load:
    """Requests, one after the other, over connections of their own each; and what became of them."""

    def __init__(
        self, ask: Callable[[str, str, object], tuple[int, str]], methods: Sequence[str] = ("GET", "POST")
    ) -> None:
        self._ask = ask
        self._stop = threading.Event()
        self.succeeded = 0
        self.failed: list[tuple[str, int, str]] = []
        self._threads = [threading.Thread(target=self._work, args=(method,)) for method in methods]

    def _work(self, method: str) -> None:
        body = {"metadata": {"generateName": "load-"}, "data": {"a": "b"}} if method == "POST" else None
        path = _CONFIG_MAPS if method == "POST" else f"{_CONFIG_MAPS}?limit=5"
        while not self._stop.wait(0.02):
            status, answer = self._ask(method, path, body)
            if status in (200, 201):
                self.succeeded += 1
            else:
                self.failed.append((method, status, answer[:200]))

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


class Hosting:
    """The management API, the controllers, and the folder of tenants."""

    def __init__(self, server: RunningServer | RealControlPlane | None = None, folder: Path | None = None) -> None:
        """With a server and a folder of others it only looks at what happens there."""
        self.binaries = installed_binaries(PROGRAMS)
        self.server = server or RunningServer()
        # Short, because Unix sockets are in it.
        self.folder = folder or Path(tempfile.mkdtemp(prefix="nagaya-hosting-"))
        ports = tenant_ports()
        self._arguments = (
            "--only=core,controlplane-hosted",
            "--install-crds",
            f"--tenants-dir={self.folder / 'hosted'}",
            "--tenants-address=127.0.0.1",
            f"--tenants-ports={ports.start}-{ports.stop - 1}",
            "-v",
        )
        self.controllers: Controllers
        self._listener: threading.Thread

    def start_controllers(self) -> None:
        """Start them, or start them again."""
        self.controllers = Controllers(self.server.kubeconfig, *self._arguments)
        self.controllers.says(RUNNING, PATIENCE)
        # What it says from now on must not fill its pipe.
        self._listener = threading.Thread(target=self._listen, args=(self.controllers,), daemon=True)
        self._listener.start()

    def _listen(self, controllers: Controllers) -> None:
        stream = controllers._process.stdout
        assert stream is not None
        with (self.folder / "controllers.log").open("ab") as log:
            try:
                while chunk := os.read(stream.fileno(), 65536):
                    log.write(chunk)
                    log.flush()
            except (OSError, ValueError):
                return  # it was closed

    def kill_controllers(self) -> None:
        """End them as a power cut would."""
        process = self.controllers._process
        process.send_signal(signal.SIGKILL)
        process.wait()
        self._listener.join()
        assert process.stdout is not None
        process.stdout.close()

    def kubectl(self, *words: str, stdin: str = "", tenant: Tenant | None = None) -> str:
        """What kubectl says; fails the test if it fails."""
        kubeconfig = self.server.kubeconfig if tenant is None else tenant.kubeconfig
        done = subprocess.run(
            [self.binaries.path("kubectl"), f"--kubeconfig={kubeconfig}", *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stderr}"
        return done.stdout

    def apply(self, text: str) -> None:
        """Declare objects."""
        self.kubectl("apply", "-f", "-", stdin=text)

    def plane(self, name: str) -> dict[str, Any]:
        """A HostedControlPlane as it is now."""
        found: dict[str, Any] = json.loads(self.kubectl("get", "hcp", name, "-o", "json"))
        return found

    def condition(self, name: str, type: str) -> dict[str, Any]:
        """One of its conditions; empty if it has not been told."""
        listed = self.plane(name).get("status", {}).get("conditions", [])
        return next((each for each in listed if each["type"] == type), {})

    def holds(self, name: str, type: str) -> bool:
        """Whether a condition is True."""
        return bool(self.condition(name, type).get("status") == "True")

    def tenant(self, name: str, within: float = PATIENCE) -> Tenant:
        """A control plane that is initialized."""

        def initialized() -> dict[str, Any]:
            found = self.plane(name)
            assert found.get("status", {}).get("initialization", {}).get("controlPlaneInitialized"), (
                f"{found.get('status')}\n{self.log()}"
            )
            return found

        uid = eventually(initialized, f"control plane {name}", within)["metadata"]["uid"]
        encoded = self.kubectl("get", "secret", f"{name}-kubeconfig", "-o", "jsonpath={.data.value}")
        path = self.folder / f"{name}.kubeconfig"
        path.touch(0o600)
        path.write_bytes(base64.b64decode(encoded))
        return Tenant(name, uid, path)

    def log(self) -> str:
        """The last words of the controllers."""
        path = self.folder / "controllers.log"
        return path.read_text(errors="replace")[-6000:] if path.exists() else ""

    def users(self) -> dict[str, int]:
        """Who programs of tenants and stores run as, by their identity; nobody if this user may not choose."""
        path = self.folder / "hosted" / "users.json"
        found: dict[str, int] = json.loads(path.read_text())["users"] if path.exists() else {}
        return found

    def processes(self, uid: str) -> dict[str, int]:
        """The processes of a tenant or a data store, by the name of their program."""
        found = {}
        for path in (self.folder / "hosted" / "processes").glob(f"{uid}.*/record.json"):
            record = Record.read(path)
            if record is not None and record.identity.is_alive():
                found[path.parent.name.partition(".")[2]] = record.identity.pid
        return found

    @contextmanager
    def proxy(self, tenant: Tenant) -> Iterator[Callable[[str, str, object], tuple[int, str]]]:
        """Requests through `kubectl proxy`: Go's own HTTP/2 client, over few connections that are kept.

        It cannot repeat a request with a body, as clients of Kubernetes can that made the body themselves.
        """
        [port] = free_ports(1)
        command = [self.binaries.path("kubectl"), f"--kubeconfig={tenant.kubeconfig}", "proxy", f"--port={port}"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def ask(method: str, path: str, body: object) -> tuple[int, str]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            try:
                content = None if body is None else json.dumps(body)
                connection.request(method, path, content, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                return answer.status, answer.read().decode(errors="replace")
            except (OSError, http.client.HTTPException) as error:
                return 0, repr(error)
            finally:
                connection.close()

        try:
            eventually(lambda: ask("GET", "/readyz", None)[0] == 200, "kubectl proxy")
            yield ask
        finally:
            process.terminate()
            process.wait()

    def __enter__(self) -> Self:
        self.server.__enter__()
        try:
            self.start_controllers()
        except BaseException:
            self.server.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.controllers._process.poll() is None:
            self.kill_controllers()
        end_tenants(self.folder / "hosted")
        self.server.__exit__(kind, error, trace)
        shutil.rmtree(self.folder, ignore_errors=True)


def end_tenants(folder: Path) -> None:
    """Kill whatever still runs for tenants."""
    for path in (folder / "processes").glob("*/record.json"):
        record = Record.read(path)
        if record is not None and record.identity.is_alive():
            os.killpg(record.identity.pid, signal.SIGKILL)
