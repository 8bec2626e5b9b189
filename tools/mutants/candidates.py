"""Candidates: all small changes to the functions of a file, and a sample of them that a seed fixes.

A candidate is one that a test should detect: no log lines, no messages, no assertions, no code for type checkers.
"""

from __future__ import annotations

import ast
import random
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

PACKAGES = ("core", "infrastructure/proxmox", "controlplane", "ipam", "apiserver/storage", "kube")
MINIMUM = 20
"""Mutants of every package, however small it is."""
COMPARISONS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.In: (r"\bin\b", "not in"), ast.NotIn: (r"\bnot\s+in\b", "in"),
    ast.Is: (r"\bis\b", "is not"), ast.IsNot: (r"\bis\s+not\b", "is"),
}  # fmt: skip
OPPOSITES = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)
"""Comparisons whose swap already negates the condition."""
ARITHMETIC = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "//"), ast.FloorDiv: ("//", "*")}
LOG_LEVELS = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log"})
SEQUENCES = (ast.List, ast.Tuple, ast.ListComp, ast.JoinedStr)


class Mutant(NamedTuple):
    """One change. `column` counts bytes; `first` to `last` are the lines of the statement, to look up in the map."""

    id: str
    package: str
    file: str
    line: int
    column: int
    operator: str
    before: str
    after: str
    first: int
    last: int

    def apply(self, source: bytes) -> bytes:
        """Return the mutated source."""
        start = sum(map(len, source.splitlines(keepends=True)[: self.line - 1])) + self.column
        before = self.before.encode()
        if source[start : start + len(before)] != before:
            raise SystemExit(f"Cannot apply {self.id}: the source is not the one it was drawn from. Draw again.")
        return source[:start] + self.after.encode() + source[start + len(before) :]


class Finder:
    """Finds all candidates in the functions of a file."""

    def __init__(self, source: bytes, file: str, package: str) -> None:
        self.source, self.file, self.package = source, file, package
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def find(self, node: ast.AST, span: tuple[int, int] = (0, 0), in_function: bool = False) -> Iterator[Mutant]:
        """Yield the candidates in a node; `span` are the lines of the statement around it."""
        if isinstance(node, ast.Assert | ast.JoinedStr) or _is_message(node):
            return
        body = getattr(node, "body", None)
        if isinstance(node, ast.stmt | ast.match_case):
            first = node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno
            header = body[0].lineno - 1 if body else first if isinstance(node, ast.Match) else node.end_lineno
            span = (first, max(first, header))
        if in_function:
            for operator, start, end, after in self._edits(node):
                line = bisect_right(self.starts, start)
                column = start - self.starts[line - 1]
                name = f"{Path(self.file).relative_to('src/nagaya')}:{line}:{column}:{operator}"
                before = self.source[start:end].decode()
                yield Mutant(name, self.package, self.file, line, column, operator, before, after, *span)
        children: Iterable[ast.AST] = ast.iter_child_nodes(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            children = node.body
        elif isinstance(node, ast.Lambda):
            children = [node.body]
        elif isinstance(node, ast.AnnAssign):
            children = [node.target, node.value] if node.value else []
        in_function |= isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in children:
            yield from self.find(child, span, in_function)

    def _edits(self, node: Any) -> Iterator[tuple[str, int, int, str]]:
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield from self._negate(test)
            case ast.comprehension(ifs=conditions):
                for condition in conditions:
                    yield from self._negate(condition)
            case ast.match_case(guard=ast.expr() as guard):
                yield from self._negate(guard)
            case ast.Compare():
                for (left, right), op in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
                    yield from self._between("compare", left, right, *COMPARISONS[type(op)])
            case ast.BoolOp(op=op, values=values):
                words = (r"\band\b", "or") if isinstance(op, ast.And) else (r"\bor\b", "and")
                for left, right in pairwise(values):
                    yield from self._between("and-or", left, right, *words)
            case ast.BinOp(op=op, left=left, right=right) | ast.AugAssign(op=op, target=left, value=right):
                texts = [side for side in (left, right) if isinstance(side, SEQUENCES) or _is_string(side)]
                if type(op) in ARITHMETIC and not texts:
                    sign, other = ARITHMETIC[type(op)]
                    yield from self._between("arithmetic", left, right, re.escape(sign), other)
            case ast.Constant(value=bool() as value):
                yield "boolean", *self._range(node), str(not value)
            case ast.Constant(value=int() as value):
                yield "integer", *self._range(node), str(value + 1)
            case ast.UnaryOp(op=ast.Not()):
                start = self._range(node)[0]
                yield "not", start, start + len(re.match(rb"not\s*", self.source[start:])[0]), ""
            case ast.Return(value=ast.expr() as value):
                # A function that returns False is mostly used as a condition, where None is the same.
                if not (isinstance(value, ast.Constant) and (value.value is None or value.value is False)):
                    yield "return", *self._range(value), "None"
            case ast.Expr(value=ast.Call() | ast.Await()):
                yield "statement", *self._range(node), "pass"
            case ast.Continue() | ast.Break():
                yield "loop", *self._range(node), "break" if isinstance(node, ast.Continue) else "continue"
            case ast.Call(keywords=keywords):
                for keyword in keywords:
                    if keyword.arg is not None:
                        yield "keyword", *self._argument(*self._range(keyword)), ""

    def _range(self, node: Any) -> tuple[int, int]:
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def _negate(self, test: ast.expr) -> Iterator[tuple[str, int, int, str]]:
        is_swapped = isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], OPPOSITES)
        is_negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        if not (is_swapped or is_negated or isinstance(test, ast.Constant)):
            start, end = self._range(test)
            yield "condition", start, end, f"not ({self.source[start:end].decode()})"

    def _between(self, operator: str, *change: Any) -> Iterator[tuple[str, int, int, str]]:
        left, right, pattern, after = change
        start, end = self._range(left)[1], self._range(right)[0]
        gap = self.source[start:end]
        if b"#" not in gap and (found := re.search(pattern.encode(), gap)):
            yield operator, start + found.start(), start + found.end(), after

    def _argument(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of an argument with the comma that goes with it."""
        if after := re.match(rb"\s*,[ \t]*", self.source[end:]):
            return start, end + after.end()
        before = re.search(rb",\s*$", self.source[:start][-200:])
        return start - (len(before[0]) if before else 0), end


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _is_message(node: ast.AST) -> bool:
    """Whether the node is a log line, or code for type checkers only."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=level)):
            return name.strip("_") in ("log", "logger") and level in LOG_LEVELS
        case ast.Expr(value=value):
            return _is_message(value)
        case ast.If(test=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name == "TYPE_CHECKING"
    return False


def draw(root: Path, packages: Sequence[str], number: int, seed: int) -> list[Mutant]:
    """Draw mutants, from every package in proportion to its candidates. Any beginning of the list is a sample too."""
    candidates: dict[str, list[Mutant]] = {package: [] for package in packages}
    for package, path in find_sources(root, packages):
        source = path.read_bytes()
        candidates[package] += Finder(source, path.relative_to(root).as_posix(), package).find(ast.parse(source))
    drawn: list[Mutant] = []
    for package, quota in _quotas({name: len(found) for name, found in candidates.items()}, number).items():
        random.Random(f"{seed} {package}").shuffle(candidates[package])
        valid = (mutant for mutant in candidates[package] if _is_valid(mutant, (root / mutant.file).read_bytes()))
        drawn += islice(valid, quota)
    random.Random(seed).shuffle(drawn)
    return drawn


def find_sources(root: Path, packages: Sequence[str] = PACKAGES) -> Iterator[tuple[str, Path]]:
    """Yield the files of packages, each with its package."""
    for package in packages:
        for path in sorted((root / "src/nagaya" / package).rglob("*.py")):
            yield package, path


def _quotas(sizes: dict[str, int], number: int) -> dict[str, int]:
    minimum = min(MINIMUM, number // len(sizes))
    small = {name for name in sizes if number * sizes[name] < minimum * sum(sizes.values())}
    rest, total = number - minimum * len(small), sum(size for name, size in sizes.items() if name not in small)
    quotas = {name: minimum if name in small else rest * size // total for name, size in sizes.items()}
    largest = max(sizes, key=lambda name: sizes[name])
    return {**quotas, largest: quotas[largest] + number - sum(quotas.values())}


def _is_valid(mutant: Mutant, source: bytes) -> bool:
    with warnings.catch_warnings(), suppress(SyntaxError):
        warnings.simplefilter("ignore")
        mutated = ast.parse(mutant.apply(source))
        compile(mutated, mutant.file, "exec")
        return ast.dump(mutated) != ast.dump(ast.parse(source))
    return False
