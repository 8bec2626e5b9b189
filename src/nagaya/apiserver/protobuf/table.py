"""What to do with each field of a message, found by the tag that stands before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from nagaya.apiserver.protobuf import wire

Message = Callable[[bytes, int, int, int], Any]
"""Takes a body, the range of a message in it, and how deep it is nested."""

Number = Callable[[int], Any]
"""Takes the value of a varint."""


class Step:
    """How a field's value is read and put into the object. Those that are plain numbers come last."""

    VALUE: Final = 0
    NONEMPTY: Final = 1  # left out when empty
    ITEM: Final = 2  # of a list
    PAIR: Final = 3  # of a map
    PART: Final = 4  # of a struct, which may come in several
    PACKED: Final = 5  # several numbers at once
    NUMBER: Final = 6
    NUMBER_NONEMPTY: Final = 7
    NUMBER_ITEM: Final = 8
    FIXED: Final = 9
    FIXED_NONEMPTY: Final = 10


@dataclass(slots=True)
class Table:
    """The fields of a message: `steps` by tag, and `names` by number, in Go's spelling, for messages to people."""

    steps: dict[int, tuple[int, str, Any]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    def add(self, number: int, wire_type: int, step: int, name: str, read: Message | Number | Table | None) -> None:
        """Add a field."""
        self.steps[number << 3 | wire_type] = (step, name, read)
        self.names[number] = "ObjectMeta" if name == "metadata" else name[:1].upper() + name[1:]

    def embedded(self, number: int, name: str) -> Table:
        """The table of an embedded struct, whose fields become members of the outer one."""
        tag = number << 3 | wire.BYTES
        if tag not in self.steps:
            self.add(number, wire.BYTES, Step.PART, name, Table())
        table = self.steps[tag][2]
        assert isinstance(table, Table)
        return table
