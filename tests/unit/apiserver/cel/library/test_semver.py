from __future__ import annotations

from collections.abc import Callable

from support.subtest_cases import subtest_cases

CASES = [
    ("isSemver('1.2.3')", "true"),
    ("isSemver('v1.2.3')", "false"),
    ("isSemver('1.2')", "false"),
    ("isSemver('v1.2', true)", "true"),
    ("isSemver('01.2.3')", "false"),
    ("isSemver('01.2.3', true)", "true"),
    ("semver('1.2')", "error: No Major.Minor.Patch elements found"),
    ("semver('a.b.c')", 'error: Invalid character(s) found in major number "a"'),
    ("semver('01.2.3')", 'error: Major number must not contain leading zeroes "01"'),
    ("semver('1.02.3')", 'error: Minor number must not contain leading zeroes "02"'),
    ("semver('1.2.03')", 'error: Patch number must not contain leading zeroes "03"'),
    ("semver('1.2.3-')", "error: Prerelease is empty"),
    ("semver('1.2.3-01')", 'error: Numeric PreRelease version must not contain leading zeroes "01"'),
    ("semver('1.2.3-a_b')", 'error: Invalid character(s) found in prerelease "a_b"'),
    ("semver('1.2.3+')", "error: Build meta data is empty"),
    ("semver('1.2.3+a_b')", 'error: Invalid character(s) found in build meta data "a_b"'),
    ("semver('')", "error: Version string empty"),
    ("semver('v1', true).major()", "1"),
    ("semver('1.2-alpha', true)", "error: short version cannot contain PreRelease/Build meta data"),
    ("semver('1.2.3').compareTo(semver('1.2.3-a'))", "1"),
    ("semver('1.2.3-1').isLessThan(semver('1.2.3-a'))", "true"),
    ("semver('1.10.0').isGreaterThan(semver('1.9.0'))", "true"),
    ("semver('1.2.3').minor()", "2"),
    ("semver('1.2.x')", 'error: Invalid character(s) found in patch number "x"'),
    (
        "semver('99999999999999999999.0.0')",
        'error: strconv.ParseUint: parsing "99999999999999999999": value out of range',
    ),
]


@subtest_cases(("expression", "expected"), CASES)
def test_versions_as_the_real_server_has_them(outcome_of: Callable[[str], str], expression: str, expected: str) -> None:
    assert outcome_of(expression) == expected
