"""What Go makes of each template is on record (tools/template-oracle); ours must make the same of it."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nagaya.gotemplate.errors import TemplateError
from nagaya.gotemplate.template import Template
from support.subtest_cases import subtest_cases

HERE = Path(__file__).parent

# Where only the words differ: Go names the types of its own variables there, or panics in its reflection, and it finds
# a number that is too large only when it gets to it.
IN_OTHER_WORDS = re.compile(
    r"in type .*|non-comparable types? .*|with (type .*|nil)|reflect: call of .*|len of nil pointer|item of type .*"
    r"|invalid value; expected string|wrong type for value; expected string; got interface \{\}"
    r"|(executing \"t\" at <9223372036854775808>: )?9223372036854775808 overflows int|integer overflow: .*"
)


def recorded_cases() -> Iterator[tuple[dict[str, Any], Any]]:
    """Each recorded template with the data that it is given."""
    data = json.loads((HERE / "data.json").read_text(encoding="utf-8"))
    for line in (HERE / "recorded.jsonl").read_text(encoding="utf-8").splitlines():
        recorded = json.loads(line)
        yield pytest.param(recorded, recorded.get("data", data), id=recorded["template"])


def same(found: dict[str, str], wanted: dict[str, str]) -> bool:
    if found == wanted:
        return True
    return "error" in found and _gist(found["error"]) == _gist(wanted.get("error", ""))


def _gist(error: str) -> str:
    error, changed = IN_OTHER_WORDS.subn("", error)
    return re.sub(r"^template: t:\d+(:\d+)?: (executing \"t\" at <[^>]*>: )?", "", error) if changed else error


def answer(template: str, data: Any, strict: bool) -> dict[str, str]:
    try:
        return {"text": Template("t", template).render(data, strict=strict)}
    except TemplateError as error:
        return {"error": str(error)}


@subtest_cases(("recorded", "data"), recorded_cases)
def test_a_template_makes_what_go_makes_of_it(recorded: dict[str, Any], data: Any) -> None:
    wanted = {"error": recorded["error"]} if "error" in recorded else {"text": recorded.get("text", "")}
    found = answer(recorded["template"], data, recorded.get("strict", False))
    assert same(found, wanted), (recorded["template"], found, wanted)


def test_what_a_template_puts_out_is_limited() -> None:
    with pytest.raises(TemplateError, match="exceeds the 1000 byte limit"):
        Template("t", '{{ range 100 }}{{ printf "%99s" "" }}{{ end }}').render({}, limit=1000)


def test_a_template_that_calls_itself_comes_to_an_end() -> None:
    with pytest.raises(TemplateError, match="exceeded maximum template depth"):
        Template("t", '{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}').render({})


def test_functions_can_be_added() -> None:
    def upper(text: str) -> str:
        return text.upper()

    template = Template("t", '{{ .name | upper }}{{ upper "x" }}', {"upper": upper})
    assert template.render({"name": "demo"}) == "DEMOX"
    with pytest.raises(TemplateError, match="wrong type for value; expected string; got int"):
        template.render({"name": 1})


HOSTILE = {
    "a wide number": '{{ printf "%999999999d" 1 }}',
    "a width of thousands of digits": '{{ printf "%' + "9" * 5000 + 'd" 1 }}',
    "a precise number": '{{ printf "%.999999999f" 1.5 }}',
    "a precision of thousands of digits": '{{ printf "%.' + "9" * 5000 + 'f" 1.5 }}',
    "many wide numbers": '{{ printf "' + "%1000000d" * 50 + '" ' + "1 " * 50 + "}}",
    "a text that doubles": '{{ $x := "aaaa" }}{{ range 40 }}{{ $x = printf "%s%s" $x $x }}{{ end }}',
    "a text given many times": '{{ $x := printf "%900000d" 1 }}{{ print ' + "$x " * 1000 + "}}",
    "templates that call two others each": "".join(
        f'{{{{ define "t{level}" }}}}{{{{ template "t{level + 1}" }}}}{{{{ template "t{level + 1}" }}}}{{{{ end }}}}'
        for level in range(40)
    )
    + '{{ define "t40" }}{{ end }}{{ template "t0" }}',
    "a long loop": "{{ range 1000000000 }}{{ end }}",
    "loops in loops": '{{ range 1000 }}{{ range 1000 }}{{ printf "%1000d" 1 | len }}{{ end }}{{ end }}',
    "nested parentheses": "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
    "nested conditions": "{{ if 1 }}" * 5000 + "{{ end }}" * 5000,
    "many variables": "".join(f"{{{{ $v{number} := 1 }}}}" for number in range(5000)),
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_template_is_refused_with_little_memory(source: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(TemplateError) as refused:
            Template("t", source).render({})
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(str(refused.value)) < 2000
    assert most < 64 << 20


def test_a_message_names_the_line_of_a_template() -> None:
    with pytest.raises(TemplateError, match=r"t:301: function"):
        Template("t", "{{ 1 }}\n" * 300 + "{{ absent }}")


def test_a_caller_chooses_how_much_work_a_template_may_take() -> None:
    template = Template("t", "{{ range 300 }}a{{ end }}")
    assert template.render({}, work=1000) == "a" * 300
    with pytest.raises(TemplateError, match="rendering takes more than 100 steps"):
        template.render({}, work=100)


@pytest.mark.parametrize("call", ['printf "%6400d" 1', 'printf "%*d" 6400 1', "print $"])
def test_texts_that_functions_return_are_work(call: str) -> None:
    template = Template("t", f"{{{{ range 3 }}}}{{{{ $text := {call} }}}}{{{{ end }}}}")
    data = {"key": "x" * 6400}
    assert template.render(data, work=400) == ""
    with pytest.raises(TemplateError, match="rendering takes more than 300 steps"):
        template.render(data, work=300)
