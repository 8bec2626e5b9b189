"""Splitting an expression into tokens.

Numbers of token kinds follow the grammar's order, because lists of expected tokens in messages are printed in that
order. Text that is no token is reported and skipped, with the extent the real lexer reports: everything up to where it
lost hope.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final, NamedTuple

from nagaya.apiserver.cel.source import Issues


class T(IntEnum):
    """Kinds of tokens."""

    EOF = -1
    EQUALS = 1
    NOT_EQUALS = 2
    IN = 3
    LESS = 4
    LESS_EQUALS = 5
    GREATER_EQUALS = 6
    GREATER = 7
    AND = 8
    OR = 9
    LBRACKET = 10
    RBRACKET = 11
    LBRACE = 12
    RBRACE = 13
    LPAREN = 14
    RPAREN = 15
    DOT = 16
    COMMA = 17
    MINUS = 18
    EXCLAM = 19
    QUESTION = 20
    COLON = 21
    PLUS = 22
    STAR = 23
    SLASH = 24
    PERCENT = 25
    TRUE = 26
    FALSE = 27
    NULL = 28
    NUM_FLOAT = 31
    NUM_INT = 32
    NUM_UINT = 33
    STRING = 34
    BYTES = 35
    IDENTIFIER = 36
    ESC_IDENTIFIER = 37


class Token(NamedTuple):
    """A piece of the expression."""

    kind: T
    text: str
    at: int


_FIXED: Final = {
    "==": T.EQUALS,
    "!=": T.NOT_EQUALS,
    "<": T.LESS,
    "<=": T.LESS_EQUALS,
    ">=": T.GREATER_EQUALS,
    ">": T.GREATER,
    "&&": T.AND,
    "||": T.OR,
    "[": T.LBRACKET,
    "]": T.RBRACKET,
    "{": T.LBRACE,
    "}": T.RBRACE,
    "(": T.LPAREN,
    ")": T.RPAREN,
    ".": T.DOT,
    ",": T.COMMA,
    "-": T.MINUS,
    "!": T.EXCLAM,
    "?": T.QUESTION,
    ":": T.COLON,
    "+": T.PLUS,
    "*": T.STAR,
    "/": T.SLASH,
    "%": T.PERCENT,
}
_WORDS: Final = {"in": T.IN, "true": T.TRUE, "false": T.FALSE, "null": T.NULL}

_DISPLAY: Final = {kind: f"'{text}'" for text, kind in (_FIXED | _WORDS).items()} | {T.EOF: "<EOF>"}

_ESCAPE: Final = r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
_STRING: Final = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""'
    rf"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"'
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
    r'|[rR]"""[\s\S]*?"""'
    r"|[rR]'''[\s\S]*?'''"
    r'|[rR]"[^"\n\r]*"'
    r"|[rR]'[^'\n\r]*'"
)
# A triple quote that never closes is read as an empty string followed by the rest, hence the order above.
_TOKEN: Final = re.compile(
    rf"(?P<skip>[\t \r\n\f]+|//[^\n]*)"
    rf"|(?P<bytes>[bB](?:{_STRING}))"
    rf"|(?P<string>{_STRING})"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<uint>0x[0-9a-fA-F]+[uU]|\d+[uU])"
    r"|(?P<int>0x[0-9a-fA-F]+|\d+)"
    r"|(?P<fixed>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])"
    r"|(?P<escaped>`[A-Za-z0-9_.\-/ ]+`)",
    re.ASCII,
)
_KINDS: Final = {
    "bytes": T.BYTES,
    "string": T.STRING,
    "float": T.NUM_FLOAT,
    "uint": T.NUM_UINT,
    "int": T.NUM_INT,
    "escaped": T.ESC_IDENTIFIER,
}
# How far the lexer reads into something that could have become a token.
_ESCAPE_BEGUN: Final = r"(?:\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?)?"
_HOPEFUL: Final = re.compile(
    rf"""[bB]?(?:"(?:{_ESCAPE}|[^\\"\n\r])*{_ESCAPE_BEGUN}|'(?:{_ESCAPE}|[^\\'\n\r])*{_ESCAPE_BEGUN}"""
    r"""|[rR]"[^"\n\r]*|[rR]'[^'\n\r]*)|`[A-Za-z0-9_.\-/ ]*|[=&|]"""
)


def display(kind: T) -> str:
    """The token kind as lists of expected tokens name it."""
    return _DISPLAY.get(kind) or kind.name


def tokenize(text: str, issues: Issues) -> list[Token]:
    """All tokens, ended by one `EOF`. What is no token is reported and left out."""
    tokens: list[Token] = []
    position, end = 0, len(text)
    match = _TOKEN.match
    while position < end:
        found = match(text, position)
        if found is None:
            position = _report_unknown(text, position, issues)
            continue
        group = found.lastgroup
        value = found.group()
        if group == "word":
            tokens.append(Token(_WORDS.get(value, T.IDENTIFIER), value, position))
        elif group == "fixed":
            tokens.append(Token(_FIXED[value], value, position))
        elif group != "skip":
            assert group is not None
            tokens.append(Token(_KINDS[group], value, position))
        position = found.end()
    tokens.append(Token(T.EOF, "<EOF>", end))
    return tokens


def _report_unknown(text: str, start: int, issues: Issues) -> int:
    hopeful = _HOPEFUL.match(text, start)
    # The character at which hope was lost belongs to the report: what follows a single `&`, a bad escape, a line break.
    stop = min((hopeful.end() if hopeful else start) + 1, len(text))
    issues.report(start, f"Syntax error: token recognition error at: '{_printable(text[start:stop])}'")
    return stop


def _printable(text: str) -> str:
    return text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
