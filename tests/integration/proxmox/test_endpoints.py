"""`nagaya up` as users run it, and ProxmoxConnections whose endpoints only the machine of Nagaya reaches."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import Tool
from nagaya.address_policy import ENVIRONMENT
from support.running_server import NAGAYA, RunningServer

pytestmark = pytest.mark.long("starts Nagaya as users do")


@contextmanager
def listening() -> Iterator[tuple[int, list[bytes]]]:
    """A service on loopback, and what it heard."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    heard.append(client.recv(1 << 16))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1], heard
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def manifest(name: str, endpoint: str) -> dict[str, Any]:
    spec = {"endpoints": [endpoint], "credentialsRef": {"name": "token"}, "insecure": True}
    kind = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha2", "kind": "ProxmoxConnection"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def test_a_connection_leads_to_this_machine_only_where_an_administrator_allows_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tool_home: Path
) -> None:
    monkeypatch.delenv(ENVIRONMENT)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with listening() as (port, heard), listening() as (allowed, welcome):
        options = ("--allow-endpoint", f"localhost:{allowed}")
        with RunningServer(options, controllers=True) as server:
            kubectl = Tool(NAGAYA.with_name("kubectl"), tool_home, server.kubeconfig, "default")
            data = {"token": "nagaya@pve!token", "secret": "the-secret"}
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}, "stringData": data}
            ways = {
                "loopback": f"https://127.0.0.1:{port}",
                "name": f"https://localhost:{port}",
                "mapped": f"https://[::ffff:127.0.0.1]:{port}",
                "metadata": "https://169.254.169.254:80",
                "management": server.url,
                "allowed": f"https://127.0.0.1:{allowed}",
            }
            items = [secret, *(manifest(name, endpoint) for name, endpoint in ways.items())]
            kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
            told = {}
            for name in ways:
                kubectl("wait", f"proxmoxconnection/{name}", "--for=condition=Ready=False", "--timeout=100s")
                said = kubectl("get", "proxmoxconnection", name, "-o", "json")
                conditions = json.loads(said)["status"]["conditions"]
                told[name] = next(each["message"] for each in conditions if each["type"] == "Ready")
            assert {name for name, message in told.items() if "may not lead there" in message} == {*ways} - {"allowed"}
        assert heard == []
        assert welcome
