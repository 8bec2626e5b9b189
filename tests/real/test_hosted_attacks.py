"""What a tenant can make the programs of its control plane do on the machine of Nagaya, where admission is absent."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from nagaya.pki.authority import CertificateAuthority
from nagaya.world import SystemClock
from support.hosting import Hosting, eventually, manifests
from support.real import RealControlPlane, installed_binaries

pytestmark = pytest.mark.long("starts a real control plane and starts its programs again")


@pytest.fixture(scope="module")
def hosting() -> Iterator[Hosting]:
    """On a kube-apiserver without webhooks, which asks no admission of Nagaya."""
    with Hosting(RealControlPlane(installed_binaries())) as found:
        yield found


def test_a_secret_and_arguments_run_no_command_and_touch_no_file(hosting: Hosting, tmp_path: Path) -> None:
    ran, victim = tmp_path / "ran", tmp_path / "victim"
    victim.write_text("precious")
    authority = CertificateAuthority.create("kubernetes", SystemClock())
    command = {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [str(ran)]}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "x", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "x", "user": {"exec": {**command, "interactiveMode": "Never"}}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "current-context": "x",
    }
    # JSON is YAML, and what follows the end of a document is read by nobody who looks for a kubeconfig.
    certificate = json.dumps(config).encode() + b"\n---\n" + authority.certificate_pem
    data = {"tls.crt": certificate, "tls.key": b"# " + json.dumps(config).encode() + b"\n" + authority.key_pem}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "evil-ca",
            "namespace": "default",
            "labels": {"cluster.x-k8s.io/cluster-name": "evil"},
        },
        "data": {name: base64.b64encode(content).decode() for name, content in data.items()},
    }
    hosting.apply(json.dumps(secret))
    hosting.apply(manifests("evil"))
    tenant = hosting.tenant("evil")
    folder = hosting.folder / "hosted" / "tenants" / tenant.uid
    assert (folder / "pki/ca.crt").read_bytes() == authority.certificate_pem
    assert (folder / "pki/ca.key").read_bytes() == authority.key_pem
    for file in folder.rglob("*"):
        assert not file.is_file() or b"client.authentication.k8s.io" not in file.read_bytes(), file

    before = hosting.processes(tenant.uid)
    arguments = {
        "apiServer": {
            "audit-webhook-config-file": str(folder / "pki/ca.crt"),
            "audit-webhook-mode": "blocking",
            "authentication-token-webhook-config-file": str(folder / "pki/ca.crt"),
            "debug-socket-path": str(victim),
            "etcd-prefix=/other": "",
            "--etcd_prefix": "/other",
            "enable-logs-handler": "true",
            "v": "2\n--token-auth-file=/etc/passwd",
            "event-ttl": "2h",
        },
        "scheduler": {"write-config-to": str(victim), "v": "3"},
        "controllerManager": {"enable-hostpath-provisioner": "true", "flex-volume-plugin-dir": str(tmp_path)},
    }
    spec = {
        program: {"extraArgs": [{"name": name, "value": value} for name, value in given.items()]}
        for program, given in arguments.items()
    }
    hosting.kubectl("patch", "hcp", "evil", "--type=merge", "-p", json.dumps({"spec": spec}))

    def is_launched(pid: int) -> bool:
        """Whether a process is not the program yet, or has just ended."""
        try:
            return "launch.py" in Path(f"/proc/{pid}/cmdline").read_text()
        except FileNotFoundError:
            return True

    def exchanged() -> bool:
        now = hosting.processes(tenant.uid)
        changed = all(now.get(each, before[each]) != before[each] for each in ("kube-apiserver-0", "kube-scheduler"))
        return changed and not any(map(is_launched, now.values()))

    eventually(exchanged, "programs with the arguments that are accepted")
    eventually(tenant.is_ready, "the API server")
    lines = {
        name: Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        for name, pid in hosting.processes(tenant.uid).items()
    }
    assert "--event-ttl=2h" in lines["kube-apiserver-0"]
    assert "--v=3" in lines["kube-scheduler"]
    refused = (
        "webhook",
        "debug-socket",
        "logs-handler",
        "token-auth-file",
        "/other",
        "write-config",
        "hostpath",
        str(tmp_path),
    )
    assert [each for line in lines.values() for each in line if any(word in each for word in refused)] == []

    def told() -> bool:
        message = hosting.condition("evil", "ComponentsReady").get("message", "")
        return "spec.apiServer.extraArgs[0].name: Forbidden: audit-webhook-config-file" in message

    eventually(told, "what has no effect")
    tenant.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "audited"}})
    assert not ran.exists()
    assert victim.read_text() == "precious"
