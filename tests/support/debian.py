"""What tests take from Debian: programs of this computer, else those that `make debian` has unpacked beside them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from nagaya.simulators.netns import equipment

UNPACKED: Final = Path(sys.prefix) / "debian"
ADVICE: Final = "`make debian` provides it where there is apt and its archives can be reached"
_NOBODY: Final = 65534


def unpacked() -> Path | None:
    """The folder that tools/debian.py makes, None if it is not there."""
    return UNPACKED if (UNPACKED / "root").is_dir() else None


def program(name: str, *folders: str) -> Path | None:
    """A program by its name: from the path or one of some folders (patterns below `/`), else an unpacked one."""
    found = shutil.which(name)
    installed = [Path(found)] if found else []
    installed += [path for folder in folders for path in sorted(Path("/").glob(f"{folder}/{name}"), reverse=True)]
    if folder := unpacked():
        installed.append(folder / "bin" / name)
    return next((path for path in installed if os.access(path, os.X_OK)), None)


def needed() -> Path:
    """The unpacked packages; skips the test, with the reason, where there are none."""
    folder = unpacked()
    if folder is None:
        pytest.skip(f"nothing is unpacked: {ADVICE}")
    return folder


def postgresql(name: str) -> list[str]:
    """How a program of PostgreSQL's server is run; skips the test, with the reason, where there is none.

    It refuses to be root. So for root it runs in a user namespace, where it has another name and the same files.
    """
    found = program(name, "usr/lib/postgresql/*/bin")
    if found is None:
        pytest.skip(f"there is no PostgreSQL: {ADVICE}")
    if os.geteuid() != 0:
        return [str(found)]
    disguise = ["unshare", "--user", f"--map-user={_NOBODY}", f"--map-group={_NOBODY}"]
    tried = subprocess.run([*disguise, "true"], capture_output=True, text=True, check=False, timeout=60)
    if tried.returncode:
        pytest.skip(f"PostgreSQL refuses to run as root, and nobody else can be had here: {tried.stderr.strip()}")
    return [*disguise, str(found)]


def machine_packages() -> Path | None:
    """What machines that are namespaces need beside this computer's own programs; skips the test, with the reason,
    where it cannot have such machines."""
    packages = unpacked()
    if lacking := equipment.missing(packages):
        advice = f" ({ADVICE}.)" if packages is None else ""
        pytest.skip(" ".join(lacking) + advice)
    return packages
