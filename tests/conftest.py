"""Fixtures for every tier."""

import asyncio

from support.real import real_control_plane

# Otherwise the loop that asyncio makes on demand for synchronous tests is never closed by anyone.
asyncio.set_event_loop(None)

__all__ = ["real_control_plane"]
