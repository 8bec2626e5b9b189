"""References lead to objects of v1alpha1, whichever generation of Cluster API they were written for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nagaya.api.admission.catalog import ADMISSION
from nagaya.api.catalog import PARTS as DEFINED
from nagaya.api.cluster.annotations import SKIP_PREFLIGHT_CHECKS
from nagaya.api.conversion.convert import convert
from nagaya.api.conversion.proxmox.in_process import IN_PROCESS
from nagaya.api.conversion.proxmox.objects import KINDS as CONVERTED
from nagaya.api.conversion.proxmox.objects import NEW_API_VERSION
from nagaya.api.kind import Kind
from nagaya.api.proxmox.group import GROUP, OLD_VERSION
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import install
from nagaya.kube.client import Client
from nagaya.kube.patches import Merge
from support.lab import Lab
from support.passing_time import PassingLoop
from support.virtual_run import virtual_world
from unit.api.proxmox import capmox_templates

pytestmark = pytest.mark.long("starts Nagaya, and boots machines in the emulated data center")

PARTS = ("core", "bootstrap-kubeadm", "controlplane-kubeadm")
AT_ONCE = {SKIP_PREFLIGHT_CHECKS: "All"}
"""Have workers made although there is nothing to run the control plane on."""


def old_kind(kind: str) -> Kind[Untyped]:
    return Kind(GROUP, OLD_VERSION, kind, f"{kind.lower()}s", Untyped)


def written(generation: str) -> list[dict[str, Any]]:
    """Objects in v1alpha1, and what refers to them: from manifests of v1beta1, or of v1beta2."""
    old = [each for each in capmox_templates.OLD["default"] if each["kind"] in CONVERTED]
    if generation == "v1beta1":
        rest = convert(each for each in capmox_templates.OLD["default"] if each["kind"] not in CONVERTED).objects
    else:
        rest = tuple(each for each in capmox_templates.NEW["default"] if each["kind"] not in CONVERTED)
    return [*old, *rest]


async def _follow(lab: Lab, generation: str) -> None:
    for each in written(generation):
        content = {**each, "metadata": {**each["metadata"], "namespace": "default", "annotations": AT_ONCE}}
        if each["kind"] in CONVERTED:
            await lab.client.create(old_kind(each["kind"]), content)
        else:
            await lab.create(content)
    ready = Merge({"status": {"ready": True}})
    await lab.client.patch(old_kind("ProxmoxCluster"), "default", "lab", ready, subresource="status")

    async def provisioned() -> Any:
        found = await lab.get("Cluster", "lab")
        return found.status.initialization.infrastructure_provisioned

    async def cloned() -> Any:
        found = await lab.all("ProxmoxMachine")
        return found if len(found) == 3 else None

    await lab.until("the infrastructure of the cluster is there", provisioned)
    for each in await lab.until("both workers and a control plane have their machines", cloned):
        name = each.metadata.name
        assert [device.bridge for device in each.spec.network.network_devices] == ["vmbr1"]
        assert [(owner.api_version, owner.kind) for owner in each.metadata.owner_references][:1] == [
            ("cluster.x-k8s.io/v1beta2", "Machine")
        ]
        machine = await lab.get("Machine", name)
        assert (machine.spec.infrastructure_ref.api_group, machine.spec.infrastructure_ref.name) == (GROUP, name)
        seen = await lab.client.get(old_kind("ProxmoxMachine"), "default", name)
        assert seen.at("spec", "network", "default", "bridge") == "vmbr1"
    owner = await lab.get("ProxmoxCluster", "lab")
    assert [each.kind for each in owner.metadata.owner_references] == ["Cluster"]
    templates = await lab.all("ProxmoxMachineTemplate")
    assert templates, f"they are read as {NEW_API_VERSION}"


@pytest.mark.parametrize("generation", ["v1beta1", "v1beta2"])
def test_controllers_follow_references_to_the_old_version(generation: str) -> None:
    async def main() -> None:
        world = virtual_world(1)
        server = await ApiServer.start(Config(rules=ADMISSION, versions=IN_PROCESS), world)
        first = Client(InProcessTransport(server), world=world, field_manager="test")
        try:
            await install(first, DEFINED)
            lab = Lab(lambda: InProcessTransport(server), world, "default", PARTS, real=False)
            await lab.start()
            try:
                await _follow(lab, generation)
            finally:
                await lab.stop()
        finally:
            await first.close()
            await server.stop()

    with asyncio.Runner(loop_factory=PassingLoop) as runner:
        runner.run(main())
