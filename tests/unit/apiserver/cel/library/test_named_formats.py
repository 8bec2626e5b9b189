from __future__ import annotations

from collections.abc import Callable

from support.subtest_cases import subtest_cases

CASES = [
    ("format.named('nope')", "none"),
    (
        "format.dns1123Label().validate('Abc')",
        "optional([\"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and"
        " must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
        "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\"])",
    ),
    ("format.dns1123Label().validate('a.b')", "optional(['must not contain dots'])"),
    ("format.dns1123Label().validate('ok')", "none"),
    (
        "format.dns1123Subdomain().validate('A..b')",
        "optional([\"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or"
        " '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
        "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')\"])",
    ),
    (
        "format.dns1035Label().validate('1a')",
        "optional([\"a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an"
        " alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex "
        "used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')\"])",
    ),
    (
        "format.qualifiedName().validate('a/b/c')",
        "optional([\"a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must "
        "start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
        "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain "
        "prefix and '/' (e.g. 'example.com/MyName')\"])",
    ),
    (
        "format.qualifiedName().validate('-a')",
        "optional([\"name part must consist of alphanumeric characters, '-', '_' or '.', and must start and "
        "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
        "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\"])",
    ),
    (
        "format.labelValue().validate('-a')",
        "optional([\"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
        "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\"])",
    ),
    ("format.dns1123LabelPrefix().validate('abc-')", "none"),
    ("format.dns1123SubdomainPrefix().validate('a.b-')", "none"),
    ("format.dns1035LabelPrefix().validate('a-')", "none"),
    ("format.uri().validate('x')", "optional(['parse \"x\": invalid URI for request'])"),
    ("format.uri().validate('http://a')", "none"),
    ("format.uuid().validate('x')", "optional(['does not match the UUID format'])"),
    ("format.uuid().validate('123e4567-e89b-12d3-a456-426614174000')", "none"),
    ("format.byte().validate('YQ==')", "none"),
    ("format.byte().validate('%')", "optional(['invalid base64'])"),
    ("format.date().validate('2020-02-30')", "optional(['invalid date'])"),
    ("format.date().validate('2020-02-29')", "none"),
    ("format.datetime().validate('2020-01-01T00:00:00Z')", "none"),
    ("format.datetime().validate('x')", "optional(['invalid datetime'])"),
    (
        "format.dns1123Label().validate('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')",
        "optional(['must be no more than 63 characters'])",
    ),
    ("!format.dns1123Label().validate('x').hasValue()", "true"),
    (
        "format.foo()",
        "refused 1:1: undeclared reference to 'format' (in container ''); 1:11: undeclared reference to 'foo'"
        " (in container '')",
    ),
]


@subtest_cases(("expression", "expected"), CASES)
def test_named_formats_as_the_real_server_has_them(
    outcome_of: Callable[[str], str], expression: str, expected: str
) -> None:
    assert outcome_of(expression) == expected
