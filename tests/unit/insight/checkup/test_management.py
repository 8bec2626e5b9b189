"""What is said of the management API itself."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from nagaya.api.catalog import PARTS
from nagaya.api.crd import render
from nagaya.api.untyped import Untyped
from nagaya.insight.checkup.finding import Finding, Standing
from nagaya.insight.checkup.management import Seen, clock, findings, kinds, look, skew_of
from nagaya.kube.transport import Answer

BEFORE = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def definitions(*parts: str, change: Any = lambda content: None) -> dict[str, Untyped]:
    found = {}
    for part in parts:
        for each in PARTS[part]:
            content = deepcopy(render(each))
            content["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
            change(content)
            found[content["metadata"]["name"]] = Untyped(content)
    return found


def told(**seen: Any) -> list[Finding]:
    return list(kinds(Seen("https://plane", **seen)))


def test_an_api_with_all_kinds_is_well() -> None:
    found = findings(Seen("https://plane:6443", "v1.36.3", 0.0, definitions(*PARTS)))
    assert {each.standing for each in found} == {Standing.OK}
    assert found[0].evidence == "Kubernetes v1.36.3 answers at https://plane:6443."


def test_a_check_of_its_own_that_fails_is_a_problem() -> None:
    seen = Seen("https://plane:6443", "v1.36.3", 0.0, definitions(*PARTS), unready="storage failed: the disk is full")
    (problem,) = [each for each in findings(seen) if each.standing is Standing.PROBLEM]
    assert problem.evidence == "Its own checks fail: storage failed: the disk is full"


def test_parts_that_nobody_installed_are_only_mentioned() -> None:
    (found,) = told(definitions=definitions("core", "ipam"))
    assert found.standing is Standing.OK
    assert "Not installed: addons, runtime" in found.evidence


def test_an_api_without_clusters_is_told_how_to_get_them() -> None:
    (found,) = told(definitions={})
    assert found.standing is Standing.PROBLEM
    assert found.remedy == ("nagaya controllers --install-crds",)


def test_a_version_that_is_not_served_is_a_problem_with_the_command() -> None:
    def old(content: dict[str, Any]) -> None:
        if content["spec"]["names"]["kind"] == "InClusterIPPool":
            content["spec"]["versions"][0]["name"] = "v1alpha1"

    problem, well = told(definitions=definitions("core", "ipam", change=old))
    assert problem.standing is Standing.PROBLEM
    assert "inclusterippools.ipam.cluster.x-k8s.io in v1alpha2" in problem.evidence
    assert problem.remedy == ("nagaya crds --only ipam | kubectl apply --server-side -f -",)
    assert well.standing is Standing.OK


def test_definitions_that_would_lose_fields_are_a_warning() -> None:
    def older(content: dict[str, Any]) -> None:
        schema = content["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        if content["spec"]["names"]["kind"] == "InClusterIPPool":
            del schema["properties"]["spec"]["properties"]["excludedAddresses"]

    warning, _ = told(definitions=definitions("core", "ipam", change=older))
    assert warning.standing is Standing.WARNING
    assert "InClusterIPPool .spec.excludedAddresses" in warning.evidence
    assert "--force-conflicts" in warning.remedy[0]


def test_definitions_that_may_not_be_read_are_not_checked() -> None:
    (found,) = told(definitions=None, refused="forbidden")
    assert found.standing is Standing.UNCHECKED
    assert "forbidden" in found.evidence


@pytest.mark.parametrize(
    ("skew", "standing", "words"),
    [
        (None, Standing.UNCHECKED, "no date"),
        (0.0, Standing.OK, "Within 5 s"),
        (-4.9, Standing.OK, "Within 5 s"),
        (30.0, Standing.WARNING, "30 s ahead of"),
        (-30.0, Standing.WARNING, "30 s behind"),
        (90.0, Standing.PROBLEM, "not valid yet"),
    ],
)
def test_a_clock_that_differs_is_told(skew: float | None, standing: Standing, words: str) -> None:
    found = clock(Seen("https://plane", skew=skew))
    assert found.standing is standing
    assert words in found.evidence


@pytest.mark.parametrize(
    ("date", "skew"),
    [
        ("", None),
        ("yesterday", None),
        ("Sun, 01 Mar 2026 12:00:00 GMT", 0.0),  # of the second in which it was asked
        ("Sun, 01 Mar 2026 12:00:12 GMT", 10.0),
        ("Sun, 01 Mar 2026 11:59:50 GMT", -9.0),
    ],
)
def test_dates_are_of_some_moment_between_question_and_answer(date: str, skew: float | None) -> None:
    assert skew_of(date, BEFORE, BEFORE + timedelta(seconds=2)) == skew


def test_a_clock_that_is_behind_what_it_dated_is_a_problem() -> None:
    found = clock(Seen("https://plane", "v1.36.3", 0.0, behind=timedelta(days=370, hours=2)))
    assert found.standing is Standing.PROBLEM
    assert "370 days behind the newest of its definitions" in found.evidence
    for little in (timedelta(hours=2), timedelta(hours=-2), timedelta(days=-300)):
        assert clock(Seen("https://plane", "v1.36.3", 0.0, behind=little)).standing is Standing.OK


async def test_the_age_of_definitions_shows_that_a_clock_is_behind() -> None:
    class Answers:
        async def raw(self, *_: Any, **__: Any) -> Answer:
            return Answer(200, {"date": "Sun, 01 Mar 2026 12:00:00 GMT"}, b'{"gitVersion": "v1.36.3"}')

        async def list(self, _: Any) -> Any:
            made = {"metadata": {"name": "x", "creationTimestamp": "2027-03-06T12:00:00Z"}}
            return SimpleNamespace(items=[Untyped(made)])

    moment = SimpleNamespace(now=lambda: BEFORE)
    seen = await look(Answers(), "https://plane", moment)  # type: ignore[arg-type] # as much as is asked
    assert seen.behind == timedelta(days=370)
