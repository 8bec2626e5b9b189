"""Calls of a simulated kubelet to an API server over the network: JSON in, JSON out, errors as exceptions."""

from __future__ import annotations

import json
import ssl
import tempfile
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from nagaya.address_policy import POLICY
from nagaya.sockets import Sockets

Json = dict[str, Any]
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
_JSON: Final = "application/json"
_PATIENCE: Final = 10.0
_LONGEST_LINE: Final = 4 << 20


class Refused(Exception):
    """The API server answered, and not well."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who a kubelet is, and whom it trusts: all in PEM."""

    authority: bytes
    certificate: bytes
    key: bytes = field(repr=False)

    def context(self) -> ssl.SSLContext:
        """TLS by them."""
        made = ssl.create_default_context(cadata=self.authority.decode())
        with tempfile.NamedTemporaryFile() as pair:  # the standard library takes certificates from files only
            pair.write(self.certificate + self.key)
            pair.flush()
            made.load_cert_chain(pair.name)
        return made


class Calls:
    """A way to one API server, as one user. Everything raises Refused for a bad answer and OSError for none."""

    def __init__(self, endpoint: str, context: ssl.SSLContext, token: str = "") -> None:
        self._url = f"https://{endpoint}"
        headers = {"User-Agent": "simulated-kubelet", **({"Authorization": f"Bearer {token}"} if token else {})}
        self._sockets = Sockets(check=POLICY.check)
        connector = aiohttp.TCPConnector(ssl=context, socket_factory=self._sockets.make)
        self._session = aiohttp.ClientSession(connector=connector, headers=headers, read_bufsize=_LONGEST_LINE)

    async def close(self) -> None:
        """Let go of every connection."""
        await self._session.close()
        await self._sockets.end()

    async def get(self, path: str, **query: str) -> Json:
        """Read an object or a list."""
        return await self._send("GET", path, query)

    async def create(self, path: str, body: Json) -> Json:
        """Make an object."""
        return await self._send("POST", path, {}, body)

    async def patch(self, path: str, body: Json, content_type: str = MERGE) -> Json:
        """Change an object."""
        return await self._send("PATCH", path, {}, body, content_type)

    async def delete(self, path: str, body: Json) -> Json:
        """Delete an object."""
        return await self._send("DELETE", path, {}, body)

    async def watch(self, path: str, **query: str) -> AsyncGenerator[Json, None]:
        """Events, until the server ends it."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_PATIENCE)
        try:
            async with self._session.get(
                self._url + path, params={**query, "watch": "true"}, timeout=timeout
            ) as answer:
                if answer.status != 200:
                    raise Refused(answer.status, _message(await answer.read()))
                async for line in answer.content:
                    yield json.loads(line)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise OSError(str(error) or "the API server does not answer") from error

    async def _send(
        self, method: str, path: str, query: Mapping[str, str], body: Json | None = None, content_type: str = _JSON
    ) -> Json:
        data = None if body is None else json.dumps(body).encode()
        try:
            async with self._session.request(
                method,
                self._url + path,
                params=query,
                data=data,
                headers={"Content-Type": content_type} if data else None,
                timeout=aiohttp.ClientTimeout(total=_PATIENCE),
            ) as answer:
                content = await answer.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise OSError(str(error) or "the API server does not answer") from error
        if answer.status >= 300:
            raise Refused(answer.status, _message(content))
        try:
            found = json.loads(content)
        except ValueError:
            return {}  # /readyz and its like answer with a word
        return found if isinstance(found, dict) else {}


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body).get("message") or "")
    except (ValueError, AttributeError):
        return body[:200].decode(errors="replace")


def unverified() -> ssl.SSLContext:
    """TLS with whoever answers: for the one question that comes before anybody is trusted."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
