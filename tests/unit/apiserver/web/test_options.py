from __future__ import annotations

import pytest

from nagaya.apiserver.meta.status import ApiError
from nagaya.apiserver.web import options
from nagaya.apiserver.web.request import Request


def request(query: str) -> Request:
    return Request.make("GET", f"/api/v1/pods?{query}")


def test_a_watch_from_nowhere_starts_with_the_present_state() -> None:
    found = options.list_options(request("watch=1&resourceVersion=0"))
    assert found.send_initial_events is True
    assert found.resource_version_match == "NotOlderThan"


def test_a_watch_from_a_version_starts_after_it() -> None:
    assert options.list_options(request("watch=1&resourceVersion=7")).send_initial_events is None


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("resourceVersionMatch=Exact", "resourceVersionMatch"),
        ("resourceVersion=0&resourceVersionMatch=Exact", "resourceVersionMatch"),
        ("resourceVersion=5&resourceVersionMatch=Nope", "resourceVersionMatch"),
        ("sendInitialEvents=true", "sendInitialEvents"),
        ("watch=1&sendInitialEvents=true", "resourceVersionMatch"),
        ("watch=1&resourceVersion=5&resourceVersionMatch=NotOlderThan", "resourceVersionMatch"),
    ],
)
def test_options_that_contradict_each_other_are_refused(query: str, field: str) -> None:
    with pytest.raises(ApiError) as refused:
        options.list_options(request(query))
    assert refused.value.code == 422
    assert refused.value.details is not None
    assert field in {cause["field"] for cause in refused.value.details["causes"]}


@pytest.mark.parametrize("text", ["abc", "1_0", " 1", "9223372036854775808"])
def test_numbers_are_read_as_strictly_as_go_reads_them(text: str) -> None:
    with pytest.raises(ApiError) as refused:
        options.integer(text)
    assert refused.value.message.startswith("strconv.ParseInt: parsing ")


def test_apply_needs_a_manager_and_only_apply_takes_force() -> None:
    with pytest.raises(ApiError, match="fieldManager: Required value: is required for apply patch"):
        options.write_options(request(""), "PatchOptions", apply=True)
    with pytest.raises(ApiError, match="force: Forbidden: may not be specified for non-apply patch"):
        options.write_options(request("force=true"), "PatchOptions")


def test_only_all_is_a_dry_run() -> None:
    assert options.write_options(request("dryRun=All"), "CreateOptions").dry_run
    with pytest.raises(ApiError, match='supported values: "All"'):
        options.write_options(request("dryRun=Some"), "CreateOptions")


def test_the_fate_of_dependents_is_said_once() -> None:
    with pytest.raises(ApiError, match="cannot be both set"):
        options.delete_options({"orphanDependents": True, "propagationPolicy": "Orphan"})
