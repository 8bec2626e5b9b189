"""Ways to ask a process whether it is ready."""

from __future__ import annotations

import asyncio
import os
import ssl
import stat
from pathlib import Path

from nagaya.supervision.spec import Probe

_LONGEST_ANSWER = 4096


def accepts_unix(path: Path) -> Probe:
    """Ready when somebody listens at a Unix socket."""

    async def probe() -> bool:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return False  # a link that the process has put there could lead to anybody's
        _, writer = await asyncio.open_unix_connection(os.fspath(path))
        writer.close()
        return True

    return probe


def accepts_tcp(host: str, port: int) -> Probe:
    """Ready when somebody listens at a port."""

    async def probe() -> bool:
        _, writer = await asyncio.open_connection(host, port)
        writer.close()
        return True

    return probe


def answers_http(host: str, port: int, path: str, tls: ssl.SSLContext | None = None) -> Probe:
    """Ready when a GET is answered with 200."""
    request = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode()

    async def probe() -> bool:
        reader, writer = await asyncio.open_connection(host, port, ssl=tls, limit=_LONGEST_ANSWER)
        try:
            writer.write(request)
            return (await reader.readline()).split()[1:2] == [b"200"]
        finally:
            writer.transport.abort()  # the status was all; TLS would wait for a goodbye

    return probe
