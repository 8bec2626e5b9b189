from __future__ import annotations

import base64
from typing import Any

import orjson

from nagaya.simulators.proxmox.control.control import Control
from nagaya.simulators.proxmox.control.web import ControlWeb
from nagaya.simulators.proxmox.request import Request
from support.proxmox_lab import ProxmoxLab, proxmox_lab
from support.subtest_cases import subtest_cases
from support.virtual_run import run

JSON = {"content-type": "application/json"}


async def _ask(lab: ProxmoxLab, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    sent = b"" if body is None else orjson.dumps(body)
    answer = await lab.emulator.answer(Request(method, f"/nagaya/{path}", "", JSON, sent, "pve1"))
    return answer.status, orjson.loads(answer.body)


def _controlled(lab: ProxmoxLab) -> Control:
    control = Control(lab.emulator)
    ControlWeb(control)
    return control


def test_hosts_are_switched() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            _controlled(lab)
            node = lab.datacenter.nodes["pve2"]
            assert await _ask(lab, "PUT", "hosts/pve2", {"power": "on"}) == (200, {"data": None})
            assert node.online
            order = {"power": "off", "unreachable": "refused", "slowness": 2, "daemon": False}
            assert (await _ask(lab, "PUT", "hosts/pve2", order))[0] == 200
            assert (node.online, node.unreachable.name, node.slowness, node.daemon) == (False, "REFUSED", 2, False)

    run(main())


def test_quorum_is_taken_and_given() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            _controlled(lab)
            assert lab.datacenter.quorate
            assert (await _ask(lab, "PUT", "cluster", {"expected_votes": None}))[0] == 200
            assert not (await _ask(lab, "GET", "state"))[1]["data"]["cluster"]["quorate"]
            assert (await _ask(lab, "PUT", "cluster", {"expected_votes": 0}))[0] == 400

    run(main())


def test_mishaps_are_set_listed_and_removed() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            _controlled(lab)
            order = {"kind": "fail", "path": "/version", "status": 503, "reason": "busy", "times": 1}
            assert await _ask(lab, "POST", "faults", order) == (200, {"data": {"number": 1}})
            assert (await lab.ask("GET", "/version")).status == 503
            assert (await lab.ask("GET", "/version")).status == 200
            assert (await _ask(lab, "POST", "task-faults", {"kind": "hang", "type": "qmclone"}))[0] == 200
            _, listed = await _ask(lab, "GET", "faults")
            first, second = listed["data"]["faults"]
            assert (first["happened"], first["met"], second["of"], second["type"]) == (1, 2, "steps", "qmclone")
            assert listed["data"]["happened"][0]["what"] == "GET /api2/json/version"
            assert (await _ask(lab, "DELETE", "faults/1"))[0] == 200
            assert (await _ask(lab, "DELETE", "faults/1"))[0] == 404
            assert (await _ask(lab, "DELETE", "faults"))[0] == 200
            assert (await _ask(lab, "GET", "faults"))[1]["data"]["faults"] == []

    run(main())


def test_things_are_added() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            _controlled(lab)
            thin = {"name": "thin", "type": "lvmthin", "vgname": "pve", "thinpool": "data", "capacity": 1 << 40}
            assert (await _ask(lab, "POST", "storages", thin))[0] == 200
            template = {"vmid": 8000, "host": "pve1", "storage": "thin", "name": "made"}
            assert await _ask(lab, "POST", "templates", template) == (200, {"data": {"vmid": 8000}})
            file = {"storage": "local", "content": "iso", "name": "a.iso", "size": 1000}
            assert await _ask(lab, "POST", "files", file) == (200, {"data": {"id": "local:iso/a.iso"}})
            source = {"url": "https://example.org/a", "data": base64.b64encode(b"hello").decode()}
            assert (await _ask(lab, "POST", "sources", source))[0] == 200
            assert lab.emulator.sources.find("https://example.org/a").data == b"hello"
            assert (await _ask(lab, "PUT", "storages/thin", {"reachable": False}))[0] == 200
            assert not lab.datacenter.storages["thin"].reachable

    run(main())


@subtest_cases(
    ("method", "path", "body", "status", "error"),
    [
        ("PUT", "hosts/pve9", {"power": "off"}, 404, "there is no host 'pve9'"),
        ("PUT", "hosts/pve1", {"power": "half"}, 400, "power is one of on, off, cut-off, reconnected, not 'half'"),
        ("PUT", "hosts/pve1", {"colour": 1}, 400, "a host has no colour"),
        ("POST", "faults", {"kind": "explode"}, 400, "kind is one of fail, hang"),
        ("POST", "faults", {"kind": "fail", "colour": 1}, 400, "unknown: colour"),
        ("POST", "sources", {"url": "a", "data": "!"}, 400, "data is no base64"),
        ("POST", "storages", {"name": "a"}, 400, "'type' is missing"),
        ("POST", "storages", {"name": "aa", "type": "dir"}, 400, "missing value for required option 'path'"),
        ("POST", "faults", [1], 400, "the body is no JSON object"),
        ("GET", "nothing", None, 404, "there is no GET /nagaya/nothing"),
    ],
)
def test_mistakes_are_told(method: str, path: str, body: Any, status: int, error: str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            _controlled(lab)
            got, told = await _ask(lab, method, path, body)
            assert got == status
            assert told["error"].startswith(error)

    run(main())


def test_a_page_in_a_browser_cannot_change_anything() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            _controlled(lab)
            form = {"content-type": "text/plain"}
            request = Request("PUT", "/nagaya/hosts/pve1", "", form, b'{"power":"off"}', "pve1")
            assert (await lab.emulator.answer(request)).status == 400
            assert lab.datacenter.nodes["pve1"].online

    run(main())


def test_the_controls_are_not_counted_and_not_part_of_the_api() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            control = _controlled(lab)
            await _ask(lab, "GET", "state")
            assert control.requests.total == 0
            assert (await lab.ask("GET", "/nagaya/state")).status == 501

    run(main())
