"""`pods/portforward`: who may, to which pod, in which of the two forms, and what the connection becomes then.

SPDY/3.1 directly, or within a WebSocket, as newer clients prefer. As in the real server both forms need leave to
create, and a pod without a node has no ports.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.gvk import GroupResource, GroupVersionKind
from nagaya.apiserver.registry import read
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.resource import Handler, Resource, Subresource
from nagaya.apiserver.streams.byte_stream import ByteStream
from nagaya.apiserver.streams.forwarder import Forwarder, PodPorts
from nagaya.apiserver.streams.port_forward import PROTOCOL, PortForwarding
from nagaya.apiserver.streams.websocket import WebSocketStream
from nagaya.apiserver.web.negotiation import Wanted
from nagaya.apiserver.web.request import Request, Response, text
from nagaya.wire.websocket import accept_key

TUNNEL: Final = f"SPDY/3.1+{PROTOCOL}"
_SPDY: Final = "SPDY/3.1"
_SWITCHING: Final = 101
_PODS: Final = GroupResource("", "pods")
_NAME: Final = "portforward"
_OPTIONS: Final = GroupVersionKind("", "v1", "PodPortForwardOptions")


class PodUpgrade:
    """What a connection becomes: a way to the ports of a pod."""

    def __init__(self, ports: PodPorts, pod: str, uid: str, *, websocket: bool) -> None:
        self.ports = ports
        self._pod = pod
        self._uid = uid
        self._websocket = websocket

    async def serve(self, stream: ByteStream) -> None:
        """Serve the client on a connection that has just been upgraded, until it goes."""
        under = WebSocketStream(stream) if self._websocket else stream
        await PortForwarding(self.ports, self._pod, self._uid, under).run()


def add_port_forward(resources: Iterable[Resource], forwarder: Forwarder) -> None:
    """Have pods among some resources served with their ports."""
    serve = _serving(forwarder)
    for resource in resources:
        if resource.group_resource == _PODS:
            handlers = {"create": serve, "get": serve}
            resource.subresources[_NAME] = Subresource(
                _NAME, _OPTIONS, frozenset(handlers), resource.strategy, None, handlers, is_stream=True
            )


def _serving(forwarder: Forwarder) -> Handler:

    async def serve(call: Call, wanted: Wanted) -> Response:
        if call.info.verb != "create":
            call.authorize_create()
        pod = read.get(call.backend, call.resource, call.namespace, call.name).object()
        if not (pod.get("spec") or {}).get("nodeName"):
            raise status.bad_request(f"pod {call.name} does not have a host assigned")
        form = _words(call.request, "upgrade")
        if "upgrade" not in _words(call.request, "connection") or not form:
            raise status.bad_request("Upgrade request required")
        headers = _websocket(call.request) if "websocket" in form else _spdy(call.request, form)
        if isinstance(headers, Response):
            return headers
        try:
            ports = await forwarder(call.namespace, call.name)
        except OSError as error:
            raise status.ApiError(500, "", f"error dialing backend: {error}") from error
        name = f"{call.name}_{call.namespace}"
        upgrade = PodUpgrade(ports, name, pod["metadata"]["uid"], websocket="websocket" in form)
        return Response(_SWITCHING, headers=headers, upgrade=upgrade)

    return serve


def _spdy(request: Request, form: list[str]) -> list[tuple[str, str]] | Response:
    if _SPDY.lower() not in form:
        return text("unable to upgrade: missing upgrade headers in request\n", 400)
    offered = [each.strip() for name, each in request.header_items if name == "x-stream-protocol-version"]
    if PROTOCOL not in offered:
        words = f"unable to negotiate protocol: client supports [{' '.join(offered)}], server accepts [{PROTOCOL}]"
        answer = text(f"{words}\n", 403)
        answer.headers.append(("X-Accepted-Stream-Protocol-Versions", PROTOCOL))
        return answer
    return [("Connection", "Upgrade"), ("Upgrade", _SPDY), ("X-Stream-Protocol-Version", PROTOCOL)]


def _websocket(request: Request) -> list[tuple[str, str]] | Response:
    key = request.headers.get("sec-websocket-key", "")
    if request.method != "GET" or request.headers.get("sec-websocket-version") != "13" or not key:
        return text("unable to upgrade: this is not a handshake of WebSocket version 13\n", 400)
    if TUNNEL not in (each.strip() for each in request.headers.get("sec-websocket-protocol", "").split(",")):
        return text(f"unable to upgrade: no tunneling spdy protocols provided, {TUNNEL} is spoken\n", 400)
    return [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Accept", accept_key(key)),
        ("Sec-WebSocket-Protocol", TUNNEL),
    ]


def _words(request: Request, name: str) -> list[str]:
    return [each.strip().lower() for each in request.headers.get(name, "").split(",") if each.strip()]
