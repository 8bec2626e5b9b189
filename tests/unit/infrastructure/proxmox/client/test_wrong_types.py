"""Answers of Proxmox VE with parts of wrong types: a clear error each time, and nothing else."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import partial
from typing import Any

import orjson
import pytest

from nagaya.infrastructure.proxmox.client import Endpoint, Facts, Password, Proxmox, Token
from nagaya.infrastructure.proxmox.client.errors import Malformed, ProxmoxError
from nagaya.infrastructure.proxmox.client.transport import Answer, Request
from nagaya.infrastructure.proxmox.connection.findings import find
from nagaya.infrastructure.proxmox.connection.host_questions import ask_hosts
from nagaya.world import World
from support.proxmox_transport import DataCenter, Told, data_center
from support.standing_clock import StandingClock
from support.virtual_run import run

VALUES: list[Any] = [
    None, True, False, 0, -1, 7, 1.5, 1e300, 10**18, "", "x",
    "\x1b[2J\nx", "9" * 30, "-", "1e5", "../..", "x" * 100_000,
    [], {}, [None], [[]], [{}], ["x"], {"x": None}, {"x": {"x": []}}, [{"x": 1}], "\u0664\u0662", "1_0", " 1 ", "NaN",
]  # fmt: skip
LONGEST = 6000
Ask = Callable[[Proxmox], Awaitable[Any]]

UPID = "UPID:pve1:00000001:00000002:66AB0000:qmclone:100:root@pam!demo:"
ASKS: dict[str, Ask] = {
    "version": lambda p: p.cluster.version(),
    "status": lambda p: p.cluster.status(),
    "next id": lambda p: p.cluster.next_id(),
    "machine": lambda p: p.cluster.machine(100),
    "options": lambda p: p.cluster.options(),
    "host": lambda p: p.cluster.host_status("pve1"),
    "bridges": lambda p: p.cluster.bridges("pve1"),
    "inventory": lambda p: p.inventory.get(0),
    "equipment": lambda p: p.inventory.equipment.bridges(["pve1"]),
    "mappings": lambda p: p.inventory.equipment.mappings(),
    "machines": lambda p: p.machines.on("pve1"),
    "states": lambda p: p.machines.states("pve1"),
    "config": lambda p: p.machines.config("pve1", 9001),
    "pending": lambda p: p.machines.pending("pve1", 9001),
    "machine status": lambda p: p.machines.status("pve1", 9001),
    "storages": lambda p: p.storages.on("pve1"),
    "storage": lambda p: p.storages.status("pve1", "local"),
    "content": lambda p: p.storages.content("pve1", "local"),
    "pools": lambda p: p.pools.names(),
    "permissions": lambda p: p.access.permissions(),
    "users": lambda p: p.access.accounts(),
    "roles": lambda p: p.access.roles(),
    "grants": lambda p: p.access.grants(),
    "tokens": lambda p: p.access.known_tokens("root@pam"),
    "rules": lambda p: p.high_availability.rules(),
    "resources": lambda p: p.high_availability.resources(),
    "running": lambda p: p.tasks.running("pve1", "qmclone"),
    "findings": find,
    "clone": lambda p: p.machines.clone("pve1", 9001, 555, name="x"),
}
RECORDED: dict[str, tuple[Ask, Any]] = {
    # What the emulated data center has none of, or what changes it.
    "task": (lambda p: p.tasks.ask(UPID), {"status": "stopped", "exitstatus": "OK", "upid": UPID, "node": "pve1"}),
    "failed": (lambda p: p.tasks.ask(UPID), [{"n": 1, "t": "line"}]),
    "pool": (
        lambda p: p.pools.get("x"),
        [
            {
                "poolid": "x",
                "comment": "c",
                "members": [{"vmid": 1, "type": "qemu"}, {"storage": "s", "type": "storage"}],
            }
        ],
    ),
    "interfaces": (
        lambda p: p.agent.interfaces("pve1", 1),
        {"result": [{"name": "lo", "hardware-address": "0", "ip-addresses": [{"ip-address": "::1", "prefix": 128}]}]},
    ),
    "system": (lambda p: p.agent.system("pve1", 1), {"result": {"id": "debian"}}),
    "execute": (lambda p: p.agent.execute("pve1", 1, ["x"]), {"pid": 7}),
    "execution": (
        lambda p: p.agent.execution("pve1", 1, 7),
        {"exited": 1, "exitcode": 0, "out-data": "x", "err-data": "y"},
    ),
    "file": (lambda p: p.agent.read("pve1", 1, "/x"), {"content": "x", "truncated": 0}),
    "token": (lambda p: p.access.create_token("a@pve", "b"), {"full-tokenid": "a@pve!b", "value": "c", "info": {}}),
    "tokens": (lambda p: p.access.known_tokens("a@pve"), [{"tokenid": "b", "comment": "", "privsep": 1, "expire": 0}]),
    "rule": (
        lambda p: p.high_availability.rules(),
        [{"rule": "x", "type": "t", "resources": "vm:1,ct:2", "digest": "d"}],
    ),
    "ha": (
        lambda p: p.high_availability.resources(),
        [{"sid": "vm:100", "state": "started", "max_restart": 1, "group": "g"}],
    ),
    "mappings": (lambda p: p.inventory.equipment.mappings(), [{"id": "gpu", "map": ["node=pve1,path=0000:01:00"]}]),
    "running": (lambda p: p.tasks.running("pve1", "qmclone"), [{"upid": UPID, "endtime": None}]),
    "pending": (lambda p: p.machines.pending("pve1", 1), [{"key": "cores", "value": 1, "pending": 2, "delete": 0}]),
    "certificates": (find, [{"filename": "pve-root-ca.pem", "fingerprint": "AA:BB", "pem": "x"}]),
    "login": (lambda p: p.calls._login(Password("a@pve", "b")), {"ticket": "PVE:x", "CSRFPreventionToken": "y"}),
}


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every part of an answer; of lists the first entries and the last."""
    yield path
    if isinstance(data, dict):
        for name, value in data.items():
            yield from places(value, (*path, name))
    elif isinstance(data, list):
        for number in sorted({*range(min(3, len(data))), len(data) - 1}):
            if number >= 0:
                yield from places(data[number], (*path, number))


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = deepcopy(data)
    part = copy
    for step in path[:-1]:
        part = part[step]
    if value is ...:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return copy


class Mutated:
    """A way on which the answers to one path are changed."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.change: tuple[str, Callable[[Any], Any]] | None = None
        self.heard: dict[str, Any] = {}

    async def send(self, endpoint: Any, trust: Any, request: Request) -> Answer:
        answer: Answer = await self._inner.send(endpoint, trust, request)
        key = f"{request.method} {request.path}?{request.query}"
        if answer.status >= 300:
            return answer
        whole = orjson.loads(answer.body)
        self.heard[key] = whole["data"]
        if self.change is not None and self.change[0] == key:
            return Answer(answer.status, answer.reason, orjson.dumps({"data": self.change[1](whole["data"])}))
        return answer

    async def close(self) -> None:
        """Nothing is open."""


async def survives(ask: Ask, client: Proxmox, what: object) -> None:
    """Only Nagaya's own error may come out, and what it says is bounded and harmless."""
    try:
        await ask(client)
    except ProxmoxError as error:
        for text in (str(error), error.why):
            assert len(text) < LONGEST, what
            assert not {"\x1b", "\n"} & set(text), what
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error


async def examine(ask: Ask, there: DataCenter, chance: random.Random, most: int) -> int:
    """Ask once to see what is asked, then with each part of each answer changed. Returns how many parts there are."""
    transport = Mutated(there.transport)

    def client() -> Proxmox:
        return Proxmox(there.client.facts, there.emulator.world, transport=transport)

    seen = client()
    with suppress(ProxmoxError):
        await ask(seen)
    await seen.close()
    cases = [
        (key, path, value)
        for key, data in transport.heard.items()
        for path in places(data)
        for value in ([*VALUES, ...] if path else VALUES)
    ]
    for key, path, value in chance.sample(cases, min(most, len(cases))):
        transport.change = key, partial(changed, path=path, value=value)
        mutated = client()
        await survives(ask, mutated, (key, path, str(value)[:50]))
        await mutated.close()
    return len(cases)


@pytest.mark.parametrize("most", [25, pytest.param(2500, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("name", ASKS)
def test_a_part_of_another_type_is_malformed_or_understood(name: str, most: int) -> None:
    async def main() -> None:
        async with data_center(hosts=2) as there:
            assert await examine(ASKS[name], there, random.Random(f"{name} {most}"), most) > 0

    run(main())


@pytest.mark.parametrize("name", RECORDED)
async def test_a_part_of_another_type_of_a_recorded_answer(name: str) -> None:
    ask, data = RECORDED[name]

    def answering(found: Any) -> Proxmox:
        def say(_: str, request: Request) -> Answer:
            return Answer(200, "OK", orjson.dumps({"data": found}))

        return Proxmox(
            Facts((Endpoint("pve1"),), Token("a@pve!b", "s" * 36)), World(clock=StandingClock()), transport=Told(say)
        )

    for path in places(data):
        for value in [*VALUES, ...] if path else VALUES:
            await survives(ask, answering(changed(data, path, value)), (name, path, str(value)[:50]))


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (None, "data: null is not a record"),
        ([], "data: '[]' is not a record"),
        ("9.2.1", "data: '9.2.1' is not a record"),
        ({}, "version is missing"),
        ({"version": None}, "version is missing"),
        ({"version": 9}, "version: 9 is not a text"),
        ({"version": True}, "version: True is not a text"),
        ({"version": ["9"]}, "version: \"['9']\" is not a text"),
        ({"version": {"a": "9"}}, "version: \"{'a': '9'}\" is not a text"),
        ({"version": "nine"}, "version: 'nine' is not a version"),
        ({"version": ""}, "version: '' is not a version"),
        ({"version": "9" * 5000}, "is not a version"),
        ({"version": "\u0669.2"}, "is not a version"),
    ],
)
async def test_a_version_of_a_wrong_type_names_host_path_and_field(data: object, named: str) -> None:
    told = Told(lambda _, __: Answer(200, "OK", orjson.dumps({"data": data})))
    client = Proxmox(
        Facts((Endpoint("pve7"),), Token("a@pve!b", "s" * 36)), World(clock=StandingClock()), transport=told
    )
    with pytest.raises(Malformed) as raised:
        await client.cluster.version()
    assert str(raised.value).startswith("GET /version on pve7 failed: ")
    assert named in str(raised.value)
    assert "Check that the address leads to Proxmox VE" in str(raised.value)
    assert len(told.sent) == 1, "asked once: whoever needs it decides when to ask again"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{}", b"[]", b"null", b'"x"', b'{"data"', b'{"data":' + b"[" * 100_000, b'{"data":' + b'{"a":' * 100_000,
        b'{"data":NaN}', b'{"data":1e999}', b'{"data":' + b"9" * 5000 + b"}", b'{"data":"\\ud800"}', b'{"data":"\xff"}',
        b"\xef\xbb\xbf{}", b'{"data":1,"data":[],"data":null}', b"<html>\x1b]0;x\x07</html>", b"\x00" * 1000,
    ],
)  # fmt: skip
@pytest.mark.parametrize("status", [200, 400, 401, 403, 500, 501, 595, 599])
async def test_json_that_is_none_or_strange_is_an_error_of_our_own(body: bytes, status: int) -> None:
    told = Told(lambda _, __: Answer(status, "x\x1b[2J" * 50, body))
    client = Proxmox(
        Facts((Endpoint("pve7"),), Token("a@pve!b", "s" * 36)), World(clock=StandingClock()), transport=told
    )
    for ask in (client.cluster.version, client.pools.names, client.access.grants):
        with pytest.raises(ProxmoxError) as raised:
            await ask()
        assert len(str(raised.value)) < LONGEST
        assert "\x1b" not in str(raised.value)


async def test_messages_task_logs_and_errors_are_bounded() -> None:
    def say(_: str, request: Request) -> Answer:
        if request.path.endswith("/status"):
            return Answer(200, "OK", orjson.dumps({"data": {"status": "stopped", "exitstatus": "e\x1b" * 9000}}))
        if request.path.endswith("/log"):
            rows = [{"n": each, "t": f"\x1b[2J\nline {'x' * 9000}"} for each in range(1000)]
            return Answer(200, "OK", orjson.dumps({"data": rows, "total": 1000}))
        wrong = {f"p\x1b{each}" * 500: "w\x1b" * 9000 for each in range(500)}
        return Answer(400, "r" * 8000, orjson.dumps({"data": None, "message": "m\x1b" * 9000, "errors": wrong}))

    client = Proxmox(
        Facts((Endpoint("pve7"),), Token("a@pve!b", "s" * 36)), World(clock=StandingClock()), transport=Told(say)
    )
    with pytest.raises(ProxmoxError) as raised:
        await client.pools.names()
    assert len(str(raised.value)) < 100_000
    assert "\x1b" not in str(raised.value)
    state = await client.tasks.ask(UPID)
    assert len(state.log) == 20
    assert all(len(line) < 600 and not {"\x1b", "\n"} & set(line) for line in state.log)
    with pytest.raises(ProxmoxError) as failed:
        state.check()
    assert len(str(failed.value)) < LONGEST
    assert "\x1b" not in str(failed.value)


async def test_hosts_with_strange_clocks_and_versions_are_told_of() -> None:
    async with asyncio.timeout(10):
        for value in VALUES:
            told = Told(
                lambda _, __, value=value: Answer(200, "OK", orjson.dumps({"data": {"time": value, "version": value}}))
            )  # type: ignore[misc]
            client = Proxmox(
                Facts((Endpoint("pve7"),), Token("a@pve!b", "s" * 36)), World(clock=StandingClock()), transport=told
            )
            async with data_center(hosts=1) as there:
                snapshot = await there.client.inventory.get()
            found = await ask_hosts(client, snapshot)
            assert found.refused or found.versions


@pytest.mark.parametrize("name", ["x\x1b[2J", "x\ny", "x\u202ey", "x\x9b", "x\u200b"])
async def test_names_with_control_characters_are_malformed(name: str) -> None:
    rows = [{"type": "qemu", "vmid": 100, "node": "pve1", "name": name}]
    told = Told(lambda _, __: Answer(200, "OK", orjson.dumps({"data": rows})))
    client = Proxmox(
        Facts((Endpoint("pve7"),), Token("a@pve!b", "s" * 36)), World(clock=StandingClock()), transport=told
    )
    with pytest.raises(Malformed, match=r"name: .* is not a text without control characters") as raised:
        await client.inventory.get()
    assert raised.value.why.isprintable()


@pytest.mark.parametrize("name", ["../qemu", "a/b", "a b", "", "x" * 64, "-a", "a.b", "a\n", None, 7])
async def test_a_host_is_named_as_hosts_can_be(name: object) -> None:
    def say(_: str, request: Request) -> Answer:
        rows = [] if request.path.endswith("/status") else [{"type": "node", "node": name}]
        return Answer(200, "OK", orjson.dumps({"data": rows}))

    client = Proxmox(
        Facts((Endpoint("pve7"),), Token("a@pve!b", "s" * 36)), World(clock=StandingClock()), transport=Told(say)
    )
    with pytest.raises(Malformed, match="node"):
        await client.inventory.get()
