"""What a host's pveproxy does with a request before and after the call itself."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from nagaya.simulators.proxmox.access.authentication import Identity, Unauthenticated, identify
from nagaya.simulators.proxmox.access.rights import Rights
from nagaya.simulators.proxmox.calls.call import File
from nagaya.simulators.proxmox.failure import Failure, Unanswered, Unproxied
from nagaya.simulators.proxmox.front import parameters
from nagaya.simulators.proxmox.front.dispatch import dispatch
from nagaya.simulators.proxmox.front.formatters import FORMATTERS, Result, sent
from nagaya.simulators.proxmox.request import Answer, Request
from nagaya.simulators.proxmox.state.node import Node

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator

ROOT = "/api2"
METHODS = frozenset({"GET", "POST", "PUT", "DELETE"})
_PATH = re.compile(rf"{ROOT}/+([a-z][a-z0-9]+)(/.*)?", re.DOTALL)
_UPLOADS = "/var/tmp/pveupload-"  # noqa: S108  (a name in the emulated host, where no such file is)
_LOGIN = f"{ROOT}/html/access/ticket"
"""Where people who read pages are sent to when they are not known."""
_RECEIVED = 512 * 1024
"""What is read ahead of a body that nobody wants; a longer one ends the connection."""


class Front:
    """The front of every host."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    async def answer(self, node: Node, request: Request) -> Answer:
        """The answer to a request that reached a host."""
        try:
            answer = await self._answered(node, request)
        except Unproxied as failure:
            answer = Answer(failure.status, failure.reason)
        except parameters.Unreadable as failure:
            answer = _said(failure.status, failure.text)
        return _finished(answer)

    async def _answered(self, node: Node, request: Request) -> Answer:
        if request.method not in METHODS:
            return Answer(501, f"method '{request.method}' not available")
        path = unquote(request.path, errors="replace")
        if (encoding := request.headers.get("transfer-encoding")) is not None:
            chunked = encoding.lower() == "chunked"
            return _said(
                501, "chunked transfer encoding not supported" if chunked else f"Unknown transfer encoding '{encoding}'"
            )
        if not path.startswith(ROOT):
            return _said(501, f"no such file '{path}'\n")
        found = _PATH.fullmatch(path)
        if found is None:
            return _said(501, "no such uri")
        form, relative = found[1], found[2] or "/"
        try:
            identity = await self._identified(request, relative)
        except Unauthenticated as refusal:
            await asyncio.sleep(self._emulator.pace.refused_login)
            return Answer(301, "Moved", headers={"location": _LOGIN}) if form == "html" else Answer(401, str(refusal))
        except Failure as failure:
            await self._refuse_upload(request)
            return Answer(failure.status, failure.reason)
        if request.body and (refused := _unwanted(request, identity)) is not None:
            return refused
        formatter = FORMATTERS.get(form)
        if formatter is None:
            return _said(501, f"no formatter for uri {relative}, {form}")
        began = self._emulator.world.clock.monotonic()
        result = await self._called(node, identity, request, relative)
        if result.status == 401:
            passed = self._emulator.world.clock.monotonic() - began
            await asyncio.sleep(max(0.0, self._emulator.pace.refused_login - passed))
        return sent(result.data) if isinstance(result.data, File) else formatter(result)

    async def _called(self, node: Node, identity: Identity, request: Request, path: str) -> Result:
        body = b""
        if identity.upload is not None and request.body:
            upload = parameters.of_upload(request.query, request.headers, request.body)
            temporary = f"{_UPLOADS}{self._emulator.world.random.getrandbits(128):032x}"
            given, body = {**upload.fields, "tmpfilename": temporary}, upload.content
        else:
            given = parameters.of_request(request.method, request.query, request.headers, request.body)
        return await dispatch(self._emulator, node, identity, request.method, path, given, body)

    async def _identified(self, request: Request, path: str) -> Identity:
        emulator = self._emulator
        access = emulator.datacenter.access
        identity = identify(request.method, path, request.headers, access, emulator.tickets, emulator.world.clock)
        if identity.upload is not None:
            rights = Rights(emulator.datacenter, identity.caller)
            rights.check(f"/storage/{identity.upload}", ["Datastore.AllocateTemplate"])
        return identity

    async def _refuse_upload(self, request: Request) -> None:
        if len(request.body) > _RECEIVED:
            raise Unanswered
        await asyncio.sleep(self._emulator.pace.refused_login)


def _unwanted(request: Request, identity: Identity) -> Answer | None:
    if request.method not in ("PUT", "POST"):
        return _said(501, f"Unexpected content for method '{request.method}'")
    if identity.upload is not None:
        return None
    if len(request.body) > parameters.LONGEST_BODY:
        return _said(501, "for data too large")
    header = request.headers.get("content-type")
    kind, _ = parameters.content_type(header)
    if kind not in (None, "", parameters.FORM, parameters.JSON):
        return _said(506, f"upload 'Content-Type '{header}' not implemented")
    return None


def _said(status: int, text: str) -> Answer:
    return Answer(status, text.partition("\n")[0], None, text.encode())


def _finished(answer: Answer) -> Answer:
    if "\r" in answer.reason:
        return Answer(400, "Bad Request", answer.content_type, b"", answer.headers, close=True)
    return replace(answer, close=True) if answer.status >= 400 else answer
