"""A simulated cluster in a test: requests as its administrator, and the passing of time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding

from nagaya.apiserver.web.request import Request
from nagaya.pki.certificates import CertificateSpec
from nagaya.simulators.tenant.tenant import Tenant
from nagaya.world import World


class Kubectl:
    """Requests to a tenant as its administrator, and the passing of time."""

    def __init__(self, tenant: Tenant, world: World) -> None:
        self.tenant = tenant
        spec = CertificateSpec("kubernetes-admin", ("system:masters",))
        certificate, _ = tenant.settings.authority.issue_pair(spec, world.clock)
        self._certificate = certificate.public_bytes(Encoding.DER)

    def request(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Request:
        sent = b"" if body is None else json.dumps(body).encode()
        request = Request.make(method, path, sent, {"Content-Type": kind, "User-Agent": "kubectl"})
        request.peer_certificate = self._certificate
        return request

    async def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> tuple[int, Any]:
        response = await self.tenant.handle(self.request(method, path, body, kind))
        return response.status, json.loads(response.body)

    async def get(self, path: str) -> Any:
        code, found = await self.ask("GET", path)
        assert code == 200, found
        return found

    async def exists(self, path: str) -> bool:
        return (await self.ask("GET", path))[0] == 200

    async def items(self, path: str) -> list[Any]:
        return list((await self.get(path))["items"])

    async def create(self, path: str, obj: dict[str, Any]) -> Any:
        code, made = await self.ask("POST", path, obj)
        assert code == 201, made
        await self.tenant.settled()
        return made

    async def patch(self, path: str, patch: dict[str, Any]) -> Any:
        code, made = await self.ask("PATCH", path, patch, "application/merge-patch+json")
        assert code == 200, made
        await self.tenant.settled()
        return made

    async def delete(self, path: str, options: dict[str, Any] | None = None) -> Any:
        code, made = await self.ask("DELETE", path, options)
        assert code in (200, 202), made
        await self.tenant.settled()
        return made

    async def evict(self, namespace: str, name: str) -> tuple[int, Any]:
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
        answer = await self.ask("POST", f"/api/v1/namespaces/{namespace}/pods/{name}/eviction", body)
        await self.tenant.settled()
        return answer

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self.tenant.settled()

    async def pods(self, namespace: str = "default") -> dict[str, Any]:
        return {pod["metadata"]["name"]: pod for pod in await self.items(f"/api/v1/namespaces/{namespace}/pods")}

    async def node_of(self, name: str, namespace: str = "default") -> str:
        return str((await self.get(f"/api/v1/namespaces/{namespace}/pods/{name}"))["spec"].get("nodeName", ""))

    async def taints(self, node: str) -> set[str]:
        spec = (await self.get(f"/api/v1/nodes/{node}"))["spec"]
        return {f"{each['key']}:{each['effect']}" for each in spec.get("taints", ())}

    async def ready(self, node: str) -> tuple[str, str]:
        conditions = (await self.get(f"/api/v1/nodes/{node}"))["status"]["conditions"]
        return next((each["status"], each["reason"]) for each in conditions if each["type"] == "Ready")


def pod(name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "labels": {"app": name}, **spec.pop("metadata", {})}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "busybox"}], **spec}}


def is_ready(found: dict[str, Any]) -> bool:
    conditions = found["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def deployment(name: str, replicas: int, image: str = "busybox", **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **spec},
    }


Make = Callable[..., Awaitable[Kubectl]]
"""Starts a tenant with so many workers, Ready, and further settings."""
