"""Measure what the tests detect: change the source in small ways and see whether a test fails.

    tools/mutants.py draw --seed 15 --count 200 > mutants.jsonl
    tools/mutants.py map --output before.map -- -n 4 --dist loadgroup tests/unit tests/integration tests/simulation
    tools/mutants.py run --mutants mutants.jsonl --map before.map --results before.jsonl

The drawn mutants are a function of the source and the seed. To compare two versions of the test suite, draw once, then
run `map` and `run` for each version on the same source. `run` continues where it was interrupted, and prints the share
of detected mutants at the end.

`map` runs the tests once and records which test executes which line. `run` takes the tests that execute the mutated
line, the cheapest and nearest first, until one fails. If none does, it takes other tests of the same package and the
simulation, because the map does not see subprocesses. A failure counts only if the test fails twice with the mutant
and passes without it; exceeding the time limit counts as a failure. Both commands work in a copy of the checkout with
its own virtual environment, so subprocesses import the copy too and the checkout itself is never changed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import queue
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count, islice, pairwise, takewhile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("core", "infrastructure/proxmox", "controlplane", "ipam", "apiserver/storage", "kube")
MINIMUM = 20
"""Mutants of every package, however small it is."""
ROUND_TESTS, ROUND_SECONDS = 60, 120.0
"""Tests in one pytest process: a limit for each, so that an early failure saves the rest."""
STARTUP = 60.0
"""Seconds that pytest may take besides the tests themselves."""
MEMORY = 4 << 30
"""Bytes that a process may have: a mutant may loop and fill the memory of the machine."""
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
    for package, path in _sources(root, packages):
        source = path.read_bytes()
        candidates[package] += Finder(source, path.relative_to(root).as_posix(), package).find(ast.parse(source))
    drawn: list[Mutant] = []
    for package, quota in _quotas({name: len(found) for name, found in candidates.items()}, number).items():
        random.Random(f"{seed} {package}").shuffle(candidates[package])
        valid = (mutant for mutant in candidates[package] if _is_valid(mutant, (root / mutant.file).read_bytes()))
        drawn += islice(valid, quota)
    random.Random(seed).shuffle(drawn)
    return drawn


def _sources(root: Path, packages: Sequence[str] = PACKAGES) -> Iterator[tuple[str, Path]]:
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


class Stopped(Exception):
    """The user stopped the program."""


class Workspace:
    """A copy of the checkout with its own virtual environment. Every process started here imports the copy."""

    def __init__(self, path: Path) -> None:
        path.parent.chmod(0o755)  # some tests become another user, who has to read the copy
        self.path, self.temporary, self.stopped = path, path.with_name(f"t{path.name}"), False
        self._writes = count(1)
        hidden = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", ".nagaya", "__pycache__")
        shutil.copytree(ROOT, path, ignore=hidden, symlinks=True)
        prefix, copy = Path(sys.prefix), path / ".venv"
        venv.create(copy, symlinks=True)
        installed = str(Path(find_spec("nagaya").origin).parents[1])
        packages = Path(sysconfig.get_path("purelib")).relative_to(prefix)
        for folder in (".", "bin", packages):
            for entry in (prefix / folder).iterdir():
                new = copy / folder / entry.name
                if entry.is_file() and (entry.suffix == ".pth" or entry.open("rb").read(2) == b"#!"):
                    shutil.copy(entry, new)
                    new.write_text(new.read_text().replace(installed, f"{path}/src").replace(f"{prefix}/", f"{copy}/"))
                elif not new.exists():
                    new.symlink_to(entry)
        (copy / packages / "mutants.py").symlink_to(Path(__file__).resolve())
        imported = subprocess.check_output([copy / "bin/python", "-c", "import nagaya; print(nagaya.__file__)"], env={})
        if not imported.decode().startswith(str(path)):
            raise SystemExit(f"Cannot isolate the mutants: the copy imports {imported.decode()}. Run `make install`.")

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """Have the mutant in the copy."""
        path = self.path / mutant.file
        source, stat = path.read_bytes(), path.stat()
        path.write_bytes(mutant.apply(source))
        os.utime(path, (0, next(self._writes)))  # compiled files are found by time and size: no two may have the same
        try:
            yield
        finally:
            path.write_bytes(source)
            os.utime(path, (stat.st_atime, stat.st_mtime))

    def pytest(self, *arguments: str, limit: float | None = None, quiet: bool = True, **environment: str) -> int | None:
        """Run pytest in the copy; returns its exit code, None after the time limit."""
        shutil.rmtree(self.path / ".hypothesis", ignore_errors=True)  # else a failure for one mutant is tried on all
        options = ("-p", "mutants", "-p", "no:cacheprovider", "--hypothesis-seed=0", f"--basetemp={self.temporary}")
        process = subprocess.Popen(
            [self.path / ".venv/bin/pytest", *options, *arguments],
            cwd=self.path,
            env={**os.environ, "VIRTUAL_ENV": str(self.path / ".venv"), "COVERAGE_CORE": "ctrace", **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if quiet else None,
            stderr=subprocess.DEVNULL if quiet else None,
            start_new_session=True,
        )
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (MEMORY, MEMORY))
        try:
            code = None if self.stopped else process.wait(limit)
            if self.stopped:
                raise Stopped
            return code
        except subprocess.TimeoutExpired:
            return None
        finally:
            process.kill()
            self.kill()
            process.wait()

    def stop(self) -> None:
        """Have the thread that works here end."""
        self.stopped = True
        self.kill()

    def kill(self) -> None:
        """End all processes of the copy, also those in sessions of their own."""
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                command = (entry / "cmdline").read_bytes()
                if any(os.fsencode(path) + b"/" in command for path in (self.path, self.temporary)):
                    os.kill(int(entry.name), signal.SIGKILL)

    def check(self, tests: Sequence[str], limit: float) -> tuple[str, list[str]]:
        """Run tests until the first fails; returns passed, killed or timeout, and the tests that failed."""
        selection = self.path.with_name(f"{self.path.name}.json")
        failures = selection.with_suffix(".failed")
        selection.write_text(json.dumps(tests))
        failures.unlink(missing_ok=True)
        files = sorted({test.split("::")[0] for test in tests})
        existing = [file for file in files if (self.path / file).exists()]
        code = self.pytest("-x", "-q", *existing, limit=limit, MUTANTS_SELECT=str(selection)) if existing else 0
        if code is None or code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return ("timeout", list(tests)) if code is None else ("passed", [])
        failed = set(failures.read_text().splitlines()) if failures.exists() else set()
        return "killed", [test for test in tests if {test, test.split("::")[0]} & failed] or list(tests)


class Suite:
    """The tests of a map, and which of them are worth running for a mutant."""

    def __init__(self, path: Path) -> None:
        from coverage.numbits import register_sqlite_functions

        self._database = sqlite3.connect(path)
        register_sqlite_functions(self._database)
        if self._database.execute("SELECT digest FROM source").fetchone() != (_digest(ROOT),):
            raise SystemExit(f"Cannot use {path}: the source changed since. Make the map again.")
        rows = self._database.execute("SELECT name, seconds, shared FROM test").fetchall()
        self.seconds = {name: seconds for name, seconds, _ in rows}
        self._shared = {name: set(json.loads(shared)) for name, _, shared in rows}
        self._reliable: set[str] = set()

    def tests(self, mutant: Mutant) -> tuple[list[str], list[str], bool]:
        """Return the tests that execute the mutant, other tests of its package, and whether anything executes it."""
        lines = range(mutant.first, mutant.last + 1)
        query = "SELECT context FROM line_bits JOIN file ON file.id = file_id JOIN context ON context.id = context_id"
        where = f"path = ? AND ({' OR '.join('num_in_numbits(?, numbits)' for _ in lines)})"
        found = {name for (name,) in self._database.execute(f"{query} WHERE {where}", (mutant.file, *lines))}
        narrow = {test for test, shared in self._shared.items() if test in found or shared & found}
        tiers = (f"tests/unit/{mutant.package}", f"tests/integration/{Path(mutant.package).name}", "tests/simulation")
        wide = [[test for test in self.seconds if test.startswith(f"{tier}/")] for tier in tiers]
        rest = [test for tests in wide for test in self._ordered(tests, mutant) if test not in narrow]
        return self._ordered(narrow, mutant), rest, bool(found)

    def _ordered(self, tests: Iterable[str], mutant: Mutant) -> list[str]:
        """Cheapest first. Near tests count as cheaper, and each further case of the same test as dearer."""
        cases: Counter[str] = Counter()
        cost = {}
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            cases[function := test.split("[")[0]] += 1
            parts = [Path(name).parts[2:] for name in (function.split("::")[0].replace("/test_", "/"), mutant.file)]
            common = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(*parts, strict=False))))
            cost[test] = (self.seconds[test] + 0.05) * cases[function] / (1 + common)
        return sorted(cost, key=lambda test: cost[test])

    def rounds(self, tests: Sequence[str]) -> Iterator[list[str]]:
        """Yield tests for one pytest process at a time, those of a file together."""
        taken: list[str] = []
        for test in [*tests, ""]:
            total = sum(self.seconds[each] for each in taken)
            if taken and (not test or len(taken) == ROUND_TESTS or total + self.seconds[test] > ROUND_SECONDS):
                files = list(dict.fromkeys(each.split("::")[0] for each in taken))
                yield sorted(taken, key=lambda each: files.index(each.split("::")[0]))
                taken = []
            taken.append(test)

    def examine(
        self, mutant: Mutant, plan: tuple[list[str], list[str], bool], workspace: Workspace, options: argparse.Namespace
    ) -> dict[str, Any]:
        """Look for a test that detects the mutant."""
        narrow, wide, executed = plan
        tried: list[str] = []
        doubtful: set[str] = set()
        result = {"id": mutant.id, "package": mutant.package, "file": mutant.file, "line": mutant.line}
        complete = True
        for tests, budget in ((narrow, options.budget), (wide, options.wide)):
            end = time.monotonic() + budget
            for group in self.rounds(tests):
                if time.monotonic() > end:
                    complete = complete and tests is wide
                    break
                while group := [test for test in group if test not in doubtful]:
                    limit = STARTUP + options.timeout_factor * sum(self.seconds[test] for test in group)
                    with workspace.mutated(mutant):
                        status, failed = workspace.check(group, limit)
                        confirmed = status == "timeout" or (failed and workspace.check(failed, limit)[0] != "passed")
                    tried += group
                    if status == "passed":
                        break
                    if confirmed and self._is_reliable(failed, workspace, limit):
                        return {**result, "status": status, "test": failed[0], "tried": len(tried)}
                    doubtful.update(failed)
        status = "survived" if executed else "not executed"
        return {**result, "status": status, "tried": len(tried), "complete": complete, "doubtful": sorted(doubtful)}

    def _is_reliable(self, tests: Sequence[str], workspace: Workspace, limit: float) -> bool:
        if not self._reliable.issuperset(tests) and workspace.check(tests, limit)[0] == "passed":
            self._reliable.update(tests)
        return self._reliable.issuperset(tests)


def _digest(root: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for _, path in _sources(root))).hexdigest()


class Recorder:
    """Pytest plugin of `map`: one coverage context per test, and one per fixture that several tests share."""

    def __init__(self, folder: Path) -> None:
        from coverage import Coverage

        self._tests, self._contexts = folder / f"{os.getpid()}.jsonl", [""]
        self._seconds, self._outcomes = 0.0, set[str]()
        include = [str(Path.cwd() / "src/nagaya" / package / "*") for package in PACKAGES]
        self._coverage = Coverage(folder / "lines", data_suffix=True, config_file=False, include=include)
        self._coverage.set_option("run:relative_files", True)
        self._coverage.set_option("run:disable_warnings", ["no-data-collected"])
        self._coverage.start()

    @contextmanager
    def _context(self, name: str) -> Iterator[None]:
        self._contexts.append(name)
        self._coverage.switch_context(name)
        try:
            yield
        finally:
            self._contexts.pop()
            self._coverage.switch_context(self._contexts[-1])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Iterator[None]:
        name = re.sub(r"@[^\]]*$", "", item.nodeid)  # xdist appends the name of a group
        fixtures = [found[-1] for found in item._fixtureinfo.name2fixturedefs.values()]
        shared = [f"module {item.path}"]
        shared += (_fixture(fixture) for fixture in fixtures if fixture.scope != "function")
        self._seconds, self._outcomes = 0.0, set()
        with self._context(name):
            result = yield
        row = {"name": name, "seconds": self._seconds, "shared": shared, "passed": self._outcomes == {"passed"}}
        with self._tests.open("a") as stream:
            print(json.dumps(row), file=stream)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        with self._context(self._contexts[-1] if fixturedef.scope == "function" else _fixture(fixturedef)):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        """The last test of a file also ends what its file shares."""
        is_last = nextitem is None or nextitem.path != item.path
        with self._context(f"module {item.path}" if is_last else self._contexts[-1]):
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds += report.duration
        self._outcomes.add(report.outcome)

    def pytest_unconfigure(self) -> None:
        self._coverage.stop()
        self._coverage.save()


def _fixture(definition: Any) -> str:
    return f"fixture {definition.baseid}::{definition.argname}"


class Selector:
    """Pytest plugin of `run`: only the selected tests, in the order of the selection."""

    def __init__(self, path: Path) -> None:
        self._order = {test: number for number, test in enumerate(json.loads(path.read_text()))}
        self._failures = path.with_suffix(".failed")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self._order), key=lambda item: self._order[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            with self._failures.open("a") as stream:
                print(report.nodeid, file=stream)

    pytest_collectreport = pytest_runtest_logreport


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Register the plugin that the environment asks for; `map` and `run` have pytest load this file."""
    for variable, plugin in (("MUTANTS_MAP", Recorder), ("MUTANTS_SELECT", Selector)):
        if path := os.environ.get(variable):
            early_config.pluginmanager.register(plugin(Path(path)))


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Provide a folder for copies of the checkout."""
    return tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True)


def print_drawn(options: argparse.Namespace) -> None:
    """`draw`: print one mutant per line."""
    for mutant in draw(ROOT, options.package or PACKAGES, options.count, options.seed):
        print(json.dumps(mutant._asdict()))


def write_map(options: argparse.Namespace) -> None:
    """`map`: run the tests with coverage and combine what the processes recorded."""
    from coverage import CoverageData

    options.output.unlink(missing_ok=True)
    with scratch() as folder:
        workspace, recorded = Workspace(Path(folder, "0")), Path(folder, "map")
        recorded.mkdir()
        workspace.pytest(*options.pytest, quiet=False, MUTANTS_MAP=str(recorded))
        combined = CoverageData(str(options.output))
        for path in recorded.glob("lines.*"):
            part = CoverageData(str(path))
            part.read()
            combined.update(part)
        combined.close()
        rows = [json.loads(line) for path in recorded.glob("*.jsonl") for line in path.read_text().splitlines()]
        digest = _digest(workspace.path)
    with sqlite3.connect(options.output) as database:
        database.execute("CREATE TABLE source (digest TEXT)")
        database.execute("INSERT INTO source VALUES (?)", (digest,))
        database.execute("CREATE TABLE test (name TEXT PRIMARY KEY, seconds REAL, shared TEXT)")
        passed = [(row["name"], row["seconds"], json.dumps(row["shared"])) for row in rows if row["passed"]]
        database.executemany("INSERT OR REPLACE INTO test VALUES (?, ?, ?)", passed)
    print(f"{options.output}: {len(passed)} tests; {len(rows) - len(passed)} left out, because they did not pass.")


def run(options: argparse.Namespace) -> None:
    """`run`: examine the mutants that have no result yet, then print the table."""
    mutants = [Mutant(**json.loads(line)) for line in options.mutants.read_text().splitlines()]
    path = options.results or options.map.with_suffix(".results.jsonl")
    results = {each["id"]: each for each in map(json.loads, path.read_text().splitlines())} if path.exists() else {}
    suite, pending = Suite(options.map), queue.SimpleQueue[tuple[Mutant, Any]]()
    for mutant in mutants:
        if mutant.id not in results:
            pending.put((mutant, suite.tests(mutant)))

    def work(workspace: Workspace) -> None:
        with suppress(Stopped, queue.Empty):
            while True:
                result = suite.examine(*pending.get_nowait(), workspace, options)
                results[result["id"]] = result
                with path.open("a") as stream:
                    stream.write(json.dumps(result) + "\n")
                print(
                    f"{len(results)}/{len(mutants)} {result['status']}: {result['id']} {result.get('test', '')}",
                    flush=True,
                )

    with scratch() as folder, ThreadPoolExecutor(options.jobs) as pool:
        workspaces = [Workspace(Path(folder, str(number))) for number in range(0 if pending.empty() else options.jobs)]
        try:
            for future in as_completed([pool.submit(work, workspace) for workspace in workspaces]):
                future.result()
        finally:
            for workspace in workspaces:
                workspace.stop()
    print_table([results[mutant.id] for mutant in mutants if mutant.id in results])


def print_table(results: Sequence[dict[str, Any]]) -> None:
    """Print the share of detected mutants for every package."""
    print(f"{'package':24}{'mutants':>9}{'detected':>10}{'share':>8}")
    for package in (*PACKAGES, "all"):
        statuses = [result["status"] for result in results if package in ("all", result["package"])]
        if statuses:
            detected = sum(status in ("killed", "timeout") for status in statuses)
            print(f"{package:24}{len(statuses):9}{detected:10}{detected / len(statuses):8.1%}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("draw", help="print mutants, one JSON object per line")
    command.set_defaults(command=print_drawn)
    command.add_argument("--seed", type=int, default=15, help="another seed draws other mutants (default: %(default)s)")
    command.add_argument("--count", type=int, default=200, help="number of mutants (default: %(default)s)")
    command.add_argument("--package", action="append", choices=PACKAGES, help="only this package (repeatable)")
    command = commands.add_parser("map", help="run the tests and record which test executes which line")
    command.set_defaults(command=write_map)
    command.add_argument("--output", type=Path, required=True, help="file to write")
    command.add_argument("pytest", nargs="*", metavar="-- PYTEST ARGUMENTS", help="tests, and options such as -n 4")
    command = commands.add_parser("run", help="examine mutants and print the share that the tests detect")
    command.set_defaults(command=run)
    command.add_argument("--mutants", type=Path, required=True, help="file that `draw` printed")
    command.add_argument("--map", type=Path, required=True, help="file that `map` wrote")
    command.add_argument("--results", type=Path, help="file to continue (default: beside the map, .results.jsonl)")
    command.add_argument("--jobs", type=int, default=1, help="mutants examined at a time (default: %(default)s)")
    command.add_argument(
        "--timeout-factor", type=float, default=5.0, help="time limit as a multiple of the recorded time (%(default)s)"
    )
    command.add_argument(
        "--budget", type=float, default=300.0, help="seconds for tests that execute a mutant (default: %(default)s)"
    )
    command.add_argument(
        "--wide", type=float, default=60.0, help="seconds for other tests of the package (default: %(default)s)"
    )
    options = parser.parse_args()
    if options.command is not print_drawn and find_spec("coverage") is None:
        parser.exit(2, "The package coverage is not installed. Run `make install`, or install it into .venv.\n")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        options.command(options)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
