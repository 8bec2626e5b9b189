"""Fetch cloud-init for tests, from Debian's packages, without installing it.

Tests ask the real program what it makes of our boot data: its Jinja, its YAML and its schema. It is no library on any
index, and installing it would change how this machine boots. So the packages of cloud-init and of the Python libraries
that it needs are downloaded by apt, which checks their signatures, and unpacked into a folder.

Where that cannot be done, on systems without apt or without its archives, this says so and leaves nothing; the tests
that need it are skipped then.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SYSTEM_PYTHON = Path("/usr/bin/python3")
_RELATIONS = ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", required=True, type=Path, help="the folder to unpack into")
    to: Path = parser.parse_args().to.resolve()
    missing = [name for name in ("apt-get", "apt-cache", "dpkg-deb") if shutil.which(name) is None]
    if missing or not SYSTEM_PYTHON.exists():
        print(f"no cloud-init for tests: this system has no {', '.join(missing) or SYSTEM_PYTHON}")
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent) as folder:
        half = Path(folder) / "root"
        try:
            _run(["apt-get", "--quiet", "--quiet", "download", *_packages()], Path(folder))
            for package in Path(folder).glob("*.deb"):
                _run(["dpkg-deb", "--extract", str(package), str(half)], Path(folder))
        except subprocess.CalledProcessError as error:
            print(f"no cloud-init for tests: {error.stderr.strip() or error}. `apt-get update` may help.")
            return
        shutil.rmtree(to, ignore_errors=True)
        os.replace(half, to)


def _packages() -> list[str]:
    """cloud-init and all Python libraries that it needs, by whatever way."""
    options = [f"--no-{relation}" for relation in _RELATIONS]
    printed = _run(["apt-cache", "depends", "--recurse", *options, "cloud-init"], Path())
    return ["cloud-init", *sorted({line for line in printed.splitlines() if line.startswith("python3-")})]


def _run(command: list[str], folder: Path) -> str:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
