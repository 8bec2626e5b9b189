"""The real control plane that other tests rely on: that it is what it says, and that it leaves nothing behind."""

from __future__ import annotations

import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nagaya.binaries.installer import Binaries
from support import real
from support.ports import free_ports
from support.real import CONTROLLERS, USERS, RealControlPlane, StartFailed, installed_binaries


@pytest.fixture(scope="module")
def binaries() -> Binaries:
    return installed_binaries()


@pytest.fixture(scope="module")
def plane(binaries: Binaries) -> Iterator[RealControlPlane]:
    with RealControlPlane(binaries, controllers=CONTROLLERS) as plane:
        yield plane


def ask(
    plane: RealControlPlane,
    method: str,
    path: str,
    body: object = None,
    *,
    token: str | None = None,
    context: ssl.SSLContext | None = None,
) -> tuple[int, dict[str, Any]]:
    """One request, as the administrator unless a token or another TLS identity is given."""
    host, _, port = plane.url.removeprefix("https://").partition(":")
    tls = context or (plane.ssl_context() if token else plane.admin_ssl_context())
    connection = http.client.HTTPSConnection(host, int(port), timeout=60, context=tls)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def eventually(check: Callable[[], bool], within: float = 100) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if check():
            return True
        time.sleep(0.05)
    return False


def runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.mark.long("starts the real API server that its file shares")
def test_it_is_the_version_that_was_installed(plane: RealControlPlane) -> None:
    status, told = ask(plane, "GET", "/version")
    assert (status, told["gitVersion"]) == (200, plane.version)
    assert (told["major"], told["gitTreeState"]) == ("1", "clean")


def test_it_consists_of_the_programs_that_were_asked_for(plane: RealControlPlane) -> None:
    assert set(plane.pids) == {"etcd", "kube-apiserver", "kube-controller-manager"}


def test_kubectl_works_with_its_kubeconfig(plane: RealControlPlane) -> None:
    command: list[str | Path] = [plane.kubectl, f"--kubeconfig={plane.kubeconfig}", "get", "namespaces", "-o", "name"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "namespace/kube-system" in told
    assert plane.kubeconfig.stat().st_mode & 0o077 == 0


def test_every_namespace_has_what_the_controllers_put_there(plane: RealControlPlane) -> None:
    status, _ = ask(plane, "GET", "/api/v1/namespaces/kube-public/serviceaccounts/default")
    assert status == 200
    status, _ = ask(plane, "GET", "/api/v1/namespaces/kube-public/configmaps/kube-root-ca.crt")
    assert status == 200


@pytest.mark.parametrize("user", USERS)
def test_users_with_a_token_are_who_they_say(plane: RealControlPlane, user: str) -> None:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    status, told = ask(plane, "POST", path, review, token=plane.tokens[user])
    assert status == 201
    assert told["status"]["userInfo"]["username"] == user
    assert set(USERS[user]) <= set(told["status"]["userInfo"]["groups"])


def test_a_user_without_rights_is_refused_and_an_administrator_is_not(plane: RealControlPlane) -> None:
    assert ask(plane, "GET", "/api/v1/secrets", token=plane.tokens["alice"])[0] == 403
    assert ask(plane, "GET", "/api/v1/secrets", token=plane.tokens["admin-by-token"])[0] == 200
    assert ask(plane, "GET", "/api/v1/secrets", token="nobody's")[0] == 401


def test_certificates_can_be_had_for_any_user(plane: RealControlPlane) -> None:
    context = plane.ssl_context(plane.client_certificate("carol", ["developers", "readers"]))
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    _, told = ask(plane, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review, context=context)
    assert told["status"]["userInfo"]["username"] == "carol"
    assert {"developers", "readers"} <= set(told["status"]["userInfo"]["groups"])


def test_service_account_tokens_are_issued_and_accepted(plane: RealControlPlane) -> None:
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    status, told = ask(plane, "POST", "/api/v1/namespaces/default/serviceaccounts/default/token", request)
    assert status == 201
    status, told = ask(plane, "GET", "/api/v1/namespaces/default/secrets", token=told["status"]["token"])
    assert status == 403
    assert "system:serviceaccount:default:default" in told["message"]


def test_what_belongs_to_a_deleted_object_is_collected(plane: RealControlPlane) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    meta = {"apiVersion": "v1", "kind": "ConfigMap"}
    _, owner = ask(plane, "POST", path, {**meta, "metadata": {"name": "owner"}})
    reference = {**meta, "name": "owner", "uid": owner["metadata"]["uid"]}
    status, _ = ask(plane, "POST", path, {**meta, "metadata": {"name": "owned", "ownerReferences": [reference]}})
    assert status == 201
    assert ask(plane, "DELETE", f"{path}/owner")[0] == 200
    assert eventually(lambda: ask(plane, "GET", f"{path}/owned")[0] == 404)


@pytest.mark.long("waits for the real namespace controller")
def test_a_deleted_namespace_goes_with_all_that_is_in_it(plane: RealControlPlane) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "short-lived"}}
    assert ask(plane, "POST", "/api/v1/namespaces", namespace)[0] == 201
    assert ask(plane, "DELETE", "/api/v1/namespaces/short-lived")[0] == 200
    assert eventually(lambda: ask(plane, "GET", "/api/v1/namespaces/short-lived")[0] == 404)


def test_it_can_stream_initial_events_because_its_etcd_is_new_enough(plane: RealControlPlane) -> None:
    path = (
        "/api/v1/namespaces?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
        "&resourceVersionMatch=NotOlderThan"
    )
    host, _, port = plane.url.removeprefix("https://").partition(":")
    connection = http.client.HTTPSConnection(host, int(port), timeout=60, context=plane.admin_ssl_context())
    try:
        connection.request("GET", path)
        told = []
        with connection.getresponse() as response:
            while "BOOKMARK" not in told:
                told.append(json.loads(response.readline())["type"])
    finally:
        connection.close()
    assert set(told) == {"ADDED", "BOOKMARK"}


@pytest.mark.long("starts a real control plane of its own")
def test_leaving_removes_every_trace(binaries: Binaries) -> None:
    with RealControlPlane(binaries) as plane:
        folder, pids, port = plane.folder, plane.pids, int(plane.url.rpartition(":")[2])
        assert set(pids) == {"etcd", "kube-apiserver"}
        assert all(runs(pid) for pid in pids.values())
    assert not folder.exists()
    assert not any(runs(pid) for pid in pids.values())
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", port, timeout=2).connect()


def test_a_failed_start_raises_with_the_logs_and_removes_every_trace(
    binaries: Binaries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    broken = RealControlPlane(binaries, arguments=["--no-such-flag"])
    with pytest.raises(StartFailed, match=r"kube-apiserver ended before .*(?s:.*)unknown flag: --no-such-flag"):
        broken.__enter__()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long("starts a real control plane twice")
def test_a_port_that_is_snatched_away_is_replaced_by_another(
    binaries: Binaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RealControlPlane(binaries) as first:
        taken = [int(url.rpartition(":")[2]) for url in (first.etcd_url, first.url)]
        offers = [[taken[0], *free_ports(3)], [*free_ports(2), taken[1], *free_ports(1)]]
        monkeypatch.setattr(real, "free_ports", lambda count: offers.pop(0) if offers else free_ports(count))
        with RealControlPlane(binaries) as second:
            assert ask(second, "GET", "/version")[0] == 200
            assert not {second.url, second.etcd_url} & {first.url, first.etcd_url}
    assert offers == []


KILLED = """
import sys
from support.real import RealControlPlane, installed_binaries
plane = RealControlPlane(installed_binaries()).__enter__()
print(plane.folder, *plane.pids.values(), flush=True)
sys.stdin.read()
"""


@pytest.mark.long("starts a real control plane of its own")
def test_a_killed_test_run_leaves_nothing_either(binaries: Binaries) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", KILLED]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stdout is not None
        folder, *pids = process.stdout.readline().split()
        assert len(pids) == 2
        process.send_signal(signal.SIGKILL)
    assert eventually(lambda: not any(runs(int(pid)) for pid in pids) and not Path(folder).exists())


def test_a_missing_program_skips_with_the_command_that_provides_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("NAGAYA_KUBERNETES_BIN", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"missing program: etcd, e2e\.test.*install .*--with e2e"):
        installed_binaries(["etcd", "e2e.test"])


def test_a_wrong_folder_of_the_user_skips_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAGAYA_KUBERNETES_BIN", "/does/not/exist")
    with pytest.raises(pytest.skip.Exception, match="NAGAYA_KUBERNETES_BIN names /does/not/exist"):
        installed_binaries()
