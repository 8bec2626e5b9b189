"""How often the nodes of a process renew their leases.

A kubelet does so every ten seconds. Thousands of simulated nodes in one process would spend their time on that alone,
so the interval grows with their number beyond fifty: together they never renew more than `per_second` leases a second,
which takes about half a percent of a core. A lease always says a duration that fits the interval, so nobody who reads
it takes a slow node for a dead one.
"""

from __future__ import annotations

from typing import Final

RENEWAL: Final = 10.0  # seconds between renewals, as the kubelet's
LEASE_DURATION: Final = 40  # seconds, as the kubelet's: four renewals
STATUS_RENEWALS: Final = 30  # renewals until an unchanged status is posted again: five minutes, as the kubelet's


class Pace:
    """Counts the nodes that send heartbeats, and says how far apart."""

    def __init__(self, renewal: float = RENEWAL, per_second: float = 5.0) -> None:
        """`renewal` is the shortest interval in seconds, `per_second` the most renewals of all nodes together."""
        self._renewal = renewal
        self._per_second = per_second
        self.nodes = 0

    @property
    def interval(self) -> float:
        """Seconds between two renewals of a node, at the present number of nodes."""
        return max(self._renewal, self.nodes / self._per_second)

    @property
    def lease_duration(self) -> int:
        """Seconds that a lease says it is good for."""
        return max(LEASE_DURATION, round(4 * self.interval))
