"""Asks webhooks: TLS by the bundle in their configuration, services found through their endpoints.

The certificate of a Service is checked against `<service>.<namespace>.svc`, wherever it is reached. Redirects are never
followed, answers are bounded, and connections are kept per host and bundle.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import math
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import orjson

from nagaya.apiserver.custom.conversion import WebhookFailure
from nagaya.apiserver.meta import gostring, jsontext
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.webhooks import words
from nagaya.apiserver.webhooks.services import Services
from nagaya.foreign_answers import TooMuch, read_whole
from nagaya.sockets import Sockets

_ANSWER_LIMIT: Final = 8 * 1024 * 1024
_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class Target:
    """Where to send a review and whom to expect there. `shown` is the address by which messages call it."""

    url: str
    shown: str
    host: str
    port: int
    server_name: str


class WebhookClient:
    """Sends reviews and brings back answers. One per server."""

    def __init__(self, backend: Backend, services: Mapping[str, str] | None = None) -> None:
        self._services = Services(backend.store, backend.world, services or {})
        self._session: aiohttp.ClientSession | None = None
        self._sockets = Sockets()
        self._contexts: dict[str, ssl.SSLContext] = {}

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            await self._sockets.end()

    async def call(self, config: JsonObject, review: JsonObject, timeout: float, *, name: str) -> JsonObject:
        """The answer to a review. `config` is a `clientConfig`. Raises WebhookFailure."""
        query = f"?timeout={max(1, math.ceil(timeout))}s"
        target = self._target(config, query)
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, socket_factory=self._sockets.make)
            jar = aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(connector=connector, trust_env=False, cookie_jar=jar)
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, */*",
            "User-Agent": "kube-apiserver-admission",
            "Host": urlsplit(target.shown).netloc,
        }
        body = orjson.dumps(review)
        try:
            async with asyncio.timeout(timeout):
                try:
                    return await self._post(target, query, body, headers, config)
                except aiohttp.ServerDisconnectedError:
                    # A kept connection that the other side has closed meanwhile: nobody has read the review.
                    return await self._post(target, query, body, headers, config)
        except TimeoutError:
            raise _failed(target.shown, query, "context deadline exceeded") from None
        except (aiohttp.ClientError, OSError) as error:
            shown = f"[{target.host}]" if ":" in target.host else target.host
            why = words.of_connection(error, f"{shown}:{target.port}", target.server_name)
            raise _failed(target.shown, query, why) from error

    async def _post(
        self, target: Target, query: str, body: bytes, headers: Mapping[str, str], config: JsonObject
    ) -> JsonObject:
        assert self._session is not None
        async with self._session.post(
            target.url + query,
            data=body,
            headers=headers,
            ssl=self._context(config),
            server_hostname=target.server_name,
            allow_redirects=False,
        ) as response:
            try:
                body = await read_whole(response, _ANSWER_LIMIT)
            except TooMuch as error:
                raise _failed(target.shown, query, str(error)) from None
            return _parsed(response.status, response.headers.get("Content-Type", ""), body)

    def _target(self, config: JsonObject, query: str) -> Target:
        """Where a `clientConfig` leads. Raises WebhookFailure if its service has nobody behind it."""
        if url := config.get("url"):
            parts = urlsplit(url)
            host = parts.hostname or ""
            return Target(url, url, host, parts.port or 443, host)
        service = config.get("service") or {}
        namespace, name = service.get("namespace") or "", service.get("name") or ""
        wanted = service.get("port") or 443
        path = service.get("path") or ""
        if not path.startswith("/"):
            path = f"/{path}"
        server_name = f"{name}.{namespace}.svc"
        shown = f"https://{server_name}:{wanted}{path}"
        try:
            host, port = self._services.address(namespace, name, wanted)
        except WebhookFailure as failure:
            raise _failed(shown, query, str(failure)) from None
        reached = f"[{host}]" if ":" in host else host
        return Target(f"https://{reached}:{port}{path}", shown, host, port, server_name)

    def _context(self, config: JsonObject) -> ssl.SSLContext:
        bundle = config.get("caBundle") or ""
        context = self._contexts.get(bundle)
        if context is None:
            try:
                text = base64.b64decode(bundle).decode("ascii").strip()
                context = ssl.create_default_context(cadata=text or None)
            except (binascii.Error, ValueError, ssl.SSLError) as error:
                raise WebhookFailure(f"unable to load root certificates: {error}") from error
            # Any certificate in a bundle is trusted as it stands, be it an authority's or the webhook's own.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            if len(self._contexts) >= _KEPT:
                self._contexts.clear()
            self._contexts[bundle] = context
        return context


def _parsed(code: int, content_type: str, body: bytes) -> JsonObject:
    if not 200 <= code <= 206:
        raise WebhookFailure(words.of_status(code, content_type, body))
    if not body:
        raise WebhookFailure(f"0-length response with status code: {code} and content type: {content_type}")
    try:
        answer, _ = jsontext.parse(body)
    except DecodeError as error:
        raise WebhookFailure(f"couldn't get version/kind; json parse error: {error}") from error
    if not isinstance(answer, dict):
        raise WebhookFailure("couldn't get version/kind; json parse error: the answer is not an object")
    return answer


def _failed(shown: str, query: str, why: str) -> WebhookFailure:
    return WebhookFailure(f"Post {gostring.quote(shown + query)}: {why}")
