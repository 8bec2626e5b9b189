from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from nagaya.apiserver.storage import Store, open_store
from unit.apiserver.storage.storage_world import Disk, ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, directory: Path, clock: ManualClock) -> AsyncIterator[Store]:
    store = Store(clock) if request.param == "memory" else await open_store(directory, clock)
    yield store
    await store.close()


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk(f"disk-{uuid4()}")
    yield disk
    disk.unregister()
