"""What is seen of the machines of a control plane, from a cache that holds what a test says."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS
from nagaya.api.cluster.machine import MACHINES
from nagaya.controlplane.kubeadm.certificates_port import CertificatesSeen
from nagaya.controlplane.kubeadm.seen import Seen, add_indexes, observe
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from nagaya.world import World
from support.builders import Draft
from unit.controlplane.kubeadm.examples import Pilot, cluster, config, kcp, pilot


def observed(*machines: Pilot, configs: tuple[str, ...]) -> Seen:
    """What is seen of machines if KubeadmConfigs of some names exist."""
    world = World()
    client = Client(None, world=world)  # type: ignore[arg-type]  # the cache is filled by hand: no request is sent
    cache = Cache(client, world)
    kinds, remotes = ContractKinds(cache), Remotes(lambda _: client.transport, world)
    add_indexes(cache)
    for machine in machines:
        cache.wrote(MACHINES, machine.it)
    for name in configs:
        draft = Draft(KUBEADM_CONFIGS, KUBEADM_CONFIGS.content(config(name)))
        cache.wrote(KUBEADM_CONFIGS, draft.having(metadata={"resourceVersion": "1"}).made())
    rt = Runtime(client, cache, kinds, remotes, Recorder(client, world), world)
    return observe(rt, kcp().made(), cluster(), CertificatesSeen(), settled=True)


@pytest.mark.parametrize(
    "bootstrap",
    [{"configRef": None, "dataSecretName": "b"}, {"configRef": {"kind": "OtherConfig"}}],
    ids=["data alone", "another kind"],
)
def test_a_machine_that_refers_to_no_kubeadm_config_has_none(bootstrap: dict[str, Any]) -> None:
    machines = pilot("a"), pilot("b").having(spec={"bootstrap": bootstrap})
    seen = observed(*machines, configs=("a", "b"))
    assert [machine.metadata.name for machine in seen.machines] == ["a", "b"]
    assert {name: found.metadata.name for name, found in seen.configs.items()} == {"a": "a"}
    unowned = (machine.having(metadata={"ownerReferences": []}) for machine in machines)
    seen = observed(*unowned, configs=("a", "b"))
    assert [machine.metadata.name for machine in seen.adoptable] == ["a", "b"]
    assert {name: found.metadata.name for name, found in seen.adoptable_configs.items()} == {"a": "a"}
