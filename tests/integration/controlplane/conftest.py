"""Scenarios that are played twice: on the embedded server on virtual time, and on the real one on the clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.lab import Scenario, play_embedded, play_real

Play = Callable[[Scenario], None]
PARTS = ("core", "bootstrap-kubeadm", "controlplane-kubeadm", "infrastructure-simulated")


@pytest.fixture(params=["embedded", "real"])
def play(request: pytest.FixtureRequest) -> Play:
    """Plays a scenario."""
    if request.param == "embedded":
        return lambda scenario: play_embedded(scenario, parts=PARTS)
    control_plane = request.getfixturevalue("real_control_plane")
    return lambda scenario: play_real(control_plane, scenario, parts=PARTS)
