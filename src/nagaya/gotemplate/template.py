"""A template that was read, ready to be carried out with data."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from nagaya.gotemplate.errors import CallError, TemplateError
from nagaya.gotemplate.functions import BUILT_IN, SHORT_CIRCUITS, Function
from nagaya.gotemplate.nodes import (
    Action,
    Break,
    Call,
    Chain,
    Command,
    Continue,
    Dot,
    Field,
    Identifier,
    If,
    Literal,
    Nil,
    Node,
    Operand,
    Pipeline,
    Range,
    Text,
    Variable,
    With,
)
from nagaya.gotemplate.parser import parse
from nagaya.gotemplate.values import MISSING, Missing, printed, shown, truth, type_name

DEFAULT_LIMIT: Final = 1 << 20
"""How many bytes a template may put out."""
_DEEPEST: Final = 200
"""How deep templates may call each other. Less than Go's limit: Python's stack is smaller."""
DEFAULT_WORK: Final = 100_000
"""Steps of one rendering: nodes, rounds of loops, function calls, and every 64 characters that functions read or
return. Templates come from users of a namespace and are rendered inside the event loop, where this many steps take
about half a second.
"""
_LONGEST_ARGUMENTS: Final = 1 << 20
"""Characters that all arguments of one function call may have together."""
_LONGEST_PLACE: Final = 1000
"""Characters of the failing node in a message. Messages become conditions."""
_NOTHING: Final = object()
_NO_FUNCTIONS: Final[Mapping[str, Function]] = {}


class Template:
    """One template with those that it defines."""

    def __init__(self, name: str, source: str, functions: Mapping[str, Function] = _NO_FUNCTIONS) -> None:
        """Reads it. Raises TemplateError. `functions` come on top of Go's own."""
        self.name = name
        self.source = source
        self.functions: Mapping[str, Function] = {**BUILT_IN, **functions}
        self.definitions = parse(name, source, {*self.functions, *SHORT_CIRCUITS})

    def render(self, data: Any, *, strict: bool = False, limit: int = DEFAULT_LIMIT, work: int = DEFAULT_WORK) -> str:
        """Return the output, of at most `limit` bytes, after at most `work` steps. With `strict`, a missing entry of a
        map is an error (`missingkey=error`).

        Raises TemplateError.
        """
        run = _Run(self, data, strict=strict, limit=limit, work=work)
        try:
            run.walk(self.definitions[self.name], data)
        except RecursionError:
            raise TemplateError(f"template: {self.name}: it is nested too deeply") from None
        return "".join(run.out)


@functools.lru_cache(maxsize=256)
def _parameters(function: Function) -> tuple[tuple[bool, ...], bool]:
    """For each fixed parameter whether it is a text, and whether the function takes more arguments."""
    parameters = inspect.signature(function).parameters.values()
    fixed = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL]
    return tuple(parameter.annotation == "str" for parameter in fixed), len(fixed) < len(parameters)


class _Leave(Exception):
    """A break or a continue."""

    def __init__(self, again: bool) -> None:
        self.again = again


class _Run:
    """Carries a template out. Variables are a stack: what is declared inside of something ends with it."""

    def __init__(self, template: Template, data: Any, *, strict: bool, limit: int, work: int) -> None:
        self._template = template
        self._strict = strict
        self._left = limit
        self._limit = limit
        self._depth = 0
        self._work = self._work_limit = work
        self._executing = template.name
        self._variables = [("$", data)]
        self._node: Node = Text(0, "")  # what was looked at last: where Go says that it failed
        self.out: list[str] = []

    def walk(self, nodes: tuple[Node, ...], dot: Any) -> None:
        """Carry out a list of nodes."""
        for node in nodes:
            self._spend(1)
            match node:
                case Text():
                    self._put(node.text, node)
                case Action():
                    value = self._pipeline(node.pipeline, dot)
                    if not node.pipeline.variables:
                        self._put(printed(value), node.pipeline)
                case Range():
                    self._range(node, dot)
                case If():
                    self._if(node, dot)
                case Call():
                    self._call(node, dot)
                case Break() | Continue():
                    raise _Leave(isinstance(node, Continue))

    def _spend(self, steps: int) -> None:
        self._work -= steps
        if self._work < 0:
            raise TemplateError(
                f'template: {self._template.name}: executing "{self._executing}": rendering takes more than '
                f"{self._work_limit} steps. Shorten its loops."
            )

    def _put(self, text: str, node: Node) -> None:
        self._left -= len(text.encode())
        if self._left < 0:
            self._fail(node, f"rendered output exceeds the {self._limit} byte limit")
        self.out.append(text)

    def _if(self, node: If, dot: Any) -> None:
        mark = len(self._variables)
        value = self._pipeline(node.pipeline, dot)
        if truth(value):
            self.walk(node.then, value if isinstance(node, With) else dot)
        else:
            self.walk(node.otherwise, dot)
        del self._variables[mark:]

    def _range(self, node: Range, dot: Any) -> None:
        mark = len(self._variables)
        value = self._pipeline(node.pipeline, dot)
        declared = node.pipeline.variables
        inside = len(self._variables)
        empty = True
        for key, element in self._elements(node, value):
            empty = False
            self._spend(1)
            for name, each in zip(declared, (element,) if len(declared) == 1 else (key, element), strict=False):
                self._assign(name, each)
            try:
                self.walk(node.then, element)
            except _Leave as leave:
                if not leave.again:
                    break
            finally:
                del self._variables[inside:]
        if empty:
            self.walk(node.otherwise, dot)
        del self._variables[mark:]

    def _elements(self, node: Range, value: Any) -> Iterator[tuple[Any, Any]]:
        match value:
            case None | Missing():
                return
            case bool() | float() | str():
                self._fail(self._node, f"range can't iterate over {shown(value)}")
            case int():
                if len(node.pipeline.variables) > 1:
                    self._fail(self._node, f"can't use {value} to iterate over more than one variable")
                yield from ((MISSING, number) for number in range(value))
            case Mapping():
                yield from ((key, value[key]) for key in sorted(value))
            case _:
                yield from enumerate(value)

    def _call(self, node: Call, dot: Any) -> None:
        body = self._template.definitions.get(node.name)
        if body is None:
            self._fail(node, f'template "{node.name}" not defined')
        if self._depth >= _DEEPEST:
            self._fail(node, f"exceeded maximum template depth ({_DEEPEST})")
        value = MISSING if node.pipeline is None else self._pipeline(node.pipeline, dot)
        outside = self._executing, self._variables
        self._executing, self._variables = node.name, [("$", value)]
        self._depth += 1
        self.walk(body, value)
        self._depth -= 1
        self._executing, self._variables = outside

    # Values

    def _pipeline(self, pipeline: Pipeline, dot: Any) -> Any:
        self._node = pipeline
        value: Any = _NOTHING
        for command in pipeline.commands:
            value = self._command(command, dot, value)
        for name in pipeline.variables:
            if pipeline.assigns:
                self._assign(name, value)
            else:
                self._variables.append((name, value))
        return value

    def _command(self, command: Command, dot: Any, final: Any) -> Any:
        self._node = first = command.arguments[0]
        rest = command.arguments[1:]
        if isinstance(first, Identifier):
            return self._function(first, command, rest, dot, final)
        if rest or final is not _NOTHING:
            if isinstance(first, Field | Chain | Variable) and first.names:
                self._refuse_arguments(first, dot)
            self._fail(first, f"can't give argument to non-function {first}")
        if isinstance(first, Nil):
            self._fail(first, "nil is not a command")
        return self._value(first, dot)

    def _refuse_arguments(self, node: Field | Chain | Variable, dot: Any) -> None:
        """Data have no methods, so a field that is given arguments is a mistake."""
        value = self._fields(node, self._start(node, dot), node.names[:-1])
        if isinstance(value, Mapping):
            self._fail(node, f"{node.names[-1]} is not a method but has arguments")
        self._fields(node, value, node.names[-1:])

    def _value(self, node: Operand, dot: Any) -> Any:
        self._node = node
        match node:
            case Literal():
                return node.value
            case Nil():
                return None
            case Dot():
                return dot
            case Identifier():
                return self._function(node, node, (), dot, _NOTHING)
            case Pipeline():
                return self._pipeline(node, dot)
        return self._fields(node, self._start(node, dot), node.names)

    def _start(self, node: Field | Chain | Variable, dot: Any) -> Any:
        """What a chain of fields begins with."""
        match node:
            case Field():
                return dot
            case Variable():
                return next(value for name, value in reversed(self._variables) if name == node.name)
        if isinstance(node.of, Nil):
            self._fail(node, f"indirection through explicit nil in {node}")
        return self._value(node.of, dot)

    def _fields(self, node: Node, value: Any, names: tuple[str, ...]) -> Any:
        for number, name in enumerate(names):
            if value is MISSING or (value is None and not number):
                if self._strict:
                    self._fail(node, f'nil data; no entry for key "{name}"')
                return MISSING
            if value is None:
                self._fail(node, f"nil pointer evaluating interface {{}}.{name}")
            if not isinstance(value, Mapping):
                where = "interface {}" if number else type_name(value)
                self._fail(node, f"can't evaluate field {name} in type {where}")
            if name not in value and self._strict:
                self._fail(node, f'map has no entry for key "{name}"')
            value = value.get(name, MISSING)
        return value

    def _assign(self, name: str, value: Any) -> None:
        for place in reversed(range(len(self._variables))):
            if self._variables[place][0] == name:
                self._variables[place] = (name, value)
                return
        self._fail(self._node, f"undefined variable: {name}")

    def _function(self, node: Identifier, whole: Node, operands: tuple[Operand, ...], dot: Any, final: Any) -> Any:
        name = node.name
        count = len(operands) + (final is not _NOTHING)
        if name in SHORT_CIRCUITS:
            if not count:
                self._fail(node, f"wrong number of args for {name}: want at least 1 got 0")
            value: Any = MISSING
            for operand in operands:
                value = self._value(operand, dot)
                if truth(value) == (name == "or"):
                    return value
            return value if final is _NOTHING else final
        function = self._template.functions[name]
        fixed, takes_more = _parameters(function)
        if count < len(fixed) or (count > len(fixed) and not takes_more):
            least = "at least " if takes_more else ""
            self._fail(node, f"wrong number of args for {name}: want {least}{len(fixed)} got {count}")
        texts = [*fixed, *[False] * (count - len(fixed))]
        arguments = [self._argument(each, dot, text) for each, text in zip(operands, texts, strict=False)]
        if final is not _NOTHING:
            arguments.append(self._checked(final, texts[-1]))
        length = sum(len(argument) for argument in arguments if isinstance(argument, str))
        if length > _LONGEST_ARGUMENTS:
            self._fail(whole, f"arguments of {name} are longer than {_LONGEST_ARGUMENTS} characters")
        self._spend(1 + length // 64)
        try:
            result = function(*arguments)
        except CallError as error:
            self._fail(whole, f"error calling {name}: {error}")
        if isinstance(result, str):
            self._spend(len(result) // 64)
        return result

    def _argument(self, node: Operand, dot: Any, text: bool) -> Any:
        value = self._value(node, dot)
        if text and isinstance(node, Nil):
            self._fail(node, "cannot assign nil to string")
        if text and isinstance(node, Literal) and not isinstance(value, str):
            self._fail(node, f"expected string; found {node}")
        return self._checked(value, text)

    def _checked(self, value: Any, text: bool) -> Any:
        """An argument, which must be a text if `text`."""
        if text and not isinstance(value, str):
            if value is None or value is MISSING:
                self._fail(self._node, "invalid value; expected string")
            self._fail(self._node, f"wrong type for value; expected string; got {type_name(value)}")
        return value

    def _fail(self, node: Node, words: str) -> NoReturn:
        before = self._template.source[: node.position]
        line = before.count("\n") + 1
        column = len(before[before.rfind("\n") + 1 :].encode())
        name = self._template.name
        place = str(node)
        if len(place) > _LONGEST_PLACE:
            place = f"{place[:_LONGEST_PLACE]}..."
        raise TemplateError(f'template: {name}:{line}:{column}: executing "{self._executing}" at <{place}>: {words}')
