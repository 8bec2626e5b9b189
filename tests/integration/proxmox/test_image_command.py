"""`nagaya proxmox image` as users run it: processes of its own, real HTTPS, an emulated Proxmox VE."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import re
import select
import signal
import ssl
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from nagaya.api.catalog import PARTS
from nagaya.api.crd import render
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS
from nagaya.api.proxmox.proxmox_machine_template import PROXMOX_MACHINE_TEMPLATES
from nagaya.cli.management_api import serves
from nagaya.kube import kubeconfig
from nagaya.kube.client import Client
from nagaya.kube.http import HttpTransport
from nagaya.pki import certificates, keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.usages import Usage
from nagaya.world import SystemClock, World
from support.proxmox_yard import DEFINITIONS, SECRETS
from support.running_server import RunningServer

pytestmark = pytest.mark.long("transfers images to an emulated data center, in processes of its own")

NAGAYA = str(Path(sys.prefix) / "bin" / "nagaya")
PATIENCE = 120.0
FILE = "debian-13-generic-amd64.qcow2"
DIGEST = hashlib.sha512(b"an image").hexdigest()


@dataclass(slots=True)
class Site:
    """A running emulator, and what is needed to use it."""

    process: subprocess.Popen[bytes]
    url: str
    fingerprint: str
    folder: Path
    image: str = ""
    authority: str = ""
    kubeconfig: str = ""
    """With one, the connection of the management API is used."""

    def control(self, method: str, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            f"{self.url}/nagaya/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method
        )
        context = ssl._create_unverified_context()
        with urllib.request.urlopen(request, context=context, timeout=PATIENCE) as answer:
            return json.load(answer)["data"]

    def publish(self, mebibytes: int) -> None:
        """Let there be an image of this size to download."""
        source = {"url": self.image, "size": mebibytes << 20, "checksums": {"sha512": DIGEST}, "system": "debian"}
        self.control("POST", "sources", source)

    def command(self, *arguments: str) -> list[str]:
        way = ("--url-api", self.url, "--token", "root@pam!demo", "--secret-file", str(self.folder / "secret"))
        if self.kubeconfig:
            return [NAGAYA, "proxmox", "image", *arguments, "--kubeconfig", self.kubeconfig]
        return [NAGAYA, "proxmox", "image", *arguments, *way, "--fingerprint", self.fingerprint]

    def environment(self) -> dict[str, str]:
        return {**os.environ, "SSL_CERT_FILE": self.authority, "HOME": str(self.folder), "KUBECONFIG": "/nonexistent"}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def add(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run("add", "--url", self.image, "--origin", "debian-13", "--storage", "local-lvm", *arguments)


@contextlib.contextmanager
def published(folder: Path) -> Iterator[tuple[str, str]]:
    """A server with a list of checksums; its address, and the file of its authority."""

    class Lists(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/latest/SHA512SUMS"
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(f"{DIGEST}  {FILE}\n".encode() if found else b"")

        def log_message(self, format: str, *values: object) -> None:
            """Nothing."""

    clock = SystemClock()
    authority = CertificateAuthority.create("test", clock)
    spec = CertificateSpec("server", usages=(Usage.SERVER_AUTH,), ip_addresses=("127.0.0.1",))
    certificate, key = authority.issue_pair(spec, clock)
    (folder / "pair.pem").write_bytes(certificates.to_pem(certificate) + keys.to_pem(key))
    (folder / "authority.pem").write_bytes(authority.certificate_pem)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "pair.pem")
    with HTTPServer(("127.0.0.1", 0), Lists) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{server.server_port}/latest", str(folder / "authority.pem")
        server.shutdown()
        thread.join()


@contextlib.contextmanager
def emulated(folder: Path, *arguments: str) -> Iterator[Site]:
    command = [NAGAYA, "simulate", "proxmox", "--listen", "127.0.0.1:0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        said = said_until(process, "Stop it with Ctrl-C")
        host = re.search(r"pve1 +(https://\S+) +SHA-256 (\S+)", said)
        secret = re.search(r"root@pam!demo=(\S+)", said)
        assert host is not None
        assert secret is not None
        (folder / "secret").write_text(secret[1])
        yield Site(process, host[1], host[2], folder)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def said_until(process: subprocess.Popen[bytes], pattern: str) -> str:
    said = ""
    assert process.stdout is not None
    while not re.search(pattern, said):
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        assert ready, f"it did not say {pattern!r} but {said!r}"
        chunk = os.read(process.stdout.fileno(), 4096).decode()
        assert chunk, f"it ended with {said!r}"
        said += chunk
    return said


@pytest.fixture
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    with published(tmp_path) as (web, authority), emulated(tmp_path, *getattr(request, "param", ())) as made:
        made.image, made.authority = f"{web}/{FILE}", authority
        made.publish(200)
        yield made


def test_from_nothing_to_templates_on_every_host_and_back(site: Site) -> None:
    shown = site.add("--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert "pve3: make machine" in shown.stdout
    assert "Nothing was done: this was a dry run." in shown.stdout
    done = site.add("--pool", "nagaya")
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'Machines find it by templateSelector: {"matchTags": ["debian-13"]}' in done.stdout
    again = site.add("--pool", "nagaya")
    assert again.returncode == 0
    assert "Nothing to do." in again.stdout
    listed = json.loads(site.run("list", "-o", "json").stdout)["images"]
    (ours,) = [each for each in listed if each["state"] == "ready"]
    assert [each["host"] for each in ours["templates"]] == ["pve1", "pve2", "pve3"]
    assert ours["checksum"] == f"sha512:{DIGEST}"
    refused = site.run("remove", "debian-13")
    assert refused.returncode == 3, "nobody can be asked"
    removed = site.run("remove", "debian-13", "--yes", "-o", "json")
    assert removed.returncode == 0, removed.stderr
    assert len(json.loads(removed.stdout)["removed"]) == 3
    left = json.loads(site.run("list", "-o", "json").stdout)["images"]
    assert {each["state"] for each in left} == {"not ours"}
    prune = site.run("prune", "--yes")
    assert prune.returncode == 4
    assert "Without the management API" in prune.stderr


def test_a_host_that_is_off_is_told_and_done_by_the_next_run(site: Site) -> None:
    site.control("PUT", "hosts/pve3", {"power": "off"})
    done = site.add("-o", "json")
    assert done.returncode == 7
    problems = {each["host"]: each["problem"] for each in json.loads(done.stdout)["hosts"]}
    assert problems == {"pve1": "", "pve2": "", "pve3": "pve3 is off: run this again when it is back."}
    site.control("PUT", "hosts/pve3", {"power": "on"})
    again = site.add("-o", "json")
    assert again.returncode == 0, again.stderr
    assert [each["host"] for each in json.loads(again.stdout)["hosts"] if each["changed"]] == ["pve3"]


@pytest.mark.parametrize("site", [("--pace", "realistic", "--hosts", "1")], indirect=True, ids=["realistic"])
def test_an_interrupted_run_goes_on_where_it_was(site: Site) -> None:
    site.publish(800)  # 40 seconds, in which the second run has to come
    arguments = ("--url", site.image, "--origin", "debian-13", "--storage", "local-lvm")
    command = site.command("add", *arguments)
    first = subprocess.Popen(command, env=site.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert first.stderr is not None
    said = b""
    while b"download: " not in said:
        said += first.stderr.readline()
    first.send_signal(signal.SIGTERM)
    rest = first.communicate(timeout=PATIENCE)[1].decode()
    assert first.returncode == 130, rest
    assert "Run the same again" in rest
    done = site.add()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "go on with the download" in done.stdout
    (ours,) = [each for each in json.loads(site.run("list", "-o", "json").stdout)["images"] if each["origin"]]
    assert len(ours["templates"]) == 1


def test_nobody_gets_credentials_who_is_not_recognised_and_wrong_ones_are_told(site: Site) -> None:
    site.fingerprint = "AB:" * 31 + "AB"
    done = site.run("list")
    assert done.returncode == 5
    assert "--fingerprint (`pvenode cert info` shows it), or --ca-file" in done.stderr


def test_a_wrong_secret_is_told_and_shown_to_nobody(site: Site) -> None:
    (site.folder / "secret").write_text("wrong-secret")
    done = site.run("list")
    assert done.returncode == 6
    assert "wrong-secret" not in done.stdout + done.stderr


def test_capmox_52_images_are_made_by_the_connection_that_machines_use_and_what_it_selects_stays(site: Site) -> None:
    with RunningServer() as server:
        site.kubeconfig = str(server.kubeconfig)
        with asyncio.Runner() as runner:
            runner.run(_declared(site))
            done = site.run("add", "--url", site.image, "--origin", "debian-13")
            assert done.returncode == 0, done.stdout + done.stderr
            assert "on local-lvm" in done.stdout
            kept = site.run("prune", "--unused", "--yes")
            assert kept.returncode == 0, kept.stderr
            assert "it is selected by ProxmoxMachineTemplate default/workers" in kept.stdout
            listed = json.loads(site.run("list", "-o", "json").stdout)["images"]
            (ours,) = [each for each in listed if each["state"] == "ready"]
            assert ours["usedBy"] == ["ProxmoxMachineTemplate default/workers"]
            runner.run(
                _with_client(site, lambda client: client.delete(PROXMOX_MACHINE_TEMPLATES, "default", "workers"))
            )
        gone = site.run("prune", "--unused", "--yes", "-o", "json")
        assert gone.returncode == 0, gone.stderr
        assert len(json.loads(gone.stdout)["removed"]) == 3


async def _with_client(site: Site, work: Callable[[Client], Awaitable[Any]]) -> None:
    found = kubeconfig.load(Path(site.kubeconfig), None)
    client = Client(HttpTransport(found, world=World()), world=World(), field_manager="test")
    try:
        await work(client)
    finally:
        await client.close()


async def _declared(site: Site) -> None:
    """The kinds, a connection with its Secret, and somebody who needs the image."""
    secret = {"token": "root@pam!demo", "secret": (site.folder / "secret").read_text()}
    values = {name: base64.b64encode(text.encode()).decode() for name, text in secret.items()}
    network = {"networkDevices": [{"name": "net0", "bridge": "vmbr0"}]}
    chosen = {"network": network, "templateSelector": {"matchTags": ["debian-13"]}}
    connection = {
        "endpoints": [site.url],
        "credentialsRef": {"name": "pve"},
        "fingerprint": site.fingerprint,
        "pool": "nagaya",
        "defaults": {"storage": "local-lvm"},
    }

    async def work(client: Client) -> None:
        kinds = [*PARTS["core"], *PARTS["infrastructure-proxmox"]]
        for each in kinds:
            await client.create(DEFINITIONS, render(each))
        await serves(client, [each.kind for each in kinds], lambda _: None)
        metadata = {"namespace": "default", "name": "pve"}
        await client.create(SECRETS, {"metadata": metadata, "data": values})
        await client.create(PROXMOX_CONNECTIONS, {"metadata": metadata, "spec": connection})
        await client.create(
            PROXMOX_MACHINE_TEMPLATES,
            {"metadata": {**metadata, "name": "workers"}, "spec": {"template": {"spec": chosen}}},
        )

    await _with_client(site, work)
