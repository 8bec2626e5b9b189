"""Reads a template: tokens become nodes, and mistakes are found before anything is put out."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final

from nagaya.gotemplate import literals
from nagaya.gotemplate.errors import TemplateError
from nagaya.gotemplate.formatting import quoted
from nagaya.gotemplate.nodes import (
    Action,
    Break,
    Call,
    Chain,
    Command,
    Continue,
    Dot,
    End,
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
from nagaya.gotemplate.tokens import Item, Lexer, Token

_DEEPEST: Final = 1000
_MOST_VARIABLES: Final = 200
"""Variables visible at one place. A variable is found by a scan, so their number multiplies the cost of every use."""
_CONTROLS: Final = {"if": If, "with": With, "range": Range}
_OPERANDS: Final = frozenset(
    {
        Token.BOOLEAN,
        Token.CHARACTER,
        Token.DOT,
        Token.FIELD,
        Token.IDENTIFIER,
        Token.NUMBER,
        Token.NIL,
        Token.STRING,
        Token.VARIABLE,
        Token.OPEN_PARENTHESIS,
    }
)

Definitions = dict[str, tuple[Node, ...]]


def parse(name: str, source: str, functions: Collection[str]) -> Definitions:
    """All templates of a source by their names; the one of the given name is the whole. Raises TemplateError."""
    return _Parser(name, source, functions).definitions()


class _Parser:
    def __init__(self, name: str, source: str, functions: Collection[str]) -> None:
        self._name = name
        self._functions = functions
        self._items: Iterator[Item] = Lexer(name, source).items()
        self._ahead: list[Item] = []
        self._line = 1
        self._variables = ["$"]
        self._ranges = 0
        self._depth = 0
        self._found: Definitions = {}

    def definitions(self) -> Definitions:
        """Read the whole source. Raises TemplateError, also for controls nested deeper than Python's stack."""
        try:
            return self._definitions()
        except RecursionError:
            raise TemplateError(f"template: {self._name}: it is nested too deeply") from None

    def _definitions(self) -> Definitions:
        whole: list[Node] = []
        while self._peek().token is not Token.END:
            if self._peek().token is Token.OPEN:
                opening = self._next()
                if self._skip_space().text == "define" and self._ahead[0].token is Token.KEYWORD:
                    self._next()
                    self._define()
                    continue
                self._ahead.insert(0, opening)
            node = self._part()
            if isinstance(node, End):
                raise self._problem(f"unexpected {{{{{node.word}}}}}")
            whole.append(node)
        self._add(self._name, tuple(whole))
        return self._found

    # Parts

    def _define(self) -> None:
        name = self._quoted("define clause")
        self._expect(Token.CLOSE, "define clause")
        outside, self._variables = self._variables, ["$"]
        ranges, self._ranges = self._ranges, 0
        body, end = self._list()
        if end.word != "end":
            raise self._problem(f"unexpected {{{{{end.word}}}}} in define clause")
        self._variables, self._ranges = outside, ranges
        self._add(name, body)

    def _add(self, name: str, body: tuple[Node, ...]) -> None:
        if not _empty(self._found.get(name, ())) and not _empty(body):
            raise self._problem(f'template: multiple definition of template "{name}"')
        if name not in self._found or _empty(self._found[name]):
            self._found[name] = body

    def _list(self) -> tuple[tuple[Node, ...], End]:
        """What comes before the next end or else of this level."""
        found: list[Node] = []
        while self._peek().token is not Token.END:
            node = self._part()
            if isinstance(node, End):
                return tuple(found), node
            found.append(node)
        raise self._problem("unexpected EOF")

    def _part(self) -> Node:
        item = self._next()
        if item.token is Token.TEXT:
            return Text(item.position, item.text)
        if item.token is not Token.OPEN:
            raise self._unexpected(item, "input")
        first = self._skip_space()
        if first.token is not Token.KEYWORD or first.text == "define":
            return Action(first.position, self._pipeline("command", Token.CLOSE))
        self._next()
        if first.text in _CONTROLS:
            return self._control(first.text)
        if first.text in ("break", "continue"):
            self._expect(Token.CLOSE, f"{{{{{first.text}}}}}")
            if not self._ranges:
                raise self._problem(f"{{{{{first.text}}}}} outside {{{{range}}}}")
            return (Break if first.text == "break" else Continue)(first.position)
        if first.text == "block":
            return self._block()
        if first.text == "template":
            return self._call()
        if first.text == "else" and self._skip_space().text in ("if", "with"):
            return End(first.position, "else", self._next().text)
        self._expect(Token.CLOSE, first.text)
        return End(first.position, first.text)

    def _control(self, word: str) -> Node:
        visible = len(self._variables)
        pipeline = self._pipeline(word, Token.CLOSE)
        self._ranges += word == "range"
        then, end = self._list()
        self._ranges -= word == "range"
        otherwise: tuple[Node, ...] = ()
        if end.leads_to:
            if end.leads_to != word:
                raise self._problem(f"unexpected <{end.leads_to}> in input")
            otherwise = (self._control(word),)
        elif end.word == "else":
            otherwise, end = self._list()
            if end.word != "end":
                raise self._problem(f"expected end; found {{{{{end.word}}}}}")
        del self._variables[visible:]
        return _CONTROLS[word](pipeline.position, pipeline, then, otherwise)

    def _block(self) -> Node:
        item = self._skip_space()
        name = self._quoted("block clause")
        pipeline = self._pipeline("block clause", Token.CLOSE)
        outside, self._variables = self._variables, ["$"]
        body, end = self._list()
        if end.word != "end":
            raise self._problem(f"unexpected {{{{{end.word}}}}} in block clause")
        self._variables = outside
        self._add(name, body)
        return Call(item.position, name, pipeline)

    def _call(self) -> Node:
        position = self._skip_space().position
        name = self._quoted("template clause")
        if self._skip_space().token is Token.CLOSE:
            self._next()
            return Call(position, name, None)
        return Call(position, name, self._pipeline("template clause", Token.CLOSE))

    # Pipelines

    def _pipeline(self, context: str, end: Token) -> Pipeline:
        position = self._skip_space().position
        variables, assigns = self._declarations(context)
        commands: list[Command] = []
        while (item := self._skip_space()).token is not end:
            if item.token not in _OPERANDS:
                raise self._unexpected(self._next(), context)
            commands.append(self._command())
        self._next()
        if not commands:
            raise self._problem(f"missing value for {context}")
        for stage, command in enumerate(commands[1:], start=2):
            if isinstance(command.arguments[0], Literal | Nil | Dot):
                raise self._problem(f"non executable command in pipeline stage {stage}")
        return Pipeline(position, tuple(commands), variables, assigns)

    def _declarations(self, context: str) -> tuple[tuple[str, ...], bool]:
        found: list[str] = []
        while self._skip_space().token is Token.VARIABLE:
            variable = self._next()
            between = [self._next()] if self._peek().token is Token.SPACE else []
            item = self._peek()
            if item.token in (Token.DECLARE, Token.ASSIGN):
                self._next()
                found.append(variable.text)
                self._declare(variable.text)
                return tuple(found), item.token is Token.ASSIGN
            if item.token is not Token.COMMA:
                self._ahead[:0] = [variable, *between]
                break
            self._next()
            found.append(variable.text)
            self._declare(variable.text)
            if context != "range" or len(found) > 1:
                raise self._problem(f"too many declarations in {context}")
            if self._skip_space().token not in (Token.VARIABLE, Token.CLOSE, Token.CLOSE_PARENTHESIS):
                raise self._problem("range can only initialize variables")
        return tuple(found), False

    def _declare(self, name: str) -> None:
        if len(self._variables) > _MOST_VARIABLES:
            raise self._problem(f"more than {_MOST_VARIABLES} variables")
        self._variables.append(name)

    def _command(self) -> Command:
        position = self._skip_space().position
        arguments: list[Operand] = []
        while True:
            self._skip_space()
            operand = self._operand()
            if operand is not None:
                arguments.append(operand)
            item = self._peek()
            if item.token is Token.SPACE:
                self._next()
                continue
            if item.token is Token.PIPE:
                self._next()
            elif item.token not in (Token.CLOSE, Token.CLOSE_PARENTHESIS):
                raise self._unexpected(self._next(), "operand")
            break
        if not arguments:
            raise self._problem("empty command")
        return Command(position, tuple(arguments))

    def _operand(self) -> Operand | None:
        term = self._term()
        if term is None or self._peek().token is not Token.FIELD:
            return term
        position = self._peek().position
        names = []
        while self._peek().token is Token.FIELD:
            names.append(self._next().text[1:])
        if isinstance(term, Field | Variable):
            return replace(term, position=position, names=(*term.names, *names))
        if isinstance(term, Literal | Nil | Dot):
            raise self._problem(f"unexpected . after term {quoted(str(term))}")
        return Chain(position, term, tuple(names))

    def _term(self) -> Operand | None:
        item = self._peek()
        if item.token not in _OPERANDS:
            return None
        self._next()
        position, text = item.position, item.text
        match item.token:
            case Token.IDENTIFIER:
                if text not in self._functions:
                    raise self._problem(f'function "{text}" not defined')
                return Identifier(position, text)
            case Token.DOT:
                return Dot(position)
            case Token.NIL:
                return Nil(position)
            case Token.VARIABLE:
                if text not in self._variables:
                    raise self._problem(f'undefined variable "{text}"')
                return Variable(position, text)
            case Token.FIELD:
                return Field(position, (text[1:],))
            case Token.OPEN_PARENTHESIS:
                return self._parenthesized()
        return self._literal(item)

    def _literal(self, item: Item) -> Literal:
        try:
            match item.token:
                case Token.BOOLEAN:
                    return Literal(item.position, item.text == "true", item.text)
                case Token.STRING:
                    return Literal(item.position, literals.text(item.text), item.text)
                case Token.CHARACTER:
                    return Literal(item.position, literals.character(item.text), item.text)
            return Literal(item.position, literals.number(item.text), item.text)
        except ValueError as error:
            raise self._problem(str(error)) from None

    def _parenthesized(self) -> Pipeline:
        if self._depth >= _DEEPEST:
            raise self._problem("max expression depth exceeded")
        self._depth += 1
        pipeline = self._pipeline("parenthesized pipeline", Token.CLOSE_PARENTHESIS)
        self._depth -= 1
        return pipeline

    # Tokens

    def _peek(self) -> Item:
        if not self._ahead:
            self._ahead.append(next(self._items))
        return self._ahead[0]

    def _next(self) -> Item:
        item = self._peek()
        self._ahead.pop(0)
        self._line = item.line
        return item

    def _skip_space(self) -> Item:
        """The next token that is no space; it is not taken."""
        while self._peek().token is Token.SPACE:
            self._next()
        return self._peek()

    def _expect(self, token: Token, context: str) -> Item:
        item = self._skip_space()
        self._next()
        if item.token is not token:
            raise self._unexpected(item, context)
        return item

    def _quoted(self, context: str) -> str:
        item = self._expect(Token.STRING, context)
        try:
            return literals.text(item.text)
        except ValueError as error:
            raise self._problem(str(error)) from None

    def _unexpected(self, item: Item, context: str) -> TemplateError:
        return self._problem(f"unexpected {item} in {context}")

    def _problem(self, words: str) -> TemplateError:
        return TemplateError(f"template: {self._name}:{self._line}: {words}")


def _empty(body: tuple[Node, ...]) -> bool:
    return all(isinstance(node, Text) and not node.text.strip() for node in body)
