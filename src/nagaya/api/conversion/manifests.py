"""Manifests as text: several documents of YAML, read as kubectl reads them and written so that it reads the same.

Times stay texts, numbers with colons are texts, and a key that is given twice is an error, because one of the values
would be lost in silence.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Any, Final

import yaml

from nagaya.wire.bounded_yaml import BoundedLoader


class ManifestError(ValueError):
    """A text that is no manifest; the message says where and why."""


class _Loader(BoundedLoader):
    """YAML 1.1 as Kubernetes reads it."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - how PyYAML has it

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                continue
            name = self.construct_object(key, deep=True)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {name!r} is given twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep=deep)


class _Dumper(yaml.CSafeDumper):
    """Lists are indented, texts of several lines are written as such, nothing is shared."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_NUMBER_LIKE: Final = re.compile(r"[-+]?(?:0[oOxXbB][0-9a-fA-F_]+|(?:[0-9][0-9_]*\.?|\.)[0-9_]*(?:[eE][-+]?[0-9]+)?)$")


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text and not any(line.endswith((" ", "\t")) for line in text.split("\n")):
        style = "|"
    elif _NUMBER_LIKE.match(text):
        style = "'"  # other readers take more texts for numbers than PyYAML does
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
for _tag, _pattern, _first in (
    ("bool", r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF", "yYnNtTfFoO"),
    ("int", r"[-+]?(?:0b[0-1_]+|0[0-7_]*|[1-9][0-9_]*|0x[0-9a-fA-F_]+)", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+.0123456789",
    ),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", r"<<", "<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))


def read(text: str | bytes, source: str) -> list[dict[str, Any]]:
    """All objects of a text, those of a List one by one. Raises ManifestError, which names the source."""
    try:
        documents = list(yaml.load_all(text, Loader=_Loader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = (
            " ".join(str(error).split())
            .replace('in "<byte string>", ', "in ")
            .replace('in "<unicode string>", ', "in ")
        )
        raise ManifestError(f"{source}: not YAML: {said}{_hint(text, error)}") from error
    objects: list[dict[str, Any]] = []
    for number, document in enumerate(documents, 1):
        if document is None:
            continue
        if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
            raise ManifestError(f"{source}: document {number} is no Kubernetes object: it has no kind.")
        objects += _items(document)
    return objects


def _hint(text: str | bytes, error: Exception) -> str:
    """What is usually wrong there, where the reader only says what it stumbled over."""
    mark = getattr(error, "problem_mark", None)
    lines = text.splitlines()
    if mark is None or mark.line >= len(lines):
        return ""
    line = lines[mark.line]
    shown = line.decode(errors="replace") if isinstance(line, bytes) else line
    if "\t" in shown[: len(shown) - len(shown.lstrip())]:
        return ". The line begins with a tab: YAML is indented with spaces only."
    if "mapping values are not allowed" in str(error):
        return ". The line is indented further than those it belongs to, or a text with ': ' in it needs quotes."
    return ""


def _items(document: dict[str, Any]) -> list[dict[str, Any]]:
    items = document.get("items")
    if not document["kind"].endswith("List") or not isinstance(items, list):
        return [document]
    kind = document["kind"].removesuffix("List")
    shared = {"apiVersion": document.get("apiVersion"), "kind": kind} if kind else {}
    return [{**shared, **item} for item in items if isinstance(item, dict)]


def write(objects: Iterable[dict[str, Any]]) -> str:
    """Objects as YAML, one document each, with their fields in the order that they have."""
    documents = (yaml.dump(each, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000) for each in objects)
    return "---\n".join(documents)
