"""Reads the YAML of request bodies into JSON values, as the real server does.

Only the first document of a body counts. Of keys that are given twice the last one does, and they are reported. Nesting
is bounded, and so is what aliases expand to: a few of them can make a small body into an enormous object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml
from yaml import events

from nagaya.apiserver.meta import gostring, jsontext, yamlscalars
from nagaya.apiserver.meta.jsonscan import MAX_DEPTH
from nagaya.apiserver.meta.yamlscalars import YamlError

__all__ = ["YamlError", "parse"]

MOST_EXPANDED: Final = 8 * 1024 * 1024
"""How much aliases may add to a document, in characters. A value counts as `_VALUE_SIZE` of them, besides its text."""

_VALUE_SIZE: Final = 20
_MOST_EVENTS: Final = 200_000  # half a second of reading
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")  # JSON writes rare characters as two of these, YAML may not


def parse(body: bytes) -> tuple[Any, list[str]]:
    """Read a body into JSON values, and the finding about keys given twice: one text for all of them, if there are any.

    Raises DecodeError. Parts that aliases refer to are shared in the result.
    """
    if body[:1] == b"{" and _SURROGATE.search(body) is None:
        # Most clients send JSON, which is YAML too, and much faster to read.
        try:
            value, repeated = jsontext.parse(body)
        except jsontext.JsonError:
            repeated = ["not JSON"]
        if not repeated:
            return _with_whole_numbers(value), []
    builder = _Builder()
    try:
        for event in _first_document(body):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        raise YamlError(_problem(error)) from error
    except yaml.YAMLError as error:
        raise YamlError(getattr(error, "reason", None) or str(error)) from error
    if not builder.repeated:
        return builder.document, []
    lines = "".join(f"\n  {finding}" for finding in builder.repeated)
    return builder.document, [f"yaml: unmarshal errors:{lines}"]


def _with_whole_numbers(value: Any) -> Any:
    """Make integers of floats without a fraction, in place, as the YAML reader would."""
    level = [value]
    while level:
        below: list[Any] = []
        for container in level:
            for key, item in container.items() if container.__class__ is dict else enumerate(container):
                if item.__class__ is dict or item.__class__ is list:
                    below.append(item)
                elif item.__class__ is float:
                    container[key] = yamlscalars.as_json(item)
        level = below
    return value


def _first_document(body: bytes) -> Iterator[events.Event]:
    """The events inside the first document. What follows it is not even looked at."""
    for count, event in enumerate(yaml.parse(body, Loader=yaml.CBaseLoader)):
        if count > _MOST_EVENTS:
            raise YamlError("document has too many values")
        if isinstance(event, events.DocumentEndEvent):
            return
        if not isinstance(event, (events.StreamStartEvent, events.DocumentStartEvent, events.StreamEndEvent)):
            yield event


def _problem(error: yaml.MarkedYAMLError) -> str:
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        # Go's reader counts lines from one only while it splits the text into tokens.
        line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark is not None:
        line = error.context_mark.line
    problem = error.problem or "unknown problem parsing YAML content"
    return f"line {line}: {problem}" if line else problem


@dataclass(slots=True)
class _Node:
    """A value that has been read, and what is to be known about it where it stands."""

    value: Any
    line: int
    size: int
    merges: bool = False  # the key `<<`


@dataclass(slots=True)
class _Open:
    """A list or a map that is being read."""

    value: Any
    line: int
    anchor: str | None
    size: int = _VALUE_SIZE
    key: _Node | None = None
    seen: set[tuple[type, Any]] = field(default_factory=set)  # keys before they became texts: `1` is not `"1"`


class _Builder:
    """Puts a document together from its events."""

    def __init__(self) -> None:
        self.document: Any = None
        self.repeated: list[str] = []
        self._stack: list[_Open] = []
        self._anchors: dict[str, _Node | None] = {}  # None while the value is being read
        self._expanded = 0

    def take(self, event: events.Event) -> None:
        line = event.start_mark.line if event.start_mark is not None else 0
        if isinstance(event, events.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, (events.MappingStartEvent, events.SequenceStartEvent)):
            self._open({} if isinstance(event, events.MappingStartEvent) else [], line, event.anchor)
        elif isinstance(event, events.AliasEvent):
            self._alias(event.anchor or "", line)
        else:
            closed = self._stack.pop()
            node = _Node(closed.value, closed.line, closed.size)
            if closed.anchor is not None:
                self._anchors[closed.anchor] = node
            self._add(node)

    def _scalar(self, event: events.ScalarEvent, line: int) -> None:
        plain = event.implicit[0]
        value = yamlscalars.resolve(event.tag, event.value, plain=plain)
        merges = event.value == "<<" and (plain or event.tag == "tag:yaml.org,2002:merge")
        node = _Node(value, line, _VALUE_SIZE + len(event.value), merges)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        self._add(node)

    def _open(self, value: Any, line: int, anchor: str | None) -> None:
        if len(self._stack) >= MAX_DEPTH:
            raise YamlError(f"exceeded max depth of {MAX_DEPTH}")
        if anchor is not None:
            self._anchors[anchor] = None
        self._stack.append(_Open(value, line, anchor))

    def _alias(self, anchor: str, line: int) -> None:
        if anchor not in self._anchors:
            raise YamlError(f"unknown anchor '{anchor}' referenced")
        target = self._anchors[anchor]
        if target is None:
            raise YamlError(f"anchor '{anchor}' value contains itself")
        self._expanded += target.size
        if self._expanded > MOST_EXPANDED:
            raise YamlError("document contains excessive aliasing")
        self._add(_Node(target.value, line, target.size))

    def _add(self, node: _Node) -> None:
        if not self._stack:
            self.document = yamlscalars.as_json(node.value)
            return
        parent = self._stack[-1]
        parent.size += node.size
        if parent.value.__class__ is list:
            parent.value.append(yamlscalars.as_json(node.value))
        elif parent.key is None:
            if node.value.__class__ in {dict, list}:
                raise YamlError("invalid map key: a map or a list")
            parent.key = node
        else:
            key, parent.key = parent.key, None
            if key.merges:
                self._merge(parent, node)
            else:
                self._set(parent, key.value, node)

    def _set(self, into: _Open, key: Any, node: _Node) -> None:
        text = yamlscalars.as_key(key)
        if (key.__class__, key) in into.seen:
            shown = gostring.quote(key) if key.__class__ is str else text
            self.repeated.append(f"line {node.line + 1}: key {shown} already set in map")
        into.seen.add((key.__class__, key))
        into.value[text] = yamlscalars.as_json(node.value)

    def _merge(self, into: _Open, node: _Node) -> None:
        """Take over the members of another map, or of several: earlier ones win over later ones."""
        sources = node.value if node.value.__class__ is list else [node.value]
        if any(source.__class__ is not dict for source in sources):
            raise YamlError("map merge requires map or sequence of maps as the value")
        for source in reversed(sources):
            for key, value in source.items():
                self._set(into, key, _Node(value, node.line, 0))
