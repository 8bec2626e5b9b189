from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from nagaya.core.machine.deletion.drain.report import Report
from nagaya.kube.key import Key

STARTED = datetime(2024, 10, 9, 16, 13, 59, tzinfo=UTC)
BUDGET = (
    "Cannot evict pod as it would violate the pod's disruption budget. "
    "The disruption budget pdb needs 20 healthy pods and has 20 currently"
)


def keys(*names: str) -> tuple[Key, ...]:
    return tuple(Key("apps", name) for name in names)


def test_nothing_left_means_drained() -> None:
    assert Report().drained
    assert not Report(wait_later=keys("a")).drained


def test_a_short_report() -> None:
    report = Report(
        going=keys("a", "b"),
        failed={BUDGET: keys("c"), "some other error 1": keys("d")},
        evict_later=keys("e", "f"),
    )
    assert report.message(STARTED).splitlines() == [
        "Drain not completed yet (started at 2024-10-09T16:13:59Z):",
        "* Pods apps/a, apps/b: deletionTimestamp set, but still not removed from the Node",
        "* Pod apps/c: cannot evict pod as it would violate the pod's disruption budget. "
        "The disruption budget pdb needs 20 healthy pods and has 20 currently",
        "* Pod apps/d: failed to evict Pod, some other error 1",
        "After above Pods have been removed from the Node, the following Pods will be evicted: apps/e, apps/f",
    ]


def test_a_long_report_names_three_pods_and_five_failures() -> None:
    report = Report(
        going=keys(*"abcdefg"),
        failed={
            BUDGET: keys(*"abcdef"),
            **{f"some other error {number}": keys(f"x{number}") for number in range(1, 6)},
        },
        evict_later=keys(*"abcde"),
        wait=keys("job"),
        wait_later=keys("later"),
    )
    assert report.message(STARTED).splitlines() == [
        "Drain not completed yet (started at 2024-10-09T16:13:59Z):",
        "* Pods apps/a, apps/b, apps/c, ... (4 more): deletionTimestamp set, but still not removed from the Node",
        "* Pods apps/a, apps/b, apps/c, ... (3 more): cannot evict pod as it would violate the pod's disruption "
        "budget. The disruption budget pdb needs 20 healthy pods and has 20 currently",
        *(f"* Pod apps/x{number}: failed to evict Pod, some other error {number}" for number in range(1, 5)),
        "* 1 Pod with other issues",
        "* Pod apps/job: waiting for completion",
        "After above Pods have been removed from the Node, the following Pods will be evicted: "
        "apps/a, apps/b, apps/c, ... (2 more)",
        "After above Pods have been removed from the Node, waiting for the following Pods to complete without "
        "eviction: apps/later",
    ]


def test_pods_with_other_issues_are_counted_together() -> None:
    failed = {f"some other error {number}": keys(f"x{number}") for number in range(1, 6)}
    failed |= {"some other error 6": keys("a", "b", "c"), "some other error 7": keys("d")}
    assert Report(failed=failed).message(STARTED).splitlines()[-1] == "* 4 Pods with other issues"


def test_dates_are_told_in_utc() -> None:
    local = STARTED.astimezone(timezone(timedelta(hours=2)))
    assert Report(wait=keys("a")).message(local) == Report(wait=keys("a")).message(STARTED)
