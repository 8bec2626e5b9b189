"""YAML that every reader of boot data understands alike, and that survives being a Jinja template.

Three programs read what is written here: cloud-init (PyYAML, YAML 1.1), kubeadm (Go, a mixture of 1.1 and 1.2) and
before both, for cloud-config, Jinja, which sees nothing but text. What always holds:

- A string comes back as the same string. It is written plain only if it starts with a letter or a slash and is no word
  that any YAML takes for something else; `1e3`, `0o17`, `y` and `~` are quoted.
- Several lines, and everything that contains a Jinja tag, become a literal block: there no character is escaped, so
  what stands between the braces reaches Jinja as the user wrote it. In quotes `{{ ds["a"] }}` would become
  `{{ ds[\\"a\\"] }}`, which is no Jinja. Only text with characters that YAML forbids in blocks, such as control
  characters, is quoted with escapes whatever it contains.
- Lines are never folded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import yaml
from yaml.emitter import ScalarAnalysis

TEMPLATE_TAG: Final = re.compile(r"\{[{%#]")
"""How expressions, statements and comments of Jinja begin."""

_TAG_ENDS: Final = ("%}", "#}")
_PLAIN: Final = re.compile(r"[A-Za-z/](?:[A-Za-z0-9_./@+=,-]|:(?=[^ ])| (?=[A-Za-z0-9_./@+=,-]))*")
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
# All that YAML lets stand in a block but for what it takes for a line break besides the newline, and the byte order
# mark, which readers drop.
_LITERAL: Final = re.compile("[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*")
_UNFOLDED: Final = 1 << 30

Value = Mapping[str, Any] | list[Any] | tuple[Any, ...] | str | int | bool | None


def dump(value: Value) -> str:
    """One document, ending in a newline."""
    return _dumped([value], start=False)


def dump_all(documents: Iterable[Value]) -> str:
    """Documents that each begin with a line of three dashes."""
    return _dumped(documents, start=True)


def _dumped(documents: Iterable[Value], *, start: bool) -> str:
    text: str = yaml.dump_all(
        documents,
        Dumper=_Dumper,
        explicit_start=start,
        default_flow_style=False,
        allow_unicode=True,
        sort_keys=False,
        width=_UNFOLDED,
    )
    return text


class _Dumper(yaml.SafeDumper):
    """Writes strings as the module promises, and nothing as an alias."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def analyze_scalar(self, scalar: str) -> ScalarAnalysis:
        # The original looks at every character, one by one in Python; and it forbids blocks for tabs and for spaces at
        # ends of lines, for which there is no reason in literal ones.
        if _in_block(scalar):
            return _analysis(scalar, multiline=True, plain=False)
        if _PLAIN.fullmatch(scalar):
            return _analysis(scalar, multiline=False, plain=True)
        analysis: ScalarAnalysis = super().analyze_scalar(scalar)
        return analysis

    def determine_block_hints(self, text: str) -> str:
        hints: str = super().determine_block_hints(text)
        # The indentation cannot be found out by readers in C and Go if a tab comes first, nor by any of them if Jinja
        # joins the first two lines.
        told = hints[:1].isdigit() or not (text.startswith("\t") or TEMPLATE_TAG.search(text))
        return hints if told else f"{self.best_indent}{hints}"

    def write_literal(self, text: str) -> None:
        hints = self.determine_block_hints(text)
        self.write_indicator(f"|{hints}", True)
        self.open_ended = hints.endswith("+")
        self.write_line_break()
        indent = " " * (self.indent or 0)
        lines = text.removesuffix("\n").split("\n")
        self.stream.write("\n".join(indent + line if line else "" for line in lines))
        self.write_line_break()
        # Jinja takes away the line end behind a statement or comment. Give it one that is not needed: blank lines after
        # a block that does not ask to keep them are no part of it.
        if lines[-1].endswith(_TAG_ENDS):
            self.write_line_break()


def _analysis(text: str, *, multiline: bool, plain: bool) -> ScalarAnalysis:
    return ScalarAnalysis(
        scalar=text,
        empty=False,
        multiline=multiline,
        allow_flow_plain=plain,
        allow_block_plain=plain,
        allow_single_quoted=plain,
        allow_double_quoted=True,
        allow_block=not plain,
    )


def _in_block(text: str) -> bool:
    return ("\n" in text or TEMPLATE_TAG.search(text) is not None) and _LITERAL.fullmatch(text) is not None


def _string(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style: str | None = "'"
    if _in_block(text):
        style = "|"
    elif not _LITERAL.fullmatch(text):
        style = '"'
    elif _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        style = None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _mapping(dumper: _Dumper, value: Mapping[str, Any]) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=None if value else True)


def _sequence(dumper: _Dumper, value: Iterable[Any]) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value)


_Dumper.add_representer(str, _string)
_Dumper.add_multi_representer(dict, _mapping)
_Dumper.add_representer(tuple, _sequence)
