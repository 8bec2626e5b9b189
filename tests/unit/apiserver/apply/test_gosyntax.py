"""JSON values as Go prints them."""

import pytest

from nagaya.apiserver.apply import gosyntax


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (-2.5, "-2.5"),
        (123456.0, "123456"),
        (1e6, "1e+06"),
        (1234567.5, "1.2345675e+06"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1e22, "1e+22"),
        (5e-324, "5e-324"),
    ],
)
def test_floats_get_an_exponent_early(value: float, text: str) -> None:
    assert gosyntax.number(value) == text


def test_values_in_plain_form() -> None:
    value = {"b": [1, None, True, "x y"], "a": {"c": 1e6}}
    assert gosyntax.plain(value) == "map[a:map[c:1e+06] b:[1 <nil> true x y]]"


def test_values_as_literals() -> None:
    value = {"b": [1, None, False], "a": 'q"'}
    expected = 'map[string]interface {}{"a":"q\\"", "b":[]interface {}{1, interface {}(nil), false}}'
    assert gosyntax.literal(value) == expected


def test_types_of_decoded_values() -> None:
    names = [gosyntax.type_name(value) for value in ("", True, 1, 1.5, [], {}, None)]
    assert names == ["string", "bool", "int64", "float64", "[]interface {}", "map[string]interface {}", "<nil>"]
