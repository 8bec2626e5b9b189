"""Mutants are drawn in the same way every time, and change exactly one place of the source."""

import ast
from pathlib import Path
from types import ModuleType

import pytest

from support.tools import load_tool

CHECKOUT = Path(__file__).parents[3]


def tool() -> ModuleType:
    """The program that draws mutants."""
    return load_tool("mutants/candidates")


def mutations(source: str) -> dict[str, list[str]]:
    """All mutated sources, by operator."""
    text = source.encode()
    found: dict[str, list[str]] = {}
    for mutant in tool().Finder(text, "src/nagaya/ipam/a.py", "ipam").find(ast.parse(text)):
        mutated = mutant.apply(text).decode()
        compile(mutated, "a.py", "exec")
        found.setdefault(mutant.operator, []).append(mutated)
    return found


def in_function(*lines: str) -> str:
    """The lines as the body of a function."""
    return "\n".join(["async def f(a, b, c):", *(f"    {line}" for line in lines)])


@pytest.mark.parametrize(
    ("operator", "before", "after"),
    [
        ("condition", "if a: g()", ["if not (a): g()"]),
        ("condition", "while g(a): pass", ["while not (g(a)): pass"]),
        ("condition", "b = a if (a or b) else c", ["b = a if (not (a or b)) else c"]),
        ("condition", "b = [each for each in a if each]", ["b = [each for each in a if not (each)]"]),
        ("condition", "if (a := b): pass", ["if (not (a := b)): pass"]),
        ("compare", "b = a < b <= c", ["b = a <= b <= c", "b = a < b < c"]),
        ("compare", "b = (a) > (b)", ["b = (a) >= (b)"]),
        ("compare", "if a == b: pass", ["if a != b: pass"]),
        ("compare", "b = a in c, a not in c", ["b = a not in c, a not in c", "b = a in c, a in c"]),
        ("compare", "b = a is c, a is not c", ["b = a is not c, a is not c", "b = a is c, a is c"]),
        ("and-or", "b = a and b and c", ["b = a or b and c", "b = a and b or c"]),
        ("arithmetic", "b = a + b * c", ["b = a - b * c", "b = a + b // c"]),
        ("arithmetic", "a += b", ["a -= b"]),
        ("integer", "b = a[0o17]", ["b = a[16]"]),
        ("boolean", "b = g(a, c=True)", ["b = g(a, c=False)"]),
        ("return", "return (a + b)", ["return (None)"]),
        ("statement", "await g(a)", ["pass"]),
        ("not", "b = not (a or b)", ["b = (a or b)"]),
        ("keyword", "g(a, b=1, c=2)", ["g(a, c=2)", "g(a, b=1)"]),
        ("keyword", "g(b=1)", ["g()"]),
        ("loop", "for a in b: continue", ["for a in b: break"]),
    ],
)
def test_an_operator_changes_one_place(operator: str, before: str, after: list[str]) -> None:
    assert mutations(in_function(before))[operator] == [in_function(line) for line in after]


def test_the_rest_of_the_file_stays_as_it_is() -> None:
    before = in_function("x = 'größer'; b = ('ä', a < b)  # kept", "return None")
    assert mutations(before) == {"compare": [before.replace("<", "<=")]}


@pytest.mark.parametrize(
    "source",
    [
        "LIMIT = 3 + 4",
        "class A:\n    size: int = 3",
        "def f(a: Literal[1] = 1) -> Literal[2]:\n    'Return 1.'",
        in_function("a: Literal[1]"),
        in_function("assert a < 1"),
        in_function("log.info('%d', a + 1)"),
        in_function("self._log.warning('%d', a + 1)"),
        in_function("a = f'{a + 1}'"),
        "if TYPE_CHECKING:\n    def f(): return 1",
    ],
)
def test_what_tests_need_not_see_is_no_candidate(source: str) -> None:
    assert mutations(source) == {}


def test_returning_false_is_not_changed_to_none_which_is_mostly_the_same() -> None:
    assert mutations(in_function("return False")).keys() == {"boolean"}


def test_a_condition_that_a_swap_negates_is_changed_once() -> None:
    assert mutations(in_function("if a is b: pass", "if not a: pass")).keys() == {"compare", "not"}


def test_the_lines_of_a_mutant_are_those_of_its_statement() -> None:
    lines = ("def f(a):", "  if (", "    a", "    and a.b", "  ):", "    return g(", "      a,", "      1,", "    )")
    text = "\n".join(lines).encode()
    found = tool().Finder(text, "src/nagaya/ipam/a.py", "ipam").find(ast.parse(text))
    assert {(each.operator, each.line, each.first, each.last) for each in found} == {
        ("condition", 3, 2, 5),
        ("and-or", 4, 2, 5),
        ("return", 6, 6, 9),
        ("integer", 8, 6, 9),
    }


def test_a_mutant_of_another_source_is_refused() -> None:
    (mutant,) = tool().Finder(b"def f(): return a", "src/nagaya/ipam/a.py", "ipam").find(ast.parse("def f(): return a"))
    with pytest.raises(SystemExit, match="Draw again"):
        mutant.apply(b"def f(): return b")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A source with a small and a large package."""
    for package, functions in (("ipam", 40), ("core", 200)):
        folder = tmp_path / "src/nagaya" / package
        folder.mkdir(parents=True)
        for number in range(functions):
            (folder / f"f{number}.py").write_text("def f(a):\n    return a + 1")
    return tmp_path


def test_a_seed_draws_the_same_mutants_every_time(checkout: Path) -> None:
    first, again, other = (tool().draw(checkout, ("core", "ipam"), 60, seed) for seed in (15, 15, 16))
    assert first == again
    assert {mutant.id for mutant in first} != {mutant.id for mutant in other}
    assert len({mutant.id for mutant in first}) == 60


def test_every_package_has_its_share(checkout: Path) -> None:
    drawn = [mutant.package for mutant in tool().draw(checkout, ("core", "ipam"), 60, 15)]
    assert (drawn.count("core"), drawn.count("ipam")) == (40, 20)
    drawn = [mutant.package for mutant in tool().draw(checkout, ("core", "ipam"), 240, 15)]
    assert (drawn.count("core"), drawn.count("ipam")) == (200, 40)


def test_the_packages_exist() -> None:
    assert all((CHECKOUT / "src/nagaya" / package).is_dir() for package in tool().PACKAGES)
