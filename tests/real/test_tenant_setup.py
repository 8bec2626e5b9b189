"""What tenants are set up with, judged by what real kubeadm writes into a real API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from nagaya.binaries.installer import Binaries
from nagaya.controlplane.hosted.tenant import kinds
from nagaya.controlplane.hosted.tenant.keeper import Keeper
from nagaya.controlplane.hosted.tenant.objects import objects
from nagaya.controlplane.hosted.tenant.setup import Konnectivity, TenantSetup
from nagaya.kube.errors import NotFound
from nagaya.kube.patches import Merge
from support.hosted_by_hand import PROGRAMS, HostedByHand
from support.real import installed_binaries

pytestmark = pytest.mark.long("starts a real API server of its own for every test")

PODS = "10.244.0.0/16"
PHASES = (("upload-config", "all"), ("bootstrap-token",), ("addon", "all"))
KUBEADM = """\
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint:
  advertiseAddress: 192.0.2.10
nodeRegistration:
  name: none
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
clusterName: by-hand
controlPlaneEndpoint: {endpoint}
kubernetesVersion: {version}
networking:
  serviceSubnet: 10.96.0.0/16
  podSubnet: {pods}
"""

DIFFERENCES = {
    "* metadata.labels.app.kubernetes.io/managed-by": "our own mark, by which objects are watched and removed",
    "* metadata.annotations.kubeadm.kubernetes.io/component-config.hash": (
        "kubeadm's mark for what it may replace by its own defaults when it upgrades: Nagaya does that here"
    ),
    "ClusterRoleBinding kubeadm:cluster-admins": "kubeadm makes it with its first kubeconfig, not in a phase",
    "ConfigMap kube-system/kubeadm-config data.ClusterConfiguration.caCertificateValidityPeriod": (
        "no machine makes certificates of a hosted control plane"
    ),
    "ConfigMap kube-system/kubeadm-config data.ClusterConfiguration.certificateValidityPeriod": "likewise",
    "ConfigMap kube-system/kubeadm-config data.ClusterConfiguration.encryptionAlgorithm": "likewise",
    "ConfigMap kube-system/kubeadm-config data.ClusterConfiguration.etcd.local.dataDir": (
        "no machine has a part of its data store"
    ),
}
"""Where we differ from kubeadm, and why."""


@pytest.fixture(scope="module")
def binaries() -> Binaries:
    return installed_binaries((*PROGRAMS, "kubeadm"))


@asynccontextmanager
async def tenant_of(binaries: Binaries) -> AsyncIterator[tuple[HostedByHand, TenantSetup]]:
    async with HostedByHand(binaries, components=False) as tenant:
        yield tenant, tenant.with_pods(PODS)


async def test_the_objects_are_those_of_kubeadm(binaries: Binaries, tmp_path: Path) -> None:
    async with tenant_of(binaries) as (theirs, _), tenant_of(binaries) as (ours, setup):
        without = await everything(theirs)
        await run_kubeadm(binaries, theirs, tmp_path)
        await ours.set_up(setup)
        wanted = {str(each) for each in objects(setup)}
        found, expected = await everything(ours), await everything(theirs)
    assert expected.keys() - without.keys() <= wanted
    different = {place for name in wanted for place in compare(name, expected.get(name), found[name])}
    assert different == {*DIFFERENCES}


async def test_what_is_applied_is_not_applied_again(binaries: Binaries) -> None:
    async with tenant_of(binaries) as (tenant, setup), tenant.keeper() as keeper:
        await keeper.synced()
        full = replace(setup, konnectivity=Konnectivity("192.0.2.10"))
        first = await keeper.ensure(full)
        assert (len(first.done), first.problems) == (len(objects(full)), ())
        versions = await resource_versions(tenant)
        assert (await keeper.ensure(full)).done == ()
        # A keeper that knows nothing yet sees that all is there.
        async with tenant.keeper() as other:
            await other.synced()
            assert (await other.ensure(full)).done == ()
        assert await resource_versions(tenant) == versions


async def test_what_somebody_changes_or_deletes_is_put_right(binaries: Binaries) -> None:
    async with tenant_of(binaries) as (tenant, setup):
        changed = asyncio.Event()
        keeper = Keeper("healed", tenant.client, tenant.world, changed.set)
        try:
            await keeper.synced()
            assert (await keeper.ensure(setup)).complete
            before = await held(tenant, {str(each) for each in objects(setup)})
            for spoil in (changed_content, deleted_object, removed_label, other_role, other_address):
                changed.clear()
                await spoil(tenant)
                assert len(await healed(keeper, setup, changed)) == 1, spoil
            after = await held(tenant, {str(each) for each in objects(setup)})
            assert {name: readable(each) for name, each in after.items()} == {
                name: readable(each) for name, each in before.items()
            }
        finally:
            await keeper.close()


async def test_an_addon_that_is_switched_off_goes_and_copies_of_it_stay(binaries: Binaries) -> None:
    async with tenant_of(binaries) as (tenant, setup), tenant.keeper() as keeper:
        await keeper.synced()
        await keeper.ensure(replace(setup, konnectivity=Konnectivity("192.0.2.10")))
        deployment = json.loads(await tenant.kubectl("get", "deployment", "-n", "kube-system", "coredns", "-o", "json"))
        labels = deployment["metadata"]["labels"]
        copy = {"metadata": {"name": "copy", "namespace": "kube-system", "labels": labels}, "spec": deployment["spec"]}
        await tenant.client.create(kinds.DEPLOYMENTS, copy)
        agents = Konnectivity("192.0.2.10", mode="Deployment")
        outcome = await keeper.ensure(replace(setup, core_dns=None, kube_proxy=None, konnectivity=agents))
        assert outcome.complete, outcome.problems
        left = await tenant.objects("deployments,daemonsets,services", "-n", "kube-system")
        assert {(each["kind"], each["metadata"]["name"]) for each in left} == {
            ("Deployment", "copy"),
            ("Deployment", "konnectivity-agent"),
        }
        with pytest.raises(NotFound):
            await tenant.client.get(kinds.CLUSTER_ROLES, "", "system:coredns")


async def test_replicas_of_cluster_dns_are_the_tenants_own(binaries: Binaries) -> None:
    async with tenant_of(binaries) as (tenant, setup), tenant.keeper() as keeper:
        await keeper.synced()
        await keeper.ensure(setup)
        await tenant.kubectl("scale", "-n", "kube-system", "deployment/coredns", "--replicas=5")
        await tenant.kubectl("set", "image", "-n", "kube-system", "deployment/coredns", "coredns=example.com/other:1")
        await removed_label(tenant, kinds.DEPLOYMENTS, "coredns")
        await eventually(lambda: keeper_sees_no(keeper, "coredns"))
        assert (await keeper.ensure(setup)).complete
        deployment = await tenant.client.get(kinds.DEPLOYMENTS, "kube-system", "coredns")
        assert deployment.at("spec", "replicas") == 5
        assert "registry.k8s.io/coredns" in json.dumps(deployment.raw)


async def healed(keeper: Keeper, setup: TenantSetup, changed: asyncio.Event) -> tuple[str, ...]:
    """Do as a controller does: look when told, and again if it did not work out. Returns what was done."""
    async with asyncio.timeout(120):
        while True:
            await changed.wait()
            changed.clear()
            outcome = await keeper.ensure(setup)
            if outcome.complete and outcome.done:
                return outcome.done


async def changed_content(tenant: HostedByHand) -> None:
    patch = Merge({"data": {"kubelet": "hacked: true"}})
    await tenant.client.patch(kinds.CONFIG_MAPS, "kube-system", "kubelet-config", patch)


async def deleted_object(tenant: HostedByHand) -> None:
    await tenant.client.delete(kinds.CLUSTER_ROLE_BINDINGS, "", "kubeadm:kubelet-bootstrap")


async def removed_label(tenant: HostedByHand, kind: Any = kinds.CONFIG_MAPS, name: str = "kubeadm-config") -> None:
    patch = Merge({"metadata": {"labels": {kinds.MANAGED_BY: None}}})
    await tenant.client.patch(kind, "kube-system", name, patch)


async def other_role(tenant: HostedByHand) -> None:
    """Only by making it anew: a binding's role cannot be changed."""
    name = "kubeadm:node-autoapprove-bootstrap"
    content = dict((await tenant.client.get(kinds.CLUSTER_ROLE_BINDINGS, "", name)).raw)
    await tenant.client.delete(kinds.CLUSTER_ROLE_BINDINGS, "", name)
    metadata = {"name": name, "labels": {kinds.MANAGED_BY: kinds.NAGAYA}}
    content |= {"metadata": metadata, "roleRef": {**content["roleRef"], "name": "cluster-admin"}}
    await tenant.client.create(kinds.CLUSTER_ROLE_BINDINGS, content)


async def other_address(tenant: HostedByHand) -> None:
    content = dict((await tenant.client.get(kinds.SERVICES, "kube-system", "kube-dns")).raw)
    await tenant.client.delete(kinds.SERVICES, "kube-system", "kube-dns")
    spec = {"ports": content["spec"]["ports"], "clusterIP": "10.96.0.77"}
    metadata = {"name": "kube-dns", "namespace": "kube-system", "labels": content["metadata"]["labels"]}
    await tenant.client.create(kinds.SERVICES, {"metadata": metadata, "spec": spec})


async def run_kubeadm(binaries: Binaries, tenant: HostedByHand, folder: Path) -> None:
    config = folder / "kubeadm.yaml"
    text = KUBEADM.format(endpoint=tenant.endpoint, version=binaries.release.kubernetes, pods=PODS)
    config.write_text(text)
    for phase in PHASES:
        process = await asyncio.create_subprocess_exec(
            *(binaries.path("kubeadm"), "init", "phase", *phase, "--config", config, "--kubeconfig", tenant.admin),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(120):
            said, _ = await process.communicate()
        assert process.returncode == 0, said.decode()


async def held(tenant: HostedByHand, names: set[str]) -> dict[str, dict[str, Any]]:
    """The objects of these names that a tenant has."""
    found = await everything(tenant)
    return {name: found[name] for name in names if name in found}


async def everything(tenant: HostedByHand) -> dict[str, dict[str, Any]]:
    resources = ",".join(str(kind) for kind in kinds.ALL)
    found: dict[str, dict[str, Any]] = {}
    for each in await tenant.objects(resources, "--all-namespaces"):
        metadata = each["metadata"]
        place = "/".join(part for part in (metadata.get("namespace"), metadata["name"]) if part)
        found[f"{each['kind']} {place}"] = each
    return found


async def resource_versions(tenant: HostedByHand) -> dict[str, str]:
    return {name: each["metadata"]["resourceVersion"] for name, each in (await everything(tenant)).items()}


def compare(name: str, theirs: dict[str, Any] | None, ours: dict[str, Any]) -> Iterator[str]:
    """Where two objects of a name differ, in the words of DIFFERENCES."""
    if theirs is None:
        yield name
        return
    for path in differences(readable(theirs), readable(ours)):
        everywhere = f"* {path}"
        yield everywhere if everywhere in DIFFERENCES else f"{name} {path}"


def differences(theirs: Any, ours: Any, path: str = "") -> Iterator[str]:
    if isinstance(theirs, Mapping) or isinstance(ours, Mapping):
        theirs, ours = theirs or {}, ours or {}
        for name in {**theirs, **ours}:
            inner = f"{path}.{name}" if path else name
            if name not in ours and empty(theirs[name]):
                continue  # a zero value means what its absence means
            yield from differences(theirs.get(name), ours.get(name), inner)
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for number, pair in enumerate(zip(theirs, ours, strict=True)):
            yield from differences(*pair, f"{path}[{number}]")
    elif theirs != ours and not (empty(theirs) and empty(ours)):
        yield path


def empty(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(empty, value.values()))
    return value in (None, "", "0", "0s", 0, False, [])


def readable(obj: Mapping[str, Any]) -> dict[str, Any]:
    """An object without what every server makes up for itself, and with the documents in it taken apart."""
    content = {name: value for name, value in obj.items() if name != "status"}
    made_up = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
    content["metadata"] = {name: value for name, value in obj["metadata"].items() if name not in made_up}
    content["metadata"].get("annotations", {}).pop("deprecated.daemonset.template.generation", None)
    if obj["kind"] == "ConfigMap":
        content["data"] = {
            name: text if name == "Corefile" else without_servers(yaml.safe_load(text))
            for name, text in obj["data"].items()
        }
    return content


def without_servers(document: Any) -> Any:
    """Two servers have two addresses and two authorities."""
    if isinstance(document, Mapping):
        own = ("server", "certificate-authority-data", "controlPlaneEndpoint")
        return {name: "its own" if name in own else without_servers(value) for name, value in document.items()}
    return [without_servers(each) for each in document] if isinstance(document, list) else document


def keeper_sees_no(keeper: Keeper, name: str) -> bool:
    return all(key.name != name for kind, key in keeper.held if kind is kinds.DEPLOYMENTS)


async def eventually(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not what():  # noqa: ASYNC110  # nobody tells of it
            await asyncio.sleep(0.02)
