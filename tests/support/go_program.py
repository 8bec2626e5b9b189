"""Programs of tests that are written in Go, built with the versions that their go.sum pins."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

BUILD_TIMEOUT: Final = 420.0  # with nothing in Go's cache
_NOT_HERE: Final = (
    "dial tcp",
    "no such host",
    "connection refused",
    "i/o timeout",
    "TLS handshake",
    "proxyconnect",
    "requires go >=",
)
"""What Go says where modules cannot be had, or where it is too old for them: no fault of the program."""


def built(source: Path, path: Path) -> Path:
    """Build the program in a folder. Skips the test, with the reason, where that cannot be done here."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed, which this test's program is built with: see https://go.dev/")
    # The same flags as for the Kubernetes programs, which share their packages with these.
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local"}
    done = subprocess.run(
        [go, "build", "-trimpath", "-o", path, "."],
        cwd=source,
        env=environment,
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT,
        check=False,
    )
    words = done.stderr[-2000:]
    if done.returncode and any(sign in words for sign in _NOT_HERE):
        pytest.skip(f"the program in {source.name} cannot be built here: {words}")
    assert done.returncode == 0, f"the program in {source.name} does not build: {words}"
    return path
