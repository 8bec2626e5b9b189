import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.selectors import fields
from nagaya.apiserver.selectors.fields import FieldRequirement
from nagaya.apiserver.selectors.requirement import SelectorError
from support.subtest_cases import subtest_cases

FIELDS = {"metadata.name": "a", "status.phase": "Running", "x": "a,b=c\\d"}


@subtest_cases(
    ("text", "matches"),
    [
        ("", True),
        (",", True),
        ("metadata.name=a", True),
        ("metadata.name==a", True),
        ("metadata.name!=a", False),
        ("metadata.name=a,status.phase!=Running", False),
        ("missing=", True),
        ("missing!=", False),
        (r"x=a\,b\=c\\d", True),
        ("=", True),
    ],
)
def test_fields_are_matched(text: str, matches: bool) -> None:
    assert fields.parse(text).matches(FIELDS) is matches


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
        ("a=b\\x", "invalid field selector: invalid escape sequence: \\x"),
    ],
)
def test_what_cannot_be_read_is_explained(text: str, problem: str) -> None:
    with pytest.raises(SelectorError) as raised:
        fields.parse(text)
    assert str(raised.value) == problem


def test_the_value_that_a_field_must_have_is_known() -> None:
    assert fields.exact_match("b!=1,metadata.name==x", "metadata.name") == "x"
    assert fields.exact_match("metadata.name!=x", "metadata.name") is None
    assert fields.exact_match("nonsense", "metadata.name") is None
    assert fields.exact_match("", "metadata.name") is None


def test_a_kind_can_rename_and_refuse_fields() -> None:
    selector = fields.parse("name=a,drop=me")
    changed = selector.transformed(lambda field, value: ("", "") if field == "drop" else (f"metadata.{field}", value))
    assert changed.requirements == (FieldRequirement("metadata.name", True, "a"),)

    def refuse(field: str, value: str) -> tuple[str, str]:
        raise LookupError(field)

    with pytest.raises(LookupError):
        selector.transformed(refuse)


def test_terms_are_sorted() -> None:
    assert str(fields.parse("b=1,a!=2")) == "a!=2,b=1"
    assert fields.parse("b=1,a=2") == fields.parse("a=2,b=1")


@given(st.text())
def test_any_value_can_be_asked_for(value: str) -> None:
    assert fields.parse(f"f={fields.escape(value)}").matches({"f": value})


@given(st.text(alphabet="ab=!,\\", max_size=12))
def test_any_text_is_a_selector_or_an_error(text: str) -> None:
    try:
        selector = fields.parse(text)
    except SelectorError:
        return
    assert fields.parse(str(selector)) == selector
