"""Why the demo cannot have a real control plane, in one sentence."""

from __future__ import annotations

import pytest

from nagaya.binaries.errors import Attempt, BinariesError, BinariesUnavailable
from nagaya.cli.demo.programs import reason

OFFLINE = Attempt("official release site", "github.com has no address here (Name or service not known).")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (BinariesUnavailable("etcd", [OFFLINE], ["Go online."]), OFFLINE.reason.rstrip(".")),
        (BinariesUnavailable("etcd", [OFFLINE, OFFLINE], []), OFFLINE.reason.rstrip(".")),
        (BinariesUnavailable("etcd", [], []), "etcd cannot be had"),
        (BinariesError("The cache is full.\nFree some."), "The cache is full"),
        (OSError("No space left on device"), "No space left on device"),
    ],
)
def test_the_reason_is_said_and_the_remedies_are_not(error: Exception, told: str) -> None:
    assert reason(error) == told
