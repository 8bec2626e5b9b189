from __future__ import annotations

import pytest

from nagaya.simulators.netns.template import render

META = {"instance-id": "i-1", "local-hostname": "m1", "failure_domain": "a"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ ds.meta_data.local_hostname }}", "m1"),
        ("{{ds.meta_data.failure_domain}}", "a"),
        ("{{- ds['meta_data'][\"local-hostname\"] -}}", "m1"),
        ("{{ v1.instance_id }}/{{ local_hostname }}", "i-1/m1"),
        ("{{ '{{' }} and {{ \"}}\" }} and {{ '{%' }}", "{{ and }} and {%"),
        ("{# a remark #}x", "x"),
        ("no variables { at } all", "no variables { at } all"),
    ],
)
def test_variables_are_put_in(text: str, expected: str) -> None:
    assert render(text, META) == (expected, [])


def test_a_variable_that_is_not_known_leaves_the_mark_that_cloud_init_leaves() -> None:
    text, notes = render("{{ ds.meta_data.nothing }}", META)
    assert text == "CI_MISSING_JINJA_VAR/ds.meta_data.nothing"
    assert len(notes) == 1


@pytest.mark.parametrize("text", ["{% if x %}", "{{ a | upper }}", "{{ a + b }}", "{{ f() }}"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="variable"):
        render(text, META)
