"""The corpus, played against the embedded server and the real one: same requests, same answers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import ApiServer, Config
from support.differential import Answer, Scenario, comparable, differences, play, scenarios
from support.known_differences import KNOWN
from support.real import CONTROLLERS, RealControlPlane, installed_binaries
from support.targets import Embedded, OverNetwork

pytestmark = pytest.mark.long("reads watches to the end of their shortest time, one second, on both servers")

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


@pytest.fixture(scope="module")
def control_plane() -> Iterator[RealControlPlane]:
    """A server that has no definitions of other tests: discovery would list them."""
    with RealControlPlane(installed_binaries(), controllers=CONTROLLERS) as plane:
        yield plane


@pytest.fixture
async def real(control_plane: RealControlPlane) -> AsyncIterator[OverNetwork]:
    async with aiohttp.ClientSession() as session:
        context = control_plane.ssl_context(None)
        tokens = {"admin": control_plane.tokens["admin-by-token"], "bob": control_plane.tokens["bob"]}
        yield OverNetwork(session, control_plane.url, context, tokens)


@pytest.mark.parametrize("scenario", _CORPUS, ids=[each.id for each in _CORPUS])
async def test_both_servers_answer_alike(scenario: Scenario, embedded: Embedded, real: OverNetwork) -> None:
    namespace = "corpus-" + re.sub(r"[^a-z0-9]+", "-", f"{scenario.file}-{scenario.name}".lower())[:40].strip("-")
    ours = await play(scenario, embedded, namespace)

    def compare(number: int, other: Answer) -> list[str]:
        lines = differences(comparable(ours[number], namespace), comparable(other, namespace))
        entries = {line: f"{scenario.id} #{number + 1} {line}" for line in lines}
        return [line for line, entry in entries.items() if not any(re.search(pattern, entry) for pattern in KNOWN)]

    theirs = await play(scenario, real, namespace, lambda number, answer: not compare(number, answer))
    found = []
    for number, (step, other) in enumerate(zip(scenario.steps, theirs, strict=True)):
        found += [f"#{number + 1} {step.method} {step.path}\n    {line}" for line in compare(number, other)]
    assert not found, "\n".join(["answers differ (ours, then what the real server says):", *found])
