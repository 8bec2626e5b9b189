"""The management API of `nagaya up`, `nagaya backup` and `nagaya restore` as users run them: real processes, real
folders."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
import yaml

NAGAYA = str(Path(sys.prefix) / "bin" / "nagaya")
PATIENCE = 240.0


class Up:
    """A running `nagaya up`, without controllers."""

    def __init__(self, data: Path, *arguments: str) -> None:
        self.data = data
        self.said = ""
        command = [NAGAYA, "up", "--data-dir", str(data), "--listen", "127.0.0.1:0", "--without-controllers"]
        self.process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.wait_for(r"Stop with Ctrl-C")
        self.worked = _worked(self.process.pid)
        found = re.search(r"ready at (https://\S+)", self.said)
        assert found is not None
        self.url = found[1]

    def wait_for(self, pattern: str) -> None:
        assert self.process.stdout is not None
        while not re.search(pattern, self.said):
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
            assert ready, f"it did not say {pattern!r} but {self.said!r}"
            chunk = os.read(self.process.stdout.fileno(), 4096).decode()
            assert chunk, f"it ended with {self.said!r}"
            self.said += chunk

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=PATIENCE)
        self.said += rest.decode()
        return self.process.returncode

    def context(self) -> ssl.SSLContext:
        import base64

        config = yaml.safe_load((self.data / "kubeconfig").read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        pair = self.data / "pair.pem"
        pair.write_bytes(b"".join(base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key")))
        context.load_cert_chain(pair)
        return context

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, context=self.context(), timeout=PATIENCE) as answer:
            return json.load(answer)

    def make(self, name: str) -> None:
        self.ask("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": name}})

    def names(self) -> set[str]:
        found = self.ask("GET", "/api/v1/namespaces/default/configmaps")
        return {each["metadata"]["name"] for each in found["items"]} - {"kube-root-ca.crt"}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        if self.process.stdout is not None:
            self.process.stdout.close()


def _worked(pid: int) -> float:
    """For how many seconds a process has had a processor."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(*arguments: str, timeout: float = PATIENCE, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([NAGAYA, *arguments], capture_output=True, text=True, timeout=timeout, check=False, **more)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_starts_at_once_says_what_to_do_next_and_stops_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with Up(tmp_path / "data") as up:
        assert up.worked < 8, "seconds of work, whatever else the machine has to do"
        assert f"export KUBECONFIG={tmp_path}/data/kubeconfig" in up.said
        assert "kubectl get ns" in up.said
        assert (tmp_path / "data" / "kubeconfig").stat().st_mode & 0o777 == 0o600
        assert up.stop(number) == 0
        assert up.said.splitlines()[-2:] == ["Stopping ...", f"Stopped. Everything is kept in {tmp_path}/data."]


@pytest.mark.long("starts Nagaya three times")
def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    with Up(tmp_path) as up:
        up.make("kept")
        up.stop()
    with Up(tmp_path) as up:
        assert up.names() == {"kept"}
        up.process.kill()  # as a power cut would
    with Up(tmp_path) as up:
        assert up.names() == {"kept"}
        assert up.stop() == 0


def test_an_open_watch_ends_properly_and_does_not_delay_the_stop(tmp_path: Path) -> None:
    with Up(tmp_path) as up:
        path = "/api/v1/namespaces/default/configmaps?watch=true"
        with urllib.request.urlopen(up.url + path, context=up.context(), timeout=PATIENCE) as watch:
            assert json.loads(watch.readline())["type"] == "ADDED"
            up.process.send_signal(signal.SIGTERM)
            assert watch.read() == b""  # raises IncompleteRead for a stream that was cut off
        assert up.process.wait(PATIENCE) == 0


@pytest.mark.long("starts Nagaya three times")
def test_a_second_one_on_the_same_data_names_the_first(tmp_path: Path) -> None:
    with Up(tmp_path) as up:
        port = up.url.rpartition(":")[2]
        for listen in ("127.0.0.1:0", f"127.0.0.1:{port}"):
            second = run("up", "--data-dir", str(tmp_path), "--listen", listen)
            assert second.returncode == 1
            assert f"{tmp_path}: in use by process {up.process.pid}. Stop that process" in second.stderr
            assert "Traceback" not in second.stderr


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ended = run("up", "--data-dir", str(tmp_path / "data"), "--listen", f"127.0.0.1:{port}")
    assert ended.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}: another program does already." in ended.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("listen", "code", "told"),
    [
        ("192.0.2.1:0", 1, "this machine does not have that address"),
        ("no.such.host.invalid:0", 1, "this machine does not have that address"),
        ("nonsense", 2, "'nonsense' is not HOST:PORT"),
        ("127.0.0.1:99999", 2, "is not HOST:PORT"),
    ],
)
def test_an_address_that_cannot_be_is_explained(tmp_path: Path, listen: str, code: int, told: str) -> None:
    ended = run("up", "--data-dir", str(tmp_path), "--listen", listen)
    assert ended.returncode == code
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    ended = run("up", "--data-dir", str(tmp_path / "file" / "data"), "--listen", ":0")
    assert ended.returncode == 1
    assert str(tmp_path / "file") in ended.stderr
    assert "Traceback" not in ended.stderr


@contextlib.contextmanager
def mounted(place: Path, options: str) -> Iterator[Path]:
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("a file system for the test cannot be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "ro") as disk:
        ended = run("up", "--data-dir", str(disk / "data"), "--listen", ":0")
    assert ended.returncode == 1
    assert str(disk / "data") in ended.stderr
    assert "ead-only file system" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_full_disk_is_told_as_such(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=64k") as disk:
        (disk / "filler").write_bytes(b"x" * 60_000)
        ended = run("up", "--data-dir", str(disk / "data"), "--listen", ":0")
    assert ended.returncode == 1
    assert "full" in ended.stderr or "No space left" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_data_of_something_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_text("someone else's")
    ended = run("up", "--data-dir", str(tmp_path), "--listen", ":0")
    assert ended.returncode == 1
    assert str(tmp_path / "state.db") in ended.stderr
    assert (tmp_path / "state.db").read_text() == "someone else's"


def test_the_audit_log_and_the_metrics_are_at_hand(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    with Up(tmp_path / "data", "--audit-log", str(log), "--audit-level", "Request") as up:
        up.make("one")
        request = urllib.request.Request(up.url + "/metrics")
        with urllib.request.urlopen(request, context=up.context(), timeout=PATIENCE) as answer:
            assert b"apiserver_request_total" in answer.read()
        assert up.stop() == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [each["verb"] for each in lines if each["user"]["username"] == "nagaya-admin"] == ["create", "get"]


def test_a_backup_is_made_while_the_server_runs_and_can_be_put_back(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "backup.db"
    with Up(data) as up:
        up.make("early")
        saved = run("backup", str(file), "--data-dir", str(data))
        assert saved.returncode == 0, saved.stderr
        assert f"Wrote {file}" in saved.stdout
        assert file.stat().st_mode & 0o777 == 0o600
        up.make("late")
        again = run("backup", str(file), "--data-dir", str(data))
        assert again.returncode == 1
        assert "there is a file of that name" in again.stderr
        while_running = run("restore", str(file), "--data-dir", str(data), "--force")
        assert while_running.returncode == 1
        assert f"in use by process {up.process.pid}" in while_running.stderr
        up.stop()
    refused = run("restore", str(file), "--data-dir", str(data))
    assert refused.returncode == 1
    assert "there is data in it already" in refused.stderr
    restored = run("restore", str(file), "--data-dir", str(data), "--force")
    assert restored.returncode == 0, restored.stderr
    assert "The data that was there is in" in restored.stdout
    with Up(data) as up:
        assert up.names() == {"early"}


def test_what_cannot_be_backed_up_or_restored_is_named(tmp_path: Path) -> None:
    nothing = run("backup", str(tmp_path / "b"), "--data-dir", str(tmp_path / "none"))
    assert nothing.returncode == 1
    assert "there is no database in it" in nothing.stderr
    (tmp_path / "text").write_text("x" * 1000)
    foreign = run("restore", str(tmp_path / "text"), "--data-dir", str(tmp_path / "data"))
    assert foreign.returncode == 1
    assert str(tmp_path / "text") in foreign.stderr
    assert "Traceback" not in foreign.stderr + nothing.stderr


@pytest.mark.long("starts Nagaya three times")
def test_secrets_are_encrypted_on_the_disk_and_need_their_key(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "backup.db"

    def holding(text: bytes) -> list[Path]:
        return [each for each in tmp_path.rglob("*") if each.is_file() and text in each.read_bytes()]

    secrets = "/api/v1/namespaces/default/secrets"
    with Up(data) as up:
        for name, value in (("one", "correct-horse"), ("two", "battery-staple")):
            up.ask("POST", secrets, {"metadata": {"name": name}, "stringData": {"password": value}})
        up.ask("DELETE", f"{secrets}/two")
        assert run("backup", str(file), "--data-dir", str(data)).returncode == 0
        kept = up.ask("GET", f"{secrets}/one")["data"]["password"]
        up.process.kill()  # what was written is in the log now
        up.process.wait()
    plain = (b"correct-horse", b"battery-staple", kept.encode(), b"YmF0dGVyeS1zdGFwbGU")
    assert [each for text in plain for each in holding(text)] == []
    assert holding(b"password") == []
    (data / "state.key").rename(tmp_path / "mine")
    refused = run("up", "--data-dir", str(data), "--listen", "127.0.0.1:0")
    assert refused.returncode == 1
    assert f"{data / 'state.key'}: it is missing, and Secrets are encrypted" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert run("restore", str(file), "--data-dir", str(tmp_path / "new")).returncode == 1
    key = f"--encryption-key={tmp_path / 'mine'}"
    restored = run("restore", str(file), "--data-dir", str(tmp_path / "new"), key)
    assert restored.returncode == 0, restored.stderr
    for folder in (data, tmp_path / "new"):
        with Up(folder, key) as up:
            assert up.ask("GET", f"{secrets}/one")["data"]["password"] == kept
            assert up.stop() == 0
        assert not (folder / "state.key").exists()
    assert [each for text in plain for each in holding(text)] == []
