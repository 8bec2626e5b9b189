"""What the audit log says, and that all of it arrives."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from nagaya.apiserver.web.audit import AuditSettings, Level
from nagaya.apiserver.web.audit_file import AuditFile
from nagaya.apiserver.web.observer import ended
from nagaya.apiserver.web.request import Request
from support.in_process import Api
from support.waiting import eventually

pytestmark = pytest.mark.slow

Start = Callable[..., Awaitable[Api]]
MAPS = "/api/v1/namespaces/default/configmaps"


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def written(api: Api, path: Path) -> list[dict[str, Any]]:
    """All events, once the server has stopped."""
    await api.server.stop()
    return events(path)


async def test_a_request_is_told_of_with_who_what_and_how_it_ended(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    api = await start(audit=AuditSettings(log))
    headers = {"Authorization": "Bearer admin", "User-Agent": "test/1", "Audit-Id": "my-id"}
    request = Request.make("GET", f"{MAPS}/none?pretty=true", headers=headers)
    request.remote = "192.0.2.7"
    await api.server.handle(request)
    (event,) = await written(api, log)
    assert event == {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": "my-id",
        "stage": "ResponseComplete",
        "requestURI": "/api/v1/namespaces/default/configmaps/none?pretty=true",
        "verb": "get",
        "user": {"username": "admin", "groups": ["system:masters", "system:authenticated"]},
        "sourceIPs": ["192.0.2.7"],
        "userAgent": "test/1",
        "objectRef": {"resource": "configmaps", "namespace": "default", "name": "none", "apiVersion": "v1"},
        "responseStatus": {
            "metadata": {},
            "status": "Failure",
            "message": 'configmaps "none" not found',
            "reason": "NotFound",
            "details": {"name": "none", "kind": "configmaps"},
            "code": 404,
        },
        "requestReceivedTimestamp": "2026-11-01T12:00:00.000000Z",
        "stageTimestamp": "2026-11-01T12:00:00.000000Z",
        "annotations": event["annotations"],
    }
    assert event["annotations"]["authorization.k8s.io/decision"] == "allow"


async def test_the_log_is_for_its_owner_only(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.touch(0o644)
    api = await start(audit=AuditSettings(log))
    assert log.stat().st_mode & 0o777 == 0o600
    assert await written(api, log) == []


async def test_who_is_refused_is_in_the_log_too(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    api = await start(audit=AuditSettings(log))
    await api.ask("GET", MAPS, user="nobody")
    await api.ask("GET", MAPS, user="stranger")
    forbidden, unknown = await written(api, log)
    assert forbidden["responseStatus"]["code"] == 403
    assert forbidden["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert unknown["responseStatus"]["code"] == 401


async def test_one_who_acts_as_another_is_named_with_the_other(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    api = await start(audit=AuditSettings(log))
    headers = {"Authorization": "Bearer admin", "Impersonate-User": "jane"}
    await api.server.handle(Request.make("GET", MAPS, headers=headers))
    (event,) = await written(api, log)
    assert event["user"]["username"] == "admin"
    assert event["impersonatedUser"]["username"] == "jane"


async def test_a_stream_is_told_of_when_it_starts_and_when_it_ends(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    api = await start(audit=AuditSettings(log))
    headers = {"Authorization": "Bearer admin"}
    response = await api.server.handle(Request.make("GET", f"{MAPS}?watch=true", headers=headers))
    assert response.stream is not None
    await anext(response.stream)
    await ended(response.stream)
    stages = [(event["stage"], event["verb"]) for event in await written(api, log)]
    assert stages == [("ResponseStarted", "watch"), ("ResponseComplete", "watch")]


@pytest.mark.parametrize("level", list(Level))
async def test_levels_add_what_was_sent_and_what_was_answered(start: Start, tmp_path: Path, level: Level) -> None:
    log = tmp_path / "audit.log"
    api = await start(audit=AuditSettings(log, level))
    body = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
    await api.create("/apis/coordination.k8s.io/v1/namespaces/default/leases", body)
    (event,) = await written(api, log)
    assert event["level"] == level
    assert ("requestObject" in event) == (level is not Level.METADATA)
    assert ("responseObject" in event) == (level is Level.REQUEST_RESPONSE)
    if level is not Level.METADATA:
        assert event["requestObject"] == body
    if level is Level.REQUEST_RESPONSE:
        assert event["responseObject"]["metadata"]["uid"]


async def test_secrets_and_tokens_are_never_in_the_log(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    api = await start(audit=AuditSettings(log, Level.REQUEST_RESPONSE))
    hidden = base64.b64encode(b"do not tell").decode()
    await api.create("/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}, "data": {"key": hidden}})
    await api.ask("GET", "/api/v1/secrets")
    await api.create(MAPS, {"metadata": {"name": "c"}, "data": {"key": "not this either"}})
    await api.merge(f"{MAPS}/c", {"data": {"key": "nor this"}})
    _, issued = await api.ask("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", {})
    await api.ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "admin-secret"}})
    await api.server.stop()
    text = log.read_text()
    assert len(text.splitlines()) == 6
    for each in (hidden, "not this either", "nor this", issued["status"]["token"], "admin-secret"):
        assert each not in text


async def test_everything_is_in_the_file_when_the_server_has_stopped(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    api = await start(audit=AuditSettings(log))
    for number in range(500):
        await api.ask("GET", f"{MAPS}/{number}")
    assert [each["objectRef"]["name"] for each in await written(api, log)] == [str(each) for each in range(500)]


async def test_the_file_is_turned_over_when_it_is_large_and_the_oldest_goes(tmp_path: Path) -> None:
    path = tmp_path / "log"
    file = AuditFile(path, turn_at=100, keep=2)
    for number in range(20):
        file.add(b"%029d\n" % number)
        await file._write_all()
        file._writer = None
    await file.close()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["log", "log.1", "log.2"]
    kept = b"".join(tmp_path.joinpath(name).read_bytes() for name in ("log.2", "log.1", "log"))
    numbers = [int(line) for line in kept.splitlines()]
    assert numbers == list(range(numbers[0], 20))
    assert all(each.stat().st_size <= 100 for each in tmp_path.iterdir())
    assert all(each.stat().st_mode & 0o777 == 0o600 for each in tmp_path.iterdir())


async def test_adding_a_line_does_not_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = AuditFile(tmp_path / "log", turn_at=10**9, keep=1)
    real, disk_is_ready = os.write, threading.Event()

    def blocked(descriptor: int, data: bytes) -> int:
        assert disk_is_ready.wait(60)
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", blocked)
    for _ in range(1000):
        file.add(b"line\n")
        await asyncio.sleep(0)
    disk_is_ready.set()
    await file.close()
    assert len((tmp_path / "log").read_bytes().splitlines()) == 1000


async def test_lines_wait_while_the_disk_is_full_and_none_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("nagaya.apiserver.web.audit_file._RETRY", 0.02)
    file = AuditFile(tmp_path / "log", turn_at=10**9, keep=1)
    real, cut_off, full = os.write, os.ftruncate, True
    sizes = []

    def limited(descriptor: int, data: bytes) -> int:
        if full:
            real(descriptor, bytes(data)[:3])  # what fits
            raise OSError(28, "No space left on device")
        return real(descriptor, data)

    def noted(descriptor: int, length: int) -> None:
        cut_off(descriptor, length)
        sizes.append(os.fstat(descriptor).st_size)

    monkeypatch.setattr(os, "write", limited)
    monkeypatch.setattr(os, "ftruncate", noted)
    file.add(b"first\n")
    await eventually(lambda: len(sizes) > 1)
    assert set(sizes) == {0}
    assert caplog.text.count("cannot be written (No space left on device)") == 1
    file.add(b"second\n")
    full = False
    await eventually(lambda: "is written again" in caplog.text)
    await eventually(lambda: (tmp_path / "log").read_bytes() == b"first\nsecond\n")
    await file.close()
