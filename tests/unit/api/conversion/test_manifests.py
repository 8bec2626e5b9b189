from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.api.conversion.manifests import ManifestError, read, write
from support.subtest_cases import subtest_cases

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), include_characters="\n"))
VALUES = st.recursive(
    SCALARS | TEXTS, lambda below: st.lists(below, max_size=3) | st.dictionaries(TEXTS, below, max_size=3), max_leaves=8
)


def value(text: str) -> Any:
    (each,) = read(f"kind: K\nvalue: {text}\n", "test")
    return each["value"]


@subtest_cases(
    ("text", "expected"),
    [
        ("2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("2027-01-01", "2027-01-01"),
        ("10:30", "10:30"),
        ("yes", True),
        ("off", False),
        ("0644", 0o644),
        ("1e3", 1000.0),
        ("1.20", 1.2),
        ("v1.20", "v1.20"),
        ("1.2.3", "1.2.3"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("~", None),
        ("=", "="),
        ("'on'", "on"),
    ],
)
def test_values_are_read_as_kubectl_reads_them(text: str, expected: Any) -> None:
    assert value(text) == expected
    assert type(value(text)) is type(expected)


@settings(deadline=None)
@given(VALUES)
def test_what_is_written_is_read_again(content: Any) -> None:
    objects = [{"kind": "K", "value": content}, {"kind": "L"}]
    assert read(write(objects), "test") == objects


@subtest_cases("text", ["1e3", "0x1f", "0o17", "1_000", "10:30", "on", "2027-01-01", "null", "", "1.20", "."])
def test_texts_that_could_be_taken_for_something_else_are_quoted(text: str) -> None:
    written = write([{"kind": "K", "value": text}])
    assert "'" in written or text == "."
    assert read(written, "test")[0]["value"] == text


def test_texts_of_several_lines_stay_readable() -> None:
    assert write([{"kind": "K", "script": "#!/bin/sh\necho hi\n"}]) == "kind: K\nscript: |\n  #!/bin/sh\n  echo hi\n"


def test_lists_are_taken_apart() -> None:
    text = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineList
items:
- metadata: {name: a}
"""
    assert read(text, "test") == [
        {"apiVersion": "v1", "kind": "ConfigMap"},
        {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": {"name": "a"}},
    ]


def test_empty_documents_do_not_count() -> None:
    assert read("---\n---\n# nothing\n---\nkind: K\n", "test") == [{"kind": "K"}]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("kind: K\nkind: L\n", "key 'kind' is given twice"),
        ("kind: [", "not YAML"),
        ("- a\n", "has no kind"),
        ("a: b\n", "has no kind"),
        (
            "kind: K\nmetadata:\n\tname: a\n",
            "line 3, column 1. The line begins with a tab: YAML is indented with spaces",
        ),
        ("kind: K\n   name: a\n", "line 2, column 8. The line is indented further than those it belongs to"),
        ("kind: K\nx: !!python/object:os.system {}\n", "not YAML"),
    ],
)
def test_texts_that_are_no_manifests_are_refused_with_their_source(text: str, why: str) -> None:
    with pytest.raises(ManifestError, match=r"^some\.yaml: ") as caught:
        read(text, "some.yaml")
    assert why in str(caught.value)
