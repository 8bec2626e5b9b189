from __future__ import annotations

from typing import Any

import jinja2
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nagaya.bootstrap.yaml_text import dump, dump_all
from support.subtest_cases import subtest_cases

AWKWARD = [
    "",
    " ",
    "\n",
    "\n\n",
    " a",
    "a ",
    "\ta",
    "a\tb\n",
    " a\nb",
    "\n a\nb\n",
    "a\n\n",
    "a \nb",
    "a\n  ",
    "a: b",
    "a:",
    "# a",
    "a # b",
    "## template: jinja",
    "- a",
    "--- a",
    "---\na\n...\n",
    "...",
    "? a",
    "'a'",
    '"a"',
    "a'b\"c",
    "{a}",
    "[a]",
    "{{ a }}",
    "{{ a['b'] }}\n\"c\"",
    "{% raw %}",
    "{# a #}",
    "&a",
    "*a",
    "!a",
    "|",
    ">",
    "%a",
    "@a",
    "`a`",
    "~",
    "null",
    "Null",
    "yes",
    "y",
    "N",
    "ON",
    "true",
    "0640",
    "1e3",
    "0x1F",
    "0o17",
    "1_000",
    "12:30:45",
    "2026-01-02",
    ".inf",
    "=",
    "<<",
    "\r",
    "a\r\nb",
    "\x00",
    "\x1b[0m",
    "\x7f",
    "\x85",
    "\u2028",
    "\ufeff",
    "\ufeffa\nb",
    "ä\nö",
    "ä {{ ö }}",
    "😀\n😀",
    "\\n",
    "C:\\x",
    "a " * 200 + "\n" + "b" * 200,
]
TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(AWKWARD[:-1]),
    st.text(alphabet=st.sampled_from(" \t\n:#-'\"{}%|>\\a0.~,[]&*!?\r\x85\u2028é"), max_size=12),
    st.lists(st.sampled_from(AWKWARD[:-1]), max_size=3).map("".join),
)
LEAVES = st.one_of(TEXTS, st.integers(), st.booleans(), st.none())
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=5,
)
FEW = settings(max_examples=50)


@pytest.mark.parametrize("loader", [yaml.SafeLoader, yaml.CSafeLoader], ids=["cloud-init", "libyaml"])
@subtest_cases("text", AWKWARD, ids=ascii)
def test_awkward_texts_come_back_from_everywhere(text: str, loader: Any) -> None:
    value = {"a": text, "b": [text, {"c": text, text: text}], "d": {"e": [[text]]}, "f": text}
    assert yaml.load(dump(value), Loader=loader) == value


@FEW
@given(VALUES)
@example({"a": ["\n  b", {" c": "\n"}]})
def test_what_is_written_is_what_is_read(value: Any) -> None:
    assert yaml.safe_load(dump(value)) == value
    assert yaml.load(dump(value), Loader=yaml.CSafeLoader) == value


@FEW
@given(st.lists(VALUES, min_size=1, max_size=3))
def test_documents_are_told_apart(documents: list[Any]) -> None:
    assert list(yaml.safe_load_all(dump_all(documents))) == documents


@FEW
@given(VALUES)
def test_a_document_can_be_the_text_in_another(value: Any) -> None:
    outer = yaml.safe_load(dump({"files": [{"content": dump_all([value])}]}))
    assert list(yaml.safe_load_all(outer["files"][0]["content"])) == [value]


@pytest.mark.parametrize(
    "text",
    ["{{ a['b'] }}", '{{ a["b"] }}', 'x "{{ a["b"] }}" \'y\'', "one\n\ttwo {{ a['b'] }} ", "ä: {{ a['b'] }} # c"],
)
def test_what_stands_between_braces_reaches_jinja_as_it_is(text: str) -> None:
    rendered = jinja2.Template(dump({"t": [text]})).render(a={"b": "v"})
    expected = jinja2.Template(text).render(a={"b": "v"})
    assert yaml.safe_load(rendered) == {"t": [expected]}


@subtest_cases(
    "text",
    [
        "{% if a %}\nb\n{% endif %}",
        "{% if a %}\nb\n{% endif %}\n",
        "{% if a %}\nb\n{% endif %}\n\n",
        "{% if a %}b{% endif %}",
        "b\n{# c #}",
        "{# c #}\n\n{# d #}\nb\n",
        "  {% if a %}\n  b\n  {% endif %}",
        "{{ a['b'] }}",
    ],
)
def test_statements_that_take_line_ends_away_break_nothing(text: str) -> None:
    value = {"t": [text], "u": {"v": text}, "w": dump({"x": text, "y": 1}), "z": text}
    assert yaml.safe_load(dump(value)) == value
    found = yaml.safe_load(jinja2.Template(dump(value), trim_blocks=True).render(a={"b": "b"}))
    assert list(found) == list(value)
    for each in (found["t"][0], found["u"]["v"], yaml.safe_load(found["w"])["x"], found["z"]):
        assert each.split() == ["b"]
    assert yaml.safe_load(found["w"])["y"] == 1


@subtest_cases("text", ["y", "NO", "1e3", "0o17", "0x1F", "1_0", "~", ".5", "12:30", "2026-01-02", "=", ""])
def test_what_some_reader_takes_for_something_else_is_quoted(text: str) -> None:
    assert dump([text]) == f"- '{text}'\n"


@pytest.mark.parametrize(
    "text", ["/etc/kubernetes/pki", "root:root", "kubeadm join", "v1.36.3", "https://a.b/c", "a=b,c=d"]
)
def test_ordinary_words_are_written_plain(text: str) -> None:
    assert dump([text]) == f"- {text}\n"


def test_equal_parts_are_written_out_twice() -> None:
    part = {"a": ["b"]}
    assert dump([part, part]) == "- a:\n  - b\n- a:\n  - b\n"
