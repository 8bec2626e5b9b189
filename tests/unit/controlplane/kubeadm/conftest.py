"""The bridge that tests of the controller run on."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from unit.controlplane.kubeadm.bridge import Bridge, running_bridge


@pytest.fixture
async def bridge() -> AsyncIterator[Bridge]:
    async with running_bridge() as here:
        yield here
