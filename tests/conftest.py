"""Fixtures for every tier."""

import asyncio
import signal

from hypothesis import HealthCheck, settings

from support.real import real_control_plane

# Otherwise the loop that asyncio makes on demand for synchronous tests is never closed by anyone.
asyncio.set_event_loop(None)

# Whoever starts the tests in the background has them ignore Ctrl-C, and every program that they start too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says something of the machine, not of the code: no test may fail by the clock.
settings.register_profile("nagaya", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("nagaya")

__all__ = ["real_control_plane"]
