"""Calls to a data center: to whichever of its hosts answers, as whoever the credentials say.

What always holds:

- What changes something is sent once. It is tried elsewhere only when the first host has certainly not seen it; when a
  reply is lost, the error says so, and the caller looks at the world. Reads are repeated on another endpoint.
- A host that is known to be dead fails at once, and calls for others do not notice. Whether it is back is found out by
  a short question of its own, never by a call that changes something.
- 401 means that nothing was done: with a ticket, the call is made again with a new one, once.
- Every call is traced and counted; no secret is in either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode

from nagaya.foreign_answers import TooMuch
from nagaya.foreign_text import escape_line
from nagaya.infrastructure.proxmox.client import errors
from nagaya.infrastructure.proxmox.client.breaker import Dead, Passage, Shut, State
from nagaya.infrastructure.proxmox.client.credentials import Password, Session
from nagaya.infrastructure.proxmox.client.decoding import Decoded, decoded
from nagaya.infrastructure.proxmox.client.endpoint import Endpoint
from nagaya.infrastructure.proxmox.client.errors import Evidence, HostUnreachable, ProxmoxError
from nagaya.infrastructure.proxmox.client.facts import Facts
from nagaya.infrastructure.proxmox.client.hosts import Endpoints, Hosts
from nagaya.infrastructure.proxmox.client.metrics import ClientMetrics
from nagaya.infrastructure.proxmox.client.multipart import Upload, multipart
from nagaya.infrastructure.proxmox.client.trace import Trace, Traced, redacted
from nagaya.infrastructure.proxmox.client.transport import (
    FORM,
    ROOT,
    Answer,
    NotSent,
    ReplyLost,
    Request,
    Transport,
    Unusable,
)
from nagaya.infrastructure.proxmox.client.upid import Upid, upid
from nagaya.kube.calls import nothing
from nagaya.world import World

TIMEOUT: Final = 15.0
"""Seconds for calls that the host itself answers which is asked."""
PASSED_ON: Final = 35.0
"""Seconds for calls that are passed on: PVE gives up after 30 and says so, which tells more than our own silence."""
UPLOAD: Final = 900.0
PROBE: Final = 5.0
"""Seconds for the question whether a host is back."""

Value = str | int | bool | Sequence[str] | None
Parameters = Mapping[str, Value]

_HOST: Final = re.compile(r"^/nodes/([^/]+)/")
_ASKED_ANYWHERE: Final = re.compile(r"^/nodes/[^/]+/(?:storage/[^/]+/upload|wakeonlan)$")
_NOT_FROM_THE_HOST: Final = frozenset({401, 403, 501, 506})
"""Said by the host that was asked, before it passes a call on."""


class Calls:
    """The calls of one connection."""

    def __init__(
        self,
        facts: Facts,
        transport: Transport,
        world: World,
        metrics: ClientMetrics | None = None,
        guard: Callable[[], None] = nothing,
    ) -> None:
        """`guard` is called before what may change something is sent, and raises if this process may not any more."""
        self._facts = facts
        self._guard = guard
        self._transport = transport
        self._world = world
        self.metrics = metrics or ClientMetrics()
        self.endpoints = Endpoints(facts.endpoints, world.clock)
        self.hosts = Hosts(world.clock)
        self.trace = Trace()
        self._session = Session(facts.credentials, world.clock, self._login)

    @property
    def facts(self) -> Facts:
        """Where is asked, and as whom."""
        return self._facts

    @property
    def world(self) -> World:
        """Time and randomness."""
        return self._world

    def replace(self, facts: Facts) -> None:
        """Ask there and so from the next call on. Calls under way end as they began."""
        if facts.endpoints != self._facts.endpoints:
            self.endpoints.replace(facts.endpoints)
        self._session.replace(facts.credentials)
        self._facts = facts

    async def get(self, path: str, parameters: Parameters | None = None) -> Any:
        """What is there."""
        return (await self.call("GET", path, parameters)).data

    async def rows(self, path: str, parameters: Parameters | None = None) -> list[dict[str, Any]]:
        """A list that is there. Raises Malformed for anything else."""
        return (await self.call("GET", path, parameters)).rows()

    async def record(self, path: str, parameters: Parameters | None = None) -> dict[str, Any]:
        """A record that is there. Raises Malformed for anything else."""
        return (await self.call("GET", path, parameters)).record()

    async def begin(
        self, method: str, path: str, parameters: Parameters | None = None, *, upload: Upload | None = None
    ) -> Upid:
        """Start a task."""
        found = await self.call(method, path, parameters, upload=upload)
        try:
            return upid(str(found.data))
        except ValueError:
            raise found.wrong("a UPID") from None

    async def post(self, path: str, parameters: Parameters | None = None) -> Any:
        """Make or start something."""
        return (await self.call("POST", path, parameters)).data

    async def put(self, path: str, parameters: Parameters | None = None) -> Any:
        """Change something."""
        return (await self.call("PUT", path, parameters)).data

    async def delete(self, path: str, parameters: Parameters | None = None) -> Any:
        """Remove something."""
        return (await self.call("DELETE", path, parameters)).data

    async def call(
        self, method: str, path: str, parameters: Parameters | None = None, *, upload: Upload | None = None
    ) -> Decoded:
        """Make a call. `path` is below /api2/json and escaped (see `path_of`). Raises ProxmoxError."""
        given = _written(parameters or {})
        host = _host(path)
        asked = Evidence(method, unquote(path), host)
        request = _request(method, path, given, upload, passed_on=bool(host))
        if host and self.hosts.breaker(host).state is State.HALF_OPEN:
            await self._probe(host)
        with ExitStack() as stack:
            passage = None
            try:
                if host:
                    passage = stack.enter_context(self.hosts.breaker(host).passage())
                elif upload is not None:
                    self.hosts.check(asked.path.split("/")[2])
            except Shut as shut:
                raise self._counted(_unreachable(asked, shut.dead)) from None
            shown = redacted(asked.path, given)
            try:
                return await self._authorized(asked, request, shown, passage)
            finally:
                if host:
                    state = self.hosts.breaker(host).state
                    self.metrics.open.labels(self._facts.name, host).set(0 if state is State.CLOSED else 1)

    async def _probe(self, host: str) -> None:
        """Ask a host something that needs no right; its breaker learns from the answer."""
        path = path_of("nodes", host, "version")
        request = replace(_request("GET", path, {}, None, passed_on=True), timeout=PROBE)
        with self.hosts.breaker(host).passage() as passage, suppress(ProxmoxError):
            await self._authorized(Evidence("GET", unquote(path), host), request, {}, passage)

    async def _authorized(
        self, asked: Evidence, request: Request, shown: Mapping[str, str], passage: Passage | None
    ) -> Decoded:
        proof = await self._session.headers(request.method)
        try:
            return await self._anywhere(asked, _with(request, proof), shown, passage)
        except errors.Unauthorized:
            if not self._session.refused(proof):
                raise
        proof = await self._session.headers(request.method)
        return await self._anywhere(asked, _with(request, proof), shown, passage)

    async def _login(self, credentials: Password) -> tuple[str, str]:
        path = "/access/ticket"
        given = {"username": credentials.user, "password": credentials.password}
        request = _request("POST", path, given, None, passed_on=False)
        data = (await self._anywhere(Evidence("POST", path), request, redacted(path, given), None)).data
        if not isinstance(data, dict) or not data.get("ticket") or data.get("NeedTFA"):
            raise self._counted(
                errors.Unauthorized(
                    Evidence("POST", path, message=f"{credentials.user} cannot log in with a password alone"),
                    "Users with a second factor need an API token.",
                )
            )
        return str(data["ticket"]), str(data.get("CSRFPreventionToken", ""))

    async def _anywhere(
        self, asked: Evidence, request: Request, shown: Mapping[str, str], passage: Passage | None
    ) -> Decoded:
        """Ask the endpoints in turn, for as long as that can do no harm."""
        said: list[str] = []
        for endpoint in self.endpoints.ordered():
            try:
                with self.endpoints.breaker(endpoint).passage() as door:
                    return await self._once(endpoint, asked, request, shown, passage, door)
            except Shut as shut:
                said.append(shut.dead.why)  # without a date: the same failure is the same sentence each time
            except _Elsewhere as elsewhere:
                said.append(elsewhere.error.evidence.text)
        raise self._counted(errors.NoEndpoint(replace(asked, message="; ".join(dict.fromkeys(said)))))

    async def _once(
        self,
        endpoint: Endpoint,
        asked: Evidence,
        request: Request,
        shown: Mapping[str, str],
        passage: Passage | None,
        door: Passage,
    ) -> Decoded:
        if asked.changes:
            self._guard()
        clock = self._world.clock
        began, at = clock.monotonic(), clock.now()
        traced = Traced(at, asked.method, asked.path, shown, endpoint.url)
        told = asked if asked.host else replace(asked, host=endpoint.host)
        known = request.secrets
        try:
            answer = (await self._transport.send(endpoint, self._facts.trust, request)).without(known)
        except NotSent as failure:
            why = escape_line(known.remove(str(failure)))
            door.failed(why, to_connect=True)
            error = HostUnreachable(replace(told, host=endpoint.host, message=why))
            self._done(traced, told, error, clock.monotonic() - began, None)
            raise _Elsewhere(error) from None
        except ReplyLost as failure:
            # Silence on a call that is passed on says nothing of the endpoint: it waits for the other host itself.
            blamed = passage if passage is not None and failure.timed_out else door
            why = escape_line(known.remove(str(failure)))
            blamed.failed(why, to_connect=False)
            error = HostUnreachable(replace(told, message=why), may_have_happened=True)
            self._done(traced, told, error, clock.monotonic() - began, None)
            if asked.changes or blamed is passage:
                raise error from None
            raise _Elsewhere(error) from None
        except (Unusable, TooMuch) as failure:
            door.succeeded()
            unusable = errors.Malformed(replace(told, message=known.remove(str(failure))))
            self._done(traced, told, unusable, clock.monotonic() - began, None)
            raise unusable from None
        seconds = clock.monotonic() - began
        try:
            result = decoded(answer, told)
        except ProxmoxError as error:
            self._done(traced, told, error, seconds, answer)
            self._judge(error, answer, passage, door, endpoint)
            raise
        self._done(traced, told, None, seconds, answer, result)
        self._lives(endpoint, door)
        if passage is not None:
            passage.succeeded()
        return result

    def _judge(
        self, error: ProxmoxError, answer: Answer, passage: Passage | None, door: Passage, endpoint: Endpoint
    ) -> None:
        """What an error says on who is alive."""
        if answer.status == 595 and passage is None:
            # Its own daemon is down: any other host can do it, and this one has not begun.
            door.failed(answer.reason, to_connect=True)
            raise _Elsewhere(error) from error
        self._lives(endpoint, door)
        if passage is None or answer.status in _NOT_FROM_THE_HOST:
            return
        if answer.status in (595, 596):
            passage.failed(answer.reason, to_connect=answer.status == 595)
        else:
            passage.succeeded()

    def _lives(self, endpoint: Endpoint, door: Passage) -> None:
        door.succeeded()
        self.endpoints.good(endpoint)

    def _done(
        self,
        traced: Traced,
        told: Evidence,
        error: ProxmoxError | None,
        seconds: float,
        answer: Answer | None,
        result: Decoded | None = None,
    ) -> None:
        upid = result.data if result is not None and isinstance(result.data, str) else ""
        self.trace.add(
            replace(
                traced,
                status=None if answer is None else answer.status,
                outcome=error.why if error is not None and answer is None else answer.reason if answer else "",
                kind="" if error is None else error.kind,
                seconds=seconds,
                upid=upid if upid.startswith("UPID:") else "",
            )
        )
        name = self._facts.name
        code = "0" if answer is None else str(answer.status)
        self.metrics.calls.labels(name, told.host, told.method, code).inc()
        self.metrics.seconds.labels(name, told.host).observe(seconds)
        if error is not None:
            self._counted(error)

    def _counted(self, error: ProxmoxError) -> ProxmoxError:
        self.metrics.errors.labels(self._facts.name, error.evidence.host, error.kind).inc()
        return error

    async def close(self) -> None:
        """Let go of every connection."""
        await self._transport.close()
        self.metrics.forget(self._facts.name)


class _Elsewhere(Exception):
    """The call can be made at another endpoint without harm."""

    def __init__(self, error: ProxmoxError) -> None:
        super().__init__(str(error))
        self.error = error


def path_of(*parts: str | int) -> str:
    """A path from its parts, each escaped."""
    return "".join(f"/{quote(str(part), safe='')}" for part in parts)


def _host(path: str) -> str:
    """The host that a call is passed on to. An upload is taken by whichever is asked, which copies the file itself, and
    another host than the one that sleeps has to wake it."""
    found = _HOST.match(path)
    return "" if found is None or _ASKED_ANYWHERE.match(path) else unquote(found[1])


def _written(parameters: Parameters) -> dict[str, str | Sequence[str]]:
    """As PVE reads them: booleans are 1 and 0, lists repeat their name, None is left out."""
    written: dict[str, str | Sequence[str]] = {}
    for name, value in parameters.items():
        if value is None:
            continue
        if isinstance(value, bool):
            written[name] = "1" if value else "0"
        elif isinstance(value, str | int):
            written[name] = str(value)
        else:
            written[name] = list(value)
    return written


def _request(
    method: str,
    path: str,
    given: Mapping[str, str | Sequence[str]],
    upload: Upload | None,
    *,
    passed_on: bool,
) -> Request:
    if upload is not None:
        kind, body = multipart(given, upload)
        return Request(method, ROOT + path, headers={"content-type": kind}, body=body, timeout=UPLOAD)
    text = urlencode(given, doseq=True, quote_via=quote)
    timeout = PASSED_ON if passed_on else TIMEOUT
    if method in ("POST", "PUT"):
        headers = {"content-type": FORM} if text else {}
        return Request(method, ROOT + path, headers=headers, body=text.encode(), timeout=timeout)
    return Request(method, ROOT + path, query=text, timeout=timeout)


def _with(request: Request, proof: Mapping[str, str]) -> Request:
    return replace(request, headers={**request.headers, **proof})


def _unreachable(asked: Evidence, dead: Dead) -> HostUnreachable:
    return HostUnreachable(replace(asked, message=dead.why), since=_date(dead))


def _date(dead: Dead) -> str:
    return f"{dead.since:%Y-%m-%dT%H:%M:%SZ}"
