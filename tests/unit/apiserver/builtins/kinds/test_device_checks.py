"""Rules that the kinds of dynamic resource allocation share."""

from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.builtins.kinds import device_checks
from nagaya.apiserver.meta.field_errors import Path
from support.subtest_cases import subtest_cases

X = Path("x")


def found(errors: list[object]) -> list[str]:
    return [str(error) for error in errors]


@subtest_cases(
    ("text", "problem"),
    [
        ("12345678-1234-1234-1234-123456789abc", ""),
        ("12345678-1234-1234-1234-123456789ABC", "uid must be in RFC 4122 normalized form"),
        ("12345678123412341234123456789abc", "uid must be in RFC 4122 normalized form"),
        ("{12345678-1234-1234-1234-123456789abc}", "uid must be in RFC 4122 normalized form"),
        ("urn:uuid:12345678-1234-1234-1234-123456789abc", "uid must be in RFC 4122 normalized form"),
        ("(12345678-1234-1234-1234-123456789abc)", "error validating uid: invalid bracketed UUID format"),
        ("x", "error validating uid: invalid UUID length: 1"),
        ("x" * 36, "error validating uid: invalid UUID format"),
    ],
)
def test_a_uid_has_one_form(text: str, problem: str) -> None:
    errors = found([*device_checks.uid(text, X)])
    assert errors == [] if not problem else errors[0].startswith(f'x: Invalid value: "{text}": {problem}')


@given(st.text("abc/", min_size=1, max_size=12))
def test_a_fully_qualified_name_has_a_domain(name: str) -> None:
    errors = device_checks.fully_qualified_name(name, X)
    if name.count("/") == 1:
        assert bool(errors) == (name.startswith("/") or name.endswith("/"))
    else:
        # More than one slash goes unchecked.
        assert bool(errors) == ("/" not in name)


def test_a_pool_is_named_in_parts() -> None:
    assert device_checks.pool_name("a.b/c", X) == []
    assert found([*device_checks.pool_name("", X)]) == ["x: Required value"]
    assert len(device_checks.pool_name("a//B", X)) == 2


def test_conditions_for_binding_come_with_those_for_failure() -> None:
    conditions = {"bindingConditions": ["a"], "bindingFailureConditions": ["a"]}
    overlap = "bindingFailureConditions must not overlap with bindingConditions"
    assert found([*device_checks.binding_conditions(conditions, X)]) == [
        f'x.bindingFailureConditions[0]: Invalid value: "a": {overlap}'
    ]
    needed = "bindingFailureConditions are required to use bindingConditions"
    assert found([*device_checks.binding_conditions({"bindingConditions": ["a"]}, X)]) == [
        f"x.bindingFailureConditions: Invalid value: null: {needed}"
    ]


@given(st.text("ab", max_size=60))
def test_long_keys_are_shown_without_their_middle(key: str) -> None:
    [error] = device_checks.mapping(
        {key: 1}, None, 20, lambda _, __: [], lambda _, at: device_checks.raw_object(None, at), X
    )
    shown = error.field.removeprefix("x[").removesuffix("]")
    assert shown == key if len(key) <= 20 else len(shown) == 20
