"""The port that Kubernetes and Prometheus ask: alive? ready? figures?

It tells kinds and object names but no content, and is meant for a port that only the cluster's own machinery reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nagaya.apiserver.server import bind
from nagaya.apiserver.web.limits import Limits
from nagaya.apiserver.web.listener import Listener
from nagaya.apiserver.web.request import Request, Response, text
from nagaya.kube.manager import Manager
from nagaya.wire import exposition

_LIMITS: Final = Limits(connections=256, per_address=128)  # nobody authenticates here, and few have a reason to come


class Endpoints:
    """`/healthz`, `/readyz` and `/metrics` of a manager."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._listener: Listener | None = None
        self.port = 0

    async def start(self, host: str, port: int) -> None:
        """Serve; with port 0 on a free one, which `port` then says. Raises OSError."""
        self._listener = Listener(self._serve, bind(host, port), None, limits=_LIMITS)
        await self._listener.start()
        self.port = self._listener.port

    async def stop(self) -> None:
        """Serve no longer."""
        if self._listener is not None:
            await self._listener.stop()

    async def _serve(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return text("only GET is served here", 405)
        match request.path:
            case "/healthz":
                return _answer(self._manager.unwell())
            case "/readyz":
                return _answer(self._manager.unready(), self._manager.warnings())
            case "/metrics":
                accept = request.headers.get("accept", "")
                body, content_type = exposition.page(self._manager.metrics.registry, accept)
                return Response(body=body, content_type=content_type)
        return text("there are /healthz, /readyz and /metrics", 404)


def _answer(problems: list[str], warnings: Sequence[str] = ()) -> Response:
    """The answer to a health check: 503 if there are problems, otherwise 200 with the warnings."""
    lines = [*problems, *warnings] if problems else ["ok", *warnings]
    return text("\n".join(lines), 503 if problems else 200)
