"""Which kind a manifest means: by what the server serves."""

from __future__ import annotations

import pytest

from nagaya.api.untyped import Untyped
from nagaya.kube.client import Client
from nagaya.kube.served_kinds import ServedKinds
from support.lab import Lab, play_embedded


def test_kinds_are_found_by_group_version_and_name() -> None:
    async def scenario(lab: Lab) -> None:
        client: Client = lab.client
        kinds = ServedKinds(client)
        pods = await kinds.of("v1", "Pod")
        assert (pods.plural, pods.namespaced, pods.model) == ("pods", True, Untyped)
        nodes = await kinds.of("v1", "Node")
        assert not nodes.namespaced
        machines = await kinds.of("cluster.x-k8s.io/v1beta2", "Machine")
        assert machines.path("a", "b") == "/apis/cluster.x-k8s.io/v1beta2/namespaces/a/machines/b"
        with pytest.raises(LookupError, match="does not serve the kind Boat"):
            await kinds.of("boats.example.com/v1", "Boat")

    play_embedded(scenario, parts=())
