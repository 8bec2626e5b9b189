"""Folders and files of confined programs, for an owner that is root.

What a program can write is handed over to its user once. From then on anything may be there, so nobody who is root
follows a link in it, or changes owners and modes. What a program only reads stays root's, and is shared with the group
of its user.
"""

from __future__ import annotations

import itertools
import os
import secrets
import stat
from pathlib import Path
from typing import Final

_PASSABLE: Final = 0o711


def let_through(folder: Path) -> None:
    """Have a folder of root's that others can pass through, and neither list nor write."""
    folder.mkdir(mode=_PASSABLE, parents=True, exist_ok=True)
    if stat.S_IMODE(folder.stat().st_mode) != _PASSABLE:
        folder.chmod(_PASSABLE)


def hand_over(folder: Path, user: int) -> None:
    """Have a folder that nobody but this user (and root) can enter, with all that is in it.

    The folder itself comes last: until then only root can be in there, whenever this is interrupted.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    opened = _open(folder)
    try:
        if os.fstat(opened).st_uid == user:
            return
        os.fchown(opened, 0, 0)
        os.fchmod(opened, 0o700)
        for _, folders, files, inside in os.fwalk(".", dir_fd=opened):
            for name in (*folders, *files):
                found = os.stat(name, dir_fd=inside, follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode) or found.st_nlink == 1:
                    os.chown(name, user, user, dir_fd=inside, follow_symlinks=False)
        os.fchown(opened, user, user)
    finally:
        os.close(opened)


def share(path: Path, group: int) -> None:
    """Let a group read a file, or pass through a folder and list it. Only where nobody but root can write."""
    found = path.lstat()
    mode = 0o750 if stat.S_ISDIR(found.st_mode) else 0o640
    if (found.st_uid, found.st_gid) != (0, group):
        os.chown(path, 0, group, follow_symlinks=False)
    if stat.S_IMODE(found.st_mode) != mode and not stat.S_ISLNK(found.st_mode):
        path.chmod(mode)


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, without following a link. Nobody may write there any more.

    What is in a folder is moved up before that is removed, so that no depth is too much.
    """
    unused = secrets.token_hex(8)
    moved = itertools.count()
    top = _open(folder)
    try:
        while names := os.listdir(top):
            for name in names:
                try:
                    os.unlink(name, dir_fd=top)
                    continue
                except IsADirectoryError:
                    inside = _open(name, top)
                try:
                    for each in os.listdir(inside):
                        os.rename(each, f"{unused}-{next(moved)}", src_dir_fd=inside, dst_dir_fd=top)
                finally:
                    os.close(inside)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    folder.rmdir()


def _open(folder: str | Path, within: int | None = None) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
