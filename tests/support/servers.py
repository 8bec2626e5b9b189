"""Scenarios that can run on two management APIs: the embedded server on virtual time, and a real one on the clock.

The embedded server is compared with the real one request by request (tests/real/test_differential.py), so most
scenarios run on the embedded one in `make test` and on both in `make test-all`. A test with `@both_servers` always runs
on both: at least one for each controller and for each feature of the API that a controller relies on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest

from nagaya.cli.plane import CONTROLLERS
from support.lab import Scenario, play_embedded, play_real
from support.thoroughness import exhaustive

Play = Callable[[Scenario], None]

_long = pytest.mark.long("plays on the real server and on the clock, beside its start")

SERVERS = ["embedded", pytest.param("real", marks=[exhaustive, _long])]

both_servers = pytest.mark.parametrize("play", ["embedded", pytest.param("real", marks=_long)], indirect=True)
"""Runs a test on both servers in `make test`, too."""


def player(request: pytest.FixtureRequest, parts: Collection[str] = tuple(CONTROLLERS)) -> Play:
    """Runs a scenario with the controllers of these parts, on the server that the fixture's parameter names."""
    if request.param == "embedded":
        return lambda scenario: play_embedded(scenario, parts=parts)
    control_plane = request.getfixturevalue("real_control_plane")
    return lambda scenario: play_real(control_plane, scenario, parts=parts)
