"""Scenarios of kubeadm control planes, on the embedded server and on the real one."""

from __future__ import annotations

import pytest

from support.servers import SERVERS, Play, player

PARTS = ("core", "bootstrap-kubeadm", "controlplane-kubeadm", "infrastructure-simulated")


@pytest.fixture(params=SERVERS)
def play(request: pytest.FixtureRequest) -> Play:
    """Plays a scenario."""
    return player(request, PARTS)
