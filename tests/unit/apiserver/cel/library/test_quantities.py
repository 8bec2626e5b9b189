from __future__ import annotations

from collections.abc import Callable

from support.subtest_cases import subtest_cases

CASES = [
    ("isQuantity('1Gi')", "true"),
    ("isQuantity('x')", "false"),
    ("isQuantity('')", "false"),
    ("isQuantity('1.5.5')", "false"),
    ("isQuantity('1e')", "false"),
    ("isQuantity('1Mo')", "false"),
    (
        "quantity('x')",
        "error: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    (
        "quantity('1zz')",
        "error: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    (
        "quantity('')",
        "error: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    ("quantity('50k').asInteger()", "50000"),
    ("quantity('1.5').asInteger()", "error: cannot convert value to integer"),
    ("quantity('1.5').isInteger()", "false"),
    ("quantity('1500m').isInteger()", "false"),
    ("quantity('1000m').isInteger()", "false"),
    ("quantity('9999999999999999999').isInteger()", "false"),
    ("quantity('1.5').asApproximateFloat()", "1.5 (double)"),
    ("quantity('1Gi').asApproximateFloat()", "1.073741824e+09 (double)"),
    ("quantity('1m').asApproximateFloat()", "0.001 (double)"),
    ("sign(quantity('-5'))", "-1"),
    ("quantity('5').sign()", "refused 1:19: found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'"),
    ("quantity('1k').add(quantity('1')).asInteger()", "1001"),
    ("quantity('1k').add(5).asInteger()", "1005"),
    ("quantity('1k').sub(quantity('1Ki')).asInteger()", "-24"),
    ("quantity('1k').sub(24).asInteger()", "976"),
    ("quantity('0.1').add(quantity('0.2')) == quantity('0.3')", "true"),
    ("quantity('1Ki').compareTo(quantity('1024'))", "0"),
    ("quantity('500m').add(quantity('500m')).isInteger()", "false"),
    ("quantity('500m').add(quantity('500m')).asInteger()", "error: cannot convert value to integer"),
    ("quantity('0').add(quantity('1k')).asInteger()", "1000"),
    ("quantity('9223372036854775807').add(1).isInteger()", "false"),
    ("quantity('1E').asInteger()", "1000000000000000000"),
    ("quantity('10E').isInteger()", "false"),
    ("quantity('0.5Gi').isInteger()", "false"),
    ("quantity('1e3').asInteger()", "1000"),
    ("quantity('1e-3').asApproximateFloat()", "0.001 (double)"),
]


@subtest_cases(("expression", "expected"), CASES)
def test_quantities_as_the_real_server_has_them(
    outcome_of: Callable[[str], str], expression: str, expected: str
) -> None:
    assert outcome_of(expression) == expected
