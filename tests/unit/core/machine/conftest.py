"""Asynchronous tests run on virtual time here."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from support.virtual_time import VirtualLoop


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Mapping[str, type[VirtualLoop]]:
    return {"virtual": VirtualLoop}
