"""How long things take in the emulated data center, in seconds.

The defaults are small, so that a try is short; `realistic()` has what a modest real host needs. All of it is waiting on
the event loop, so on virtual time it costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """Durations of what PVE does."""

    task: float = 0.2
    """Any task without a duration of its own."""
    linked_clone: float = 0.5
    full_clone_per_gib: float = 0.5
    start: float = 0.5
    stop: float = 0.3
    shutdown: float = 1.0
    boot: float = 2.0
    """From power-on until the guest agent answers."""
    destroy: float = 0.3
    upload_per_mib: float = 0.001
    download_per_mib: float = 0.002
    refused_login: float = 3.0
    """A wrong password, ticket or token is answered late, so that guessing is slow."""
    broadcast: float = 10.0
    """Between two reports of a host to the others on what runs there."""
    forgotten: float = 300.0
    """After this the last report of a host that is off counts no more."""
    proxy_timeout: float = 30.0
    idle_connection: float = 5.0
    """A connection on which nothing happens for so long is ended."""
    agent_silence: float = 3.0


def realistic() -> Pace:
    """As a modest host with an SSD does it."""
    return Pace(
        task=1.0, linked_clone=3.0, full_clone_per_gib=6.0, start=2.5, stop=2.0, shutdown=8.0, boot=20.0, destroy=2.0,
        upload_per_mib=0.01, download_per_mib=0.05,
    )  # fmt: skip
