"""What a table looks like: its columns, and how an object becomes a row.

A `TableShape` is made once per kind and never changes. The descriptions are for people; everything else in a column is
what clients act on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from nagaya.apiserver.meta.status import JsonObject

Cells = list[Any]
Row = Callable[[JsonObject, datetime], Cells]
Conditions = Callable[[JsonObject], list[JsonObject] | None]
Arrange = Callable[[Sequence[JsonObject]], Sequence[JsonObject]]


@dataclass(frozen=True, slots=True)
class Column:
    """One column. A priority other than 0 is shown on demand only (`kubectl get -o wide`)."""

    name: str
    description: str = ""
    type: str = "string"
    format: str = ""
    priority: int = 0

    def definition(self) -> JsonObject:
        """The column as it stands in a Table."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


NAME: Final = Column("Name", "The name of the object.", format="name")
AGE: Final = Column("Age", "The time since the object was created.")
CREATED_AT: Final = Column("Created At", "The time at which the object was created.", type="date")


def text(name: str, description: str) -> Column:
    """A column of texts."""
    return Column(name, description)


def number(name: str, description: str) -> Column:
    """A column of whole numbers."""
    return Column(name, description, type="integer")


def flag(name: str, description: str) -> Column:
    """A column of yes and no."""
    return Column(name, description, type="boolean")


def wide(name: str, description: str) -> Column:
    """A column of texts that is shown on demand only."""
    return Column(name, description, priority=1)


@dataclass(frozen=True, slots=True)
class TableShape:
    """How objects of one kind become a table."""

    columns: tuple[Column, ...]
    row: Row
    conditions: Conditions | None = None
    arrange: Arrange | None = None
    rows_when_empty: bool = True

    def definitions(self) -> list[JsonObject]:
        """The columns as they stand in a Table."""
        return [column.definition() for column in self.columns]


def shape(*columns: Column) -> Callable[[Row], TableShape]:
    """Make a shape of the function that it decorates."""
    return lambda row: TableShape(columns, row)
