from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from nagaya.pki.authority import CertificateAuthority


class FixedClock:
    """A clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.date = datetime(2026, 5, 4, 3, 2, 1, 123456, tzinfo=UTC)

    def now(self) -> datetime:
        return self.date

    def monotonic(self) -> float:
        return self.date.timestamp()

    def advance(self, **by: float) -> None:
        self.date += timedelta(**by)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def authority(clock: FixedClock) -> CertificateAuthority:
    return CertificateAuthority.create("test-ca", clock)
