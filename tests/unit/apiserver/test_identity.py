"""The keys of a server: closed to others, or not used."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from nagaya.apiserver import identity
from nagaya.pki.files import NotPrivate, keep_private
from nagaya.world import SystemClock


def test_keys_that_others_could_read_are_closed_to_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "pki"
    made = identity.load_or_make(folder, SystemClock())
    keys = sorted(path.name for path in folder.glob("*.key"))
    assert keys == ["admin.key", "apiserver.key", "ca.key", "sa.key"]
    folder.chmod(0o755)
    for name in keys:
        (folder / name).chmod(0o644)
    again = identity.load_or_make(folder, SystemClock())
    assert again.admin_key == made.admin_key
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in keys:
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
        assert f"{folder / name} was open to other users (mode 644) and is closed now" in caplog.text


def test_a_key_that_others_may_have_put_there_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "pki"
    identity.load_or_make(folder, SystemClock())
    (folder / "sa.key").rename(tmp_path / "sa.key")
    (folder / "sa.key").symlink_to(tmp_path / "sa.key")
    with pytest.raises(ValueError, match=r"sa\.key: it is a symbolic link"):
        identity.load_or_make(folder, SystemClock())
    (folder / "sa.key").unlink()
    (tmp_path / "sa.key").rename(folder / "sa.key")
    if os.geteuid() == 0:
        os.chown(folder / "sa.key", 65534, 65534)
        with pytest.raises(NotPrivate, match="it belongs to another user"):
            identity.load_or_make(folder, SystemClock())


def test_a_file_that_cannot_be_closed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "key"
    path.write_text("secret")
    path.chmod(0o640)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refuse)
    with pytest.raises(NotPrivate, match=r"cannot be changed \(Operation not permitted\)\. Run `chmod 600"):
        keep_private(path)
    keep_private(tmp_path / "not there")
