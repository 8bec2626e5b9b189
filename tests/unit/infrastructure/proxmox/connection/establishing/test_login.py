"""An administrator logs in: with a password, and a code where there is a second factor."""

from __future__ import annotations

from urllib.parse import parse_qs, quote

import orjson
import pytest

from nagaya.infrastructure.proxmox.client import Endpoint, Password, Trust
from nagaya.infrastructure.proxmox.client.errors import HostUnreachable, Malformed, Unauthorized
from nagaya.infrastructure.proxmox.client.transport import Answer, NotSent, Request
from nagaya.infrastructure.proxmox.connection.establishing.login import Ask, SecondFactor, login
from support.proxmox_transport import Said, Told

PVE = Endpoint("pve")
REFUSED = Answer(401, "authentication failure", orjson.dumps({"data": None, "message": "authentication failure\n"}))


def ticket(text: str, **more: object) -> Answer:
    return Answer(200, "OK", orjson.dumps({"data": {"ticket": text, "username": "root@pam", **more}}))


def challenge(kinds: str) -> Answer:
    return ticket(f"PVE:!tfa!{quote(kinds)}:65A0::sig", NeedTFA=1)


def given(request: Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(request.body.decode()).items()}


async def log_in(transport: Told, ask: Ask | None = None) -> Password:
    return await login(transport, PVE, Trust(), "root@pam", "wet & wild", ask)


async def code(kind: str) -> str:
    return {"totp": " 123456 ", "recovery": "aaaa-bbbb"}[kind]


async def test_a_password_becomes_a_ticket_and_is_kept_nowhere() -> None:
    transport = Told(lambda _, __: ticket("PVE:root@pam:1"))
    got = await log_in(transport)
    assert got == Password("root@pam", "PVE:root@pam:1")
    ((_, request),) = transport.sent
    assert given(request) == {"username": "root@pam", "password": "wet & wild"}
    assert "wet" not in repr(request)
    assert "wet" not in repr(got)


@pytest.mark.parametrize(
    ("kinds", "answer"),
    [('{"totp":true}', "totp:123456"), ('{"webauthn":{},"recovery":[1,2]}', "recovery:aaaa-bbbb")],
    ids=["totp", "recovery"],
)
async def test_a_second_factor_is_asked_for_and_answers_the_challenge(kinds: str, answer: str) -> None:
    first = challenge(kinds)

    def say(_: str, request: Request) -> Said:
        return ticket("PVE:root@pam:2") if "tfa-challenge" in given(request) else first

    transport = Told(say)
    assert (await log_in(transport, code)).password == "PVE:root@pam:2"
    second = given(transport.sent[1][1])
    assert second["password"] == answer
    assert second["tfa-challenge"] == orjson.loads(first.body)["data"]["ticket"]


async def test_a_wrong_code_is_told_from_a_wrong_password() -> None:
    def say(_: str, request: Request) -> Said:
        return REFUSED if "tfa-challenge" in given(request) else challenge('{"totp":true}')

    with pytest.raises(Unauthorized, match="The code is wrong, used or too old"):
        await log_in(Told(say), code)
    with pytest.raises(Unauthorized, match=r"The password is wrong, or root@pam is unknown"):
        await log_in(Told(lambda _, __: REFUSED))


async def test_a_factor_that_cannot_be_typed_is_said_with_a_way_out() -> None:
    with pytest.raises(SecondFactor, match=r"only be given in a browser \(webauthn\).*--token"):
        await log_in(Told(lambda _, __: challenge('{"webauthn":{"a":1}}')), code)


async def test_without_a_terminal_a_second_factor_is_said_with_a_way_out() -> None:
    with pytest.raises(SecondFactor, match=r"no terminal to ask for it.*--token"):
        await log_in(Told(lambda _, __: challenge('{"totp":true}')))


async def test_an_old_form_of_challenge_is_no_login() -> None:
    with pytest.raises(SecondFactor, match="of a kind unknown"):
        await log_in(Told(lambda _, __: ticket("PVE:tfa!root@pam:1", NeedTFA=1)), code)


@pytest.mark.parametrize("status", [403, 404, 501])
async def test_what_proxmox_never_answers_to_a_login_is_said_to_come_from_something_else(status: int) -> None:
    with pytest.raises(Malformed, match="the address leads elsewhere"):
        await log_in(Told(lambda _, __: Answer(status, "No", b"")))


async def test_what_is_no_proxmox_is_said() -> None:
    with pytest.raises(Malformed):
        await log_in(Told(lambda _, __: Answer(200, "OK", b"<html>")))
    with pytest.raises(Malformed, match="no ticket"):
        await log_in(Told(lambda _, __: Answer(200, "OK", b'{"data": {}}')))
    with pytest.raises(HostUnreachable, match="off"):
        await log_in(Told(lambda _, __: NotSent("off")))
