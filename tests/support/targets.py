"""The two servers that the corpus is played against."""

from __future__ import annotations

import asyncio
import json
import ssl
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

    async def open_namespace(self, namespace: str) -> None:
        await self.settle()


class OverNetwork:
    """Any server at a URL."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        url: str,
        context: ssl.SSLContext,
        patience: float,
        tokens: Mapping[str, str] | None = None,
    ) -> None:
        self._session = session
        self._url = url
        self._context = context
        self._patience = patience
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
        await asyncio.sleep(self._patience)

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
