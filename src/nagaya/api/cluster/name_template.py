"""Names from templates such as `{{ .machineSet.name }}-{{ .random }}`.

The language is Go's text/template. A field that the data do not have is a mistake, and is found when a template is
checked, before anything is made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nagaya.gotemplate import errors as gotemplate
from nagaya.gotemplate.template import Template

MAXIMUM_LENGTH: Final = 63
RANDOM_LENGTH: Final = 5
RANDOM_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Without vowels, so that no words come about, and without digits that look like letters."""

_TITLE: Final = "template name generator"
_LONGEST: Final = 4096
"""Bytes that a template may render before the name is cut to its maximum length."""
_WORK: Final = 1000
"""Steps of one rendering. A MachineSet renders a name for each machine, and another one if the name is taken."""


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
    try:
        read = Template(_TITLE, template)
    except gotemplate.TemplateError as error:
        raise TemplateError(f'parsing template "{template}": {error}') from None
    try:
        return read.render(data, strict=True, limit=_LONGEST, work=_WORK)
    except gotemplate.TemplateError as error:
        raise TemplateError(f"rendering template: {error}") from None
