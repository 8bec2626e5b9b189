"""Which set-up the objects within a tenant of pods are asked to have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from nagaya.controlplane.hosted.control_plane.upgrade import target
from nagaya.controlplane.hosted.kubernetes.rollout import DeploymentSeen
from nagaya.controlplane.hosted.pods.apply import Apply
from nagaya.kube.key import Key
from support.seen_pods import SERVING, control_plane, deployment, seen, with_files
from support.setup_keeper import Keeper


@pytest.mark.parametrize(
    ("api_servers", "version"),
    [
        pytest.param(None, "v1.37.1", id="there are none"),
        pytest.param(deployment("v1.36.3"), "v1.36.3", id="none is exchanged yet"),
        pytest.param(deployment("v1.37.1", updated=1), "v1.36.3", id="one is exchanged"),
        pytest.param(deployment("v1.37.1"), "v1.37.1", id="all are exchanged"),
    ],
)
async def test_nodes_get_the_version_of_the_oldest_api_server_and_the_declared_one_while_none_runs(
    api_servers: DeploymentSeen | None, version: str
) -> None:
    keeper, wanted = Keeper(), list[Key]()
    remotes = SimpleNamespace(want=wanted.append, get=lambda _: "connected")
    observer: Any = SimpleNamespace(rt=SimpleNamespace(remotes=remotes))
    before = {"dataStore": {"name": "default"}, "versions": [{"version": "v1.36.3", "replicas": 2}]}
    plane = control_plane(before, controlPlaneEndpoint=SERVING, version="v1.37.1")
    found = with_files(seen(plane, target=target("v1.37.1", ["v1.36.3"]), api_servers=api_servers))
    await Apply(observer, cast(Any, None), cast(Any, None), cast(Any, keeper)).set_up(found)
    assert [(setup.version, setup.endpoint) for setup in keeper.asked] == [(version, "192.0.2.10:6443")]
    assert wanted == [Key("tenants", "one")]
