"""Turns the process that launches a program into one of an unprivileged user, for good.

Runs in the child after everything that needs root (launch.py), alone: the standard library only, loaded by its path.
What holds afterwards, for the program and all that it starts: user and group are the given number, in no further group;
no capability is held or can ever be had (bounding, inheritable and ambient sets are empty), and no set-uid program or
file capability gives one (no_new_privs).

Nagaya's data is often below a folder that only root can enter, such as /root. Such a folder is not opened for others:
the program gets a mount namespace in which an empty folder covers it, with nothing in there but what it needs.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Sequence

_PR_SET_KEEPCAPS, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 8, 24, 38, 47
_AMBIENT_RAISE, _AMBIENT_CLEAR_ALL = 2, 4
_NET_BIND_SERVICE = 10
_CAPABILITY_VERSION_3 = 0x20080522
_KEYCTL, _JOIN_SESSION_KEYRING = {"x86_64": 250, "aarch64": 219}, 1
_CLONE_NEWNS = 0x20000
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC, _SLAVE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 19

_libc = ctypes.CDLL(None, use_errno=True)


def enter(user: int, folders: Sequence[str], *, low_ports: bool) -> None:
    """Become this user, who can reach these folders. Raises OSError, and PermissionError where root itself may not.

    `low_ports` leaves it one capability: to listen at ports below 1024.
    """
    closed = {path: top for folder in folders for path in _ways(folder) if (top := _closed_above(path, user))}
    if closed:
        _cover(closed)
    kept = [_NET_BIND_SERVICE] if low_ports else []
    _drop_bounding(kept)
    os.setgroups([])
    _prctl(_PR_SET_KEEPCAPS, int(low_ports))
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    _set_capabilities(sum(1 << each for each in kept))
    _prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    for each in kept:
        _prctl(_PR_CAP_AMBIENT, _AMBIENT_RAISE, each)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if (keyctl := _KEYCTL.get(os.uname().machine)) is not None:
        # A keyring of its own, instead of the one that root's session has. Some containers have none at all.
        _libc.syscall(ctypes.c_long(keyctl), ctypes.c_int(_JOIN_SESSION_KEYRING), None)


def _ways(folder: str) -> set[str]:
    """The path as it is written, and as it is without symbolic links: a program needs all folders of both."""
    return {folder, os.path.realpath(folder)}


def _closed_above(path: str, user: int) -> str:
    """The topmost folder above a path that others cannot enter; empty if there is none."""
    parents = path.split("/")[1:-1]
    for count in range(len(parents) + 1):
        above = "/" + "/".join(parents[:count])
        found = os.stat(above)
        if not found.st_mode & (0o100 if found.st_uid == user else 0o010 if found.st_gid == user else 0o001):
            return above
    return ""


def _cover(closed: dict[str, str]) -> None:
    """Cover folders with empty ones, in which only these paths can be found."""
    tops = sorted(set(closed.values()))
    if _libc.unshare(_CLONE_NEWNS):
        raise _error(f"other users may not enter {tops[0]}, and it cannot be covered for this one")
    # What is unmounted elsewhere later goes here, too; nothing goes the other way.
    _mount("none", "/", None, _SLAVE | _REC)
    sources = {path: os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for path in closed}
    old = os.umask(0o066)  # what is made above them can be passed through, but not listed
    try:
        for top in tops:
            _mount("tmpfs", top, "tmpfs", _NOSUID | _NODEV | _NOEXEC, "mode=0711,size=1m")
        for path, source in sources.items():
            os.makedirs(path, exist_ok=True)
            _mount(f"/proc/self/fd/{source}", path, None, _BIND | _REC)
        for top in tops:
            _mount("none", top, None, _BIND | _REMOUNT | _RDONLY | _NOSUID | _NODEV | _NOEXEC)
    finally:
        os.umask(old)
        for source in sources.values():
            os.close(source)


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    words = (each if each is None else os.fsencode(each) for each in (source, target, kind))
    if _libc.mount(*words, ctypes.c_ulong(flags), None if options is None else options.encode()):
        raise _error(f"cannot mount {target}")


def _drop_bounding(kept: Iterable[int]) -> None:
    with open("/proc/sys/kernel/cap_last_cap") as file:
        last = int(file.read())
    for capability in range(last + 1):
        if capability not in kept:
            _prctl(_PR_CAPBSET_DROP, capability)


def _set_capabilities(kept: int) -> None:
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    # Effective, permitted and inheritable: the lower halves, then the upper ones.
    data = (ctypes.c_uint32 * 6)(kept, kept, kept, 0, 0, 0)
    if _libc.capset(header, data):
        raise _error("cannot give up capabilities")


def _prctl(option: int, value: int, more: int = 0) -> None:
    if _libc.prctl(option, *(ctypes.c_ulong(each) for each in (value, more, 0, 0))):
        raise _error("cannot give up privileges")


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")
