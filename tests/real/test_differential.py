"""The corpus, played against the embedded server and the real one: same requests, same answers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import aiohttp
import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import ApiServer, Config
from support.differential import Scenario, comparable, differences, play, scenarios
from support.known_differences import KNOWN
from support.real import RealControlPlane
from support.targets import Embedded, OverNetwork

USERS = {
    "admin": User("admin-by-token", "admin-by-token-uid", ("system:masters",)),
    "bob": User("bob", "bob-uid", ("",)),  # what an empty column in the token file makes of it
}
_CORPUS = list(scenarios())


@pytest.fixture
async def embedded() -> AsyncIterator[Embedded]:
    server = await ApiServer.start(Config(tokens=USERS))
    yield Embedded(server)
    await server.stop()


@pytest.fixture
async def real(real_control_plane: RealControlPlane) -> AsyncIterator[OverNetwork]:
    async with aiohttp.ClientSession() as session:
        context = real_control_plane.ssl_context(None)
        tokens = {"admin": real_control_plane.tokens["admin-by-token"], "bob": real_control_plane.tokens["bob"]}
        yield OverNetwork(session, real_control_plane.url, context, 0.5, tokens)


@pytest.mark.parametrize("scenario", _CORPUS, ids=[each.id for each in _CORPUS])
async def test_both_servers_answer_alike(scenario: Scenario, embedded: Embedded, real: OverNetwork) -> None:
    namespace = "corpus-" + re.sub(r"[^a-z0-9]+", "-", f"{scenario.file}-{scenario.name}".lower())[:40].strip("-")
    ours = await play(scenario, embedded, namespace)
    theirs = await play(scenario, real, namespace)
    found = []
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=True), 1):
        step = scenario.steps[number - 1]
        for line in differences(comparable(mine, namespace), comparable(other, namespace)):
            entry = f"{scenario.id} #{number} {line}"
            if not any(re.search(pattern, entry) for pattern in KNOWN):
                found.append(f"#{number} {step.method} {step.path}\n    {line}")
    assert not found, "\n".join(["answers differ (ours, then what the real server says):", *found])
