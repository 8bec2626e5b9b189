from __future__ import annotations

import pytest

from nagaya.api.meta import Condition
from nagaya.kube.conditions import DefaultMerge, Source, condition, summary, weigh
from support.subtest_cases import subtest_cases

Told = tuple[str, str, str]
"""Type, status and message."""


def source(*told: Told) -> Source:
    conditions = tuple(_condition(type, status, message) for type, status, message in told)
    return Source("Phase3Obj", "SourceObject", conditions)


def _condition(type: str, status: str, message: str) -> Condition:
    assert status in ("True", "False", "Unknown")
    return condition(type, status, f"Reason-{type}", message)  # type: ignore[arg-type]  # checked above


CASES: dict[str, tuple[list[Told], str, str, str]] = {
    "one issue": (
        [("B", "True", "Message-B"), ("A", "True", "Message-A"), ("!C", "True", "Message-!C")],
        "False",
        "IssuesReported",
        "* !C: Message-!C",
    ),
    "one issue without a message": (
        [("B", "True", ""), ("A", "True", ""), ("!C", "True", "")],
        "False",
        "IssuesReported",
        "* !C: Reason-!C",
    ),
    "more than one issue": (
        [("B", "False", "Message-B"), ("A", "True", "Message-A"), ("!C", "True", "Message-!C")],
        "False",
        "IssuesReported",
        "* B: Message-B\n* !C: Message-!C",
    ),
    "messages of several lines": (
        [
            ("B", "False", "Message-B"),
            ("A", "True", "Message-A"),
            ("!C", "True", "* Message-!C1\n* Message-!C2"),
            ("D", "False", "Message-D\n* More message-D"),
        ],
        "False",
        "IssuesReported",
        "* B: Message-B\n* !C:\n  * Message-!C1\n  * Message-!C2\n* D:\n  * Message-D\n    * More message-D",
    ),
    "issues and unknown, in the given order": (
        [("B", "False", "Message-B"), ("A", "Unknown", "Message-A"), ("!C", "True", "Message-!C")],
        "False",
        "IssuesReported",
        "* A: Message-A\n* B: Message-B\n* !C: Message-!C",
    ),
    "one unknown": (
        [("B", "True", "Message-B"), ("A", "True", "Message-A"), ("!C", "Unknown", "Message-!C")],
        "Unknown",
        "UnknownReported",
        "* !C: Message-!C",
    ),
    "more than one unknown": (
        [("B", "Unknown", "Message-B"), ("A", "True", "Message-A"), ("!C", "Unknown", "Message-!C")],
        "Unknown",
        "UnknownReported",
        "* B: Message-B\n* !C: Message-!C",
    ),
    "only good news, some without a message": (
        [("B", "True", "Message-B"), ("A", "True", ""), ("!C", "False", "Message-!C")],
        "True",
        "InfoReported",
        "* B: Message-B\n* !C: Message-!C",
    ),
    "missing conditions": (
        [("A", "True", "Message-A")],
        "Unknown",
        "UnknownReported",
        "* B: Condition not yet reported\n* !C: Condition not yet reported",
    ),
}


@subtest_cases("name", CASES)
def test_a_summary_reads_as_in_cluster_api(name: str) -> None:
    told, status, reason, message = CASES[name]
    types = ["A", "B", "!C", "D"] if any(each[0] == "D" for each in told) else ["A", "B", "!C"]
    found = summary(source(*told), "Available", types, negative=["!C"])
    assert (found.type, found.status, found.reason, found.message) == ("Available", status, reason, message)


def test_nested_bullets_stay_nested() -> None:
    found = summary(source(("E", "False", "* E1\n  * More E1\n* E2")), "Ready", ["E"])
    assert found.message == "* E:\n  * E1\n    * More E1\n  * E2"


def test_types_that_may_be_missing_do_not_count() -> None:
    only = source(("A", "True", "Message-A"))
    found = summary(only, "Available", ["A", "B", "!C"], negative=["!C"], ignore_if_missing=["B"])
    assert found.message == "* !C: Condition not yet reported"
    found = summary(only, "Available", ["A", "B", "!C"], negative=["!C"], ignore_if_missing=["B", "!C"])
    assert (found.status, found.reason, found.message) == ("True", "InfoReported", "* A: Message-A")


def test_conditions_out_of_scope_do_not_count() -> None:
    found = summary(source(("B", "True", "Message-B"), ("A", "True", ""), ("C", "Unknown", "x")), "Ready", ["A", "B"])
    assert (found.status, found.message) == ("True", "* B: Message-B")


def test_an_override_stands_in_for_a_condition() -> None:
    both = source(("A", "True", "Message-A"), ("!C", "True", "Message-C"))
    other = condition("!C", True, "Reason-C-additional", "Message-C-additional")
    found = summary(both, "Available", ["A", "!C"], negative=["!C"], overrides=[other])
    assert (found.status, found.message) == ("False", "* !C: Message-C-additional")


def test_lines_can_be_transformed() -> None:
    strategy = DefaultMerge(weigh(["!C"]), transform=lambda lines: [line.lower() for line in lines])
    good = source(("B", "True", "Message-B"), ("A", "True", ""), ("!C", "False", "Message-!C"))
    found = summary(good, "Available", ["A", "B", "!C"], strategy=strategy)
    assert found.message == "* b: message-b\n* !c: message-!c"


def test_contradictory_arguments_are_refused() -> None:
    both = source(("A", "True", ""), ("C", "True", ""))
    other = condition("C", True, "R")
    with pytest.raises(ValueError, match="needs the types"):
        summary(both, "Ready", [])
    with pytest.raises(ValueError, match="cannot include Ready"):
        summary(both, "Ready", ["Ready"])
    with pytest.raises(ValueError, match="multiple times"):
        summary(both, "Ready", ["C"], overrides=[other, other])
    with pytest.raises(ValueError, match="must exist"):
        summary(source(("A", "True", "")), "Ready", ["A"], overrides=[other])
    with pytest.raises(ValueError, match="empty"):
        summary(source(), "Ready", ["A"], ignore_if_missing=["A"])
