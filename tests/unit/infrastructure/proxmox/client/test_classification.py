"""Every recorded failure of PVE 9.2 has a class of its own, by what a caller has to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

import orjson
import pytest

from nagaya.infrastructure.proxmox.client import errors
from nagaya.infrastructure.proxmox.client.classification import classified
from nagaya.infrastructure.proxmox.client.decoding import decoded
from nagaya.infrastructure.proxmox.client.errors import Evidence, ProxmoxError
from nagaya.infrastructure.proxmox.client.transport import Answer
from support.proxmox_recorded.case import files
from support.subtest_cases import subtest_cases

WITHOUT_A_CLASS = (
    "could not load supported machine versions",
    "invalid server response",
    "no prune-backups options configured",
    "auto-generated role",
)
"""Recorded failures of calls, or of states, that the client never meets."""

EXPECTED = (
    (401, r".*", errors.Unauthorized),
    (595, r".*", errors.HostUnreachable),
    (596, r".*", errors.HostUnreachable),
    (403, r"pool '.*' does not exist", errors.NotFound),
    (403, r".*", errors.Forbidden),
    (501, r"Unexpected content|for data too large", errors.ParameterError),
    (501, r".*", errors.NotImplemented),
    (506, r".*", errors.ParameterError),
    (500, r"Configuration file .* does not exist|unable to find configuration file", errors.NotFound),
    (500, r"VM is locked", errors.Locked),
    (500, r"no quorum|Permission denied$", errors.NoQuorum),
    (500, r"403 Permission check failed", errors.Forbidden),
    (500, r"[Oo]nly root can", errors.RootOnly),
    (500, r"400 Parameter verification failed", errors.ParameterError),
    (500, r"already exists|already defined|checksum mismatch|already in use|belongs already", errors.Conflict),
    (500, r"^Agent error", errors.AgentFailed),
    (500, r"QEMU guest agent", errors.AgentNotReady),
    (500, r"invalid bootorder", errors.ParameterError),
    (500, r"no such |does not exist|hostname lookup|not HA managed|not a pool member", errors.NotFound),
    (500, r"volume_size_info", errors.NotFound),
    (500, r"not running|is running|not empty|protection mode|you can't|is disabled", errors.WrongState),
    (500, r"not available on", errors.WrongState),
    (500, r"unmanaged resource|feature is not supported", errors.WrongState),
    (500, r"ssh .* failed: exit code", errors.HostUnreachable),
    (500, r"free VMID", errors.Exhausted),
    (500, r".*", errors.ParameterError),
)  # fmt: skip


def error_of(step: dict[str, Any]) -> ProxmoxError:
    method, _, path = step["request"].partition(" ")
    body = orjson.dumps(step["answer"]) if "answer" in step else str(step.get("body", "")).encode()
    asked = Evidence(method, path.removeprefix("/api2/json"), "pve1")
    with pytest.raises(ProxmoxError) as raised:
        decoded(Answer(step["status"], step["reason"], body), asked)
    return raised.value


def expected(step: dict[str, Any], error: ProxmoxError) -> type[ProxmoxError]:
    if any(text in step["reason"] for text in WITHOUT_A_CLASS):
        return errors.Refused
    if step["status"] == 400:
        said = error.evidence.errors
        if "no such" in str(said.values()).lower():
            return errors.NotFound
        return errors.Conflict if any("already exists" in each for each in said.values()) else errors.ParameterError
    text = error.evidence.text
    return next(kind for status, words, kind in EXPECTED if status == step["status"] and re.search(words, text))


def recorded_failures() -> Iterator[Any]:
    for case in chain.from_iterable(files().values()):
        for number, step in enumerate(case.steps):
            if isinstance(step.get("status"), int) and step["status"] >= 400:
                yield pytest.param(step, id=f"{case.id}-{number}")


@subtest_cases("step", recorded_failures)
def test_a_recorded_failure_is_of_its_class(step: dict[str, Any]) -> None:
    error = error_of(step)
    assert type(error) is expected(step, error), f"{type(error).__name__}: {error}"
    assert error.evidence.status == step["status"]
    assert error.evidence.reason == step["reason"]
    assert "\n" not in str(error)


def test_there_are_enough_recorded_failures() -> None:
    assert len(list(recorded_failures())) > 300


def failed(status: int | None, text: str, method: str = "POST", **more: str) -> ProxmoxError:
    return classified(Evidence(method, "/nodes/pve1/qemu/100", "pve1", status, text, errors=more))


def test_a_missing_right_is_named_with_its_path() -> None:
    error = failed(403, "Permission check failed (/vms/100, VM.Config.Disk|VM.Config.CDROM)")
    assert isinstance(error, errors.Forbidden)
    assert (error.path, error.privileges) == ("/vms/100", ("VM.Config.Disk", "VM.Config.CDROM"))
    assert "need VM.Config.Disk or VM.Config.CDROM on /vms/100" in str(error)


def test_who_denies_its_version_is_no_proxmox_ve() -> None:
    error = classified(Evidence("GET", "/version", "10.0.0.1", 403, "Forbidden"))
    assert isinstance(error, errors.Malformed)
    assert "the address leads elsewhere" in str(error)


def test_a_right_with_an_explanation_is_read_too() -> None:
    error = failed(403, "Permission check failed (/, Sys.Modify for modifying tag 'x')")
    assert isinstance(error, errors.Forbidden)
    assert (error.path, error.privileges) == ("/", ("Sys.Modify",))


def test_a_missing_right_without_a_name_says_that_nothing_is_named() -> None:
    error = failed(403, "Permission check failed")
    assert isinstance(error, errors.Forbidden)
    assert not error.privileges
    assert "names neither path nor privilege" in str(error)


def test_a_denied_upload_has_an_empty_body_and_is_still_understood() -> None:
    with pytest.raises(errors.Forbidden) as raised:
        decoded(
            Answer(403, "Permission check failed (/storage/local, Datastore.AllocateTemplate)"),
            Evidence("POST", "/nodes/pve1/storage/local/upload"),
        )
    assert raised.value.privileges == ("Datastore.AllocateTemplate",)


@pytest.mark.parametrize(("method", "may"), [("POST", True), ("DELETE", True), ("GET", False)])
def test_a_call_that_broke_behind_the_proxy_may_have_happened(method: str, may: bool) -> None:
    error = failed(596, "Broken pipe", method)
    assert isinstance(error, errors.HostUnreachable)
    assert error.may_have_happened is may
    assert ("may have happened" in str(error)) is may


def test_a_call_that_reached_nobody_has_not_happened() -> None:
    for status, text in ((595, "No route to host"), (596, "error:0A000086:SSL routines::certificate verify failed")):
        error = failed(status, text)
        assert isinstance(error, errors.HostUnreachable)
        assert not error.may_have_happened


def test_the_kind_of_a_lock_is_told_with_the_way_out() -> None:
    error = failed(500, "VM is locked (snapshot-delete)")
    assert isinstance(error, errors.Locked)
    assert error.lock == "snapshot-delete"
    assert "qm unlock" in str(error)


@pytest.mark.parametrize(
    "text",
    [
        "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout",
        "cfs-lock 'storage-x' error: got lock request timeout",
        "can't lock file '/var/lock/pve-manager/pve-storage-local-lvm' - got timeout",
    ],
)
def test_a_lock_that_others_hold_is_busy(text: str) -> None:
    assert isinstance(failed(None, text), errors.Busy)


def test_errors_of_parameters_are_in_the_sentence() -> None:
    error = failed(400, "Parameter verification failed.", name="invalid format - no\n", cores="too many")
    assert str(error) == (
        "POST /nodes/pve1/qemu/100 failed: Parameter verification failed: cores: too many; "
        "name: invalid format - no (HTTP 400)."
    )


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("storage 'store' is not online", errors.WrongState),
        ("403 Permission check failed (/storage/store, Datastore.AllocateSpace)", errors.Forbidden),
        ("can't lock file '/var/lock/pve-manager/pve-storage-store' - got timeout", errors.Busy),
        ("storage 'store' does not exist", errors.ParameterError),
        ("something else", errors.Refused),
    ],
)
def test_a_change_that_was_taken_and_could_not_be_made_says_why(said: str, kind: type[ProxmoxError]) -> None:
    error = failed(400, "Parameter verification failed.", ide2=f"unable to apply pending change ide2 : {said}\n")
    assert type(error) is kind
    assert said in str(error)


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (Answer(200, "OK", b"<html>hello"), "'<html>hello'"),
        (Answer(200, "OK"), "an empty body"),
        (Answer(200, "OK", b"[]"), "'[]'"),
        (Answer(302, "Found"), "302 Found"),
    ],
)
def test_what_is_no_answer_of_pve_says_what_it_is(answer: Answer, shown: str) -> None:
    with pytest.raises(errors.Malformed) as raised:
        decoded(answer, Evidence("GET", "/version"))
    assert shown in str(raised.value)
    assert f"HTTP {answer.status}" in str(raised.value)


def test_older_versions_say_why_in_the_reason_phrase_alone() -> None:
    with pytest.raises(errors.Locked):
        decoded(Answer(500, "VM is locked (backup)", b'{"data":null}'), Evidence("PUT", "/nodes/a/qemu/1/config"))


@subtest_cases(
    ("said", "kind"),
    [
        ("VM is locked (clone)", errors.Locked),
        ("403 Permission check failed (/storage/store, Datastore.AllocateSpace)", errors.Forbidden),
        ("base volume 'store:900/base-900-disk-0.qcow2' is still in use by linked cloned", errors.WrongState),
        ("bridge 'vmbr77' does not exist", errors.NotFound),
        ("unable to create VM 330: config file already exists", errors.Conflict),
        ("unable to create VM 312 - storage 'off' is disabled", errors.WrongState),
        ("shrinking disks is not supported", errors.ParameterError),
        ("download failed: Connecting to 127.0.0.1:9... failed: Connection refused.", errors.Refused),
        ("VM quit/powerdown failed - got timeout", errors.Refused),
        ("unexpected status", errors.Refused),
    ],
)
def test_the_end_of_a_task_is_classified_like_an_answer(said: str, kind: type[ProxmoxError]) -> None:
    assert type(failed(None, said)) is kind


@pytest.mark.parametrize(
    "said",
    [
        "Agent error: Configuration file 'x' does not exist",
        "hook said: file does not exist",
        "snapshot 'x' does not exist",
        "storage 'local' does not exist",
    ],
)
def test_only_pves_own_sentence_says_that_a_machine_is_gone(said: str) -> None:
    error = failed(500, said)
    assert not (isinstance(error, errors.NotFound) and error.what == "machine")
