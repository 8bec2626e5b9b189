"""Scenarios with the address controllers alone, on the embedded server and on the real one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.lab import Scenario, play_embedded, play_real

Play = Callable[[Scenario], None]
PARTS = ("ipam",)


@pytest.fixture(params=["embedded", "real"])
def play(request: pytest.FixtureRequest) -> Play:
    """Plays a scenario."""
    if request.param == "embedded":
        return lambda scenario: play_embedded(scenario, parts=PARTS)
    control_plane = request.getfixturevalue("real_control_plane")
    return lambda scenario: play_real(control_plane, scenario, parts=PARTS)
