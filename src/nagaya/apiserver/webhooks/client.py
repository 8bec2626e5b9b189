"""Asks webhooks: TLS by the bundle in their configuration, services found through their endpoints.

There is no service network beside an embedded server, so `clientConfig.service` is looked up: the Service's port, then
the addresses behind it in EndpointSlices. The certificate is still checked against `<service>.<namespace>.svc`, which
is what the webhook has. Redirects are never followed, answers are bounded, and connections are kept per configuration.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import ssl
from dataclasses import dataclass
from typing import Final

import aiohttp
import orjson

from nagaya.apiserver.custom.conversion import WebhookFailure
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend

_ANSWER_LIMIT: Final = 8 * 1024 * 1024
_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class Target:
    """Where to send a review and whom to expect there."""

    url: str
    server_name: str | None


class WebhookClient:
    """Sends reviews and brings back answers. One per server."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[str, ssl.SSLContext] = {}

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    async def call(self, config: JsonObject, review: JsonObject, timeout: float, *, name: str) -> JsonObject:
        """The answer to a review. `config` is a `clientConfig`. Raises WebhookFailure."""
        target = self.target(config)
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), trust_env=False)
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, */*",
            "User-Agent": "kube-apiserver-admission",
        }
        url = f"{target.url}{'&' if '?' in target.url else '?'}timeout={max(1, round(timeout))}s"
        try:
            async with (
                asyncio.timeout(timeout),
                self._session.post(
                    url,
                    data=orjson.dumps(review),
                    headers=headers,
                    ssl=self._context(config),
                    server_hostname=target.server_name,
                    allow_redirects=False,
                ) as response,
            ):
                body = await response.content.read(_ANSWER_LIMIT + 1)
        except TimeoutError:
            raise WebhookFailure(f'Post "{url}": context deadline exceeded') from None
        except (aiohttp.ClientError, OSError, ssl.SSLError) as error:
            raise WebhookFailure(f'Post "{url}": {error}') from error
        return self._read(response.status, body)

    def _read(self, code: int, body: bytes) -> JsonObject:
        if len(body) > _ANSWER_LIMIT:
            raise WebhookFailure(f"the answer has more than {_ANSWER_LIMIT} bytes")
        if not 200 <= code < 300:
            raise WebhookFailure(
                f"the server responded with the status code {code} but did not return more information"
            )
        try:
            answer = orjson.loads(body)
        except ValueError as error:
            raise WebhookFailure(f"the answer is not JSON: {error}") from error
        if not isinstance(answer, dict):
            raise WebhookFailure("the answer is not an object")
        return answer

    def target(self, config: JsonObject) -> Target:
        """Where a `clientConfig` leads. Raises WebhookFailure if its service has nobody behind it."""
        if url := config.get("url"):
            return Target(url, None)
        service = config.get("service") or {}
        namespace, name = service.get("namespace") or "", service.get("name") or ""
        wanted = service.get("port") or 443
        path = service.get("path") or "/"
        host, port = self._endpoint(namespace, name, wanted)
        shown = f"[{host}]" if ":" in host else host
        return Target(f"https://{shown}:{port}{path}", f"{name}.{namespace}.svc")

    def _endpoint(self, namespace: str, name: str, wanted: int) -> tuple[str, int]:
        """The address and port of a ready endpoint of a Service."""
        record = self._backend.store.get("services", f"{namespace}/{name}")
        if record is None:
            raise WebhookFailure(f'service "{name}" not found')
        spec = record.object().get("spec") or {}
        port = next((each for each in spec.get("ports") or () if each.get("port") == wanted), None)
        if port is None:
            raise WebhookFailure(f'no service port {wanted} found for service "{name}"')
        if spec.get("type") == "ExternalName":
            return spec.get("externalName") or "", wanted
        candidates = []
        for slice_record in self._backend.store.list("discovery.k8s.io/endpointslices", f"{namespace}/").records:
            if slice_record.labels.get("kubernetes.io/service-name") != name:
                continue
            found = slice_record.object()
            number = next(
                (
                    each["port"]
                    for each in found.get("ports") or ()
                    if (each.get("name") or "") == (port.get("name") or "")
                ),
                None,
            )
            for endpoint in found.get("endpoints") or ():
                if number and (endpoint.get("conditions") or {}).get("ready", True):
                    candidates += [(address, number) for address in endpoint["addresses"]]
        if not candidates:
            raise WebhookFailure(f'no endpoints available for service "{name}"')
        chosen: tuple[str, int] = self._backend.world.random.choice(candidates)
        return chosen

    def _context(self, config: JsonObject) -> ssl.SSLContext:
        bundle = config.get("caBundle") or ""
        context = self._contexts.get(bundle)
        if context is None:
            try:
                text = base64.b64decode(bundle).decode().strip()
                context = ssl.create_default_context(cadata=text or None)
            except (binascii.Error, ValueError, ssl.SSLError) as error:
                raise WebhookFailure(f"unable to load root certificates: {error}") from error
            if len(self._contexts) >= _KEPT:
                self._contexts.clear()
            self._contexts[bundle] = context
        return context
