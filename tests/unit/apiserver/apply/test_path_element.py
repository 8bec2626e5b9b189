"""Path elements: one text for each, in the words that managedFields uses."""

import pytest

from nagaya.apiserver.apply import path_element
from support.subtest_cases import subtest_cases


@subtest_cases(
    ("value", "text"),
    [
        ("a", 'v:"a"'),
        ("<&>", 'v:"\\u003c\\u0026\\u003e"'),
        ('q"\\', 'v:"q\\"\\\\"'),
        ("tab\tline\nbell\a", 'v:"tab\\tline\\nbell\\u0007"'),
        ("é\u2028", 'v:"é\\u2028"'),
        (True, "v:true"),
        (80, "v:80"),
        (1.0, "v:1"),
        (1.5, "v:1.5"),
        (1e20, "v:100000000000000000000"),
        (1e21, "v:1e+21"),
        (1e-7, "v:1e-07"),
        (None, "v:null"),
        ([1, {"b": 2, "a": 1}], 'v:[1,{"a":1,"b":2}]'),
    ],
)
def test_a_value_is_written_like_kubernetes_writes_it(value: object, text: str) -> None:
    assert path_element.by_value(value) == text
    assert path_element.canonical(text) == text


def test_key_fields_are_sorted_by_name() -> None:
    assert path_element.by_keys({"protocol": "TCP", "port": 80}) == 'k:{"port":80,"protocol":"TCP"}'


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("f:any thing", "f:any thing"),
        ('k:{ "protocol":"TCP","port":80.0}', 'k:{"port":80,"protocol":"TCP"}'),
        ("k:null", "k:{}"),
        ("v: 3", "v:3"),
        ("i:+7", "i:7"),
        ("x:future", None),
    ],
)
def test_what_others_wrote_is_brought_into_canonical_form(written: str, canonical: str | None) -> None:
    assert path_element.canonical(written) == canonical


@subtest_cases("text", ["", "f", "fx", "i:1.5", "i:", "v:", "v:{", "k:[1]", "k:x"])
def test_what_is_no_path_element_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        path_element.canonical(text)


def test_fields_come_before_keys_before_values_before_positions() -> None:
    ordered = [
        ".",
        "f:a",
        "f:b",
        'k:{"a":2}',
        'k:{"a":10}',
        'k:{"a":10,"b":1}',
        'k:{"a":"1"}',
        'k:{"b":1}',
        "v:-1",
        "v:2",
        "v:10",
        'v:"10"',
        'v:"2"',
        "v:false",
        "v:true",
        "v:[1]",
        "v:[1,1]",
        'v:{"a":1}',
        "v:null",
        "i:2",
        "i:10",
    ]
    shuffled = ordered[1::2] + ordered[::2]
    assert sorted(shuffled, key=path_element.order) == ordered


@pytest.mark.parametrize(
    ("element", "shown"),
    [
        ("f:name", ".name"),
        ('k:{"name":"a"}', '[name="a"]'),
        ('k:{"port":3000000,"protocol":"TCP"}', '[port=3e+06,protocol="TCP"]'),
        ('v:"a\\"b"', '[="a\\"b"]'),
        ("v:[1,null]", "[=[1,null]]"),
        ('v:{"a":true}', "[=a=true]"),
        ("i:4", "[4]"),
    ],
)
def test_messages_show_path_elements_in_brackets(element: str, shown: str) -> None:
    assert path_element.display(element) == shown
