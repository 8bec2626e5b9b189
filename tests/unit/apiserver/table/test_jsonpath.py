from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.schema.types import MISSING
from nagaya.apiserver.table.jsonpath import JsonPathError, compile_path
from support.subtest_cases import subtest_cases

DATA: dict[str, Any] = {
    "spec": {"replicas": 3, "a.b": "dotted", "null": None, "empty": []},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "n": 1},
            {"type": "Other", "status": "False", "n": 2, "extra": {}},
        ],
        "addresses": ["x", "y", "z"],
    },
}


@subtest_cases(
    ("path", "value"),
    [
        (".spec.replicas", 3),
        ("$.spec.replicas", 3),
        (".spec.missing.deeper", MISSING),
        (".spec.replicas.deeper", MISSING),
        (".spec.null", None),
        (r".spec.a\.b", "dotted"),
        (r".spec['a\.b']", "dotted"),
        (".spec['replicas']", 3),
        (".status.addresses[0]", "x"),
        (".status.addresses[-1]", "z"),
        (".status.addresses[1:]", "y"),
        (".status.addresses[::2]", "x"),
        (".status.addresses[*]", "x"),
        (".status.addresses[]", "x"),
        (".status.addresses[9]", MISSING),
        (".status.addresses[2:1]", MISSING),
        (".status.addresses[0:2:0]", MISSING),
        (".spec.empty[*]", MISSING),
        (".spec[0]", MISSING),
        (".spec.null[0]", MISSING),
        (".status.addresses[1,0]", "y"),
        (".status.conditions[*].type", "Ready"),
        (".status.conditions['n','status']", MISSING),
        (".status.conditions[1]['n','status']", 2),
        ('.status.conditions[?(@.type=="Other")].status', "False"),
        (".status.conditions[?(@.type=='Other')].status", "False"),
        ('.status.conditions[?(@.type!="Ready")].status', "False"),
        ('.status.conditions[?(@.type=="None")].status', MISSING),
        (".status.conditions[?(@.n>1)].type", "Other"),
        (".status.conditions[?(@.n<=1)].type", "Ready"),
        (".status.conditions[?(@.n>=2)].type", "Other"),
        (".status.conditions[?(@.n<1)].type", MISSING),
        (".status.conditions[?(@.n==1.0)].type", MISSING),
        (".status.conditions[?(@.n=='1')].type", MISSING),
        (".status.conditions[?(@.extra)].type", "Other"),
        (".status.conditions[?(@.n[0])].type", "Ready"),
        (".status.conditions[?(@.n=1)].type", MISSING),
        (".status.conditions[?(@.n==word)].type", MISSING),
        (".spec[?(@.x==1)]", MISSING),
        ("..type", "Ready"),
        (".spec.*", 3),
        (".", MISSING),
        (".spec.range", MISSING),
        (".spec range", MISSING),
    ],
)
def test_a_path_finds_the_first_value(path: str, value: Any) -> None:
    assert compile_path(path)(DATA) == value


@subtest_cases(
    "path",
    [
        ".a[",
        ".a[x]",
        ".a[-]",
        ".a[?(@.b==1)",
        ".a[?(@.b==1]",
        "#",
        ".a['b",
        '.a "x',
        ".....",
        "-",
        ".a[99999999999999999999]",
    ],
)
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(JsonPathError):
        compile_path(path)


def test_quoted_texts_know_escapes() -> None:
    data = {"l": [{"k": "a\tb'", "v": 1}, {"k": "é", "v": 2}]}
    assert compile_path(r'.l[?(@.k=="a\tb' + "'" + r'")].v')(data) == 1
    assert compile_path(r".l[?(@.k=='\u00e9')].v")(data) == 2
    with pytest.raises(JsonPathError):
        compile_path(r'.l[?(@.k=="\q")].v')


def test_a_mismatch_after_the_first_result_takes_the_answer_away() -> None:
    path = compile_path(".l[?(@.a==1)].b")
    assert path({"l": [{"a": 1, "b": "x"}, {"a": 2}]}) == "x"
    assert path({"l": [{"a": 1, "b": "x"}, {"a": "2"}]}) is MISSING


def test_a_second_part_can_take_the_answer_away() -> None:
    assert compile_path(".a}{.b[0]")({"a": 1, "b": [2]}) == 1
    assert compile_path(".a}{.b[0]")({"a": 1, "b": 2}) is MISSING


def test_bottomless_data_has_no_answer() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert compile_path("..b")(deep) is MISSING


@given(st.text(alphabet=".[]?()@'\"=<>!*,:-1ab {}\\", max_size=15))
def test_any_text_is_a_path_or_an_error(text: str) -> None:
    try:
        path = compile_path(text)
    except JsonPathError:
        return
    path(DATA)
    path([1, {"a": [None]}])
