"""The plane that tests of the MachineSet controller run on, and its virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest

from support.virtual_time import VirtualLoop
from unit.core.machine_set.plane import Plane, running_plane


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Mapping[str, type[VirtualLoop]]:
    return {"virtual": VirtualLoop}


@pytest.fixture
async def plane() -> AsyncIterator[Plane]:
    async with running_plane() as here:
        yield here
