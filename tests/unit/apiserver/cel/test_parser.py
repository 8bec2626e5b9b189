from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.cel.environment import BASE
from nagaya.apiserver.cel.program import CompileError, PlanError, compile
from support.subtest_cases import subtest_cases

CASES = [
    ("(1", "refused 1:3: Syntax error: missing ')' at '<EOF>'"),
    ("(1 + 2", "refused 1:7: Syntax error: missing ')' at '<EOF>'"),
    ("1 2", "refused 1:3: Syntax error: extraneous input '2' expecting <EOF>"),
    ("1 == 2)", "refused 1:7: Syntax error: extraneous input ')' expecting <EOF>"),
    (
        "a = 1",
        "refused 1:3: Syntax error: token recognition error at: '= '; 1:5: Syntax error: extraneous input '1'"
        " expecting <EOF>",
    ),
    (
        "1 & 2",
        "refused 1:3: Syntax error: token recognition error at: '& '; 1:5: Syntax error: extraneous input '2'"
        " expecting <EOF>",
    ),
    (
        "1 | 2",
        "refused 1:3: Syntax error: token recognition error at: '| '; 1:5: Syntax error: extraneous input '2'"
        " expecting <EOF>",
    ),
    (
        "'abc",
        "refused 1:1: Syntax error: token recognition error at: ''abc'; 1:5: Syntax error: mismatched input "
        "'<EOF>' expecting an operand",
    ),
    (
        '"abc',
        "refused 1:1: Syntax error: token recognition error at: '\"abc'; 1:5: Syntax error: mismatched input "
        "'<EOF>' expecting an operand",
    ),
    ("1..b", "refused 1:3: Syntax error: no viable alternative at input '..'"),
    ("1 + + 2", "refused 1:5: Syntax error: extraneous input '+' expecting an operand"),
    ("1, 2", "refused 1:2: Syntax error: mismatched input ',' expecting <EOF>"),
    ("[1, 2", "refused 1:6: Syntax error: mismatched input '<EOF>' expecting {']', ','}"),
    ("[1, 2,", "refused 1:7: Syntax error: missing ']' at '<EOF>'"),
    ("[1 2]", "refused 1:4: Syntax error: extraneous input '2' expecting {']', ','}"),
    ("{1: 2", "refused 1:6: Syntax error: mismatched input '<EOF>' expecting {'}', ','}"),
    ("{1 2}", "refused 1:4: Syntax error: missing ':' at '2'"),
    ("{'a': 1, }", "{'a': 1}"),
    ("size(1", "refused 1:7: Syntax error: missing ')' at '<EOF>'"),
    ("size(1,", "refused 1:8: Syntax error: mismatched input '<EOF>' expecting an operand"),
    ("size(1,)", "refused 1:8: Syntax error: mismatched input ')' expecting an operand"),
    (
        "size(,)",
        "refused 1:6: Syntax error: extraneous input ',' expecting {'[', '{', '(', ')', '.', '-', '!', "
        "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
    ),
    ("size(1 2)", "refused 1:8: Syntax error: extraneous input '2' expecting ')'"),
    ("1 ? 2", "refused 1:6: Syntax error: mismatched input '<EOF>' expecting ':'"),
    ("1 ? 2 : ", "refused 1:9: Syntax error: mismatched input '<EOF>' expecting an operand"),
    ("1 ? 2 3", "refused 1:7: Syntax error: missing ':' at '3'"),
    ("1 ? ", "refused 1:5: Syntax error: mismatched input '<EOF>' expecting an operand"),
    ("!", "refused 1:2: Syntax error: extraneous input '<EOF>' expecting an operand"),
    (
        "-",
        "refused 1:2: Syntax error: no viable alternative at input '-'; 1:2: Syntax error: mismatched input "
        "'<EOF>' expecting an operand",
    ),
    ("1 -", "refused 1:4: Syntax error: mismatched input '<EOF>' expecting an operand"),
    ("1 in", "refused 1:5: Syntax error: mismatched input '<EOF>' expecting an operand"),
    ("in 1", "refused 1:1: Syntax error: extraneous input 'in' expecting an operand"),
    ("x.", "refused 1:3: Syntax error: no viable alternative at input '.'"),
    ("x.1", "refused 1:2: Syntax error: extraneous input '.1' expecting <EOF>"),
    (
        "x.y(",
        "refused 1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', "
        "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
    ),
    (
        "x[",
        "refused 1:3: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', '?', "
        "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
    ),
    ("x[1", "refused 1:4: Syntax error: missing ']' at '<EOF>'"),
    (
        "x[]",
        "refused 1:3: Syntax error: mismatched input ']' expecting {'[', '{', '(', '.', '-', '!', '?', "
        "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
    ),
    (
        "x.in",
        "refused 1:3: Syntax error: no viable alternative at input '.in'; 1:5: Syntax error: mismatched input"
        " '<EOF>' expecting an operand",
    ),
    ("x.true", "refused 1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER"),
    ("true.", "refused 1:6: Syntax error: no viable alternative at input '.'"),
    (
        "#",
        "refused 1:1: Syntax error: token recognition error at: '#'; 1:2: Syntax error: mismatched input "
        "'<EOF>' expecting an operand",
    ),
    (
        "1 # 2",
        "refused 1:3: Syntax error: token recognition error at: '#'; 1:5: Syntax error: extraneous input '2' "
        "expecting <EOF>",
    ),
    (
        "1 ; 2",
        "refused 1:3: Syntax error: token recognition error at: ';'; 1:5: Syntax error: extraneous input '2' "
        "expecting <EOF>",
    ),
    ("'a' 'b'", "refused 1:5: Syntax error: extraneous input ''b'' expecting <EOF>"),
    ("if", "refused 1:1: reserved identifier: if"),
    ("x if", "refused 1:3: Syntax error: extraneous input 'if' expecting <EOF>"),
    ("&& true", "refused 1:1: Syntax error: extraneous input '&&' expecting an operand"),
    ("true &&", "refused 1:8: Syntax error: mismatched input '<EOF>' expecting an operand"),
    ("true && && false", "refused 1:9: Syntax error: extraneous input '&&' expecting an operand"),
    ("1 == ", "refused 1:6: Syntax error: mismatched input '<EOF>' expecting an operand"),
    ("== 1", "refused 1:1: Syntax error: extraneous input '==' expecting an operand"),
    ("a b c", "refused 1:3: Syntax error: mismatched input 'b' expecting <EOF>"),
    (
        "foo(",
        "refused 1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', "
        "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
    ),
    (")", "refused 1:1: Syntax error: mismatched input ')' expecting an operand"),
    ("]", "refused 1:1: Syntax error: mismatched input ']' expecting an operand"),
    (".", "refused 1:2: Syntax error: no viable alternative at input '.'"),
    ("1.", "refused 1:3: Syntax error: no viable alternative at input '.'"),
    ("1e", "refused 1:2: Syntax error: extraneous input 'e' expecting <EOF>"),
    ("0x", "refused 1:2: Syntax error: extraneous input 'x' expecting <EOF>"),
    ("1u2", "refused 1:3: Syntax error: extraneous input '2' expecting <EOF>"),
    (
        "'\\q'",
        "refused 1:1: Syntax error: token recognition error at: ''\\q'; 1:4: Syntax error: token recognition "
        "error at: '''; 1:5: Syntax error: mismatched input '<EOF>' expecting an operand",
    ),
    (
        "'\\400'",
        "refused 1:1: Syntax error: token recognition error at: ''\\4'; 1:6: Syntax error: token recognition "
        "error at: '''",
    ),
    ("r'\\q'", "'\\\\q'"),
    ('"""abc', "refused 1:3: Syntax error: token recognition error at: '\"abc'"),
    ("[1,,2]", "refused 1:4: Syntax error: mismatched input ',' expecting ']'"),
    ("{,}", "{}"),
    ("{}", "{}"),
    (
        "{:}",
        "refused 1:2: Syntax error: extraneous input ':' expecting {'[', '{', '}', '(', '.', ',', '-', '!', "
        "'?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
    ),
    (
        "Foo{",
        "refused 1:5: Syntax error: mismatched input '<EOF>' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}",
    ),
    ("Foo{a", "refused 1:6: Syntax error: mismatched input '<EOF>' expecting ':'"),
    ("Foo{a:", "refused 1:7: Syntax error: mismatched input '<EOF>' expecting an operand"),
    ("Foo{a:1", "refused 1:8: Syntax error: mismatched input '<EOF>' expecting {'}', ','}"),
    ("Foo{a:1,", "refused 1:9: Syntax error: missing '}' at '<EOF>'"),
    ("a.b.{}", "refused 1:5: Syntax error: no viable alternative at input '.{'"),
    ("has(a", "refused 1:5: invalid argument to has() macro; 1:6: Syntax error: missing ')' at '<EOF>'"),
    ("has()", "refused 1:4: undeclared reference to 'has' (in container '')"),
    (
        "has(a.b, c)",
        "refused 1:4: undeclared reference to 'has' (in container ''); 1:5: undeclared reference to 'a' (in "
        "container ''); 1:10: undeclared reference to 'c' (in container '')",
    ),
    (
        "[1].all(x)",
        "refused 1:8: undeclared reference to 'all' (in container ''); 1:9: undeclared reference to 'x' (in "
        "container '')",
    ),
    (
        "[1].all(x, y, z, w)",
        "refused 1:8: undeclared reference to 'all' (in container ''); 1:9: undeclared reference to 'x' (in "
        "container ''); 1:12: undeclared reference to 'y' (in container ''); 1:15: undeclared reference to "
        "'z' (in container ''); 1:18: undeclared reference to 'w' (in container '')",
    ),
    ("[1].map(1, 2)", "refused 1:9: argument is not an identifier"),
    ("[1].all(x.y, true)", "refused 1:10: argument must be a simple name"),
    ("for", "refused 1:1: reserved identifier: for"),
    ("while == 1", "refused 1:1: reserved identifier: while"),
    ("1 <> 2", "refused 1:4: Syntax error: extraneous input '>' expecting an operand"),
    ("a?.b", "refused 1:5: Syntax error: mismatched input '<EOF>' expecting ':'"),
    (
        "a.?",
        "refused 1:4: Syntax error: mismatched input '<EOF>' expecting {IDENTIFIER, ESC_IDENTIFIER}; 1:4: "
        "unsupported ident kind",
    ),
    (
        "[?a]",
        "refused 1:3: undeclared reference to 'a' (in container ''); 1:3: expected type "
        "'optional_type(!error!)' but found '!error!'",
    ),
    ("`a`", "refused 1:1: Syntax error: mismatched input '`a`' expecting an operand"),
    ("x.`a`", "refused 1:3: unsupported syntax: '`'"),
    ("$x", "refused 1:1: Syntax error: token recognition error at: '$'"),
    (
        "a@b",
        "refused 1:2: Syntax error: token recognition error at: '@'; 1:3: Syntax error: extraneous input 'b' "
        "expecting <EOF>",
    ),
    ("1 +* 2", "refused 1:4: Syntax error: extraneous input '*' expecting an operand"),
    (
        "true = true",
        "refused 1:6: Syntax error: token recognition error at: '= '; 1:8: Syntax error: extraneous input "
        "'true' expecting <EOF>",
    ),
    ("1 === 1", "refused 1:5: Syntax error: token recognition error at: '= '"),
    ("not true", "refused 1:5: Syntax error: extraneous input 'true' expecting <EOF>"),
    ("true and false", "refused 1:6: Syntax error: mismatched input 'and' expecting <EOF>"),
    (
        '"a" + \'b',
        "refused 1:7: Syntax error: token recognition error at: ''b'; 1:9: Syntax error: mismatched input "
        "'<EOF>' expecting an operand",
    ),
    ("//c", "refused 1:4: Syntax error: mismatched input '<EOF>' expecting an operand"),
    ("1 //c", "1"),
]


@subtest_cases(("expression", "expected"), CASES)
def test_syntax_as_the_real_server_has_them(outcome_of: Callable[[str], str], expression: str, expected: str) -> None:
    assert outcome_of(expression) == expected


def test_what_an_operand_can_begin_with_is_listed_in_full() -> None:
    with pytest.raises(CompileError) as refused:
        compile("1 +", BASE)
    assert str(refused.value) == (
        "ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true',"
        " 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 1 +\n | ...^"
    )


@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("[", "]"), ("{1: ", "}"), ("dyn(", ")")])
def test_nesting_too_deep_is_refused_and_not_fatal(opening: str, closing: str) -> None:
    compile(opening * 50 + "true" + closing * 50, BASE)
    with pytest.raises(CompileError, match="recursion"):
        compile(opening * 3000 + "true" + closing * 3000, BASE)


def test_an_expression_cannot_be_endless() -> None:
    with pytest.raises(CompileError, match="expression code point size exceeds limit: size: 100001, limit 100000"):
        compile("'" + "a" * 99_999 + "'", BASE)


_TOKENS = "( ) [ ] { } . , ? : + - * ! && || == < in x 1 'a' true null = & # \" .? [? has map(x,x)"
_PIECES = st.lists(st.sampled_from(_TOKENS.split(" ")), max_size=12)


@given(_PIECES)
def test_any_text_is_either_compiled_or_refused(pieces: list[str]) -> None:
    try:
        compile(" ".join(pieces), BASE)
    except (CompileError, PlanError) as refused:
        assert str(refused)
