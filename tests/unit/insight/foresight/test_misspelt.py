"""The field that was meant: near in the schema at that place, however deep."""

from __future__ import annotations

from nagaya.insight.foresight.misspelt import suggestion
from support.subtest_cases import subtest_cases

SCHEMA = {
    "properties": {
        "spec": {
            "properties": {
                "memoryMiB": {"type": "integer"},
                "devices": {"items": {"properties": {"bridge": {"type": "string"}, "mtu": {"type": "integer"}}}},
                "limits": {"additionalProperties": {"properties": {"burst": {"type": "integer"}}}},
            }
        }
    }
}


@subtest_cases(
    ("path", "told"),
    [
        (".spec.memoryMib", " Did you mean memoryMiB?"),
        (".spec.memory", " Did you mean memoryMiB?"),
        ('.spec.devices[name="net0"].brigde', " Did you mean bridge?"),
        (".spec.devices[0].brigde", " Did you mean bridge?"),
        (".spec.limits.reads.brust", " Did you mean burst?"),
        (".specs", " Did you mean spec?"),
        (".spec.colour", ""),
        (".elsewhere.colour", ""),
    ],
)
def test_a_name_that_comes_near_is_suggested_and_no_other(path: str, told: str) -> None:
    assert suggestion(SCHEMA, path) == told
