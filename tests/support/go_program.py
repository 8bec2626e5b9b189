"""Programs of tests that are written in Go, built with the versions that their go.sum pins.

Tests compile nothing: `make kubernetes` builds these programs into the cache (`python -m support.go_program`), under
a name that depends on their source. A test whose program is not there is skipped.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from nagaya.binaries.cache import cache_folder
from support.real import missing_program

_TESTS: Final = Path(__file__).parents[1]
GO_CLIENT: Final = _TESTS / "integration/go_client"
KUBELET_PORTS: Final = _TESTS / "real/kubelet_ports"
SOURCES: Final = (GO_CLIENT, KUBELET_PORTS)


def find_program(source: Path) -> Path:
    """The program that was built from a folder; skips the test if it is missing."""
    path = _program_path(source)
    if not path.exists():
        pytest.skip(missing_program(f"{source.name}, a Go program of the tests"))
    return path


def build(source: Path) -> Path:
    """Build the program unless it is there. Raises CalledProcessError after Go has printed why."""
    path = _program_path(source)
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    # The same flags and cache as for the Kubernetes programs, which share packages with these.
    flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", "-ldflags=-s -w"]
    environment = {"CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off", "GOCACHE": str(path.parents[1] / "go-build")}
    go = shutil.which("go") or "/usr/local/go/bin/go"
    command = [go, "build", *flags, "-o", str(unfinished), "."]
    subprocess.run(command, cwd=source, env={**os.environ, **environment}, check=True)
    unfinished.replace(path)
    return path


def _program_path(source: Path) -> Path:
    content = b"".join(file.read_bytes() for file in sorted(source.iterdir()))
    return cache_folder(os.environ) / "test-programs" / f"{source.name}-{hashlib.sha256(content).hexdigest()[:16]}"


def main() -> None:
    """Build what is missing."""
    for source in SOURCES:
        try:
            build(source)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"{source.name} cannot be built: {error}. Go 1.26 or newer is needed: https://go.dev/doc/install")


if __name__ == "__main__":
    main()
