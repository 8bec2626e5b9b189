"""Names from templates such as `{{ .machineSet.name }}-{{ .random }}`.

The language is Go's text/template, of which names need the part that puts values in: fields of the given data, and the
trim markers `{{-` and `-}}`. Pipelines, functions and blocks are refused when a template is checked, before anything
is made from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

MAXIMUM_LENGTH: Final = 63
RANDOM_LENGTH: Final = 5
RANDOM_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Without vowels, so that no words come about, and without digits that look like letters."""

_ACTION: Final = re.compile(r"\{\{(?P<left>-(?=\s))?(?P<body>.*?)(?P<right>(?<=\s)-)?\}\}", re.DOTALL)
_FIELD: Final = re.compile(r"\s*((?:\.[A-Za-z_][A-Za-z0-9_]*)+)\s*")
_TITLE: Final = "template name generator"


class TemplateError(ValueError):
    """A template that no name can be made from."""


def generate_name(template: str, data: Mapping[str, Any], random: str) -> str:
    """The name that a template makes. `random` is what `.random` stands for, and what ends a name that was cut short.

    Raises TemplateError.
    """
    name = _render(template, {**data, "random": random})
    if len(name) > MAXIMUM_LENGTH:
        return name[: MAXIMUM_LENGTH - RANDOM_LENGTH] + random[:RANDOM_LENGTH]
    return name


def _render(template: str, data: Mapping[str, Any]) -> str:
    parts: list[str] = []
    end = 0
    trim = False
    for action in _ACTION.finditer(template):
        text = template[end : action.start()]
        text = text.lstrip() if trim else text
        parts.append(text.rstrip() if action["left"] else text)
        field = _FIELD.fullmatch(action["body"])
        if field is None:
            raise TemplateError(
                f'parsing template "{template}": "{action[0]}" is no field of the data. '
                "Names support fields only, such as {{ .cluster.name }}"
            )
        parts.append(_value(field[1], data, template, action.start("body") + field.start(1)))
        trim, end = action["right"] is not None, action.end()
    rest = template[end:]
    if "{{" in rest:
        raise TemplateError(f'parsing template "{template}": template: {_TITLE}:1: unclosed action')
    parts.append(rest.lstrip() if trim else rest)
    return "".join(parts)


def _value(field: str, data: Mapping[str, Any], template: str, position: int) -> str:
    value: Any = data
    names = field[1:].split(".")
    for name in names:
        if not isinstance(value, Mapping) or name not in value:
            # Go names the place of the last part of a chain of fields.
            place = position + len(field) - len(names[-1]) - 1
            line = template.count("\n", 0, place) + 1
            column = place - (template.rfind("\n", 0, place) + 1)
            problem = (
                f'map has no entry for key "{name}"'
                if isinstance(value, Mapping)
                else f"can't evaluate field {name} in type interface {{}}"
            )
            raise TemplateError(
                f'rendering template: template: {_TITLE}:{line}:{column}: executing "{_TITLE}" at <{field}>: {problem}'
            )
        value = value[name]
    if isinstance(value, Mapping):
        raise TemplateError(f'parsing template "{template}": {field} is not a text, but has fields of its own')
    return str(value)
