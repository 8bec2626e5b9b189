from __future__ import annotations

from nagaya.apiserver.cel.source import NOWHERE, Issues


def test_a_finding_is_shown_with_its_line_and_a_caret() -> None:
    issues = Issues("self.a\n  && foo")
    issues.report(12, "undeclared reference to 'foo' (in container '')")
    assert str(issues) == (
        "ERROR: <input>:2:6: undeclared reference to 'foo' (in container '')\n |   && foo\n | .....^"
    )


def test_findings_are_shown_by_place() -> None:
    issues = Issues("a + b")
    issues.report(4, "second")
    issues.report(0, "first")
    assert [line for line in str(issues).splitlines() if "ERROR" in line] == [
        "ERROR: <input>:1:1: first",
        "ERROR: <input>:1:5: second",
    ]


def test_wide_characters_get_wide_dots() -> None:
    issues = Issues("'é' + x")
    issues.report(6, "m")
    assert str(issues).splitlines()[2] == " | .．....^"


def test_a_finding_about_the_whole_has_no_snippet() -> None:
    issues = Issues("x")
    issues.report(NOWHERE, "too long")
    assert str(issues) == "ERROR: <input>:-1:0: too long"


def test_only_a_hundred_findings_are_shown() -> None:
    issues = Issues("x" * 200)
    for offset in range(105):
        issues.report(offset, "m")
    assert str(issues).endswith("\n5 more errors were truncated")
