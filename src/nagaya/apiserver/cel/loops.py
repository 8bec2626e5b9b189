"""Running comprehensions as plain loops.

Each maker takes the step that yields what to loop over, the places of the loop's one or two variables, an optional
condition, the body, and what a round costs. `all` and `exists` absorb errors like `&&` and `||`; in the others an
error decides, and where conditions fail it is the last of them that is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from nagaya.apiserver.cel.access import shown
from nagaya.apiserver.cel.operators import find
from nagaya.apiserver.cel.steps import Frame, Step
from nagaya.apiserver.cel.values import (
    NOTHING,
    CelError,
    CostExceededError,
    MapLike,
    NoSuchOverloadError,
    go_type,
)

Places = tuple[int, ...]
Loop = Callable[[Step, Places, Step | None, Step, int], Step]


def _rounds(source: Step, places: Places) -> Callable[[Frame], Iterable[Any]]:
    """A step that yields once per round, with the loop's variables set."""
    if len(places) == 1:
        (place,) = places

        def single(frame: Frame) -> Iterable[None]:
            values = source(frame)
            if isinstance(values, MapLike):
                values = values.keys()
            elif not isinstance(values, (list, dict)):
                raise _not_iterable(values)
            for value in values:
                frame[place] = value
                yield None

        return single
    first, second = places

    def double(frame: Frame) -> Iterable[None]:
        values = source(frame)
        if isinstance(values, list):
            pairs: Iterable[tuple[Any, Any]] = enumerate(values)
        elif isinstance(values, dict):
            pairs = values.items()
        elif isinstance(values, MapLike):
            pairs = [(key, find(values, key)) for key in values.keys()]  # noqa: SIM118 - it is no mapping of Python's
        else:
            raise _not_iterable(values)
        for frame[first], frame[second] in pairs:
            yield None

    return double


def _not_iterable(value: Any) -> CelError:
    return CelError(f"got '{go_type(value)}', expected iterable type")


def _quantifier(decisive: bool) -> Loop:
    undecided = not decisive

    def make(source: Step, places: Places, _: Step | None, body: Step, weight: int) -> Step:
        rounds = _rounds(source, places)

        def quantify(frame: Frame) -> Any:
            budget = frame[0]
            failure: CelError | None = None
            for _ in rounds(frame):
                budget.left -= weight
                if budget.left < 0:
                    raise CostExceededError
                try:
                    value = body(frame)
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

        return quantify

    return make


def _exists_one(source: Step, places: Places, _: Step | None, body: Step, weight: int) -> Step:
    rounds = _rounds(source, places)

    def exists_one(frame: Frame) -> bool:
        found = 0
        failure: CelError | None = None
        for _ in rounds(frame):
            frame[0].spend(weight)
            try:
                if _decided(body, frame):
                    found += 1
            except CelError as error:
                failure = error
        if failure is not None:
            raise failure
        return found == 1

    return exists_one


def _decided(condition: Step, frame: Frame) -> bool:
    value = condition(frame)
    if value is True or value is False:
        return bool(value)
    raise NoSuchOverloadError


def _collect(source: Step, places: Places, condition: Step | None, body: Step, weight: int) -> Step:
    rounds = _rounds(source, places)

    def transform(frame: Frame) -> list[Any]:
        spend = frame[0].spend
        made = []
        for _ in rounds(frame):
            spend(weight)
            made.append(body(frame))
        return made

    def select(frame: Frame) -> list[Any]:
        assert condition is not None
        spend = frame[0].spend
        made = []
        failure: CelError | None = None
        for _ in rounds(frame):
            spend(weight)
            try:
                wanted = _decided(condition, frame)
            except CelError as error:
                failure = error
                continue
            if wanted and failure is None:
                try:
                    made.append(body(frame))
                except CelError as error:
                    failure = error
        if failure is not None:
            raise failure
        return made

    return transform if condition is None else select


def insert(made: dict[Any, Any], key: Any, value: Any, *, replace: bool = False) -> None:
    """Put an entry into a map under construction."""
    try:
        if not replace and find(made, key) is not NOTHING:
            raise CelError(f"insert failed: key {shown(key)} already exists")
        made[key] = value
    except TypeError:
        raise CelError("unsupported map key type") from None


def _entries(of_maps: bool) -> Loop:
    def make(source: Step, places: Places, condition: Step | None, body: Step, weight: int) -> Step:
        rounds = _rounds(source, places)
        key_place = places[0]

        def transform(frame: Frame) -> dict[Any, Any]:
            made: dict[Any, Any] = {}
            failure: CelError | None = None
            for _ in rounds(frame):
                frame[0].spend(weight)
                try:
                    if condition is not None and not _decided(condition, frame):
                        continue
                except CelError as error:
                    failure = error
                    continue
                if failure is not None:
                    continue
                try:
                    value = body(frame)
                    if not of_maps:
                        insert(made, frame[key_place], value)
                    elif not isinstance(value, (dict, MapLike)):
                        raise NoSuchOverloadError
                    else:
                        for key in list(value.keys()):
                            insert(made, key, find(value, key))
                except CelError as error:
                    failure = error
            if failure is not None:
                raise failure
            return made

        return transform

    return make


LOOPS: Final[dict[str, Loop]] = {
    "all": _quantifier(decisive=False),
    "exists": _quantifier(decisive=True),
    "exists_one": _exists_one,
    "map": _collect,
    "filter": _collect,
    "entries": _entries(of_maps=False),
    "entry": _entries(of_maps=True),
}
