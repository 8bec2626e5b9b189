"""Names from templates."""

from __future__ import annotations

import pytest

from nagaya.api.cluster.name_template import TemplateError, generate_name

DATA = {"cluster": {"name": "one"}, "machineSet": {"name": "workers-abc"}}


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{{ .machineSet.name }}-{{ .random }}", "workers-abc-bcdfg"),
        ("{{.cluster.name}}.{{.random}}", "one.bcdfg"),
        ("{{ .cluster.name -}} - {{- .random }}", "one-bcdfg"),
        ("plain", "plain"),
        ("{{ .random }}-" + "x" * 60, "bcdfg-" + "x" * 52 + "bcdfg"),
    ],
)
def test_fields_are_put_in_and_long_names_cut(template: str, name: str) -> None:
    assert generate_name(template, DATA, "bcdfg") == name


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{{ .nope }}", 'at <.nope>: map has no entry for key "nope"'),
        ("{{ .cluster.nope }}", ':1:11: executing "template name generator" at <.cluster.nope>'),
        ("a\n{{ .cluster.nope }}", ":2:11: executing"),
        ("{{ .cluster.name.x }}", "can't evaluate field x"),
        ("{{ .random", "unclosed action"),
    ],
)
def test_what_cannot_be_put_in_is_an_error(template: str, problem: str) -> None:
    with pytest.raises(TemplateError) as caught:
        generate_name(template, DATA, "bcdfg")
    assert problem in str(caught.value)
