"""The small HTTP server that Kubernetes and Prometheus ask: alive? ready? figures?

It tells kinds and object names but no content, and is meant for a port that only the cluster's own machinery reaches.
"""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from nagaya.kube.manager import Manager
from nagaya.wire import exposition
from nagaya.wire.small_server import SmallServer


class Endpoints:
    """`/healthz`, `/readyz` and `/metrics` of a manager."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._server = SmallServer(self.application())
        self.port = 0

    def application(self) -> web.Application:
        """The routes, to be served alone or within another server."""
        application = web.Application()
        application.router.add_get("/healthz", self._healthz)
        application.router.add_get("/readyz", self._readyz)
        application.router.add_get("/metrics", self._metrics)
        return application

    async def start(self, host: str, port: int) -> None:
        """Serve; with port 0 on a free one, which `port` then says."""
        self.port = await self._server.start(host, port)

    async def stop(self) -> None:
        """Serve no longer."""
        await self._server.stop()

    async def _healthz(self, request: web.Request) -> web.Response:
        return _answer(self._manager.unwell())

    async def _readyz(self, request: web.Request) -> web.Response:
        return _answer(self._manager.unready(), self._manager.warnings())

    async def _metrics(self, request: web.Request) -> web.Response:
        body, content_type = exposition.page(self._manager.metrics.registry, request.headers.get("accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})


def _answer(problems: list[str], warnings: Sequence[str] = ()) -> web.Response:
    """Problems make the answer a bad one; warnings are told in a good one."""
    lines = [*problems, *warnings] if problems else ["ok", *warnings]
    return web.Response(status=503 if problems else 200, text="\n".join(lines))
