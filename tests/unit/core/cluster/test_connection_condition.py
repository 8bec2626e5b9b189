from __future__ import annotations

from datetime import timedelta

import pytest

from nagaya.core.cluster.connection_condition import probe_expires, remote_connection_probe
from nagaya.kube.remote import Probe
from support.builders import NOW
from support.seen_cluster import grown_cluster, seen


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        (Probe(), ("False", "ProbeFailed", "Remote connection not established yet")),
        (Probe(failures=4), ("False", "ProbeFailed", "Remote connection not established yet")),
        (Probe(failures=5), ("False", "ProbeFailed", "Remote connection probe failed")),
        (
            Probe(NOW - timedelta(seconds=51), failures=1),
            ("False", "ProbeFailed", "Remote connection probe failed, probe last succeeded at 2026-11-01T11:59:09Z"),
        ),
        (Probe(NOW - timedelta(seconds=49), failures=3), ("True", "ProbeSucceeded", "")),
    ],
)
def test_remote_connection_probe(probe: Probe, expected: tuple[str, str, str]) -> None:
    condition = remote_connection_probe(seen(grown_cluster(), probe=probe))
    assert condition is not None
    assert (condition.status, condition.reason, condition.message) == expected


def test_after_a_restart_the_old_word_stands_until_something_is_known() -> None:
    known = grown_cluster().reporting("RemoteConnectionProbe", "True", "ProbeSucceeded")
    assert remote_connection_probe(seen(known, probe=Probe(failures=4))) is None
    assert remote_connection_probe(seen(known, probe=Probe(failures=5))) is not None


def test_the_end_of_the_grace_is_waited_for_only_if_no_good_probe_will_come() -> None:
    ten_ago = NOW - timedelta(seconds=10)
    assert probe_expires(seen(grown_cluster(), probe=Probe(ten_ago))) is None
    assert probe_expires(seen(grown_cluster(), probe=Probe(ten_ago, failures=1))) == 41.0
    assert probe_expires(seen(grown_cluster(), probe=Probe(ten_ago), connected=False)) == 41.0
    assert probe_expires(seen(grown_cluster(), probe=Probe(NOW - timedelta(seconds=60), failures=9))) is None
    assert probe_expires(seen(grown_cluster(), probe=Probe(failures=9), connected=False)) is None
