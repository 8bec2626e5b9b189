"""A whole server in memory, without a port, on a clock that the test moves: what tests of controllers stand on."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import ApiServer
from nagaya.apiserver.web.request import Request

ADMIN = User("admin", groups=("system:masters", "system:authenticated"))


class MovingClock:
    """Says the date that the test has set."""

    def __init__(self) -> None:
        self.passed = timedelta()

    def now(self) -> datetime:
        return datetime(2026, 11, 1, 12, 0, tzinfo=UTC) + self.passed

    def monotonic(self) -> float:
        return 1000.0 + self.passed.total_seconds()


class Api:
    """Requests to a server, as a user."""

    def __init__(self, server: ApiServer, clock: MovingClock) -> None:
        self.server = server
        self.clock = clock
        self.revision = 0

    async def ask(
        self, method: str, path: str, body: Any = None, *, user: str = "admin", kind: str = "application/json"
    ) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {user}", "Content-Type": kind, "User-Agent": "test"}
        sent = b"" if body is None else json.dumps(body).encode()
        response = await self.server.handle(Request.make(method, path, sent, headers))
        is_json = response.content_type.startswith("application/json")
        return response.status, json.loads(response.body) if is_json else response.body.decode()

    async def get(self, path: str) -> dict[str, Any] | None:
        code, found = await self.ask("GET", path)
        assert code in (200, 404), found
        return found if code == 200 else None

    async def must(self, path: str) -> dict[str, Any]:
        found = await self.get(path)
        assert found is not None, f"{path} is not there"
        return found

    async def create(self, path: str, obj: dict[str, Any], *, user: str = "admin") -> dict[str, Any]:
        code, made = await self.ask("POST", path, obj, user=user)
        assert code == 201, made
        await self.server.settled()
        return made

    async def merge(self, path: str, patch: dict[str, Any]) -> dict[str, Any]:
        code, made = await self.ask("PATCH", path, patch, kind="application/merge-patch+json")
        assert code == 200, made
        await self.server.settled()
        return made

    async def delete(self, path: str, propagation: str | None = None) -> dict[str, Any]:
        options = None if propagation is None else {"propagationPolicy": propagation}
        code, made = await self.ask("DELETE", path, options)
        assert code in (200, 202), made
        await self.server.settled()
        return made

    async def config_map(
        self, name: str, namespace: str = "default", owners: list[dict[str, Any]] | None = None, **more: Any
    ) -> dict[str, Any]:
        metadata = {"name": name, **({"ownerReferences": owners} if owners else {}), **more}
        return await self.create(f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": metadata})

    async def quiet(self) -> bool:
        """Whether the server writes nothing when nothing happens."""
        await self.server.settled()
        before = self.server.store.revision
        for controller in self.server._runner._controllers.values():
            for key in controller.start():
                self.server._runner.add(controller, key)
        await self.server.settled()
        return self.server.store.revision == before


def owner(obj: dict[str, Any], *, blocks: bool = False, kind: str = "ConfigMap", version: str = "v1") -> dict[str, Any]:
    """A reference to an owner."""
    metadata = obj["metadata"]
    made = {"apiVersion": version, "kind": kind, "name": metadata["name"], "uid": metadata["uid"]}
    return {**made, "blockOwnerDeletion": True} if blocks else made
