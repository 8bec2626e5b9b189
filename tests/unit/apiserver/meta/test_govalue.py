from __future__ import annotations

from nagaya.apiserver.meta import govalue
from support.subtest_cases import subtest_cases


def test_maps_are_printed_sorted() -> None:
    assert govalue.plain({"b": [1, "x", None], "a": {"c": True}, "f": 1.5}) == "map[a:map[c:true] b:[1 x <nil>] f:1.5]"


@subtest_cases(
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
    assert govalue.plain(value) == text


def test_values_as_literals() -> None:
    value = {"b": [1, None, False], "a": 'q"'}
    expected = 'map[string]interface {}{"a":"q\\"", "b":[]interface {}{1, interface {}(nil), false}}'
    assert govalue.literal(value) == expected


def test_what_is_no_text_is_marked_where_a_text_was_meant() -> None:
    assert govalue.as_string("x") == "x"
    assert govalue.as_string(1) == "%!s(int64=1)"
    assert govalue.as_string(None) == "%!s(<nil>)"
    assert govalue.as_string({"a": [True, 1.5]}) == "map[a:[%!s(bool=true) %!s(float64=1.5)]]"


def test_json_values_have_go_types() -> None:
    values = ["a", None, True, 1, 1.5, {}, []]
    assert [govalue.type_name(value) for value in values] == [
        "string",
        "<nil>",
        "bool",
        "int64",
        "float64",
        "map[string]interface {}",
        "[]interface {}",
    ]


def test_whole_numbers_lose_their_fraction_in_json() -> None:
    assert govalue.compact_json({"b": [1.0, 2.5], "a": "<&>"}) == '{"a":"\\u003c\\u0026\\u003e","b":[1,2.5]}'


def test_the_members_of_a_struct_keep_their_order() -> None:
    assert govalue.struct_json({"b": 1.0, "a": "<"}) == '{"b":1,"a":"\\u003c"}'
