"""Where a call goes, and how often."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from nagaya.infrastructure.proxmox.client import Endpoint, Facts, Password, Token, Trust
from nagaya.infrastructure.proxmox.client.breaker import State
from nagaya.infrastructure.proxmox.client.calls import PROBE, Calls, path_of
from nagaya.infrastructure.proxmox.client.errors import Forbidden, HostUnreachable, Malformed, NoEndpoint, Unauthorized
from nagaya.infrastructure.proxmox.client.transport import Answer, NotSent, ReplyLost, Request
from nagaya.world import World
from support.proxmox_transport import Said, Told
from support.standing_clock import StandingClock

A, B, C = Endpoint("a"), Endpoint("b"), Endpoint("c")
TOKEN = Token("nagaya@pve!main", "not-to-be-shown")


def good(data: object = None) -> Answer:
    return Answer(200, "OK", orjson.dumps({"data": data}))


def calls(told: Told, clock: StandingClock | None = None, *, password: bool = False) -> Calls:
    credentials = Password("root@pam", "not-to-be-shown") if password else TOKEN
    return Calls(Facts((A, B, C), credentials, name="lab"), told, World(clock=clock or StandingClock()))


def asked(told: Told) -> list[str]:
    return [host for host, _ in told.sent]


async def test_the_last_good_endpoint_is_asked_first() -> None:
    told = Told(lambda host, _: NotSent("off") if host == "a" else good(host))
    client = calls(told)
    assert await client.get("/version") == "b"
    assert await client.get("/version") == "b"
    assert asked(told) == ["a", "b", "b"]


async def test_an_endpoint_that_was_dead_is_asked_again_when_it_is_needed() -> None:
    clock = StandingClock()
    dead = {"a", "b", "c"}
    told = Told(lambda host, _: NotSent("off") if host in dead else good(host))
    client = calls(told, clock)
    with pytest.raises(NoEndpoint, match="no endpoint answers: off") as first:
        await client.post("/pools", {"poolid": "x"})
    with pytest.raises(NoEndpoint) as raised:
        await client.post("/pools", {"poolid": "x"})
    assert str(raised.value) == str(first.value), "the same failure is the same sentence, and one event"
    assert not raised.value.may_have_happened
    assert asked(told) == ["a", "b", "c"]
    assert client.endpoints.dead() == {A: "off", B: "off", C: "off"}
    clock.seconds += 2
    dead.clear()
    assert await client.get("/version") == "a"
    assert client.endpoints.dead() == {B: "off", C: "off"}


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_a_change_whose_reply_is_lost_is_made_once_and_says_so(method: str) -> None:
    told = Told(lambda host, _: ReplyLost("the connection broke"))
    with pytest.raises(HostUnreachable, match="It may have happened all the same") as raised:
        await calls(told).call(method, "/pools", {"poolid": "x"})
    assert raised.value.may_have_happened
    assert asked(told) == ["a"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_a_change_that_no_host_has_seen_is_made_elsewhere(method: str) -> None:
    told = Told(lambda host, _: NotSent("off") if host == "a" else good())
    await calls(told).call(method, "/pools", {"poolid": "x"})
    assert asked(told) == ["a", "b"]


@pytest.mark.parametrize("status", [500, 596])
async def test_a_change_that_failed_is_not_repeated(status: int) -> None:
    told = Told(lambda host, _: Answer(status, "Broken pipe"))
    with pytest.raises(Exception, match="Broken pipe"):
        await calls(told).post("/nodes/pve2/qemu/100/status/start")
    assert asked(told) == ["a"]


async def test_a_read_whose_reply_is_lost_is_repeated_elsewhere() -> None:
    told = Told(lambda host, _: ReplyLost("the connection broke") if host == "a" else good(7))
    assert await calls(told).get("/cluster/nextid") == 7
    assert asked(told) == ["a", "b"]


async def test_a_host_that_is_dead_fails_at_once_and_others_do_not_notice() -> None:
    clock = StandingClock()

    def say(host: str, request: Request) -> Said:
        return Answer(595, "No route to host") if "/nodes/pve2/" in request.path else good(1)

    told = Told(say)
    client = calls(told, clock)
    with pytest.raises(HostUnreachable, match="pve2 is unreachable: No route to host"):
        await client.get("/nodes/pve2/status")
    with pytest.raises(HostUnreachable, match="pve2 is unreachable: No route to host"):
        await client.get("/nodes/pve2/status")
    assert await client.get("/nodes/pve1/status") == 1
    assert asked(told) == ["a", "a"]
    assert client.hosts.dead() == {"pve2": "No route to host"}
    sample = client.metrics.registry.get_sample_value
    assert sample("nagaya_proxmox_host_unreachable", {"connection": "lab", "host": "pve2"}) == 1
    errors = {"connection": "lab", "host": "pve2", "kind": "HostUnreachable"}
    assert sample("nagaya_proxmox_errors_total", errors) == 2
    code = {"connection": "lab", "host": "pve2", "method": "GET", "code": "595"}
    assert sample("nagaya_proxmox_calls_total", code) == 1
    await client.close()
    assert sample("nagaya_proxmox_host_unreachable", {"connection": "lab", "host": "pve2"}) is None, (
        "a connection that is no longer used must not be alerted of for ever"
    )


async def test_whether_a_host_is_back_is_asked_before_anything_is_changed_there() -> None:
    clock = StandingClock()
    dead = True
    told = Told(lambda host, _: Answer(595, "Connection timed out") if dead else good())
    client = calls(told, clock)
    for _ in range(2):
        with pytest.raises(HostUnreachable):
            await client.post("/nodes/pve2/qemu/100/status/start")
        clock.seconds += 60
    dead = False
    await client.post("/nodes/pve2/qemu/100/status/start")
    sent = [f"{request.method} {request.path.removeprefix('/api2/json/nodes/pve2')}" for _, request in told.sent]
    start, probe = "POST /qemu/100/status/start", "GET /version"
    assert sent == [start, probe, probe, start]
    assert told.sent[1][1].timeout == PROBE


async def test_a_missing_right_says_nothing_on_whether_the_host_lives() -> None:
    clock = StandingClock()
    denied = Answer(403, "Permission check failed")
    answers = [Answer(595, "No route to host"), denied, denied, good(), good()]
    client = calls(Told(lambda host, _: answers.pop(0)), clock)
    with pytest.raises(HostUnreachable):
        await client.get("/nodes/pve2/status")
    clock.seconds += 2
    with pytest.raises(Forbidden):
        await client.get("/nodes/pve2/status")
    assert client.hosts.breaker("pve2").state is State.HALF_OPEN
    await client.get("/nodes/pve2/status")
    assert client.hosts.breaker("pve2").state is State.CLOSED


async def test_silence_on_a_call_that_is_passed_on_is_the_fault_of_the_other_host() -> None:
    told = Told(lambda host, _: ReplyLost("no answer", timed_out=True))
    client = calls(told)
    for _ in range(3):
        with pytest.raises(HostUnreachable):
            await client.get("/nodes/pve2/status")
    assert client.hosts.breaker("pve2").state is State.OPEN
    assert client.endpoints.breaker(A).state is State.CLOSED
    assert asked(told) == ["a", "a", "a"]


async def test_an_endpoint_without_its_daemon_is_left_for_another() -> None:
    told = Told(lambda host, _: Answer(595, "Connection refused") if host == "a" else good())
    await calls(told).post("/access/users", {"userid": "x@pve"})
    assert asked(told) == ["a", "b"]


async def test_a_token_is_sent_as_pve_wants_it_and_refused_once() -> None:
    told = Told(lambda host, _: Answer(401, "Authentication failed!"))
    with pytest.raises(Unauthorized, match="Check the token or password"):
        await calls(told).get("/version")
    (_, request), *others = told.sent
    assert not others
    assert request.headers["authorization"] == "PVEAPIToken=nagaya@pve!main=not-to-be-shown"


async def test_a_ticket_is_got_once_renewed_in_time_and_again_when_refused() -> None:
    clock = StandingClock()
    logins: list[str] = []
    refused: set[str] = set()

    def say(host: str, request: Request) -> Said:
        if request.path.endswith("/access/ticket"):
            logins.append(request.body.decode())
            return good({"ticket": f"PVE:{len(logins)}", "CSRFPreventionToken": f"csrf{len(logins)}"})
        return Answer(401, "No ticket") if request.headers["cookie"] in refused else good()

    told = Told(say)
    client = calls(told, clock, password=True)

    async def proof(method: str) -> dict[str, str]:
        await client.call(method, "/pools")
        headers = told.sent[-1][1].headers
        return {name: headers[name] for name in ("cookie", "csrfpreventiontoken") if name in headers}

    assert await proof("GET") == {"cookie": "PVEAuthCookie=PVE%3A1"}
    assert (await proof("POST"))["csrfpreventiontoken"] == "csrf1"
    assert logins == ["username=root%40pam&password=not-to-be-shown"]
    clock.seconds += 5400
    assert (await proof("GET"))["cookie"] == "PVEAuthCookie=PVE%3A2"
    refused.add("PVEAuthCookie=PVE%3A2")
    assert (await proof("POST"))["csrfpreventiontoken"] == "csrf3"


async def test_a_second_factor_is_asked_for_by_name() -> None:
    client = calls(Told(lambda host, _: good({"ticket": "PVE:!tfa!", "NeedTFA": 1})), password=True)
    with pytest.raises(Unauthorized, match="need an API token"):
        await client.get("/version")


async def test_credentials_are_replaced_between_two_calls() -> None:
    told = Told(lambda host, _: good())
    client = calls(told)
    await client.get("/version")
    client.replace(Facts((B,), Token("nagaya@pve!next", "other"), Trust(insecure=True), "lab"))
    await client.get("/version")
    assert [(host, request.headers["authorization"]) for host, request in told.sent] == [
        ("a", "PVEAPIToken=nagaya@pve!main=not-to-be-shown"),
        ("b", "PVEAPIToken=nagaya@pve!next=other"),
    ]


async def test_what_was_asked_is_remembered_without_secrets() -> None:
    told = Told(lambda host, _: good("UPID:pve1:00000001:00000001:00000001:qmclone:9000:root@pam:"))
    client = calls(told, password=False)
    await client.post("/nodes/pve1/qemu/9000/clone", {"newid": 101, "name": "a", "pool": None, "full": True})
    await client.post("/nodes/pve1/qemu/101/config", {"cipassword": "hush", "sshkeys": "ssh-ed25519 hush"})
    await client.post("/nodes/pve1/qemu/101/agent/file-write", {"file": "/x", "content": "hush"})
    await client.get("/nodes/pve1/storage/local/content", {"content": "iso"})
    of_machine = client.trace.of_machine(101)
    assert [each.path.rsplit("/", 1)[1] for each in of_machine] == ["clone", "config", "file-write"]
    assert of_machine[0].parameters == {"newid": "101", "name": "a", "full": "1"}
    assert of_machine[0].upid.startswith("UPID:")
    assert str(of_machine[0]).startswith("12:00:00 POST /nodes/pve1/qemu/9000/clone newid=101 name=a full=1 -> 200 OK")
    shown = "".join(map(repr, client.trace.calls())) + repr(client.facts) + repr(told.sent)
    assert "hush" not in shown
    assert "not-to-be-shown" not in shown
    assert client.trace.calls()[3].parameters == {"content": "iso"}


def test_paths_are_escaped() -> None:
    assert path_of("access", "users", "a@b/c", "token", "x y") == "/access/users/a%40b%2Fc/token/x%20y"


async def test_a_connection_without_endpoints_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one endpoint"):
        Calls(Facts((), TOKEN), Told(lambda host, _: good()), World())


async def test_however_many_calls_there_are_one_of_them_logs_in() -> None:
    logins = 0

    def say(host: str, request: Request) -> Said:
        nonlocal logins
        if request.path.endswith("/access/ticket"):
            logins += 1
            return good({"ticket": "PVE:1", "CSRFPreventionToken": "csrf"})
        return good()

    client = calls(Told(say), password=True)
    await asyncio.gather(*(client.get("/version") for _ in range(20)))
    assert logins == 1


async def test_hosts_that_the_cluster_told_of_serve_when_none_that_was_given_does() -> None:
    told = Told(lambda host, _: good(host) if host == "d" else NotSent("off"))
    client = calls(told)
    client.endpoints.learn([B, Endpoint("d")])
    assert await client.get("/version") == "d"
    assert asked(told) == ["a", "b", "c", "d"]
    client.endpoints.replace([A])
    assert client.endpoints.ordered() == [A]


@pytest.mark.parametrize("data", [None, "text", [1], 7])
async def test_an_answer_of_another_kind_is_malformed_and_nothing_worse(data: object) -> None:
    client = calls(Told(lambda host, _: good(data)))
    with pytest.raises(Malformed, match="is not a list"):
        await client.rows("/pools")
    with pytest.raises(Malformed, match="is not a record"):
        await client.record("/version")
    with pytest.raises(Malformed, match="is not a UPID"):
        await client.begin("POST", "/nodes/pve1/qemu/100/status/start")


async def test_a_process_that_may_not_write_any_more_reads_only() -> None:
    def guard() -> None:
        raise PermissionError("another process leads")

    told = Told(lambda host, _: good(host))
    client = Calls(Facts((A,), TOKEN, name="lab"), told, World(clock=StandingClock()), guard=guard)
    assert await client.get("/version") == "a"
    for method in ("POST", "PUT", "DELETE"):
        with pytest.raises(PermissionError, match="another process leads"):
            await client.call(method, "/pools")
    assert [request.method for _, request in told.sent] == ["GET"]


async def test_a_clone_that_is_refused_without_a_word_says_what_clones_need() -> None:
    told = Told(lambda host, _: Answer(403, "Permission check failed", b""))
    with pytest.raises(Forbidden, match=r"VM\.Clone on the template, and VM\.Allocate on the pool"):
        await calls(told).post("/nodes/a/qemu/9000/clone", {"newid": 100})
