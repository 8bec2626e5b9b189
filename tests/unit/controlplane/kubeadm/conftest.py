"""The bridge that tests of the controller run on, and its virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest

from support.virtual_time import VirtualLoop
from unit.controlplane.kubeadm.bridge import Bridge, running_bridge


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Mapping[str, type[VirtualLoop]]:
    return {"virtual": VirtualLoop}


@pytest.fixture
async def bridge() -> AsyncIterator[Bridge]:
    async with running_bridge() as here:
        yield here
