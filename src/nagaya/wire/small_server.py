"""An HTTP server for a few known clients, at a port that anybody may find.

Whatever strangers do with their connections, there are never more than `MOST` of them: a new one displaces the oldest
that waits for a request, or else the oldest of all. Known clients make a new connection if they lose one.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

MOST: Final = 128
_IDLE: Final = 60.0  # seconds, also for a request whose head does not come
_LINGER: Final = 0.5
_HANDSHAKE: Final = 10.0


class SmallServer:
    """Serves an application."""

    def __init__(self, application: web.Application) -> None:
        self._runner = web.AppRunner(
            application, access_log=None, keepalive_timeout=_IDLE, lingering_time=_LINGER, shutdown_timeout=_IDLE
        )
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Serve; returns the port, which is a free one if 0 was asked for. Raises OSError."""
        await self._runner.setup()
        timeout = None if tls is None else _HANDSHAKE
        self._server = await asyncio.get_running_loop().create_server(
            self._connect, host, port, ssl=tls, ssl_handshake_timeout=timeout
        )
        found: int = self._server.sockets[0].getsockname()[1]
        return found

    async def stop(self) -> None:
        """Serve no longer. Nothing happens if it was not started."""
        if self._server is not None:
            self._server.close()
        await self._runner.cleanup()

    def _connect(self) -> RequestHandler:
        server = self._runner.server
        assert server is not None
        # A connection that is being closed stays listed until the client knows.
        listed = [each for each in server.connections if each.transport is not None]
        if len(listed) >= MOST:
            idle = (each for each in listed if each._current_request is None)
            displaced = next(idle, listed[0])
            if displaced.transport is not None:
                displaced.transport.abort()
            displaced.force_close()
        return server()
