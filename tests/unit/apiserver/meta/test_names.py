import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.meta import names
from support.subtest_cases import subtest_cases

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', "
    "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
KEY = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', "
    "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize("text", ["a", "a-1", "0", "a--b", "a" * 63])
def test_a_label_is_letters_digits_and_inner_dashes(text: str) -> None:
    assert names.dns_label(text) == []


@subtest_cases("text", ["", "A", "-a", "a-", "a_b", "a b", "a\n", "é"])
def test_anything_else_is_no_label(text: str) -> None:
    assert names.dns_label(text) == [LABEL]


def test_a_subdomain_that_should_be_a_label_is_told_about_its_dots() -> None:
    assert names.dns_label("a.b") == ["must not contain dots"]


def test_a_label_that_is_too_long_and_wrong_gets_both_messages() -> None:
    assert names.dns_label("A" * 64) == ["must be no more than 63 characters", LABEL]


def test_a_subdomain_is_labels_with_dots() -> None:
    assert names.dns_subdomain("a.b-c.0") == []
    assert names.dns_subdomain("a..b") == [SUBDOMAIN]
    assert names.dns_subdomain("a" * 254) == ["must be no more than 253 characters"]


def test_a_caseless_subdomain_speaks_of_bytes_and_shows_the_plain_pattern() -> None:
    assert names.dns_subdomain_caseless("Example.COM") == []
    problems = names.dns_subdomain_caseless("_" * 254)
    assert problems[0] == "must be no more than 253 bytes"
    assert problems[1].startswith("an RFC 1123 subdomain must consist of alphanumeric characters")


def test_the_lengths_of_names_are_counted_in_bytes() -> None:
    assert names.dns_label("é" * 32) == ["must be no more than 63 characters", LABEL]
    assert names.qualified_name("é" * 32)[0] == "name part must be no more than 63 bytes"


def test_a_service_name_starts_with_a_letter() -> None:
    assert names.name_is_1035_label("a1") == []
    assert names.name_is_1035_label("1a")[0].startswith("a DNS-1035 label must consist of")


@pytest.mark.parametrize("text", ["a", "MyName", "x.io/a_b.c", "a" * 63, "a" * 253 + "/b"])
def test_a_label_key_is_a_name_with_an_optional_domain(text: str) -> None:
    assert names.qualified_name(text) == []


def test_a_label_key_names_the_part_that_is_wrong() -> None:
    assert names.qualified_name("/x") == ["prefix part must be non-empty"]
    assert names.qualified_name("X_/x") == [f"prefix part {SUBDOMAIN}"]
    assert names.qualified_name("x/") == ["name part must be non-empty", f"name part {KEY}"]
    assert names.qualified_name("a" * 64) == ["name part must be no more than 63 bytes"]
    assert names.qualified_name("-a") == [f"name part {KEY}"]


def test_a_label_key_has_one_slash_at_most() -> None:
    assert names.qualified_name("a/b/c") == [
        f"a valid label key {KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    ]


def test_a_label_value_may_be_empty() -> None:
    assert names.label_value("") == []
    assert names.label_value("a" * 64) == ["must be no more than 63 bytes"]
    assert names.label_value("-")[0].startswith("a valid label must be an empty string or consist of")


def test_a_config_key_may_not_lead_out_of_its_directory() -> None:
    assert names.config_key("key.name") == []
    assert names.config_key("..") == ["must not be '..'"]
    assert names.config_key("..a") == ["must not start with '..'"]
    assert names.config_key(".a") == []
    assert names.config_key("") == [
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME', "
        " or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
    ]


def test_environment_names_have_a_strict_and_a_relaxed_rule() -> None:
    assert names.environment_name("MY_ENV.NAME") == []
    assert len(names.environment_name("1A")) == 1
    assert names.environment_name_relaxed("1 A!") == []
    assert names.environment_name_relaxed("") == ["environment variable name must be non-empty"]
    for text in ("a=b", "é", "a\n"):
        assert names.environment_name_relaxed(text) == [
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
        ]


def test_a_port_name_is_told_all_that_is_wrong() -> None:
    assert names.port_name("http") == []
    assert names.port_name("-1--1-_" + "1" * 15) == [
        "must be no more than 15 characters",
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        "must contain at least one letter (a-z)",
        "must not contain consecutive hyphens",
        "must not begin or end with a hyphen",
    ]


def test_numbers_have_bounds() -> None:
    assert names.port_number(65535) == []
    assert names.port_number(0) == ["must be between 1 and 65535, inclusive"]
    assert names.user_id(2**31) == ["must be between 0 and 2147483647, inclusive"]


@subtest_cases(
    ("check", "good", "bad"),
    [
        (names.percent, "93%", "%"),
        (names.c_identifier, "_a1", "1a"),
        (names.http_header_name, "X-Name", "X Name"),
        (names.http_path, "foo/bar", "a b"),
        (names.wildcard_subdomain, "*.example.com", "example.com"),
        (names.dns_subdomain_with_underscore, "_a.b_c", "a-"),
        (names.decimal_integer, "-12", "012"),
        (names.decimal_integer, "0", ""),
    ],
)
def test_other_texts_have_patterns(check: object, good: str, bad: str) -> None:
    assert callable(check)
    assert check(good) == []
    assert len(check(bad)) == 1


def test_every_name_can_be_part_of_a_url() -> None:
    assert names.path_segment("A_b c") == []
    assert names.path_segment("..") == ["may not be '..'"]
    assert names.path_segment("..", True) == []
    assert names.path_segment("a/b%c") == ["may not contain '/'", "may not contain '%'"]


def test_a_generate_name_may_end_in_a_dash() -> None:
    assert names.name_is_subdomain("my-", True) == []
    assert names.name_is_subdomain("my-", False) == [SUBDOMAIN]
    assert names.name_is_label("-", True) == [LABEL]


@given(st.text())
def test_no_text_breaks_a_check(text: str) -> None:
    for check in (names.dns_label, names.dns_subdomain, names.qualified_name, names.label_value, names.port_name):
        assert all(isinstance(problem, str) for problem in check(text))


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True))
def test_every_label_is_a_subdomain_a_key_and_a_value(text: str) -> None:
    assert names.dns_label(text) == []
    assert names.dns_subdomain(text) == []
    assert names.qualified_name(text) == []
    assert names.label_value(text) == []
