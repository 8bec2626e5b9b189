"""Estimates of what rules cost, against what a real kube-apiserver v1.36.3 said of the same rules."""

from __future__ import annotations

import re
from functools import partial
from operator import itemgetter
from typing import Any

from nagaya.apiserver.cel.crd_rules import compile_rules
from nagaya.apiserver.crd import schema_rules
from nagaya.apiserver.meta.field_errors import Path
from support.subtest_cases import subtest_cases
from unit.apiserver.crd import recorded

_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER: dict[str, Any] = {"type": "integer"}


def _text(length: int, **more: Any) -> dict[str, Any]:
    return {**_TEXT, "maxLength": length, **more}


def _list(items: dict[str, Any], most: int | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **({} if most is None else {"maxItems": most}), **more}


def _map(values: dict[str, Any], most: int | None = None) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values, **({} if most is None else {"maxProperties": most})}


def _object(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


_FIELDS: dict[str, dict[str, Any]] = {
    "s": _TEXT,
    "s10": _text(10),
    "s1k": _text(1000),
    "en": {**_TEXT, "enum": ["a", "bbb", "cccccc"]},
    "by": {**_TEXT, "format": "byte"},
    "by9": _text(900, format="byte"),
    "d": {**_TEXT, "format": "date"},
    "dt": {**_TEXT, "format": "date-time"},
    "du": {**_TEXT, "format": "duration"},
    "ios": {"x-kubernetes-int-or-string": True},
    "ios5": {"x-kubernetes-int-or-string": True, "maxLength": 500},
    "i": _NUMBER,
    "n": {"type": "number"},
    "b": {"type": "boolean"},
    "ls": _list(_TEXT),
    "ls10": _list(_text(20), 10),
    "li": _list(_NUMBER),
    "li100": _list(_NUMBER, 100),
    "lo": _list(_object("name", name=_text(30), port=_NUMBER, tags=_list(_text(8), 5)), 50),
    "lou": _list(_object("name", "q", name=_TEXT, q={**_NUMBER, "default": 1}, port=_NUMBER)),
    "m": _map(_TEXT),
    "m10": _map(_text(40), 10),
    "mi": _map(_NUMBER),
    "o": _object(**{"x": _text(100), "y-z": _NUMBER}),
    "e": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
    "set": _list(_text(16), 64, **{"x-kubernetes-list-type": "set"}),
}
_IN_A_BOUNDED_LIST = {
    "maxItems": 1000,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["i"],
}


def _factor(schema: dict[str, Any]) -> str:
    """How far a definition with this schema is over the limit for a rule; nothing if it is accepted."""
    whole = {"type": "object", "properties": {"spec": schema}}
    errors = schema_rules.check(whole, Path("s"), status=False, compile_rules=compile_rules)
    found = [re.search(r"estimated rule cost exceeds budget by factor of (.*?) \(", str(each)) for each in errors]
    assert not errors or found[0] is not None, str(errors[0])
    return "" if not errors or found[0] is None else found[0][1]


def _ruled(rule: str, *required: str) -> dict[str, Any]:
    return {**_object(*required, **_FIELDS), "x-kubernetes-validations": [{"rule": rule}]}


@subtest_cases("case", partial(recorded.load, "costs"), ids=itemgetter("rule"))
def test_a_rule_costs_what_the_real_server_says(case: dict[str, str]) -> None:
    assert _factor(_list(_ruled(case["rule"], "i"), **_IN_A_BOUNDED_LIST)) == case["bounded"]
    assert _factor(_map(_ruled(case["rule"], "i", "s1k", "o"))) == case["unbounded"]


def test_limits_in_the_schema_make_an_expensive_rule_acceptable() -> None:
    rule = {"x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x == y))"}]}

    assert _factor({**_list(_TEXT), **rule}) == "more than 100x"
    assert _factor({**_list(_text(60), 100), **rule}) == ""


def test_a_name_in_the_body_of_a_loop_can_stand_for_its_range() -> None:
    """The real server mixes up `x.tags` and `x.name`, and takes the loop to have as many rounds as the name letters."""
    short = _list(_object("name", name=_text(1), tags=_list(_TEXT)), 5)
    schema = _object(l=short)

    assert _factor({**schema, "x-kubernetes-validations": [{"rule": "self.l.all(x, x.tags.all(t, t != 'a'))"}]}) != ""
    assert (
        _factor({**schema, "x-kubernetes-validations": [{"rule": "self.l.all(x, x.tags.all(t, t != x.name))"}]}) == ""
    )
