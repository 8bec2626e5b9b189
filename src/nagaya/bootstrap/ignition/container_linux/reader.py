"""Reads the YAML of a Container Linux Config as the program that used to translate it did.

That one knows what each field is before it reads it, so `off` is a word where a word belongs and a switch where a
switch belongs. Hence everything but null stays text here, and the tables make of it what they need. Aliases are
refused: a few lines of them can stand for gigabytes.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

from nagaya.bootstrap.ignition.container_linux.fields import Place
from nagaya.wire.bounded_yaml import BoundedLoader

_NULL: Final = "tag:yaml.org,2002:null"


class _Loader(BoundedLoader):
    """Takes nothing for a number, a switch or a date."""


_Loader.yaml_implicit_resolvers = {
    first: [each for each in resolvers if each[0] == _NULL]
    for first, resolvers in BoundedLoader.yaml_implicit_resolvers.items()
}


def read(config: str, place: Place) -> Any:
    """What the config says: mappings, lists, texts, bytes and None. Raises Refused."""
    try:
        for event in yaml.parse(config, Loader=yaml.CBaseLoader):
            if isinstance(event, yaml.AliasEvent):
                raise place.refusal(f"there is an alias{_line(event.start_mark)}", "Write out what it means")
        return yaml.load(config, Loader=_Loader)  # noqa: S506 - it is a safe loader
    except yaml.YAMLError as error:
        where = _line(getattr(error, "problem_mark", None))
        raise place.refusal(f"it is not YAML{where}", "Correct it") from error


def _line(mark: Any) -> str:
    return "" if mark is None else f" at line {mark.line + 1}"
