"""A tenant's API that hangs or refuses, as clients see it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from nagaya.simulators.tenant.settings import NodeSettings
from support.simulated_tenant import Make


async def first(stream: AsyncIterator[bytes]) -> bytes:
    return await anext(stream)


async def test_a_hanging_api_answers_once_it_is_well_again(make: Make) -> None:
    api = await make()
    api.tenant.hang()
    asked = asyncio.create_task(api.ask("GET", "/api/v1/nodes"))
    await asyncio.sleep(300)
    assert not asked.done()
    await api.tenant.recover_api()
    assert (await asked)[0] == 200


async def test_a_hanging_api_lets_go_of_clients_that_give_up(make: Make) -> None:
    api = await make()
    api.tenant.hang()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60):
            await api.ask("GET", "/api/v1/nodes")
    await api.tenant.recover_api()
    assert (await api.ask("GET", "/api/v1/nodes"))[0] == 200


async def test_a_refusing_api_refuses_and_breaks_off_watches(make: Make) -> None:
    api = await make()
    response = await api.tenant.handle(api.request("GET", "/api/v1/nodes?watch=true"))
    assert response.stream is not None
    watching = asyncio.create_task(first(response.stream))
    await asyncio.sleep(1)
    await api.tenant.refuse()
    with pytest.raises(ConnectionResetError):
        await watching
    with pytest.raises(ConnectionRefusedError):
        await api.ask("GET", "/api/v1/nodes")
    await api.tenant.recover_api()
    assert (await api.ask("GET", "/api/v1/nodes"))[0] == 200


async def test_a_hanging_api_holds_back_what_watches_would_say(make: Make) -> None:
    api = await make()
    since = (await api.get("/api/v1/nodes"))["metadata"]["resourceVersion"]
    response = await api.tenant.handle(api.request("GET", f"/api/v1/nodes?watch=true&resourceVersion={since}"))
    assert response.stream is not None
    watching = asyncio.create_task(first(response.stream))
    await asyncio.sleep(1)
    api.tenant.hang()
    await api.tenant.join(NodeSettings("n1"))
    await asyncio.sleep(60)
    assert not watching.done()
    await api.tenant.recover_api()
    assert b'"ADDED"' in await watching
    await response.stream.aclose()  # type: ignore[attr-defined]  # it is a generator


async def test_the_cluster_lives_on_behind_a_hanging_api(make: Make) -> None:
    api = await make()
    api.tenant.hang()
    await api.tenant.join(NodeSettings("n1"))
    await asyncio.sleep(5)
    await api.tenant.recover_api()
    assert await api.ready("n1") == ("True", "KubeletReady")
