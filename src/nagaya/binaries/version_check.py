"""Asks a program for its version. It is the one proof that a file runs on this machine and is what its name says.

A manifest is not run; its first line tells what it is. A program without a word for its version is run too, but what
it is stands in the record that Go puts into everything it builds.
"""

from __future__ import annotations

import mmap
import os
import re
import subprocess
from pathlib import Path

from nagaya.binaries.errors import SourceFailed
from nagaya.binaries.programs import Program
from nagaya.binaries.releases import find_version

_PATIENCE = 60.0
"""Seconds. A cold 100 MB file from a slow disk takes a while to load; a program that hangs must not hang us."""

_TOLD_AT_START = "Version: "
_BUILD_RECORD = re.compile(rb"\n(?:mod|dep)\t([!-~]{1,200})\t(v[!-~]{1,100})[\t\n]")


def version_of(program: Program, path: Path) -> str:
    """The version that the program tells, as `v1.36.3`; SourceFailed if it does not run or tells none."""
    if program.is_manifest:
        return _version_in_first_line(path)
    # kubectl would stop at a kubeconfig that it cannot read, though it needs none for this.
    environment = {**os.environ, "KUBECONFIG": os.devnull}
    try:
        finished = subprocess.run(
            [os.fspath(path), *program.version_arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SourceFailed(f"{path} did not tell its version within {_PATIENCE:.0f} s") from None
    except OSError as error:
        raise SourceFailed(f"{path} does not run: {error.strerror or error}") from error
    words = finished.stdout.decode(errors="replace")
    if program.tells_at_start:
        words = finished.stderr.decode(errors="replace").partition(_TOLD_AT_START)[2].partition("\n")[0]
    elif finished.returncode == 0 and program.tells_nothing:
        words = _built_from(program, path)
    elif finished.returncode != 0:
        complaint = finished.stderr.decode(errors="replace").strip().splitlines()
        evidence = complaint[-1] if complaint else "nothing on stderr"
        raise SourceFailed(f"{path} ended with code {finished.returncode} when asked for its version: {evidence}")
    version = find_version(words)
    if version is None:
        raise SourceFailed(f"{path} told no version but {words.strip()[:80]!r}")
    return version


def _built_from(program: Program, path: Path) -> str:
    """The line of Go's build record (`dep`, or `mod` if it was built in its own module) that names the program's."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for found in _BUILD_RECORD.finditer(content):
            if program.package.startswith(f"{found[1].decode()}/"):
                return found[2].decode()
    return ""


def _version_in_first_line(path: Path) -> str:
    try:
        with path.open(errors="replace") as file:
            line = file.readline(200)
    except OSError as error:
        raise SourceFailed(f"{path} cannot be read: {error.strerror or error}") from error
    version = find_version(line) if line.startswith("#") else None
    if version is None:
        raise SourceFailed(f"{path} tells no version in its first line but {line.strip()[:80]!r}")
    return version


def expect_version(program: Program, path: Path, wanted: str) -> None:
    """Make sure that the program is the one that was wanted."""
    told = version_of(program, path)
    if told != wanted:
        raise SourceFailed(f"{path} is {told}, not {wanted}")
