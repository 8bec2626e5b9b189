"""Parametrised tests whose cases are subtests of one test.

`pytest.mark.parametrize` makes an item of every case while tests are collected, in every worker of pytest-xdist. A
table of hundreds of cases is cheaper as one item that reads its cases when it runs. `subtest_cases` takes the arguments
of `parametrize` and keeps the test function as it is: each case has its own arguments and its own report, and the run
goes on after a failure.

All cases of a test share its fixtures. A test whose cases change what a fixture gives them (a folder, a store) needs
`parametrize`, or has to make a fresh one for every case.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

Names = str | Sequence[str]
Cases = Iterable[Any] | Callable[[], Iterable[Any]]
Ids = Sequence[str] | Callable[[Any], object] | None
Test = Callable[..., Any]

_LONGEST_NAME = 120


def subtest_cases(names: Names, cases: Cases, *, ids: Ids = None) -> Callable[[Test], Test]:
    """Run a test function once per case, each time in a subtest.

    `cases` can be a function that loads them; the function is called when the test runs. `ids` is a list of names, or a
    function that names an argument; without it, a case is named after its arguments.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)

    given = [] if callable(cases) else list(cases)  # an iterator could not be read by a second run

    def decorate(test: Test) -> Test:
        def each_case() -> Iterator[tuple[str, dict[str, Any]]]:
            found = list(cases()) if callable(cases) else given
            assert found, f"{test.__name__} has no cases"
            for number, case in enumerate(found):
                yield _read(names, case, number=number, ids=ids)

        if inspect.iscoroutinefunction(test):

            @functools.wraps(test)
            async def run(subtests: pytest.Subtests, **fixtures: Any) -> None:
                __tracebackhide__ = True
                for name, arguments in each_case():
                    with subtests.test(msg=name):
                        await test(**arguments, **fixtures)

        else:

            @functools.wraps(test)
            def run(subtests: pytest.Subtests, **fixtures: Any) -> None:
                __tracebackhide__ = True
                for name, arguments in each_case():
                    with subtests.test(msg=name):
                        test(**arguments, **fixtures)

        run.__signature__ = _signature(test, names)  # type: ignore[attr-defined]
        return run

    return decorate


def _signature(test: Test, names: Sequence[str]) -> inspect.Signature:
    """The arguments that pytest has to provide: fixtures, and not those that a case has."""
    signature = inspect.signature(test)
    assert signature.parameters.keys() >= set(names), f"{test.__name__} does not take all of {names}"
    fixtures = [parameter for name, parameter in signature.parameters.items() if name not in names]
    subtests = inspect.Parameter("subtests", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return signature.replace(parameters=[subtests, *fixtures])


def _read(names: Sequence[str], case: Any, *, number: int, ids: Ids) -> tuple[str, dict[str, Any]]:
    """The name of a case and its arguments."""
    given = None
    if isinstance(case, type(pytest.param())):
        assert not case.marks, "a subtest cannot have marks: use pytest.mark.parametrize"
        case, given = case.values if len(names) > 1 else case.values[0], case.id
    values = tuple(case) if len(names) > 1 else (case,)
    arguments = dict(zip(names, values, strict=True))
    if isinstance(given, str):
        name = given
    elif ids is not None and not callable(ids):
        name = ids[number]
    else:
        name = "-".join(_name_argument(value, ids) or f"{argument}{number}" for argument, value in arguments.items())
    return ascii(name)[1:-1][:_LONGEST_NAME], arguments  # a lone surrogate cannot be sent to another process


def _name_argument(value: Any, ids: Callable[[Any], object] | None) -> str | None:
    """The name of an argument, or None if its place in the table has to do."""
    named = ids(value) if ids is not None else None
    if named is not None:
        return str(named)
    if isinstance(value, (str, bytes, int, float)) or value is None:
        return str(value)
    return value.__name__ if isinstance(value, type) or inspect.isfunction(value) else None
