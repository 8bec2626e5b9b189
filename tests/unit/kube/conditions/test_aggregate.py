from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from nagaya.api.meta import ConditionStatus
from nagaya.kube.conditions import DefaultMerge, Source, aggregate, condition, reasons, weigh
from nagaya.kube.conditions.aggregate_message import plural
from support.subtest_cases import subtest_cases

Told = tuple[ConditionStatus, str]


def sources(*told: Told | None, type: str = "Available", kind: str = "Phase3Obj") -> list[Source]:
    return [
        Source(kind, f"obj{number}", () if each is None else (condition(type, each[0], "Reason", each[1]),))
        for number, each in enumerate(told)
    ]


def issue(text: str) -> Told:
    return "False", text


def unknown(text: str) -> Told:
    return "Unknown", text


GOOD: Told = ("True", "Message-99")
CASES: dict[str, tuple[Sequence[Told | None], str, str, str]] = {
    "one issue": ([issue("Message-1"), GOOD], "False", "IssuesReported", "* Phase3Obj obj0: Message-1"),
    "the same issue of three": (
        [issue("Message-1")] * 3 + [GOOD],
        "False",
        "IssuesReported",
        "* Phase3Objs obj0, obj1, obj2: Message-1",
    ),
    "the same issue of more than three": (
        [issue("Message-1")] * 5 + [GOOD],
        "False",
        "IssuesReported",
        "* Phase3Objs obj0, obj1, obj2, ... (2 more): Message-1",
    ),
    "three different issues": (
        [issue(f"Message-{number}") for number in (1, 2, 2, 1, 1, 3)] + [GOOD],
        "False",
        "IssuesReported",
        "* Phase3Objs obj0, obj3, obj4: Message-1\n* Phase3Objs obj1, obj2: Message-2\n* Phase3Obj obj5: Message-3",
    ),
    "three different issues that are lists": (
        [*map(issue, ("* 1", "* 2A\n* 2B", "* 2A\n* 2B", "* 1", "* 1", "* 3")), GOOD],
        "False",
        "IssuesReported",
        "* Phase3Objs obj0, obj3, obj4:\n  * 1\n* Phase3Objs obj1, obj2:\n  * 2A\n  * 2B\n* Phase3Obj obj5:\n  * 3",
    ),
    "more than three different issues": (
        [issue(f"Message-{number}") for number in (1, 2, 4, 5, 1, 3)] + [GOOD],
        "False",
        "IssuesReported",
        "* Phase3Objs obj0, obj4: Message-1\n* Phase3Obj obj1: Message-2\n* Phase3Obj obj2: Message-4\n"
        "And 2 Phase3Objs with other issues",
    ),
    "issues before unknown": (
        [unknown("Message-1")] * 5 + [issue("Message-2"), issue("Message-3"), issue("Message-4"), issue("M-5")],
        "False",
        "IssuesReported",
        "* Phase3Obj obj5: Message-2\n* Phase3Obj obj6: Message-3\n* Phase3Obj obj7: Message-4\n"
        "And 1 Phase3Obj with other issues\nAnd 5 Phase3Objs with status unknown",
    ),
    "unknown only": (
        [("Unknown", "Message-1"), GOOD, None],
        "Unknown",
        "UnknownReported",
        "* Phase3Obj obj0: Message-1\n* Phase3Obj obj2: Condition Available not yet reported",
    ),
    "good news only": (
        [("True", text) for text in ("Message-1", "Message-2", "Message-4", "Message-5", "Message-1", "", "Message-3")],
        "True",
        "InfoReported",
        "* Phase3Objs obj0, obj4: Message-1\n* Phase3Obj obj1: Message-2\n* Phase3Obj obj2: Message-4\n"
        "And 2 Phase3Objs with additional info",
    ),
    "good news without words": ([("True", ""), ("True", "")], "True", "InfoReported", ""),
}


@subtest_cases("name", CASES)
def test_an_aggregate_reads_as_in_cluster_api(name: str) -> None:
    told, status, reason, message = CASES[name]
    found = aggregate(sources(*told), "Available")
    assert (found.type, found.status, found.reason, found.message) == ("Available", status, reason, message)


def test_a_negative_condition_gives_a_negative_aggregate() -> None:
    both = sources(("True", "Message-1"), ("False", "Message-99"), type="ScalingUp")
    found = aggregate(both, "ScalingUp", negative=True, target="SomethingScaling")
    assert (found.type, found.status) == ("SomethingScaling", "True")
    assert found.message == "* Phase3Obj obj0: Message-1"


def test_a_strategy_of_ones_own_decides_polarity_and_reason() -> None:
    both = sources(("True", "Message-1"), ("False", "Message-99"), type="ScalingUp")
    positive = DefaultMerge(weigh(["ScalingUp"]), reason=reasons("bad", "unknown", "good"))
    found = aggregate(both, "ScalingUp", strategy=positive)
    assert (found.status, found.reason) == ("False", "bad")
    negative = DefaultMerge(weigh(["ScalingUp"]), positive=False, reason=reasons("good", "unknown", "bad"))
    found = aggregate(both, "ScalingUp", strategy=negative)
    assert (found.status, found.reason) == ("True", "good")


def test_kinds_are_told_apart_and_share_the_three_messages() -> None:
    names = {1: ["02", "01", "05", "08", "09"], 2: ["04", "03"], 3: ["06"], 4: ["07"], 5: ["10"]}
    texts = {1: "Message-1", 2: "* Message-2", 3: "* Message-3A\n* Message-3B", 4: "Message-4", 5: "Message-5"}
    told = [
        Source("MachineDeployment", f"obj{name}", (condition("A", False, "R", texts[number]),))
        for number, listed in names.items()
        for name in listed
    ]
    told += [Source("MachineSet", name, (condition("A", False, "R", "Message-1"),)) for name in ("obj11", "obj12")]
    assert aggregate(told, "A").message.split("\n") == [
        "* MachineDeployments obj01, obj02, obj05, ... (2 more): Message-1",
        "* MachineDeployments obj03, obj04:",
        "  * Message-2",
        "* MachineDeployment obj06:",
        "  * Message-3A",
        "  * Message-3B",
        "And 2 MachineDeployments with other issues",
        "And 2 MachineSets with other issues",
    ]


def test_control_plane_machines_go_first() -> None:
    told = [
        Source("Machine", "obj02", (condition("A", "Unknown", "R", "* Message-1"),), control_plane_machine=True),
        Source("Machine", "obj01", (condition("A", "Unknown", "R", "* Message-1"),)),
        Source("Machine", "obj04", (condition("A", False, "R", "* Message-2"),)),
        Source("Machine", "obj03", (condition("A", False, "R", "* Message-2"),)),
        Source("Machine", "obj06", (condition("A", False, "R", "* Message-3A\n* Message-3B"),)),
        Source("Machine", "obj05", (condition("A", False, "R", "* Message-2"),)),
    ]
    assert aggregate(told, "A").message.split("\n") == [
        "* Machines obj02, obj01:",
        "  * Message-1",
        "* Machines obj03, obj04, obj05:",
        "  * Message-2",
        "* Machine obj06:",
        "  * Message-3A",
        "  * Message-3B",
    ]


def test_equally_frequent_messages_are_ordered_by_who_reported_them_first() -> None:
    """The objects of a message are compared in the order in which their conditions changed."""

    def machine(name: str, text: str, minute: int) -> Source:
        since = datetime(2026, 1, 1, 0, minute, tzinfo=UTC)
        return Source("Machine", name, (condition("A", False, "R", text, since=since),))

    told = [machine("a", "x", 5), machine("d", "x", 1), machine("b", "y", 3), machine("c", "y", 2)]
    assert aggregate(told, "A").message == "* Machines b, c: y\n* Machines a, d: x"


def test_nothing_cannot_be_aggregated() -> None:
    with pytest.raises(ValueError, match="at least one object"):
        aggregate([], "Available")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("Machine", "Machines"),
        ("MachineProxy", "MachineProxies"),
        ("Gateway", "Gateways"),
        ("ClusterClass", "ClusterClasses"),
        ("Box", "Boxes"),
    ],
)
def test_kinds_have_plurals(kind: str, expected: str) -> None:
    assert plural(kind) == expected
