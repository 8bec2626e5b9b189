"""A YAML loader for text from tenants, machines and servers.

libyaml's composer recurses on the C stack: 100 kB of opening brackets end the process with a segmentation fault, and a
controller that reads the same ConfigMap at its next start ends again. Aliases let a few lines stand for gigabytes as
soon as somebody copies or encodes the result. `BoundedLoader` therefore walks the events first, which takes no stack,
and refuses both. It reads in all other respects what `yaml.CSafeLoader` reads.
"""

from __future__ import annotations

from typing import IO, Any, Final

import yaml
from yaml import events

MOST_NESTED: Final = 150
"""Levels of lists and maps. Large CRDs have about 80. Code that walks the result may take several of Python's 1,000
calls for each level."""
MOST_EXPANDED: Final = 100_000
"""Values that aliases may add to all documents of a text."""


_NUMBERS: Final = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_LONGEST_NUMBER: Final = 400
"""Characters. Python refuses to convert thousands of digits, and YAML's sexagesimal numbers take quadratic time."""


def load(text: str | bytes) -> Any:
    """The one document of a text, as plain values. Raises YAMLError."""
    return yaml.load(text, Loader=BoundedLoader)  # noqa: S506 - a safe loader


def load_all(text: str | bytes) -> list[Any]:
    """All documents of a text. Raises YAMLError."""
    return list(yaml.load_all(text, Loader=BoundedLoader))


class BoundedLoader(yaml.CSafeLoader):
    """Reads plain values. Raises YAMLError for text that is nested too deeply or expands too far, and for scalars that
    Python cannot represent."""

    def __init__(self, stream: str | bytes | IO[str] | IO[bytes]) -> None:
        text = stream if isinstance(stream, str | bytes) else stream.read()
        check_bounds(text)
        super().__init__(text)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Build the value of a node."""
        if not isinstance(node, yaml.ScalarNode):
            return super().construct_object(node, deep)
        try:
            if len(node.value) <= _LONGEST_NUMBER or node.tag not in _NUMBERS:
                return super().construct_object(node, deep)
        except (ValueError, OverflowError, LookupError, AttributeError):  # what constructors of PyYAML raise
            pass
        raise yaml.constructor.ConstructorError(None, None, f"not a value of type {node.tag}", node.start_mark)


def check_bounds(text: str | bytes) -> None:
    """Raise YAMLError if a text is not YAML, is nested too deeply, or expands too far."""
    sizes: dict[str, int] = {}
    """Values in each anchor that is complete."""
    open_anchors: list[str | None] = []
    values = [0]
    expanded = 0
    for event in yaml.parse(text, Loader=yaml.CBaseLoader):
        match event:
            case events.SequenceStartEvent() | events.MappingStartEvent():
                if len(open_anchors) >= MOST_NESTED:
                    raise _refusal(event, f"nested more than {MOST_NESTED} levels deep")
                open_anchors.append(event.anchor)
                values.append(1)
            case events.SequenceEndEvent() | events.MappingEndEvent():
                anchor, size = open_anchors.pop(), values.pop()
                if anchor is not None:
                    sizes[anchor] = size
                values[-1] += size
            case events.ScalarEvent():
                values[-1] += 1
                if event.anchor is not None:
                    sizes[event.anchor] = 1 + len(event.value) // 64
            case events.AliasEvent():
                if event.anchor in open_anchors:
                    raise _refusal(event, f"the alias *{event.anchor} contains itself")
                size = sizes.get(event.anchor or "", 1)
                values[-1] += size
                expanded += size
                if expanded > MOST_EXPANDED:
                    raise _refusal(event, f"aliases add more than {MOST_EXPANDED} values")


def _refusal(event: events.Event, problem: str) -> yaml.YAMLError:
    mark = event.start_mark
    return yaml.YAMLError(problem if mark is None else f"{problem}, in line {mark.line + 1}")
