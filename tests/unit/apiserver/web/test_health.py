"""Alive, ready, and why not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from nagaya.apiserver.web.request import Request, Response
from support.in_process import Api

Start = Callable[..., Awaitable[Api]]


async def look(api: Api, path: str) -> Response:
    return await api.server.handle(Request.make("GET", path, headers={"Authorization": "Bearer admin"}))


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz", "/livez/ping", "/readyz/ping", "/readyz/bootstrap"])
async def test_a_running_server_is_well(start: Start, path: str) -> None:
    response = await look(await start(), path)
    assert (response.status, response.body) == (200, b"ok")


async def test_a_server_that_stops_is_alive_but_not_ready(start: Start) -> None:
    api = await start()
    api.server._ready = False
    assert (await look(api, "/livez")).status == 200
    response = await look(api, "/readyz")
    assert response.status == 500
    assert response.body.decode().splitlines()[0] == "[+]ping ok"
    assert b"[-]bootstrap failed" in response.body
    assert response.body.endswith(b"readyz check failed\n")
    assert (await look(api, "/readyz?exclude=bootstrap")).status == 200


async def test_every_check_is_shown_on_demand(start: Start) -> None:
    response = await look(await start(), "/livez?verbose")
    assert response.status == 200
    assert response.body == b"[+]ping ok\nlivez check passed\n"


async def test_a_check_that_does_not_exist_cannot_be_left_out(start: Start) -> None:
    response = await look(await start(), "/livez?verbose&exclude=nothing")
    assert b'warn: some health checks cannot be excluded: no matches for "nothing"' in response.body


async def test_a_path_below_that_is_no_check_is_not_found(start: Start) -> None:
    assert (await look(await start(), "/livez/nothing")).status == 404


@pytest.mark.parametrize(("path", "code"), [("/livez", 200), ("/readyz", 200), ("/livez/ping", 403)])
async def test_the_whole_is_for_everyone_and_the_parts_are_not(start: Start, path: str, code: int) -> None:
    api = await start()
    assert (await api.server.handle(Request.make("GET", path))).status == code


async def test_all_checks_are_told_as_figures(start: Start) -> None:
    api = await start()
    api.server._ready = False
    figures = (await look(api, "/metrics/slis")).body.decode().splitlines()
    assert 'kubernetes_healthcheck{name="ping",type="livez"} 1' in figures
    assert 'kubernetes_healthcheck{name="bootstrap",type="readyz"} 0' in figures
