"""The way of every request: who asks, may they, what serves it, and what is told about it afterwards.

The head alone decides who asks and whether they may. Selectors and options are parsed, and the body is read, after
that.

Whatever happens below, the client gets an answer in Kubernetes' form. An error nobody foresaw is logged with its
traceback under the request's audit ID and answered with that ID; it never ends the server or the connection of anyone
else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from nagaya.apiserver.authn.chain import Authentication
from nagaya.apiserver.authn.facts import RequestFacts
from nagaya.apiserver.authn.impersonation import Impersonation, requested
from nagaya.apiserver.authn.user import ANONYMOUS, User
from nagaya.apiserver.authz.attributes import of_request
from nagaya.apiserver.authz.refusal import forbidden
from nagaya.apiserver.meta import goduration, status
from nagaya.apiserver.meta.status import ApiError
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.watchdog import Watched
from nagaya.apiserver.web import negotiation, present, request_info, routes, warnings
from nagaya.apiserver.web.negotiation import Wanted
from nagaya.apiserver.web.observer import Observer
from nagaya.apiserver.web.request import Request, Response
from nagaya.apiserver.web.request_info import RequestInfo

log = logging.getLogger(__name__)

REQUEST_TIMEOUT = 60.0  # seconds for everything but watches
_AUDIT_ID = "audit-id"
_LONGEST_AUDIT_ID = 64  # characters, as in the real server's logs
_WITH_BODY = frozenset(("create", "update", "patch", "delete", "deletecollection"))


@dataclass(slots=True)
class Exchange:
    """A request on its way, with what is found out about it."""

    request: Request
    info: RequestInfo
    audit_id: str
    user: User = ANONYMOUS
    impersonator: User | None = None
    call: Call | None = None
    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    timeout: float = REQUEST_TIMEOUT


Endpoint = Callable[[Exchange], Awaitable[Response] | Response | None]
"""Serves paths that are not resources. None means that there is nothing at that path."""


class Handler:
    """Serves the requests of one server."""

    def __init__(
        self,
        backend: Backend,
        authentication: Authentication,
        impersonation: Impersonation,
        endpoints: Mapping[str, Endpoint],
        builtin_groups: frozenset[str],
        observer: Observer,
    ) -> None:
        self._backend = backend
        self._authentication = authentication
        self._impersonation = impersonation
        self._endpoints = endpoints
        folders = ((path.removesuffix("*"), each) for path, each in endpoints.items() if path.endswith("/*"))
        self._folders = sorted(folders, key=lambda folder: len(folder[0]), reverse=True)
        self._builtin_groups = builtin_groups
        self._observer = observer

    async def __call__(self, request: Request) -> Response:
        """Serve a request. Never raises, except when it is cancelled."""
        world = self._backend.world
        audit_id = request.headers.get(_AUDIT_ID, "")[:_LONGEST_AUDIT_ID] or world.uid()
        exchange = Exchange(request, request_info.read(request), audit_id)
        response = await Watched(self._observed(exchange), exchange)
        response.exchange = exchange
        return response

    async def _observed(self, exchange: Exchange) -> Response:
        request, audit_id, clock = exchange.request, exchange.audit_id, self._backend.world.clock
        begin = clock.monotonic()
        observation = self._observer.begin(exchange)
        try:
            response = await self._serve(exchange)
        except ApiError as error:
            response = error_response(request, error)
        except TimeoutError:
            message = "request did not complete within the allotted timeout"
            response = error_response(request, status.timeout(message))
        except Exception:
            log.exception("request failed: %s %r (audit ID %r)", request.method, request.path, audit_id)
            message = f"the server failed on this request; its log tells why under audit ID {audit_id}"
            response = error_response(request, status.internal(message))
        if exchange.call is not None:
            exchange.warnings += exchange.call.warnings
            exchange.annotations |= exchange.call.audit_annotations
        response.headers.append(("Audit-Id", audit_id))
        response.headers += warnings.headers(exchange.warnings)
        if not any(name == "Cache-Control" for name, _ in response.headers):
            response.headers.append(("Cache-Control", "no-cache, private"))
        observation(response, clock.monotonic() - begin)
        return response

    async def _serve(self, exchange: Exchange) -> Response:
        request, info = exchange.request, exchange.info
        if info.verb != "watch":
            exchange.timeout = _timeout(request.peek("timeout") or "")
        facts = RequestFacts(request.path, request.header_items, request.peer_certificate)
        exchange.user = await self._authentication.authenticate(facts)
        if request.source is not None:
            request.source.identify(exchange.user)
        exchange.warnings += facts.warnings
        exchange.annotations |= facts.annotations
        attributes = of_request(exchange.user, info)
        wanted = requested(request.header_items)
        if wanted is not None:
            assumed = self._impersonation.impersonate(wanted, attributes)
            exchange.impersonator, exchange.user = exchange.user, assumed.user
            attributes = of_request(exchange.user, info)
        decision = self._backend.authorizer.authorize(attributes)
        exchange.annotations["authorization.k8s.io/decision"] = "allow" if decision.allowed else "forbid"
        exchange.annotations["authorization.k8s.io/reason"] = decision.reason
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)
        response = await (self._serve_resource(exchange) if info.is_resource else self._serve_path(exchange))
        if request.source is not None:
            request.source.hold(len(response.body))
        return response

    async def _serve_path(self, exchange: Exchange) -> Response:
        path = exchange.request.path
        endpoint = self._endpoints.get(path) or self._endpoints.get(path.rstrip("/"))
        if endpoint is None:
            endpoint = next((below for folder, below in self._folders if path.startswith(folder)), None)
        answer = endpoint(exchange) if endpoint else None
        if isinstance(answer, Awaitable):
            answer = await answer
        return answer if answer is not None else routes.nowhere()

    async def _serve_resource(self, exchange: Exchange) -> Response:
        request, info, backend = exchange.request, exchange.info, self._backend
        resource = backend.catalog.get(info.group, info.version, info.resource)
        found = routes.find(resource, info, request, info.group in self._builtin_groups)
        if isinstance(found, Response):
            return found
        call = Call(backend, request, info, exchange.user, found, found.subresources.get(info.subresource))
        exchange.call = call
        if found.deprecation:
            call.warn(found.deprecation)
        handler = routes.verb_handler(call)
        wanted = routes.negotiate(call)
        if info.verb == "watch":
            return await handler(call, wanted)
        async with asyncio.timeout(exchange.timeout):
            if request.source is not None and info.verb in _WITH_BODY:
                if not request.source.has_arrived:
                    routes.check_media_type(call)
                request.body = await request.source.read()
            return await handler(call, wanted)


def _timeout(wish: str) -> float:
    """The seconds that a request may take: what the client wishes, within the server's limit. Raises 400."""
    if not wish:
        return REQUEST_TIMEOUT
    try:
        seconds = goduration.parse(wish) / goduration.SECOND
    except ValueError as error:
        raise status.bad_request(f"invalid timeout specified in the request URL - {error}") from None
    return min(seconds, REQUEST_TIMEOUT) if seconds > 0 else REQUEST_TIMEOUT


def error_response(request: Request, error: ApiError) -> Response:
    """A failure in the form the client reads, or in JSON if it reads nothing that can be sent."""
    try:
        wanted = negotiation.output(request, transforms=False)
    except ApiError:
        wanted = Wanted(pretty=True)
    return present.respond(error.status, wanted, error.code, error.headers)
