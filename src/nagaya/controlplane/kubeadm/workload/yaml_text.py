"""YAML that kubeadm reads as it was meant.

Go's YAML takes more words for booleans and numbers than PyYAML does, so every string that is not plainly a word is
quoted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import yaml

from nagaya.wire.bounded_yaml import BoundedLoader

_PLAIN: Final = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*(:[A-Za-z0-9_./-]+)*")
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})


class _Dumper(yaml.CSafeDumper):
    """Writes nothing as an alias."""

    def ignore_aliases(self, data: object) -> bool:
        return True


class _Loader(BoundedLoader):
    """Reads dates as the text that they are."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in BoundedLoader.yaml_implicit_resolvers.items()
}


def _string(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    plain = _PLAIN.fullmatch(text) is not None and text.lower() not in _WORDS
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


_Dumper.add_representer(str, _string)


def dump(document: Mapping[str, Any]) -> str:
    """A document, its fields in alphabetical order as kubeadm writes them."""
    text: str = yaml.dump(dict(document), Dumper=_Dumper, default_flow_style=False, allow_unicode=True, width=1 << 30)
    return text


def load(text: str) -> dict[str, Any]:
    """A document; an empty one from an empty text. Raises ValueError, without content, if it is none."""
    try:
        content = yaml.load(text, _Loader)  # noqa: S506 - it is a safe loader
    except yaml.YAMLError:
        raise ValueError("it is not YAML") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ValueError("it is not an object")
    return content
