"""Scenarios with the address controllers alone, on the embedded server and on the real one."""

from __future__ import annotations

import pytest

from support.servers import SERVERS, Play, player

PARTS = ("ipam",)


@pytest.fixture(params=SERVERS)
def play(request: pytest.FixtureRequest) -> Play:
    """Plays a scenario."""
    return player(request, PARTS)
