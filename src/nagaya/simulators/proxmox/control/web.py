"""The controls over HTTP, below /nagaya on every host that is on. Bodies are JSON both ways; nobody has to log in.

Because of that a change must come with a JSON content type, which no page in a browser can send elsewhere unasked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import orjson

from nagaya.simulators.proxmox.control.control import Control, Unknown
from nagaya.simulators.proxmox.control.orders import (
    Mistake,
    fault_in,
    host_change,
    shown_fault,
    source_in,
    task_fault_in,
)
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.request import Answer, Request

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Proceed

PREFIX = "/nagaya"
_JSON = "application/json;charset=UTF-8"
Route = Callable[[list[str], dict[str, Any]], Any]


class ControlWeb:
    """Stands before PVE's API and answers what is for the controls."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._routes: dict[tuple[str, str], Route] = {
            ("GET", "state"): lambda rest, body: control.state(),
            ("GET", "requests"): lambda rest, body: {
                "total": control.requests.total,
                "requests": control.requests.listed(),
            },
            ("DELETE", "requests"): lambda rest, body: control.requests.reset(),
            ("PUT", "cluster"): self._change_cluster,
            ("PUT", "hosts"): lambda rest, body: host_change(control, rest, body),
            ("POST", "storages"): self._add_storage,
            ("PUT", "storages"): self._change_storage,
            ("POST", "files"): self._add_file,
            ("POST", "templates"): self._add_template,
            ("POST", "sources"): lambda rest, body: control.add_source(*source_in(body)),
            ("GET", "faults"): self._faults,
            ("POST", "faults"): lambda rest, body: {"number": control.faults.set(fault_in(body))},
            ("POST", "task-faults"): lambda rest, body: {"number": control.faults.set(task_fault_in(body))},
            ("DELETE", "faults"): self._remove_faults,
        }
        control.emulator.around.insert(0, self._around)

    async def _around(self, request: Request, proceed: Proceed) -> Answer:
        if request.path != PREFIX and not request.path.startswith(f"{PREFIX}/"):
            return await proceed(request)
        return self.answer(request)

    def answer(self, request: Request) -> Answer:
        """The answer to a request that is for the controls."""
        parts = [unquote(part) for part in request.path.removeprefix(PREFIX).split("/") if part]
        if not parts:
            return _answer(200, "OK", {"routes": sorted(f"{method} {PREFIX}/{name}" for method, name in self._routes)})
        route = self._routes.get((request.method, parts[0]))
        if route is None:
            return _answer(404, "Not Found", {"error": f"there is no {request.method} {request.path}"})
        try:
            return _answer(200, "OK", {"data": route(parts[1:], _body(request))})
        except Unknown as unknown:
            return _answer(404, "Not Found", {"error": str(unknown)})
        except Mistake as mistake:
            return _answer(400, "Bad Request", {"error": str(mistake)})
        except Failure as failure:
            why = "".join(f" {name}: {said}." for name, said in (failure.errors or {}).items())
            return _answer(400, "Bad Request", {"error": f"{failure.message.strip()}{why}"})

    def _change_cluster(self, rest: list[str], body: dict[str, Any]) -> None:
        votes = body.get("expected_votes")
        if rest or body.keys() != {"expected_votes"} or not (votes is None or (isinstance(votes, int) and votes > 0)):
            raise Mistake('PUT cluster takes {"expected_votes": a number above 0, or null}')
        self._control.expect_votes(votes)

    def _add_storage(self, rest: list[str], body: dict[str, Any]) -> Any:
        with_capacity = {"capacity": int(body.pop("capacity"))} if "capacity" in body else {}
        name, kind = _taken(body, "name"), _taken(body, "type")
        return {"name": self._control.add_storage(name, kind, body, **with_capacity).name}

    def _change_storage(self, rest: list[str], body: dict[str, Any]) -> None:
        if len(rest) != 1 or body.keys() != {"reachable"}:
            raise Mistake('PUT storages/{name} takes {"reachable": true or false}')
        self._control.reach(rest[0], bool(body["reachable"]))

    def _add_file(self, rest: list[str], body: dict[str, Any]) -> Any:
        storage, content, name = (_taken(body, key) for key in ("storage", "content", "name"))
        return {"id": _called(self._control.add_file, storage, content, name, **body).id}

    def _add_template(self, rest: list[str], body: dict[str, Any]) -> Any:
        host, storage = _taken(body, "host"), _taken(body, "storage")
        vmid = int(_taken(body, "vmid"))
        return {"vmid": _called(self._control.add_template, vmid, host, storage, **body).vmid}

    def _faults(self, rest: list[str], body: dict[str, Any]) -> Any:
        faults = self._control.faults
        happened = [
            {"time": each.time, "fault": each.fault, "what": each.what, "how": each.how} for each in faults.happened
        ]
        return {"faults": [shown_fault(fault) for fault in faults.listed], "happened": happened}

    def _remove_faults(self, rest: list[str], body: dict[str, Any]) -> None:
        if not rest:
            self._control.faults.clear()
        elif not rest[0].isdecimal() or not self._control.faults.remove(int(rest[0])):
            raise Unknown(f"there is no fault {rest[0]!r}")


def _body(request: Request) -> dict[str, Any]:
    if request.method not in ("POST", "PUT"):
        return {}
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Mistake("a change needs the content type application/json")
    try:
        body = orjson.loads(request.body or b"{}")
    except orjson.JSONDecodeError as error:
        raise Mistake(f"the body is no JSON: {error}") from error
    if not isinstance(body, dict):
        raise Mistake("the body is no JSON object")
    return body


def _taken(body: dict[str, Any], name: str) -> Any:
    if name not in body:
        raise Mistake(f"{name!r} is missing")
    return body.pop(name)


def _called(method: Callable[..., Any], *args: Any, **options: Any) -> Any:
    try:
        return method(*args, **options)
    except TypeError as error:
        raise Mistake(str(error)) from error


def _answer(status: int, reason: str, body: Any) -> Answer:
    return Answer(status, reason, _JSON, orjson.dumps(body))
