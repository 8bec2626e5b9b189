"""One call, from the route to its result, as the processes of a PVE host pass it on.

The host that was contacted (its pveproxy) judges credentials and rights. Then the call goes to the host that it is for,
and there, if it needs root, to pvedaemon; only the process that runs the code looks at the parameters. Whoever passes a
call on waits 30 s for the answer; the code runs to its end all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nagaya.simulators.proxmox.access.permissions import require
from nagaya.simulators.proxmox.access.rights import Rights
from nagaya.simulators.proxmox.calls.call import Call
from nagaya.simulators.proxmox.calls.index import index_of
from nagaya.simulators.proxmox.calls.table import handlers
from nagaya.simulators.proxmox.failure import Failure, Forbidden, ParameterFailure, Unanswered, Unproxied
from nagaya.simulators.proxmox.front.formatters import Result
from nagaya.simulators.proxmox.state.node import Node, Unreachable
from nagaya.simulators.proxmox.surface import Route, routes
from nagaya.simulators.proxmox.verification import accept, text_of

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.access.authentication import Identity
    from nagaya.simulators.proxmox.emulator import Emulator

_CONFLICT = "duplicate parameter (already defined in URI) with conflicting values!"
_WIDEST = 255


async def dispatch(
    emulator: Emulator,
    contacted: Node,
    identity: Identity,
    method: str,
    path: str,
    parameters: Mapping[str, Any],
    body: bytes,
) -> Result:
    """The result of a call, failures included. Raises only what leaves a client without a proper answer."""
    unknown = Result(501, f"Method '{method} {path}' not implemented")
    found = routes(emulator.version).find(method, path)
    if found is None:
        return unknown
    route = found.route
    handler = handlers().get((method, route.path)) or index_of(routes(emulator.version), route)
    try:
        given = _together(found.path_parameters, parameters)
        if identity.token_given and not route.allow_token:
            raise Forbidden(f"URI '{path}' not available with API token, need proper ticket.\n")
        rights = Rights(emulator.datacenter, identity.caller)
        require(route.permissions, rights, given, emulator.datacenter.access)
        node = _host(emulator, contacted, route, given)
    except Failure as failure:
        return _failed(failure)
    passed_on = node is not contacted or route.protected
    if node is not contacted:
        await _reach(emulator, node)
    if route.protected and not node.daemon:
        raise Unproxied(595, Unreachable.REFUSED.value)

    async def run() -> Result:
        try:
            if node.slowness:
                await asyncio.sleep(node.slowness)
            call = Call(emulator, node, contacted, identity.caller, rights, accept(route.parameters, given), body)
            return unknown if handler is None else Result(data=await handler(call))
        except Failure as failure:
            return _failed(failure)

    result = await (emulator.passed_on(node, run()) if passed_on else emulator.at(node, run()))
    if not result.reason.isascii() and max(map(ord, result.reason)) > _WIDEST:
        if passed_on:
            raise Unproxied(596, "Broken pipe")
        raise Unanswered
    return result


def _together(of_path: Mapping[str, str], others: Mapping[str, Any]) -> dict[str, Any]:
    for name in sorted(others.keys() & of_path.keys()):
        if of_path[name] != text_of(others[name]):
            raise ParameterFailure({name: _CONFLICT})
    return {**others, **of_path}


def _host(emulator: Emulator, contacted: Node, route: Route, given: Mapping[str, Any]) -> Node:
    if route.proxy_to is None:
        return contacted
    name = given.get(route.proxy_to)
    if not name and "{" + route.proxy_to + "}" not in route.path:
        if name is None:
            return contacted
        raise Failure("internal error - proxyto_callback returned nothing\n")
    if not name:
        raise ParameterFailure({route.proxy_to: "proxyto parameter does not exist"})
    if name in ("localhost", contacted.name):
        return contacted
    node = emulator.datacenter.nodes.get(str(name))
    if node is None:
        lookup = f"failed to get address info for: {name}: Name or service not known"
        raise Failure(f"hostname lookup '{name}' failed - {lookup}\n")
    return node


async def _reach(emulator: Emulator, node: Node) -> None:
    if node.online:
        return
    how = node.unreachable
    if how is Unreachable.SILENT:
        await asyncio.sleep(emulator.pace.proxy_timeout)
    raise Unproxied(596 if how in (Unreachable.STRANGER, Unreachable.HANGS_UP) else 595, how.value)


def _failed(failure: Failure) -> Result:
    numbered = failure.status != Failure.status
    return Result(failure.status, failure.message, None, failure.errors, status_is_text=numbered)
