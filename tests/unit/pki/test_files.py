from __future__ import annotations

import os
from pathlib import Path

import pytest

from nagaya.pki import files


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        files.write_atomically(tmp_path / "deep" / "key", b"secret")
    finally:
        os.umask(old)
    assert (tmp_path / "deep" / "key").read_bytes() == b"secret"
    assert mode(tmp_path / "deep" / "key") == 0o600
    assert mode(tmp_path / "deep") == 0o700


def test_a_public_file_is_readable_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        files.write_atomically(tmp_path / "ca.crt", b"x", files.PUBLIC)
    finally:
        os.umask(old)
    assert mode(tmp_path / "ca.crt") == 0o644


def test_replacing_a_file_closes_it(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"old")
    path.chmod(0o666)
    files.write_atomically(path, b"new")
    assert (path.read_bytes(), mode(path)) == (b"new", 0o600)


def test_a_failed_write_leaves_the_old_content_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"old")

    def fail(descriptor: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        files.write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["key"]
