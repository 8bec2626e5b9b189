"""What a template consists of once it is read. Each node can say how it was written, for messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """Something at a place in the source."""

    position: int


@dataclass(frozen=True, slots=True)
class Text(Node):
    """What is put out as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A text, a number, or true or false."""

    value: str | int | float | bool
    source: str

    def __str__(self) -> str:
        return self.source


@dataclass(frozen=True, slots=True)
class Nil(Node):
    """The word `nil`."""

    def __str__(self) -> str:
        return "nil"


@dataclass(frozen=True, slots=True)
class Dot(Node):
    """What is looked at."""

    def __str__(self) -> str:
        return "."


@dataclass(frozen=True, slots=True)
class Identifier(Node):
    """The name of a function."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Field(Node):
    """`.a.b`: fields of what is looked at."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return "".join(f".{name}" for name in self.names)


@dataclass(frozen=True, slots=True)
class Variable(Node):
    """`$x.a`: a variable, and fields of it."""

    name: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name + "".join(f".{name}" for name in self.names)


@dataclass(frozen=True, slots=True)
class Chain(Node):
    """`(…).a`: fields of what a pipeline or a function gives."""

    of: Operand
    names: tuple[str, ...]

    def __str__(self) -> str:
        inner = f"({self.of})" if isinstance(self.of, Pipeline) else str(self.of)
        return inner + "".join(f".{name}" for name in self.names)


@dataclass(frozen=True, slots=True)
class Command(Node):
    """One step of a pipeline: a value, or a function and its arguments."""

    arguments: tuple[Operand, ...]

    def __str__(self) -> str:
        return " ".join(f"({each})" if isinstance(each, Pipeline) else str(each) for each in self.arguments)


@dataclass(frozen=True, slots=True)
class Pipeline(Node):
    """Steps, of which each gets the result of the one before; and variables that get the last result."""

    commands: tuple[Command, ...]
    variables: tuple[str, ...] = ()
    assigns: bool = False

    def __str__(self) -> str:
        commands = " | ".join(map(str, self.commands))
        if not self.variables:
            return commands
        return f"{', '.join(self.variables)} {'=' if self.assigns else ':='} {commands}"


Operand = Literal | Nil | Dot | Identifier | Field | Variable | Chain | Pipeline


@dataclass(frozen=True, slots=True)
class Action(Node):
    """A pipeline whose result is put out."""

    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class If(Node):
    """One list or the other."""

    pipeline: Pipeline
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class With(If):
    """Like if; what was asked about is looked at."""


@dataclass(frozen=True, slots=True)
class Range(If):
    """Once for each."""


@dataclass(frozen=True, slots=True)
class Break(Node):
    """Leave the range."""


@dataclass(frozen=True, slots=True)
class Continue(Node):
    """On with the next of the range."""


@dataclass(frozen=True, slots=True)
class Call(Node):
    """Another template in this place."""

    name: str
    pipeline: Pipeline | None

    def __str__(self) -> str:
        handed = f" {self.pipeline}" if self.pipeline is not None else ""
        return f'{{{{template "{self.name}"{handed}}}}}'


@dataclass(frozen=True, slots=True)
class End(Node):
    """What ends a list: `end`, or an `else` with what follows it."""

    word: str = "end"
    leads_to: str = ""
    """What follows an else at once: `if` or `with`."""
