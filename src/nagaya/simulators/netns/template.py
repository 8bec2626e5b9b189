"""Variables in user data: `{{ ds.meta_data.local_hostname }}` and its like.

cloud-init hands such user data to Jinja. Bootstrap data use nothing of it but variables, and text in quotes where they
mean braces (`{{ '{{' }}`). So nothing else is understood here: a statement or a filter is an error, never text that
goes to the machine as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_EXPRESSION: Final = re.compile(r"""\{\{-?\s*((?:'[^']*'|"[^"]*"|[^'"])*?)\s*-?\}\}""", re.DOTALL)
_LITERAL: Final = re.compile(r"""'([^'\\]*)'|"([^"\\]*)\"""")
_OTHER: Final = re.compile(r"\{%.*?%\}", re.DOTALL)
_COMMENT: Final = re.compile(r"\{#.*?#\}", re.DOTALL)
_STEP: Final = re.compile(r"""\.?([A-Za-z_]\w*)|\[\s*(?:'([^']*)'|"([^"]*)")\s*\]""")
_STANDARD: Final = ("instance_id", "local_hostname")
"""Variables that cloud-init has under `v1` and without any prefix, too."""


def render(text: str, meta_data: Mapping[str, str]) -> tuple[str, list[str]]:
    """The text with its variables put in, and a note for each that is not known. Raises ValueError for anything else
    than a variable."""
    values = _values(meta_data)
    notes: list[str] = []

    def put(match: re.Match[str]) -> str:
        if literal := _LITERAL.fullmatch(match[1]):
            return literal[1] or literal[2] or ""
        name = _name(match[1])
        if name in values:
            return values[name]
        notes.append(
            f"The variable {name} is not known: cloud-init would leave a mark in its place, and so it is done."
        )
        return f"CI_MISSING_JINJA_VAR/{name}"

    text = _COMMENT.sub("", text)
    statement = _OTHER.search(_EXPRESSION.sub("", text))
    if statement is not None:
        raise ValueError(f"{statement[0]} is a statement; only variables are understood")
    return _EXPRESSION.sub(put, text), notes


def _values(meta_data: Mapping[str, str]) -> dict[str, str]:
    """All names that a value is found by. Hyphens cannot be in a variable, so they are underscores as well."""
    values: dict[str, str] = {}
    for name, value in meta_data.items():
        for spelling in (name, name.replace("-", "_")):
            values[f"ds.meta_data.{spelling}"] = value
    for name in _STANDARD:
        if (found := values.get(f"ds.meta_data.{name}")) is not None:
            values[name] = values[f"v1.{name}"] = found
    return values


def _name(expression: str) -> str:
    """The dotted name that an expression means."""
    steps, position = [], 0
    while position < len(expression):
        match = _STEP.match(expression, position)
        if match is None:
            raise ValueError(f"{{{{ {expression} }}}} is more than a variable")
        steps.append(match[1] or match[2] or match[3] or "")
        position = match.end()
    return ".".join(steps)
