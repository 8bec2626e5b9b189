"""The two servers that the corpus is played against."""

from __future__ import annotations

import asyncio
import json
import ssl
import uuid
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import aiohttp
import yaml

from nagaya.apiserver.server import ApiServer
from nagaya.apiserver.web.request import Request
from support.differential import PAUSE, Answer


class Embedded:
    """The embedded server, asked without a network."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    async def ask(self, method: str, path: str, body: bytes, headers: Mapping[str, str], user: str) -> Answer:
        request = Request.make(method, path, body, {**headers, "Authorization": f"Bearer {user}"})
        response = await self._server.handle(request)
        content = response.body
        if response.stream is not None:
            chunks = [chunk async for chunk in response.stream]
            content = b"".join(chunks)
        warnings = [value for name, value in response.headers if name == "Warning"]
        return Answer(response.status, read(content), warnings, response.content_type)

    async def settle(self) -> None:
        # Events reach the controllers in the loop's next turns.
        for _ in range(3):
            await asyncio.sleep(0)
            await self._server.settled()

    async def wait_for(self, controller: str, namespace: str) -> None:
        await self.settle()

    async def open_namespace(self, namespace: str) -> None:
        await self.settle()


class OverNetwork:
    """Any server at a URL."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        url: str,
        context: ssl.SSLContext,
        tokens: Mapping[str, str] | None = None,
    ) -> None:
        self._session = session
        self._url = url
        self._context = context
        self._tokens = tokens or {}

    async def ask(self, method: str, path: str, body: bytes, headers: Mapping[str, str], user: str) -> Answer:
        from yarl import URL

        async with self._session.request(
            method,
            URL(self._url + path, encoded=True),
            data=body or None,
            headers={**headers, "Authorization": f"Bearer {self._tokens.get(user, user)}"},
            ssl=self._context,
            skip_auto_headers=("Content-Type",),
        ) as response:
            content = await response.read()
            warnings = response.headers.getall("Warning", [])
            return Answer(response.status, read(content), list(warnings), response.headers.get("Content-Type", ""))

    async def settle(self) -> None:
        """Nothing: the server does not tell. Requests are repeated instead, or preceded by `wait_for`."""

    async def wait_for(self, controller: str, namespace: str) -> None:
        await {"definitions": self._wait_for_definitions, "garbage collector": self._wait_for_garbage_collector}[
            controller
        ](namespace)

    async def _wait_for_definitions(self, namespace: str) -> None:
        """Wait until requests are served by the definitions as they are stored now.

        The server observes definitions in the order of their writes, and its handler of custom resources causes the
        Established condition. So a definition that is established was observed after all earlier writes. None of its
        versions is served: discovery does not list it.
        """
        group = f"{namespace}.canary.example.com"
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        version = {"name": "v1", "served": False, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        names = {"plural": "canaries", "singular": "canary", "kind": "Canary"}
        spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
        await self._write("POST", path, {"metadata": {"name": f"canaries.{group}"}, "spec": spec})
        while True:
            answer = await self.ask("GET", f"{path}/canaries.{group}", b"", {}, "admin")
            conditions = (answer.body.get("status") or {}).get("conditions") or []
            if any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
                break
            await asyncio.sleep(PAUSE)
        await self._write("DELETE", f"{path}/canaries.{group}")
        await self._until_gone(f"{path}/canaries.{group}")

    async def _wait_for_garbage_collector(self, namespace: str) -> None:
        """Wait until the collector knows all Secrets so far: it removes one whose owner never existed."""
        path = f"/api/v1/namespaces/{namespace}/secrets"
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": str(uuid.uuid4())}
        await self._write("POST", path, {"metadata": {"name": "canary", "ownerReferences": [owner]}})
        await self._until_gone(f"{path}/canary")

    async def _write(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> None:
        raw = b"" if body is None else json.dumps(body).encode()
        answer = await self.ask(method, path, raw, {"Content-Type": "application/json"} if raw else {}, "admin")
        assert answer.status < HTTPStatus.BAD_REQUEST, answer.body

    async def _until_gone(self, path: str) -> None:
        while (await self.ask("GET", path, b"", {}, "admin")).status != HTTPStatus.NOT_FOUND:  # noqa: ASYNC110 - it is elsewhere
            await asyncio.sleep(PAUSE)

    async def open_namespace(self, namespace: str) -> None:
        for path in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
            where = f"/api/v1/namespaces/{namespace}/{path}"
            while (await self.ask("GET", where, b"", {}, "admin")).status != HTTPStatus.OK:  # noqa: ASYNC110 - it is elsewhere
                await asyncio.sleep(PAUSE)


def read(content: bytes) -> Any:
    """JSON if it is, a list of events if it is a watch, else text."""
    text = content.decode(errors="replace")
    try:
        return json.loads(text)
    except ValueError:
        pass
    if text.startswith("apiVersion:"):
        return yaml.safe_load(text)
    try:
        return [json.loads(line) for line in text.splitlines() if line]
    except ValueError:
        return text
