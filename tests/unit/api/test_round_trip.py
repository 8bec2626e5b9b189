"""Objects of every kind are read as they are written."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nagaya.api.catalog import PARTS
from nagaya.api.definition import Definition

BY_NAME = {str(definition.kind): definition for part in PARTS.values() for definition in part}
MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))


@pytest.fixture(params=BY_NAME)
def definition(request: pytest.FixtureRequest) -> Definition:
    return BY_NAME[request.param]


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_is_written_is_read_again(definition: Definition, data: st.DataObject) -> None:
    kind = definition.kind
    model: Any = kind.model
    obj = data.draw(resources(model))
    assert kind.decode(msgspec.json.encode(kind.content(obj))) == obj


@cache
def resources(model: type[Any]) -> st.SearchStrategy[Any]:
    """Objects with some of their fields set."""
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for field in msgspec.structs.fields(model):
        target = required if field.required else optional
        target[field.name] = values(msgspec.inspect.type_info(field.type))
    some = st.sets(st.sampled_from(sorted(optional)), max_size=4) if optional else st.just(set())
    chosen = some.flatmap(lambda names: st.fixed_dictionaries({**required, **{each: optional[each] for each in names}}))
    return chosen.map(lambda given: model(**given))


def values(info: msgspec.inspect.Type) -> st.SearchStrategy[Any]:
    """Values of a type."""
    match info:
        case msgspec.inspect.Metadata(type=inner):
            return values(inner)
        case msgspec.inspect.UnionType(types=types):
            return st.one_of([values(each) for each in types])
        case msgspec.inspect.StructType(cls=model):
            return st.deferred(lambda: resources(model))
        case msgspec.inspect.VarTupleType(item_type=item):
            return st.lists(values(item), max_size=1).map(tuple)
        case msgspec.inspect.DictType(value_type=value):
            return st.dictionaries(st.sampled_from(["a", "b.c/d"]), values(value), max_size=1)
        case msgspec.inspect.LiteralType(values=options):
            return st.sampled_from(options)
        case msgspec.inspect.NoneType():
            return st.none()
        case msgspec.inspect.BoolType():
            return st.booleans()
        case msgspec.inspect.IntType():
            return st.integers(-(2**31), 2**31 - 1)
        case msgspec.inspect.StrType():
            return st.text(max_size=3)
        case msgspec.inspect.DateTimeType():
            return MOMENTS
        case msgspec.inspect.AnyType():
            return st.sampled_from([None, 1, "x", [1], {"a": [True]}])
        case _:
            raise TypeError(f"no values for {info}")
