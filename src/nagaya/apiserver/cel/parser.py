"""Reading an expression into a tree.

One method per rule of the language's grammar. Mistakes are reported as the real server's parser does: a token too many
is skipped ("extraneous input"), a closing bracket that is missing is assumed ("missing ')' at '<EOF>'"), and what
cannot be mended that way ends the reading ("mismatched input", "no viable alternative").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from nagaya.apiserver.cel import literals
from nagaya.apiserver.cel.escaping import KEYWORDS
from nagaya.apiserver.cel.lexer import T, Token, display, tokenize
from nagaya.apiserver.cel.macros import Macro, MacroError
from nagaya.apiserver.cel.source import NOWHERE, Issues
from nagaya.apiserver.cel.syntax import (
    Call,
    Entry,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)

_MAX_SIZE: Final = 100_000
_MAX_DEPTH: Final = 250

_START: Final = frozenset(
    {T.LBRACKET, T.LBRACE, T.LPAREN, T.DOT, T.MINUS, T.EXCLAM, T.TRUE, T.FALSE, T.NULL}
    | {T.NUM_FLOAT, T.NUM_INT, T.NUM_UINT, T.STRING, T.BYTES, T.IDENTIFIER}
)
_LOGICAL: Final = 1
# How strongly an operator binds, and the function it stands for.
_OPERATORS: Final = {
    T.OR: (0, "_||_"),
    T.AND: (_LOGICAL, "_&&_"),
    T.LESS: (2, "_<_"),
    T.LESS_EQUALS: (2, "_<=_"),
    T.GREATER_EQUALS: (2, "_>=_"),
    T.GREATER: (2, "_>_"),
    T.EQUALS: (2, "_==_"),
    T.NOT_EQUALS: (2, "_!=_"),
    T.IN: (2, "@in"),
    T.PLUS: (3, "_+_"),
    T.MINUS: (3, "_-_"),
    T.STAR: (4, "_*_"),
    T.SLASH: (4, "_/_"),
    T.PERCENT: (4, "_%_"),
}
# What may come after a complete operand, whatever is open around it.
_CONTINUES: Final = frozenset(_OPERATORS) | {T.DOT, T.LBRACKET}


class _GiveUpError(Exception):
    """Reading cannot go on; the reason has been reported."""


def parse(text: str, macros: Mapping[tuple[str, int, bool], Macro], issues: Issues) -> Node | None:
    """The tree, or None when a mistake could not be mended. `macros` are keyed by name, argument count and whether a
    receiver stands before them."""
    if len(text) > _MAX_SIZE:
        issues.report(NOWHERE, f"expression code point size exceeds limit: size: {len(text)}, limit {_MAX_SIZE}")
        return None
    try:
        return _Parser(tokenize(text, issues), macros, issues).start()
    except RecursionError:
        issues.report(NOWHERE, f"expression recursion limit exceeded: {_MAX_DEPTH}")
        return None


class _Parser:
    def __init__(self, tokens: list[Token], macros: Mapping[tuple[str, int, bool], Macro], issues: Issues) -> None:
        self._tokens = tokens
        self._macros = macros
        self._issues = issues
        self._index = 0
        self._now = tokens[0]
        self._depth = 0
        # After a mistake, before something fits again.
        self._recovering = False
        # What can follow the innermost open construct, innermost last.
        self._closers: list[frozenset[T]] = []

    # Moving through the tokens.

    def _next(self) -> Token:
        self._recovering = False
        token = self._now
        if token.kind is not T.EOF:
            self._index += 1
            self._now = self._tokens[self._index]
        return token

    def _after(self) -> Token:
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)]

    def _accept(self, kind: T) -> Token | None:
        return self._next() if self._now.kind is kind else None

    def _match(self, kind: T, follow: frozenset[T]) -> Token:
        """Take the token, or mend its absence. `follow` is what may stand behind it."""
        if self._now.kind is kind:
            return self._next()
        if self._recovering:
            raise _GiveUpError
        if self._after().kind is kind and self._now.kind is not T.EOF:
            self._report(f"extraneous input {_quoted(self._now)} expecting {display(kind)}")
            self._next()
            return self._next()
        if self._now.kind in follow:
            self._report(f"missing {display(kind)} at {_quoted(self._now)}")
            return Token(kind, "", self._now.at)
        raise self._mismatch(frozenset({kind}))

    def _report(self, message: str, at: int | None = None) -> None:
        if not self._recovering:
            self._issues.report(self._now.at if at is None else at, f"Syntax error: {message}")

    def _mismatch(self, expected: frozenset[T]) -> _GiveUpError:
        self._report(f"mismatched input {_quoted(self._now)} expecting {_listing(expected)}")
        return _GiveUpError()

    def _no_alternative(self, first: Token, offending: Token) -> _GiveUpError:
        end = offending.at + (0 if offending.kind is T.EOF else len(offending.text))
        text = self._issues.text[first.at : end].rstrip()
        if first is not offending and offending.kind in (T.TRUE, T.FALSE, T.NULL):
            message = f"mismatched input '{offending.text}' expecting IDENTIFIER"
        else:
            message = f"no viable alternative at input '{text}'"
        self._report(message, offending.at)
        return _GiveUpError()

    def _recover(self) -> Node:
        """Go on where something makes sense again. Until a token fits, nothing more is reported."""
        resume = self._following().union(*self._closers) | {T.EOF}
        while self._now.kind not in resume:
            self._next()
        self._recovering = True
        return Literal(self._now.at, None)

    def _sync(self, expected: frozenset[T]) -> None:
        """Make sure that one of the expected tokens comes next, skipping one that is too many."""
        if self._now.kind in expected or self._recovering:
            return
        if self._after().kind in expected and self._now.kind is not T.EOF:
            self._report(f"extraneous input {_quoted(self._now)} expecting {_listing(expected)}")
            self._next()
            return
        raise self._mismatch(expected)

    def _following(self) -> frozenset[T]:
        """What may stand behind a complete operand here."""
        return _CONTINUES | (self._closers[-1] if self._closers else frozenset({T.EOF, T.QUESTION}))

    def _nested(self, closers: frozenset[T]) -> Node:
        """An expression within brackets, which the given tokens may follow."""
        self._closers.append(closers)
        node = self.expr()
        self._closers.pop()
        return node

    # The grammar's rules.

    def start(self) -> Node:
        node = self.expr()
        with suppress(_GiveUpError):
            self._match(T.EOF, frozenset())
        return node

    def expr(self) -> Node:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise RecursionError
        condition = self._operation(0)
        question = self._accept(T.QUESTION)
        if question is not None:
            self._closers.append(frozenset({T.COLON}))
            truthy = self._operation(0)
            self._closers.pop()
            try:
                self._match(T.COLON, _START)
                condition = Call(question.at, "_?_:_", [condition, truthy, self.expr()])
            except _GiveUpError:
                condition = self._recover()
        self._depth -= 1
        return condition

    def _operation(self, level: int) -> Node:
        """Operands and operators that bind at least as strongly as the level says."""
        left = self._unary()
        while True:
            operator = _OPERATORS.get(self._now.kind)
            if operator is None or operator[0] < level:
                return left
            binding, function = operator
            token = self._next()
            right = self._operation(binding + 1)
            if binding <= _LOGICAL:
                # Chains of the same logical operator are one call with many arguments.
                operands = [left, right]
                while self._accept(token.kind):
                    operands.append(self._operation(binding + 1))
                left = Call(token.at, function, operands)
            else:
                left = Call(token.at, function, [left, right])

    def _unary(self) -> Node:
        depth = len(self._closers)
        try:
            return self._operand()
        except _GiveUpError:
            del self._closers[depth:]
            return self._recover()

    def _operand(self) -> Node:
        self._sync(_START)
        if self._now.kind not in _START:
            raise _GiveUpError
        first = self._now
        count = 0
        if first.kind is T.EXCLAM:
            while self._accept(T.EXCLAM):
                count += 1
            if self._now.kind not in _START:
                self._report(f"extraneous input {_quoted(self._now)} expecting {_listing(_START)}")
                raise _GiveUpError
        elif first.kind is T.MINUS and self._after().kind not in (T.NUM_INT, T.NUM_FLOAT):
            if self._after().kind not in _START:
                self._no_alternative(first, self._after())
                self._next()
                self._sync(_START)
            while self._now.kind is T.MINUS and self._after().kind not in (T.NUM_INT, T.NUM_FLOAT):
                self._next()
                count += 1
            self._sync(_START)
        node = self._primary()
        chained = 0
        while True:
            kind = self._now.kind
            if kind is T.DOT:
                node = self._dotted(node)
            elif kind is T.LBRACKET:
                node = self._indexed(node)
            else:
                break
            chained += 1
            if chained > _MAX_DEPTH:
                raise RecursionError
        if count % 2:
            return Call(first.at, "!_" if first.kind is T.EXCLAM else "-_", [node])
        return node

    def _dotted(self, operand: Node) -> Node:
        dot = self._next()
        name = self._now
        if name.kind is T.QUESTION:
            self._next()
            at, field = self._field_name()
            return Call(dot.at, "_?._", [operand, Literal(at, field)])
        if name.kind not in (T.IDENTIFIER, T.ESC_IDENTIFIER):
            raise self._no_alternative(dot, name)
        if name.kind is T.IDENTIFIER and self._after().kind is T.LPAREN:
            self._next()
            opening = self._next()
            args = self._arguments()
            return self._call(opening.at, name.text, args, operand)
        _, field = self._field_name()
        return Select(dot.at, operand, field)

    def _field_name(self) -> tuple[int, str]:
        token = self._now
        if token.kind is T.IDENTIFIER:
            return self._next().at, token.text
        if token.kind is T.ESC_IDENTIFIER:
            self._issues.report(token.at, "unsupported syntax: '`'")
            return self._next().at, token.text[1:-1]
        error = self._mismatch(frozenset({T.IDENTIFIER, T.ESC_IDENTIFIER}))
        self._issues.report(token.at, "unsupported ident kind")
        raise error

    def _indexed(self, operand: Node) -> Node:
        opening = self._next()
        self._sync(_START | {T.QUESTION})
        optional = self._accept(T.QUESTION) is not None
        index = self._nested(frozenset({T.RBRACKET, T.QUESTION}))
        self._match(T.RBRACKET, self._following())
        return Call(opening.at, "_[?_]" if optional else "_[_]", [operand, index])

    def _arguments(self) -> list[Node]:
        args: list[Node] = []
        self._sync(_START | {T.RPAREN})
        if self._now.kind is not T.RPAREN:
            closers = frozenset({T.RPAREN, T.COMMA, T.QUESTION})
            args.append(self._nested(closers))
            while self._accept(T.COMMA):
                args.append(self._nested(closers))
        self._match(T.RPAREN, self._following())
        return args

    def _call(self, at: int, function: str, args: list[Node], target: Node | None) -> Node:
        macro = self._macros.get((function, len(args), target is not None))
        if macro is not None:
            try:
                return macro(at, target, args)
            except MacroError as error:
                self._issues.report(error.at, str(error))
                return Literal(at, None)
        return Call(at, function, args, target)

    def _primary(self) -> Node:
        token = self._now
        match token.kind:
            case T.IDENTIFIER | T.DOT:
                return self._name()
            case T.LPAREN:
                self._next()
                node = self._nested(frozenset({T.RPAREN, T.QUESTION}))
                self._match(T.RPAREN, self._following())
                return node
            case T.LBRACKET:
                return self._list()
            case T.LBRACE:
                return self._map()
        return self._literal()

    def _name(self) -> Node:
        first = self._now
        leading = "." if self._accept(T.DOT) else ""
        name = self._now
        if name.kind is not T.IDENTIFIER:
            raise self._no_alternative(first, name)
        if (length := self._struct_name_length()) > 0:
            text = leading + "".join(each.text for each in self._tokens[self._index : self._index + length])
            self._index += length
            self._now = self._tokens[self._index]
            return self._struct(text)
        self._next()
        opening = self._accept(T.LPAREN)
        args = self._arguments() if opening is not None else []
        if name.text in KEYWORDS:
            self._issues.report(first.at, f"reserved identifier: {name.text}")
            return Literal(first.at, None)
        if opening is not None:
            return self._call(opening.at, leading + name.text, args, None)
        return Ident(name.at, leading + name.text)

    def _struct_name_length(self) -> int:
        """How many tokens from here on are the name of a struct literal, or 0 when it is none."""
        index = self._index
        while self._tokens[index].kind is T.IDENTIFIER:
            following = self._tokens[index + 1].kind
            if following is T.LBRACE:
                return index + 1 - self._index
            if following is not T.DOT:
                return 0
            index += 2
        return 0

    def _list(self) -> Node:
        opening = self._next()
        elements: list[Node] = []
        optional: set[int] = set()
        closers = frozenset({T.RBRACKET, T.COMMA, T.QUESTION})
        self._sync(_START | {T.RBRACKET, T.COMMA, T.QUESTION})
        while self._now.kind in _START or self._now.kind is T.QUESTION:
            if self._accept(T.QUESTION):
                optional.add(len(elements))
            elements.append(self._nested(closers))
            if self._now.kind is not T.COMMA or self._after().kind not in _START | {T.QUESTION}:
                self._sync(frozenset({T.RBRACKET, T.COMMA}))
                break
            self._next()
        self._accept(T.COMMA)
        self._match(T.RBRACKET, self._following())
        return ListLiteral(opening.at, elements, frozenset(optional))

    def _map(self) -> Node:
        opening = self._next()
        self._sync(_START | {T.RBRACE, T.COMMA, T.QUESTION})
        entries = self._entries(_START, self._map_entry)
        self._match(T.RBRACE, self._following())
        return MapLiteral(opening.at, entries)

    def _struct(self, name: str) -> Node:
        opening = self._next()
        names = frozenset({T.IDENTIFIER, T.ESC_IDENTIFIER})
        self._sync(names | {T.RBRACE, T.COMMA, T.QUESTION})
        fields = self._entries(names, self._struct_entry)
        self._match(T.RBRACE, self._following())
        return StructLiteral(opening.at, name, fields)

    def _entries(self, start: frozenset[T], read: Callable[[], Entry]) -> list[Entry]:
        entries: list[Entry] = []
        self._closers.append(frozenset({T.RBRACE, T.COMMA}))
        while self._now.kind in start or self._now.kind is T.QUESTION:
            try:
                entries.append(read())
            except _GiveUpError:
                self._recover()
                break
            if self._now.kind is not T.COMMA or self._after().kind not in start | {T.QUESTION}:
                self._sync(frozenset({T.RBRACE, T.COMMA}))
                break
            self._next()
        self._closers.pop()
        self._accept(T.COMMA)
        return entries

    def _map_entry(self) -> Entry:
        optional = self._accept(T.QUESTION) is not None
        key = self._nested(frozenset({T.COLON, T.QUESTION}))
        colon = self._match(T.COLON, _START)
        value = self._nested(frozenset({T.RBRACE, T.COMMA, T.QUESTION}))
        return Entry(colon.at, key, "", value, optional)

    def _struct_entry(self) -> Entry:
        optional = self._accept(T.QUESTION) is not None
        _, name = self._field_name()
        colon = self._match(T.COLON, _START)
        value = self._nested(frozenset({T.RBRACE, T.COMMA, T.QUESTION}))
        return Entry(colon.at, None, name, value, optional)

    def _literal(self) -> Node:
        first = self._next()
        token = first
        sign = ""
        if first.kind is T.MINUS:
            token, sign = self._next(), "-"
        try:
            match token.kind:
                case T.NUM_INT:
                    return Literal(first.at, literals.integer(sign + token.text))
                case T.NUM_UINT:
                    return Literal(first.at, literals.unsigned(token.text))
                case T.NUM_FLOAT:
                    return Literal(first.at, literals.double(sign + token.text))
                case T.STRING:
                    return Literal(first.at, literals.string(token.text))
                case T.BYTES:
                    return Literal(first.at, literals.bytestring(token.text))
                case T.TRUE | T.FALSE:
                    return Literal(first.at, token.kind is T.TRUE)
                case T.NULL:
                    return Literal(first.at, None)
        except ValueError as error:
            self._issues.report(first.at, str(error))
            return Literal(first.at, None)
        raise self._no_alternative(first, token)


def _quoted(token: Token) -> str:
    return f"'{token.text}'".replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def _listing(kinds: frozenset[T]) -> str:
    names = [display(kind) for kind in sorted(kinds)]
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"
