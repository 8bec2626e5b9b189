"""Sets of a job's indexes as texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.builtins.kinds.job_indexes import IndexesError, count, overlap


def written(indexes: set[int]) -> str:
    return ",".join(map(str, sorted(indexes)))


@given(st.sets(st.integers(0, 50)))
def test_as_many_indexes_are_counted_as_are_named(indexes: set[int]) -> None:
    assert count(written(indexes), 51) == len(indexes)


@given(st.sets(st.integers(0, 20)), st.sets(st.integers(0, 20)))
def test_two_sets_overlap_at_their_first_common_index(one: set[int], other: set[int]) -> None:
    assert overlap(written(one), written(other), 21) == min(one & other, default=None)


@pytest.mark.parametrize("text", ["1-2-3", "x", "9", "3-2", "3,2", "1-9"])
def test_what_is_no_set_of_indexes_is_refused(text: str) -> None:
    with pytest.raises(IndexesError):
        count(text, 5)
