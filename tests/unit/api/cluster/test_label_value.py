"""Names as values of labels."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.cluster.label_value import as_label_value


@pytest.mark.parametrize("name", ["", "workers", "a.b_c-d", "x" * 63])
def test_a_name_that_fits_stays_as_it_is(name: str) -> None:
    assert as_label_value(name) == name


def test_a_name_that_does_not_fit_becomes_the_hash_that_cluster_api_makes() -> None:
    assert as_label_value("x" * 64) == "hash_0ZsaxQ_z"


@given(st.text())
def test_the_result_can_always_be_the_value_of_a_label(name: str) -> None:
    assert re.fullmatch(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", as_label_value(name))
    assert len(as_label_value(name)) <= 63
