from __future__ import annotations

import pytest

from nagaya.infrastructure.proxmox.client.errors import Evidence, Forbidden, ParameterError, TaskFailed
from nagaya.infrastructure.proxmox.image.checksum import checksum
from nagaya.infrastructure.proxmox.image.following import percent
from nagaya.infrastructure.proxmox.image.image import Image
from nagaya.infrastructure.proxmox.image.remedies import sentence
from support.subtest_cases import subtest_cases

IMAGE = Image("debian-13", "https://x.example/a.qcow2?key=hidden", checksum("ab" * 64))


@subtest_cases(
    ("said", "remedy"),
    [
        ("checksum mismatch: got 'aa' != expect 'bb'", "without --checksum"),
        ("checksum mismatch: got 'aa' != expect 'bb', aborting", "pvesm free"),
        ("failed to verify file: qemu-img: Could not open 'x': Image is not in qcow2 format", "--format"),
        ("unable to create VM 9000 - qemu-img: error while writing: No space left on device", "make room"),
        ("download failed: wget: unable to resolve host address 'x.example'", "pve1 does not reach the server"),
        ("download failed: Connecting to 127.0.0.1:9... failed: Connection refused.", "pve1 does not reach the server"),
        ("download failed: exit code 8", "check the address"),
        ("download failed: exit code 5", "--no-verify-certificate"),
    ],
)
def test_a_task_that_failed_is_told_with_what_to_do(said: str, remedy: str) -> None:
    told = sentence(TaskFailed(Evidence("GET", "/x", "pve1", upid="UPID:x"), said), IMAGE, "pve1")
    assert said.rstrip(".") in told
    assert remedy in told
    assert "hidden" not in told


def test_a_tag_that_may_not_be_set_is_told_with_where_that_is_decided() -> None:
    said = "Permission check failed (/, Sys.Modify for modifying tag 'debian-13')"
    error = Forbidden(Evidence("PUT", "/x", "pve1", 403, message=said), "/", ("Sys.Modify",))
    assert "add debian-13 to user-tag-access" in sentence(error, IMAGE, "pve1")


def test_a_proxmox_that_is_too_old_for_images_is_told() -> None:
    evidence = Evidence("POST", "/x", "pve1", 400, errors={"content": "value 'import' does not have a value in"})
    assert "8.4 does" in sentence(ParameterError(evidence), IMAGE, "pve1")


@pytest.mark.parametrize(
    ("line", "far"),
    [
        (" 32768K ........ ........ ........ ........  8%  112M 3s", 8),
        ("     0K                                    100%  699M=0s", 100),
        ("transferred 1.0 GiB of 3.0 GiB (33.33%)", 33),
        ("transferred 0.0 B of 64.0 MiB (0.00%)", 0),
        ("downloading https://x.example/a%20b.qcow2 to /var/lib/vz", None),
        ("TASK OK", None),
    ],
)
def test_how_far_a_line_says_it_is(line: str, far: int | None) -> None:
    assert percent(line) == far
