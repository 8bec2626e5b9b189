"""The plane that tests of the MachineSet controller run on."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from unit.core.machine_set.plane import Plane, running_plane


@pytest.fixture
async def plane() -> AsyncIterator[Plane]:
    async with running_plane() as here:
        yield here
