"""The building blocks of planned expressions: logical operators, comparisons of integers, and calls of functions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from nagaya.apiserver.cel import operators
from nagaya.apiserver.cel.budget import charge, charge_deeply
from nagaya.apiserver.cel.declarations import Function, Overload, accepts
from nagaya.apiserver.cel.values import CelError, NoSuchOverloadError, type_name

Frame = list[Any]
Step = Callable[[Frame], Any]


def logical(terms: list[Step], *, decisive: bool) -> Step:
    """`&&` and `||`: a term with the decisive value settles it, whatever errors the others have."""
    undecided = not decisive

    def many(frame: Frame) -> Any:
        failure: CelError | None = None
        for term in terms:
            try:
                value = term(frame)
            except CelError as error:
                failure = failure or error
                continue
            if value is decisive:
                return decisive
            if value is not undecided:
                failure = failure or NoSuchOverloadError()
        if failure is not None:
            raise failure
        return undecided

    if len(terms) != 2:
        return many
    one, other = terms

    def two(frame: Frame) -> Any:
        try:
            value = one(frame)
        except CelError:
            with suppress(CelError):
                if other(frame) is decisive:
                    return decisive
            raise
        if value is decisive:
            return decisive
        second = other(frame)
        if second is decisive:
            return decisive
        if value is undecided and second is undecided:
            return undecided
        raise NoSuchOverloadError

    return two


def invocation(implementation: Callable[..., Any], steps: list[Step], charged: bool) -> Step:
    """A call with the values of its arguments; a charged function also gets the budget."""
    if charged:
        return lambda frame: implementation(frame[0], *[step(frame) for step in steps])
    match steps:
        case []:
            return lambda _: implementation()
        case [one]:

            def unary(frame: Frame) -> Any:
                value = one(frame)
                charge(frame[0], value)
                return implementation(value)

            return unary
        case [one, two]:

            def binary(frame: Frame) -> Any:
                value = one(frame)
                charge(frame[0], value)
                return implementation(value, two(frame))

            return binary

    def general(frame: Frame) -> Any:
        values = [step(frame) for step in steps]
        charge(frame[0], values[0])
        return implementation(*values)

    return general


def guarded(declared: Function, overloads: tuple[Overload, ...]) -> Callable[..., Any]:
    """A choice among signatures by the values' types; none that fits is an error."""
    skip = 1 if declared.charged else 0

    def choose(*args: Any) -> Any:
        values = args[skip:]
        for overload in overloads:
            if len(overload.params) == len(values) and all(map(accepts, overload.params, values)):
                return overload.implementation(*args)
        given = ", ".join(map(type_name, values))
        raise NoSuchOverloadError(f"no such overload: {declared.name}({given})")

    return choose


_RELATIONS: Final[dict[str, tuple[tuple[int, ...], Callable[[Any, Any], bool]]]] = {
    "_<_": ((-1,), operator.lt),
    "_<=_": ((-1, 0), operator.le),
    "_>_": ((1,), operator.gt),
    "_>=_": ((0, 1), operator.ge),
}


def relation(function: str, one: Step, other: Step, *, integers: bool) -> Step:
    """`<`, `<=`, `>` or `>=`. Integers are compared by Python; what turns out to be null is not."""
    accepted, compare = _RELATIONS[function]
    order = operators.order

    def general(frame: Frame) -> bool:
        left = one(frame)
        charge(frame[0], left)
        return order(left, other(frame), function) in accepted

    def of_integers(frame: Frame) -> bool:
        left, right = one(frame), other(frame)
        try:
            return compare(left, right)
        except TypeError:
            return order(left, right, function) in accepted

    return of_integers if integers else general


def equality(one: Step, other: Step, *, same: bool, negated: bool) -> Step:
    """`==` or `!=`. With `same` both sides are of one simple type, whose values Python compares as CEL does."""
    equal = operators.equal

    def simple(frame: Frame) -> bool:
        left = one(frame)
        charge(frame[0], left)
        return (left == other(frame)) is not negated

    def general(frame: Frame) -> bool:
        left = one(frame)
        charge_deeply(frame[0], left)
        return equal(left, other(frame)) is not negated

    return simple if same else general
