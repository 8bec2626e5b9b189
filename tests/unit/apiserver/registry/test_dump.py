from __future__ import annotations

import orjson

from nagaya.apiserver.registry.resource import Resource
from support.subtest_cases import subtest_cases


def dumped(spec: object) -> bytes:
    resource = object.__new__(Resource)
    resource.builtin = False
    return resource.dump({"metadata": {"uid": "7604c3e1-380b-4dd7-ae04-5aca7bd3d1eb"}, "spec": spec}, 7)


@subtest_cases(
    ("value", "written"),
    [
        (1.0, b"1"),
        (-0.0, b"0"),
        (1e16, b"10000000000000000"),
        (-1.25e18, b"-1250000000000000000"),
        (2.5, b"2.5"),
        (1e21, b"1e+21"),
        ("1.0", b'"1.0"'),
        ("10.0.0.0", b'"10.0.0.0"'),
    ],
)
def test_whole_numbers_are_written_as_go_does(value: object, written: bytes) -> None:
    for spec in (value, [value, 1], [1, value], {"a": value, "b": 2}):
        made = dumped(spec)
        assert written in made
        assert orjson.loads(made)["spec"] == spec
        assert orjson.loads(made)["metadata"]["resourceVersion"] == "7"
