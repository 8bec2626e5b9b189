"""The kine of a tenant as a process beside Nagaya."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from nagaya.api.bootstrap.component import Argument
from nagaya.controlplane.hosted.components import kine
from nagaya.controlplane.hosted.components.facts import KineStore
from nagaya.supervision.probes import accepts_unix
from nagaya.supervision.spec import Limits, ProcessSpec

LONGEST_SOCKET = 107
"""Bytes that the path of a Unix socket may have."""


def process(
    name: str, program: Path, store: KineStore, given: Sequence[Argument] = (), limits: Limits | None = None
) -> ProcessSpec:
    """The process. The database is told by its environment: it may hold a password.

    The socket's folder must exist and be private. Raises ValueError if its path is too long for a socket.
    """
    if len(os.fsencode(store.socket)) > LONGEST_SOCKET:
        raise ValueError(f"{store.socket} is too long for a Unix socket: {LONGEST_SOCKET} bytes at most")
    return ProcessSpec(
        name,
        (os.fspath(program), *kine.arguments(store, given)),
        kine.environment(store),
        limits=limits or Limits(open_files=65536),
        grace=10.0,
        ready=accepts_unix(Path(store.socket)),
    )
