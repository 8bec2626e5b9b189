from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nagaya.binaries.cache import Record, Shelf, cache_folder, sha256_of, writing
from nagaya.binaries.errors import CacheUnusable
from nagaya.binaries.releases import Platform

DATE = "2026-11-01T12:00:00+00:00"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf.of(tmp_path / "cache", "kubernetes", "v1.36.3", Platform("linux", "amd64"))


def staged(tmp_path: Path, contents: bytes = b"a program") -> Path:
    path = tmp_path / "staged"
    path.write_bytes(contents)
    return path


def adopt(shelf: Shelf, tmp_path: Path, contents: bytes = b"a program") -> Record:
    return shelf.adopt("kubelet", staged(tmp_path, contents), "a source", DATE)


def test_the_cache_is_where_the_xdg_rules_put_it() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/elsewhere", "HOME": "/home/a"}) == Path("/elsewhere/nagaya")
    assert cache_folder({"HOME": "/home/a"}) == Path("/home/a/.cache/nagaya")
    assert cache_folder({"XDG_CACHE_HOME": "", "HOME": "/home/a"}) == Path("/home/a/.cache/nagaya")
    assert cache_folder({"XDG_CACHE_HOME": "relative", "HOME": "/home/a"}) == Path("/home/a/.cache/nagaya")


def test_versions_and_platforms_have_folders_of_their_own(shelf: Shelf, tmp_path: Path) -> None:
    assert shelf.path("kubelet") == tmp_path / "cache/kubernetes/v1.36.3/linux-amd64/kubelet"


def test_an_adopted_program_is_executable_in_its_place_and_recorded(shelf: Shelf, tmp_path: Path) -> None:
    record = adopt(shelf, tmp_path)
    path = shelf.path("kubelet")
    assert path.read_bytes() == b"a program"
    assert os.access(path, os.X_OK)
    assert not (tmp_path / "staged").exists()
    assert record.sha256 == sha256_of(path)
    assert (record.size, record.source, record.installed) == (9, "a source", DATE)
    assert shelf.untouched("kubelet") == shelf.verified("kubelet") == record


def test_what_is_not_run_need_not_be_executable(shelf: Shelf, tmp_path: Path) -> None:
    shelf.adopt("a.yaml", staged(tmp_path), "a source", DATE, mode=0o644)
    assert shelf.path("a.yaml").stat().st_mode & 0o777 == 0o644


def test_nothing_but_the_program_and_its_record_is_left(shelf: Shelf, tmp_path: Path) -> None:
    adopt(shelf, tmp_path)
    assert sorted(path.name for path in shelf.folder.iterdir()) == ["kubelet", "kubelet.json"]


def test_a_program_that_was_never_adopted_is_not_there(shelf: Shelf) -> None:
    assert shelf.untouched("kubelet") is None
    assert shelf.verified("kubelet") is None


def test_a_program_without_a_record_does_not_count(shelf: Shelf, tmp_path: Path) -> None:
    adopt(shelf, tmp_path)
    (shelf.folder / "kubelet.json").unlink()
    assert shelf.untouched("kubelet") is None
    assert shelf.verified("kubelet") is None


def test_a_record_without_its_program_does_not_count(shelf: Shelf, tmp_path: Path) -> None:
    adopt(shelf, tmp_path)
    shelf.path("kubelet").unlink()
    assert shelf.untouched("kubelet") is None
    assert shelf.verified("kubelet") is None


@pytest.mark.parametrize("garbage", ["", "{", "[]", '{"sha256": "x"}', "null"])
def test_a_record_that_cannot_be_read_does_not_count(shelf: Shelf, tmp_path: Path, garbage: str) -> None:
    adopt(shelf, tmp_path)
    (shelf.folder / "kubelet.json").write_text(garbage)
    assert shelf.untouched("kubelet") is None
    assert shelf.verified("kubelet") is None


def test_a_changed_program_is_noticed_by_its_date(shelf: Shelf, tmp_path: Path) -> None:
    adopt(shelf, tmp_path)
    shelf.path("kubelet").write_bytes(b"A PROGRAM")
    assert shelf.untouched("kubelet") is None
    assert shelf.verified("kubelet") is None


def test_a_change_that_keeps_size_and_date_is_noticed_by_the_thorough_look_only(shelf: Shelf, tmp_path: Path) -> None:
    record = adopt(shelf, tmp_path)
    path = shelf.path("kubelet")
    path.write_bytes(b"A PROGRAM")
    os.utime(path, ns=(record.modified, record.modified))
    assert shelf.untouched("kubelet") == record
    assert shelf.verified("kubelet") is None


def test_a_restored_program_with_another_date_is_hashed_once_and_trusted_again(shelf: Shelf, tmp_path: Path) -> None:
    adopt(shelf, tmp_path)
    os.utime(shelf.path("kubelet"), ns=(10**18, 10**18))
    assert shelf.untouched("kubelet") is None
    noted = shelf.verified("kubelet")
    assert noted is not None
    assert noted.modified == 10**18
    assert shelf.untouched("kubelet") == noted


def test_a_crash_after_the_rename_leaves_no_record_of_the_old_program(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adopt(shelf, tmp_path)

    def crash(self: Shelf, program: str, record: Record) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Shelf, "_write_record", crash)
    with pytest.raises(KeyboardInterrupt):
        adopt(shelf, tmp_path, b"a new one")
    assert shelf.path("kubelet").read_bytes() == b"a new one"
    assert shelf.untouched("kubelet") is None


def test_a_crash_before_the_rename_leaves_the_old_program_whole(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adopt(shelf, tmp_path)

    def crash(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        adopt(shelf, tmp_path, b"a new one")
    assert shelf.path("kubelet").read_bytes() == b"a program"


def test_the_record_is_plain_json_that_people_can_read(shelf: Shelf, tmp_path: Path) -> None:
    adopt(shelf, tmp_path)
    told = json.loads((shelf.folder / "kubelet.json").read_text())
    assert told.keys() == {"sha256", "size", "modified", "source", "installed"}


def test_a_cache_that_may_not_be_read_is_told(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(CacheUnusable, match=r"cannot read .*kubelet\.json: Permission denied\. Check who owns"):
        shelf.untouched("kubelet")


def test_a_full_disk_is_told_with_what_to_do() -> None:
    with (
        pytest.raises(CacheUnusable, match=r"cannot write /x: No space left on device\. Free some space"),
        writing(Path("/x")),
    ):
        raise OSError(28, "No space left on device")


def test_a_folder_of_someone_else_is_told() -> None:
    with pytest.raises(CacheUnusable, match=r"Permission denied\. Check who owns"), writing(Path("/x")):
        raise PermissionError(13, "Permission denied")
