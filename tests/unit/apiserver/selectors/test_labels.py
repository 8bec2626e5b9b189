import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.selectors import labels
from nagaya.apiserver.selectors.labels import LabelSelector
from nagaya.apiserver.selectors.requirement import Operator, Requirement, SelectorError, checked
from support.subtest_cases import subtest_cases

LABELS = {"app": "web", "tier": "2", "empty": ""}


@subtest_cases(
    ("text", "matches"),
    [
        ("", True),
        ("  ", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web , tier=2", True),
        ("app!=web", False),
        ("other!=web", True),
        ("app in (web, db)", True),
        ("app in (db)", False),
        ("other in (web)", False),
        ("app notin (db,cache)", True),
        ("other notin (db)", True),
        ("app", True),
        ("other", False),
        ("!app", False),
        ("!other", True),
        ("tier>1", True),
        ("tier<2", False),
        ("app>1", False),
        ("other<1", False),
        ("empty=", True),
        ("empty in ()", True),
        ("empty in (,a)", True),
        ("app,!other,tier in (1,2,3)", True),
    ],
)
def test_labels_are_matched(text: str, matches: bool) -> None:
    assert labels.parse(text).matches(LABELS) is matches


def test_an_object_without_labels_can_be_selected() -> None:
    assert labels.parse("!a").matches(None)
    assert not labels.parse("a").matches(None)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("b=1,a", "a,b=1"),
        ("a in (c, b,a)", "a in (a,b,c)"),
        ("a notin(x)", "a notin (x)"),
        ("a==1,!b,c!=2", "a==1,!b,c!=2"),
        ("x>1,y<2", "x>1,y<2"),
        ("in in (notin)", "in in (notin)"),
        ("a in (,)", "a in ()"),
    ],
)
def test_a_selector_has_a_canonical_form(text: str, canonical: str) -> None:
    selector = labels.parse(text)
    assert str(selector) == canonical
    assert labels.parse(canonical) == selector


@subtest_cases(
    ("text", "problem"),
    [
        ("==x", "found '==', expected: !, identifier, or 'end of string'"),
        ("a==b=c", "found '=', expected: ',' or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a!b", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a notin b", "unable to parse requirement: found 'b' expected: '('"),
        (
            "a>b",
            'unable to parse requirement: values[0]: Invalid value: "b": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ],
)
def test_what_cannot_be_read_is_explained(text: str, problem: str) -> None:
    with pytest.raises(SelectorError) as raised:
        labels.parse(text)
    assert str(raised.value) == problem


def test_keys_and_values_have_to_be_valid() -> None:
    with pytest.raises(
        SelectorError, match=r'^unable to parse requirement: <nil>: Invalid value: "-a": name part must'
    ):
        labels.parse("-a=b")
    with pytest.raises(
        SelectorError, match=r'^unable to parse requirement: values\[0\]\[a\]: Invalid value: "-": a va'
    ):
        labels.parse("a=-")


def test_the_value_that_a_label_must_have_is_known() -> None:
    selector = labels.parse("a=1,b in (2),c in (3,4),d!=5")
    assert [selector.exact_match(key) for key in "abcde"] == ["1", "2", None, None, None]


def test_everything_and_nothing() -> None:
    assert labels.EVERYTHING.selects_everything
    assert labels.EVERYTHING.matches({})
    assert not labels.NOTHING.selects_everything
    assert not labels.NOTHING.matches({})
    assert labels.NOTHING != labels.EVERYTHING
    assert str(labels.NOTHING) == ""


def test_a_map_of_labels_is_a_selector() -> None:
    assert str(labels.from_labels({"b": "1", "a": "2"})) == "a=2,b=1"
    assert labels.from_labels(None) == labels.EVERYTHING


def test_requirements_are_checked() -> None:
    assert checked("a", Operator.IN, ["b", "a"]) == Requirement("a", Operator.IN, ("b", "a"))
    for operator, values, problem in [
        (Operator.IN, [], "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"),
        (
            Operator.EXISTS,
            ["a"],
            'values: Invalid value: ["a"]: values set must be empty for exists and does not exist',
        ),
        (Operator.EQUALS, [], "values: Invalid value: []: exact-match compatibility requires one single value"),
        (
            Operator.LESS_THAN,
            ["1", "x"],
            "[values: Invalid value: [\"1\",\"x\"]: for 'Gt', 'Lt' operators, exactly one value is required, "
            "values[1]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer]",
        ),
    ]:
        with pytest.raises(SelectorError) as raised:
            checked("a", operator, values)
        assert str(raised.value) == problem


@given(st.text(alphabet="ab/-.1 ,=!<>()\t\0é", max_size=20))
def test_any_text_is_a_selector_or_an_error(text: str) -> None:
    try:
        selector = labels.parse(text)
    except SelectorError:
        return
    assert labels.parse(str(selector)).matches({"a": "b"}) == selector.matches({"a": "b"})


_requirements = st.builds(
    lambda key, operator, values: Requirement(
        key, operator, tuple(values) if operator in (Operator.IN, Operator.NOT_IN) else (values[0],)
    ),
    st.sampled_from(["a", "b"]),
    st.sampled_from(list(Operator)),
    st.lists(st.sampled_from(["", "1", "2", "3", "x"]), min_size=1, max_size=3),
)


@given(
    st.lists(_requirements, min_size=1, max_size=4),
    st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from(["", "1", "2", "3", "x"])),
)
def test_a_long_selector_selects_what_each_of_its_requirements_does(
    requirements: list[Requirement], found: dict[str, str]
) -> None:
    each = [requirement for requirement in requirements if not _is_no_bound(requirement)]
    assert LabelSelector(each * 9).matches(found) == all(one.compiled()(found) for one in each)


def _is_no_bound(requirement: Requirement) -> bool:
    """A number is compared with numbers only: selectors with others are refused before."""
    is_numeric = requirement.operator in (Operator.GREATER_THAN, Operator.LESS_THAN)
    return is_numeric and not requirement.values[0].isdigit()
