from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.controlplane.hosted.kubernetes.rollout import DeploymentSeen, seen, turn

DONE = DeploymentSeen("v1.36.3", current=True, replicas=2, updated=2, available=2, total=2)
OLD = replace(DONE, version="v1.35.4")
VERSIONS = st.sampled_from(["v1.35.4", "v1.35.5", "v1.36.3"])


def test_everything_is_made_at_once() -> None:
    assert turn("v1.36.3", None, None).controllers
    assert turn("v1.36.3", DONE, None).controllers


def test_an_upgrade_begins_with_the_api_servers() -> None:
    found = turn("v1.36.3", OLD, OLD)
    assert (found.api_servers, found.controllers) == (True, False)
    assert found.message == "API servers are upgraded from v1.35.4 to v1.36.3 first."


@pytest.mark.parametrize(
    "halfway",
    [
        replace(DONE, current=False),
        replace(DONE, updated=1),
        replace(DONE, available=1),
        replace(DONE, total=3),
    ],
)
def test_controllers_wait_until_no_old_api_server_is_left(halfway: DeploymentSeen) -> None:
    found = turn("v1.36.3", halfway, OLD)
    assert (found.api_servers, found.controllers) == (True, False)
    assert found.message.startswith("Controllers wait until all API servers have v1.36.3")


def test_then_controllers_follow() -> None:
    assert turn("v1.36.3", DONE, OLD).controllers
    assert turn("v1.36.3", DONE, DONE).message == "All have v1.36.3."


def test_a_patch_is_taken_back_in_the_other_order() -> None:
    back = "v1.36.2"
    first = turn(back, DONE, DONE)
    assert (first.api_servers, first.controllers) == (False, True)
    waiting = turn(back, DONE, replace(DONE, version=back, updated=1))
    assert (waiting.api_servers, waiting.controllers) == (False, True)
    assert turn(back, DONE, replace(DONE, version=back)).api_servers


@given(VERSIONS, VERSIONS, VERSIONS, st.booleans(), st.booleans())
def test_controllers_never_get_ahead_of_an_api_server(
    wanted: str, api: str, controllers: str, api_done: bool, controllers_done: bool
) -> None:
    servers = replace(DONE, version=api, updated=2 if api_done else 1)
    others = replace(DONE, version=controllers, updated=2 if controllers_done else 1)
    found = turn(wanted, servers, others)

    assert found.api_servers or found.controllers
    if found.controllers and controllers < wanted:
        assert api >= wanted
        assert api_done
    if found.api_servers and api > wanted:
        assert controllers <= wanted


def test_a_deployment_tells_how_far_it_is() -> None:
    content = {
        "metadata": {"generation": 3},
        "spec": {
            "replicas": 2,
            "template": {"metadata": {"labels": {"app.kubernetes.io/version": "v1.36.3"}}},
        },
        "status": {"observedGeneration": 3, "updatedReplicas": 2, "availableReplicas": 2, "replicas": 2},
    }
    assert seen(content) == DONE
    assert not seen({**content, "metadata": {"generation": 4}}).rolled_out
