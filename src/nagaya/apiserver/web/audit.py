"""Who did what, when, and what came of it: one `audit.k8s.io/v1` Event per request, as a line of JSON.

A stream has two events: one when it starts and one when it ends. What Secrets, ConfigMaps and tokens hold is never in
the log, whatever the level: their requests are told of without their contents.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

import orjson

from nagaya.apiserver.meta import times
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.web.audit_file import AuditFile
from nagaya.apiserver.web.observer import Done, followed
from nagaya.apiserver.web.request import RawQuery
from nagaya.world import Clock

if TYPE_CHECKING:
    from nagaya.apiserver.web.handler import Exchange
    from nagaya.apiserver.web.request import Request, Response

# Resources whose contents are not for the log.
_SECRET: Final = frozenset(
    {
        ("", "secrets", ""),
        ("", "configmaps", ""),
        ("", "serviceaccounts", "token"),
        ("authentication.k8s.io", "tokenreviews", ""),
    }
)
_LONGEST_QUERY: Final = 8192
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"


class Level(StrEnum):
    """How much an event holds; each level has all of the one before."""

    METADATA = "Metadata"
    REQUEST = "Request"
    REQUEST_RESPONSE = "RequestResponse"


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """Where the log goes and what is in it."""

    path: Path
    level: Level = Level.METADATA
    turn_at: int = 100 * 1024 * 1024  # bytes at which a new file is begun
    keep: int = 10  # files besides the present one


class AuditLog:
    """Writes an event for every request. An `Observer`."""

    def __init__(self, settings: AuditSettings, clock: Clock) -> None:
        """Open the log. Raises OSError."""
        self._level = settings.level
        self._clock = clock
        self._file = AuditFile(settings.path, settings.turn_at, settings.keep)

    async def close(self) -> None:
        """Wait until everything is in the file."""
        await self._file.close()

    def begin(self, exchange: Exchange) -> Done:
        """A request has come; it is written down when it is answered."""
        received = self._clock.now()

        def done(response: Response, seconds: float) -> None:
            if response.stream is None:
                self._write(exchange, response, received, "ResponseComplete")
                return
            self._write(exchange, response, received, "ResponseStarted")
            response.stream = followed(
                response.stream, lambda: self._write(exchange, response, received, "ResponseComplete")
            )

        return done

    def _write(self, exchange: Exchange, response: Response, received: datetime, stage: str) -> None:
        event = describe(exchange, response, self._level)
        event["stage"] = stage
        event["requestReceivedTimestamp"] = times.micro_of(received)
        event["stageTimestamp"] = times.micro_of(self._clock.now())
        self._file.add(orjson.dumps(event) + b"\n")


def describe(exchange: Exchange, response: Response, level: Level) -> JsonObject:
    """The event of a request, without stage and times."""
    request, info = exchange.request, exchange.info
    if (info.group, info.resource, info.subresource) in _SECRET:
        level = Level.METADATA
    asker = exchange.impersonator or exchange.user
    event: JsonObject = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": str(level),
        "auditID": exchange.audit_id,
        "requestURI": _uri(request),
        "verb": info.verb,
        "user": asker.as_info(),
    }
    if exchange.impersonator is not None:
        event["impersonatedUser"] = exchange.user.as_info()
    if sources := _sources(request):
        event["sourceIPs"] = sources
    if request.user_agent:
        event["userAgent"] = request.user_agent[:1024]
    if info.is_resource:
        event["objectRef"] = _reference(exchange)
    event["responseStatus"] = _status(response)
    if level is not Level.METADATA and info.is_resource:
        if (sent := _object(request.body, request.headers.get("content-type", ""), exchange)) is not None:
            event["requestObject"] = sent
        if level is Level.REQUEST_RESPONSE and response.stream is None:
            answer = _object(response.body, response.content_type, exchange)
            if answer is not None:
                event["responseObject"] = answer
    event["annotations"] = _annotations(exchange, response)
    return event


def _uri(request: Request) -> str:
    asked = request.query
    query = asked.text[:_LONGEST_QUERY] if isinstance(asked, RawQuery) else urlencode(asked, doseq=True)
    path = quote(request.path, safe="/:@!$&'()*+,;=~")
    return f"{path}?{query}" if query else path


def _sources(request: Request) -> list[str]:
    """Who the request came from, through which proxies."""
    named = [each.strip() for each in request.headers.get("x-forwarded-for", "")[:4096].split(",") if each.strip()]
    if (real := request.headers.get("x-real-ip", "").strip()) and real not in named:
        named.append(real)
    if request.remote and (not named or named[-1] != request.remote):
        named.append(request.remote)
    return [each[:64] for each in named[:32]]


def _reference(exchange: Exchange) -> JsonObject:
    info = exchange.info
    found = {
        "resource": info.resource,
        "namespace": info.namespace,
        "name": info.name,
        "apiGroup": info.group,
        "apiVersion": info.version,
        "subresource": info.subresource,
    }
    return {key: value for key, value in found.items() if value}


def _status(response: Response) -> JsonObject:
    """The code and, of a failure, what the client was told."""
    status: JsonObject = {"metadata": {}, "code": response.status}
    if response.status < 400 or not response.content_type.startswith("application/json"):
        return status
    try:
        told = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        return status
    if isinstance(told, dict) and told.get("kind") == "Status":
        status |= {key: told[key] for key in ("status", "message", "reason", "details") if told.get(key)}
    return status


def _object(body: bytes, content_type: str, exchange: Exchange) -> Any:
    """What was sent, as JSON; nothing if it cannot be shown as such."""
    if not body:
        return None
    media_type = content_type.partition(";")[0].strip()
    try:
        if media_type == _PROTOBUF:
            from nagaya.apiserver import protobuf

            default = exchange.call.resource.gvk if exchange.call else None
            api_version, kind, obj = protobuf.decode(body, default=default)
            return {"kind": kind, "apiVersion": api_version, **obj}
        if media_type.endswith(("yaml", "cbor")):
            return None
        return orjson.loads(body)
    except (orjson.JSONDecodeError, DecodeError):
        return None


def _annotations(exchange: Exchange, response: Response) -> dict[str, str]:
    refused = response.status == 403 and exchange.call is None
    decided = {"authorization.k8s.io/decision": "forbid" if refused else "allow", "authorization.k8s.io/reason": ""}
    if response.status == 401:
        decided = {}
    return decided | exchange.annotations
