from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from nagaya.supervision import folders
from nagaya.supervision.folders import hand_over, let_through, remove, share

for_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")

USER = 231_998


def owner(path: Path) -> tuple[int, int, int]:
    found = path.lstat()
    return found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)


@for_root
def test_a_folder_is_handed_over_with_all_that_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    (folder / "deep/deeper").mkdir(parents=True)
    (folder / "deep/deeper/file").touch(0o600)
    folder.chmod(0o755)
    hand_over(folder, USER)
    assert owner(folder) == (USER, USER, 0o700)
    assert {owner(each)[:2] for each in folder.rglob("*")} == {(USER, USER)}


@for_root
def test_a_folder_that_is_missing_is_made(tmp_path: Path) -> None:
    hand_over(tmp_path / "own", USER)
    assert owner(tmp_path / "own") == (USER, USER, 0o700)


@for_root
def test_nothing_elsewhere_changes_its_owner(tmp_path: Path) -> None:
    """A link to a file, a link to a folder, another name of a file, and the folder itself as a link."""
    precious, elsewhere, folder = tmp_path / "precious", tmp_path / "elsewhere", tmp_path / "own"
    elsewhere.mkdir(mode=0o755)
    precious.touch(0o600)
    (elsewhere / "inside").touch(0o600)
    folder.mkdir()
    (folder / "file").symlink_to(precious)
    (folder / "folder").symlink_to(elsewhere)
    (folder / "same").hardlink_to(precious)
    hand_over(folder, USER)
    assert owner(precious) == (0, 0, 0o600)
    assert owner(elsewhere) == (0, 0, 0o755)
    assert owner(elsewhere / "inside") == (0, 0, 0o600)
    (tmp_path / "link").symlink_to(elsewhere)
    with pytest.raises(OSError, match="link"):
        hand_over(tmp_path / "link", USER)
    assert owner(elsewhere) == (0, 0, 0o755)


@for_root
def test_what_was_handed_over_is_not_touched_again(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    hand_over(folder, USER)
    (folder / "planted").touch(0o600)
    hand_over(folder, USER)
    assert owner(folder / "planted")[0] == 0


@for_root
@pytest.mark.parametrize("crash", range(4))
def test_it_can_be_interrupted_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crash: int) -> None:
    folder = tmp_path / "own"
    folder.mkdir(mode=0o755)
    for name in ("a", "b", "c"):
        (folder / name).touch(0o600)
    calls = iter(range(100))

    def chown(name: str, user: int, group: int, **more: object) -> None:
        if next(calls) == crash:
            raise KeyboardInterrupt
        real(name, user, group, **more)  # type: ignore[arg-type]

    def fchown(descriptor: int, user: int, group: int) -> None:
        if user and next(calls) == crash:
            raise KeyboardInterrupt
        real_fchown(descriptor, user, group)

    real, real_fchown = os.chown, os.fchown
    with monkeypatch.context() as patch:
        patch.setattr(folders.os, "chown", chown)
        patch.setattr(folders.os, "fchown", fchown)
        with pytest.raises(KeyboardInterrupt):
            hand_over(folder, USER)
    assert owner(folder) == (0, 0, 0o700), "closed until all of it is handed over"
    hand_over(folder, USER)
    assert {owner(each)[:2] for each in (folder, *folder.iterdir())} == {(USER, USER)}


@for_root
def test_a_folder_that_others_pass_through_is_not_listed_by_them(tmp_path: Path) -> None:
    let_through(tmp_path / "a/b")
    assert owner(tmp_path / "a/b") == (0, 0, 0o711)
    (tmp_path / "a/b").chmod(0o777)
    let_through(tmp_path / "a/b")
    assert owner(tmp_path / "a/b") == (0, 0, 0o711)


@for_root
def test_what_is_shared_is_read_by_a_group_and_written_by_root(tmp_path: Path) -> None:
    (tmp_path / "file").touch(0o666)
    os.chown(tmp_path / "file", 7, 7)
    share(tmp_path / "file", USER)
    assert owner(tmp_path / "file") == (0, USER, 0o640)
    (tmp_path / "folder").mkdir(mode=0o777)
    share(tmp_path / "folder", USER)
    assert owner(tmp_path / "folder") == (0, USER, 0o750)


def test_what_is_removed_is_never_what_a_link_leads_to(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "own", tmp_path / "elsewhere"
    (elsewhere / "inside").mkdir(parents=True)
    (elsewhere / "file").write_text("of somebody else")
    (folder / "deep/deeper").mkdir(parents=True)
    for number, place in enumerate((folder, folder / "deep", folder / "deep/deeper")):
        (place / "link").symlink_to(elsewhere)
        (place / "same").hardlink_to(elsewhere / "file")
        (place / str(number)).mkdir()
        os.mkfifo(place / "pipe")
    remove(folder)
    assert not folder.exists()
    assert (elsewhere / "file").read_text() == "of somebody else"
    assert (elsewhere / "inside").is_dir()
    (tmp_path / "link").symlink_to(elsewhere)
    with pytest.raises(OSError, match="link"):
        remove(tmp_path / "link")
    assert (elsewhere / "inside").is_dir()


def test_no_folder_is_too_deep_to_be_removed(tmp_path: Path) -> None:
    at = os.open(tmp_path, os.O_PATH)
    for _ in range(3000):
        os.mkdir("folder", dir_fd=at)
        below = os.open("folder", os.O_PATH, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    remove(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []
