"""CAPMOX's manifests of v1alpha1 on the real API server and on the embedded one, which ask us for conversion."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from nagaya.api.catalog import PARTS
from nagaya.api.conversion.proxmox.objects import KINDS
from nagaya.api.conversion.proxmox.review import convert
from nagaya.api.conversion.proxmox.serving import with_old_version
from nagaya.api.proxmox.group import GROUP, VERSION
from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec, split_hosts, to_pem
from nagaya.pki.usages import Usage
from nagaya.world import World
from real.test_crds import Kubectl, kubectl_for, remove
from support.real import RealControlPlane, installed_binaries
from support.running_server import RunningServer
from unit.api.proxmox.manifests import CAPMOX, EXAMPLES, documents
from unit.api.proxmox.test_kinds import EVERYTHING

DEFINITIONS = [each for each in PARTS["infrastructure-proxmox"] if each.kind.kind in KINDS]
OLD, NEW = "v1alpha1.infrastructure.cluster.x-k8s.io", "v1alpha2.infrastructure.cluster.x-k8s.io"


class Answering(BaseHTTPRequestHandler):
    """Answers reviews."""

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(convert(review)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def client_config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Where API servers ask for conversion."""
    clock = World().clock
    authority = CertificateAuthority.create("conversion-authority", clock)
    names, addresses = split_hosts(["127.0.0.1"])
    certificate, key = authority.issue_pair(
        CertificateSpec("conversion", (), (Usage.SERVER_AUTH,), names, addresses), clock
    )
    pair = tmp_path_factory.mktemp("conversion") / "pair.pem"
    pair.write_bytes(to_pem(certificate) + keys.to_pem(key))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        bundle = base64.b64encode(authority.certificate_pem).decode()
        yield {"url": f"https://127.0.0.1:{server.server_address[1]}/convert", "caBundle": bundle}
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module", params=["embedded", "real"])
def kubectl(request: pytest.FixtureRequest, client_config: dict[str, str]) -> Iterator[Kubectl]:
    """A server that has the kinds in both versions."""
    binaries = installed_binaries(("kubectl",))
    if request.param == "real":
        plane: RealControlPlane = request.getfixturevalue("real_control_plane")
        yield from _with_definitions(kubectl_for(plane.kubectl, plane.kubeconfig), client_config)
        return
    with RunningServer() as server:
        yield from _with_definitions(kubectl_for(binaries.path("kubectl"), server.kubeconfig), client_config)


def _with_definitions(run: Kubectl, client_config: dict[str, str]) -> Iterator[Kubectl]:
    names = [f"crd/{each.kind}" for each in DEFINITIONS]
    made = [with_old_version(each, client_config) for each in DEFINITIONS]
    run("apply", "--server-side", "-f", "-", given=yaml.safe_dump_all(made))
    try:
        run("wait", "--for=condition=Established", "--timeout=30s", *names)
        yield run
    finally:
        remove(run, {str(each.kind) for each in DEFINITIONS})


def named(path: Path) -> str:
    return path.stem


def plural(kind: str, version: str) -> str:
    return f"{kind.lower()}s.{version}"


def read(kubectl: Kubectl, kind: str, version: str, name: str) -> Any:
    said = kubectl("get", plural(kind, version), name, "-o", "json")
    return json.loads(said[: said.rindex("}") + 1])  # after it, there may be a warning that the version is an old one


@pytest.mark.parametrize("path", [*CAPMOX, *EXAMPLES], ids=named)
def test_manifests_are_taken_as_they_are_and_can_be_read_in_both_versions(kubectl: Kubectl, path: Path) -> None:
    for each in (each for each in documents(path) if each["kind"] in KINDS):
        kind, name = each["kind"], each["metadata"]["name"]
        written, other = (OLD, NEW) if each["apiVersion"].endswith("v1alpha1") else (NEW, OLD)
        kubectl("create", "-f", "-", given=yaml.safe_dump(each))
        try:
            assert read(kubectl, kind, other, name)["apiVersion"].endswith(other.partition(".")[0])
            found = read(kubectl, kind, written, name)["spec"]
            assert _without_nothing(each["spec"]) == _without_nothing(found, like=each["spec"])
        finally:
            kubectl("delete", plural(kind, written), name)


def test_a_change_in_the_old_version_is_seen_in_the_new_one_and_spares_the_rest(kubectl: Kubectl) -> None:
    written = next(path for path in CAPMOX if path.stem == "v1alpha2")
    (template,) = [each for each in documents(written) if each["kind"] == "ProxmoxMachineTemplate"]
    spec = {**template["spec"]["template"]["spec"], "deletionPolicy": "Release"}
    machine = {**template, "kind": "ProxmoxMachine", "spec": spec}
    kubectl("create", "-f", "-", given=yaml.safe_dump(machine))
    try:
        kubectl("patch", plural("ProxmoxMachine", OLD), "worker", "--type=merge", "-p", '{"spec": {"numCores": 16}}')
        assert read(kubectl, "ProxmoxMachine", NEW, "worker")["spec"] == {**spec, "numCores": 16}
    finally:
        kubectl("delete", plural("ProxmoxMachine", NEW), "worker")


def test_everything_can_be_said_at_once(kubectl: Kubectl) -> None:
    machine = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "ProxmoxMachine", "metadata": {"name": "all"}}
    kubectl("create", "-f", "-", given=yaml.safe_dump({**machine, "spec": EVERYTHING}))
    try:
        found = read(kubectl, "ProxmoxMachine", NEW, "all")["spec"]
        assert _without_nothing(found, like=EVERYTHING) == EVERYTHING
    finally:
        kubectl("delete", plural("ProxmoxMachine", NEW), "all")


def _without_nothing(value: Any, like: Any = None) -> Any:
    """The value without fields that have none, and without defaults: only with those that another has."""
    if isinstance(value, dict):
        wanted = value if like is None else {name: each for name, each in value.items() if name in like}
        return {
            name: _without_nothing(each, None if like is None else like[name])
            for name, each in wanted.items()
            if each is not None
        }
    if isinstance(value, list):
        return [
            _without_nothing(each, like[place] if like is not None and place < len(like) else None)
            for place, each in enumerate(value)
        ]
    return value
