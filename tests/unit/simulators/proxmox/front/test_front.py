from __future__ import annotations

import asyncio

import orjson
import pytest

from nagaya.simulators.proxmox.calls.call import Call, Json
from nagaya.simulators.proxmox.calls.table import handlers
from nagaya.simulators.proxmox.failure import Failure, Unanswered, Unconnected
from nagaya.simulators.proxmox.front import dispatch
from nagaya.simulators.proxmox.request import Answer, Request
from nagaya.simulators.proxmox.state.node import Unreachable
from support.proxmox_lab import ProxmoxLab, proxmox_lab, token
from support.virtual_run import run

ROUTE = ("GET", "/nodes/{node}/version")


def with_handler(monkeypatch: pytest.MonkeyPatch, handler: object, route: tuple[str, str] = ROUTE) -> None:
    """Let a route do something else."""
    table = {**handlers(), route: handler}
    monkeypatch.setattr(dispatch, "handlers", lambda: table)


async def told(lab: ProxmoxLab, path: str = "/api2/json/version", method: str = "GET", **rest: object) -> Answer:
    headers = rest.pop("headers", None)
    given = {**lab.ticket(), **(headers if isinstance(headers, dict) else {})}
    return await lab.emulator.answer(Request(method, path, headers=given, node="pve1", **rest))  # type: ignore[arg-type]  # the rest of a request


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/api2/yaml/version", "no formatter for uri /version, yaml"),
        ("/api2", "no such uri"),
        ("/api2/", "no such uri"),
        ("/pve2/x", "no such file '/pve2/x'"),
    ],
)
def test_paths_that_lead_nowhere_are_501_with_the_reason_as_body(path: str, reason: str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            answer = await told(lab, path)
            assert (answer.status, answer.reason, answer.content_type) == (501, reason, None)
            assert answer.body.decode().strip() == reason
            assert answer.close

    run(main())


def test_bodies_that_come_in_pieces_are_not_taken() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            answer = await told(lab, headers={"transfer-encoding": "chunked"})
            assert (answer.status, answer.reason) == (501, "chunked transfer encoding not supported")
            answer = await told(lab, headers={"transfer-encoding": "br"})
            assert answer.reason == "Unknown transfer encoding 'br'"

    run(main())


def test_a_refused_upload_with_a_long_body_ends_without_an_answer() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            path = "/api2/json/nodes/pve1/storage/store/upload"
            request = Request("POST", path, headers=token("alice@pve!full"), body=b"x" * (1 << 20), node="pve1")
            with pytest.raises(Unanswered):
                await lab.emulator.answer(request)

    run(main())


def test_a_failure_of_many_lines_shows_the_first_in_the_status_line(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(call: Call) -> Json:
        raise Failure("first\nsecond\n")

    with_handler(monkeypatch, fail)

    async def main() -> None:
        async with proxmox_lab() as lab:
            answer = await lab.ask("GET", "/nodes/pve1/version")
            assert (answer.status, answer.reason) == (500, "first")
            assert orjson.loads(answer.body) == {"data": None, "message": "first\nsecond\n"}

    run(main())


def test_a_reason_that_no_status_line_can_hold_breaks_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(call: Call) -> Json:
        raise Failure("a “word”\n")

    async def main() -> None:
        async with proxmox_lab() as lab:
            with_handler(monkeypatch, fail)
            with pytest.raises(Unanswered):
                await lab.ask("GET", "/nodes/pve1/version")
            with_handler(monkeypatch, fail, ("GET", "/access/users"))
            answer = await lab.ask("GET", "/access/users")
            assert (answer.status, answer.reason, answer.body) == (596, "Broken pipe", b"")

    run(main())


def test_a_carriage_return_in_a_reason_is_a_bad_request(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(call: Call) -> Json:
        raise Failure("a\rb\n")

    with_handler(monkeypatch, fail)

    async def main() -> None:
        async with proxmox_lab() as lab:
            answer = await lab.ask("GET", "/nodes/pve1/version")
            assert (answer.status, answer.reason, answer.body) == (400, "Bad Request", b"")

    run(main())


def test_a_call_that_root_does_is_given_up_after_30_s_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[float] = []

    async def slow(call: Call) -> Json:
        await asyncio.sleep(50)
        ended.append(asyncio.get_running_loop().time())

    with_handler(monkeypatch, slow, ("GET", "/access/users"))

    async def main() -> None:
        async with proxmox_lab() as lab:
            answer = await lab.ask("GET", "/access/users")
            assert (answer.status, answer.reason, answer.body) == (596, "Connection timed out", b"")
            assert asyncio.get_running_loop().time() == pytest.approx(30)
            await asyncio.sleep(30)
            assert ended == [pytest.approx(50)]

    run(main())


def test_a_call_that_the_contacted_host_does_itself_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow(call: Call) -> Json:
        await asyncio.sleep(50)
        return "done"

    with_handler(monkeypatch, slow)

    async def main() -> None:
        async with proxmox_lab() as lab:
            assert await lab.data("GET", "/nodes/pve1/version") == "done"

    run(main())


def test_a_call_runs_on_the_host_that_it_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def where(call: Call) -> Json:
        return [call.node.name, call.contacted.name]

    with_handler(monkeypatch, where)

    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.nodes["pve2"].online = True
            assert await lab.data("GET", "/nodes/pve2/version") == ["pve2", "pve1"]
            assert await lab.data("GET", "/nodes/pve1/version", node="pve2") == ["pve1", "pve2"]
            assert await lab.data("GET", "/nodes/localhost/version", node="pve2") == ["pve2", "pve2"]

    run(main())


def test_a_slow_host_takes_longer_for_each_call() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.nodes["pve1"].slowness = 4.0
            await lab.data("GET", "/version")
            assert asyncio.get_running_loop().time() == pytest.approx(4)

    run(main())


@pytest.mark.parametrize(
    ("how", "status", "after"),
    [
        (Unreachable.NO_ROUTE, 595, 0),
        (Unreachable.REFUSED, 595, 0),
        (Unreachable.SILENT, 595, 30),
        (Unreachable.STRANGER, 596, 0),
        (Unreachable.HANGS_UP, 596, 0),
    ],
)
def test_a_host_that_cannot_be_reached_shows_how(how: Unreachable, status: int, after: float) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.nodes["pve2"].unreachable = how
            answer = await lab.ask("GET", "/nodes/pve2/version")
            assert (answer.status, answer.reason, answer.body, answer.content_type) == (status, how.value, b"", None)
            assert asyncio.get_running_loop().time() == pytest.approx(after)

    run(main())


def test_nobody_answers_at_a_host_that_is_off() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            with pytest.raises(Unconnected, match="No route to host"):
                await lab.ask("GET", "/version", node="pve2")

    run(main())


def test_calls_end_with_their_host(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow(call: Call) -> Json:
        await asyncio.sleep(1000)

    async def main() -> None:
        async with proxmox_lab() as lab:
            with_handler(monkeypatch, slow)
            node = lab.datacenter.nodes["pve1"]

            async def dies() -> None:
                await asyncio.sleep(1)
                node.online = False
                lab.emulator.power_changed(node)

            dying = asyncio.create_task(dies())
            with pytest.raises(Unanswered):
                await lab.ask("GET", "/nodes/pve1/version")
            await dying
            assert asyncio.get_running_loop().time() == pytest.approx(1)

    run(main())


def test_somebody_can_stand_around_answers() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            seen: list[str] = []

            async def watching(request: Request, proceed: object) -> Answer:
                seen.append(request.path)
                answer: Answer = await proceed(request)  # type: ignore[operator]  # the next one around
                return answer

            async def refusing(request: Request, proceed: object) -> Answer:
                return Answer(418, "no")

            lab.emulator.around += [watching, refusing]
            assert (await lab.ask("GET", "/version")).status == 418
            assert seen == ["/api2/json/version"]

    run(main())


def test_folders_list_what_lies_in_them() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            names = ["current", "manager_status", "disarm-ha", "arm-ha"]
            assert await lab.data("GET", "/cluster/ha/status") == [{"name": name} for name in names]
            assert {"name": "totem"} in await lab.data("GET", "/cluster/config")
            assert {"id": "controllers"} in await lab.data("GET", "/cluster/sdn")
            assert {"subdir": "users"} in await lab.data("GET", "/access")

    run(main())


def test_who_reads_pages_and_is_not_known_is_sent_to_the_page_for_logging_in() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            answer = await lab.emulator.answer(Request("GET", "/api2/html/version", node="pve1"))
            assert (answer.status, answer.reason, answer.body) == (301, "Moved", b"")
            assert answer.headers == {"location": "/api2/html/access/ticket"}

    run(main())


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({"vmid": 200}, {}),
        ({"vmid": "200", "node": "pve1"}, {}),
        ({"vmid": 200.0}, {}),
        ({"vmid": 201, "node": "pve2"}, {"node": "duplicate"}),
        ({"vmid": [200]}, {"vmid": "duplicate"}),
        ({"vmid": None}, {"vmid": "duplicate"}),
    ],
    ids=repr,
)
def test_a_parameter_of_the_path_may_be_repeated_if_it_reads_the_same(
    body: dict[str, object], errors: dict[str, str]
) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            sent = {"headers": {"content-type": "application/json"}, "body": orjson.dumps({**body, "memory": 64})}
            answer = await told(lab, "/api2/json/nodes/pve1/qemu/200/config", "PUT", **sent)
            refused = orjson.loads(answer.body).get("errors", {})
            assert {name: why.partition(" ")[0] for name, why in refused.items()} == errors

    run(main())


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/foo", 501),
        ("GET", "/nodes/pve1/qemu/9999/config", 500),
        ("PUT", "/nodes/pve1/qemu/9999/config?memory=64", 500),
        ("GET", "/nodes/pve1/qemu/99/config", "400"),
        ("PUT", "/nodes/pve1/qemu/200/config?foo=1", "400"),
        ("POST", "/nodes/pve1/qemu/9000/clone?newid=300&pool=nosuch", "403"),
    ],
)
def test_a_failure_that_has_a_number_of_its_own_tells_it_as_text(method: str, path: str, status: int | str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            target, _, query = path.partition("?")
            answer = await told(lab, f"/api2/extjs{target}", method, query=query)
            assert (answer.status, orjson.loads(answer.body)["status"]) == (200, status)

    run(main())
