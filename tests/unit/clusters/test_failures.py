from __future__ import annotations

from nagaya.clusters.failures import worst
from nagaya.kube.errors import ApiError, Conflict
from nagaya.kube.transport import Call

CALL = Call("PATCH", "/api/v1/namespaces/default/configmaps/a")
CONFLICT = Conflict(CALL, 409, {})
FORBIDDEN = ApiError(CALL, 403, {})
BROKEN = ApiError(CALL, 500, {})
SEVERAL = "several things could not be done"


def test_a_conflict_is_raised_only_if_there_is_nothing_worse() -> None:
    assert worst([CONFLICT], SEVERAL) is CONFLICT
    assert worst([CONFLICT, FORBIDDEN], SEVERAL) is FORBIDDEN


def test_the_first_of_many_conflicts_stands_for_all() -> None:
    assert worst([CONFLICT, Conflict(CALL, 409, {})], SEVERAL) is CONFLICT


def test_several_serious_failures_are_raised_together_without_the_conflicts() -> None:
    found = worst([FORBIDDEN, CONFLICT, BROKEN], SEVERAL)
    assert isinstance(found, ExceptionGroup)
    assert found.message == SEVERAL
    assert found.exceptions == (FORBIDDEN, BROKEN)
