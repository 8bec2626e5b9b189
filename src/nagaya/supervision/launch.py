"""Runs in the child, before it becomes the program that was asked for.

It stands alone (standard library only, started by its path): a fork of the supervisor's process could not safely do
this, because other threads may hold locks at that moment. It already holds the life's lock, and everything that it has
to do it finds whole on its standard input; so whether the supervisor still lives makes no difference to it.

The order matters: limits first, so that the program never runs without them; then the record, so that the program never
runs unknown; then the user that it runs as, who can change neither; then the program.
"""

from __future__ import annotations

import json
import os
import resource
import runpy
import sys
from pathlib import Path
from typing import Any, NoReturn

# What shells say for a program that is there but cannot be run, and for one that is not there.
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127


def main() -> int:
    """Becomes the program; returns only if that is impossible."""
    order = json.load(sys.stdin.buffer)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    _limit(order)
    _record(order)
    try:
        _run(order["command"], order)
    except FileNotFoundError as error:
        return _refuse(order, error, _NOT_FOUND)
    except OSError as error:
        return _refuse(order, error, _NOT_EXECUTABLE)


def _run(command: list[str], order: dict[str, Any]) -> NoReturn:
    program = command[0]
    if (confinement := order["confinement"]) is None:
        os.chdir(order["folder"])
        os.execve(program, command, order["environment"])  # noqa: S606 - this is what the file is for
    # A program below a folder that its user may not enter is run all the same: by what root has opened.
    opened = os.open(program, os.O_PATH | os.O_CLOEXEC)
    enter = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "confine.py"))["enter"]
    enter(**confinement)
    os.chdir(order["folder"])
    try:
        os.execve(program, command, order["environment"])  # noqa: S606
    except (FileNotFoundError, PermissionError):
        os.execve(opened, command, order["environment"])  # noqa: S606


def _refuse(order: dict[str, Any], error: OSError, code: int) -> int:
    as_user = f" as user {confined['user']}" if (confined := order["confinement"]) else ""
    what = f"{order['command'][0]} in {order['folder']}{as_user}"
    print(f"cannot run {what}: {error.strerror or error}", file=sys.stderr)
    return code


def _limit(order: dict[str, Any]) -> None:
    os.umask(0o077)
    if order["open_files"] is not None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        wanted = order["open_files"]
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
        except (ValueError, OSError):
            # To raise the hard limit needs a privilege: as much as is permitted.
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
            print(f"open files are limited to {hard}: this user may not raise it to {wanted}", file=sys.stderr)
    for kind, value in order["limits"].items():
        resource.setrlimit(getattr(resource, kind), (value, value))
    if order["oom_score"] is not None:
        try:
            Path("/proc/self/oom_score_adj").write_text(str(order["oom_score"]))
        except OSError as error:
            print(f"the out-of-memory score stays as it is: {error.strerror}", file=sys.stderr)
    for procs in order["cgroups"]:
        try:
            Path(procs).write_text(str(os.getpid()))
        except OSError as error:
            print(f"not limited by {procs}: {error.strerror}", file=sys.stderr)


def _record(order: dict[str, Any]) -> None:
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    record = {
        "pid": os.getpid(),
        "started": int(fields[19]),
        "boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        "digest": order["digest"],
        "command": order["command"],
        "grace": order["grace"],
        "user": None if order["confinement"] is None else order["confinement"]["user"],
    }
    path = Path(order["record"])
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(record))
    beside.replace(path)


if __name__ == "__main__":
    sys.exit(main())
