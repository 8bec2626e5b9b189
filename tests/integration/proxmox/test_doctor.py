"""`nagaya doctor` on a data center that is well, and on ones that are not: each fault is found, and hides no other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from nagaya.infrastructure.proxmox.client import Endpoint, Facts, Proxmox, Trust
from nagaya.infrastructure.proxmox.connection.establishing.certificate import Certificate, NoCertificate
from nagaya.insight.checkup.checkup import Scope, Ways, examine
from nagaya.insight.checkup.finding import Finding, Standing
from nagaya.kube.patches import Merge
from nagaya.simulators.proxmox.emulator import Emulator, Proceed
from nagaya.simulators.proxmox.request import Answer, Request
from nagaya.simulators.proxmox.state.access import Token, User
from support.lab import holds
from support.proxmox_plane import GROUP, KINDS, NAMESPACE
from support.proxmox_remains import Remains, play
from support.proxmox_town import Town, town
from support.proxmox_town import play as play_town
from support.proxmox_town_ways import to_clusters
from support.proxmox_transport import ToEmulator, Valid

GOOD = Certificate("AA:BB", "CN=pve1", "CN=PVE", datetime(2100, 1, 1, tzinfo=UTC))
CONNECTION = "ProxmoxConnection default/pve"
CLUSTER = "Cluster default/shop"
Findings = dict[tuple[str, str], Finding]


def certificates(emulator: Emulator) -> Callable[[Endpoint, Trust], Awaitable[Certificate]]:
    async def shown(endpoint: Endpoint, _: Trust) -> Certificate:
        if not emulator.datacenter.nodes[endpoint.host].online:
            raise NoCertificate(f"{endpoint} cannot be reached: no route to host.")
        return GOOD

    return shown


def by_name(found: list[Finding]) -> Findings:
    return {(each.subject, each.check): each for each in found}


def wrong(found: Findings) -> dict[tuple[str, str], str]:
    """All that is not well, but for what is so in every emulated world: certificates are not looked at."""
    return {
        key: each.evidence
        for key, each in found.items()
        if each.standing is not Standing.OK and not each.check.startswith("endpoint ")
    }


async def examined(there: Remains, scope: Scope | None = None, limit: float = 60.0) -> Findings:
    ways = Ways(there.open, certificates(there.emulator))
    return by_name(await examine(there.client, "https://plane", there.world, scope or Scope(NAMESPACE), ways, limit))


def test_a_cluster_that_is_well_has_nothing_but_good_findings() -> None:
    async def scenario(there: Town) -> None:
        def open(facts: Facts) -> Proxmox:
            return Proxmox(facts, there.world, transport=Valid(ToEmulator(there.emulator)))

        await there.begin()
        await there.apply()
        await there.until("the shop is there", lambda: there.has(1, 2))
        ways = Ways(open, certificates(there.emulator), to_clusters(there.clusters))
        found = by_name(await examine(there.client, "https://plane", there.world, Scope("default"), ways))
        # The server in this process puts no date on its answers, and keeps no figures of who watches.
        assert {check for _, check in wrong(found)} <= {"orphans", "clock", "controllers"}, wrong(found)
        assert found[CLUSTER, "API"].evidence.startswith("Kubernetes v1.36.3")
        assert found[CLUSTER, "nodes"].evidence == "All 3 Nodes are ready."
        assert found[CLUSTER, "versions"].standing is Standing.OK
        assert found[CLUSTER, "certificates"].standing is Standing.OK
        assert found[CONNECTION, "template for MachineDeployment default/shop-workers"].standing is Standing.OK
        assert found[CONNECTION, "privileges"].standing is Standing.OK
        assert found["Addresses", "InClusterIPPool default/shop-v4-icip"].standing is Standing.OK

        async def paused() -> bool:
            return holds(await there.get("Cluster", "shop"), "Paused")

        await there.merge("Cluster", "shop", {"spec": {"paused": True}})
        await there.until("the shop is paused", paused)
        alone = by_name(await examine(there.client, "https://plane", there.world, Scope("default", "shop"), ways))
        assert alone[CLUSTER, "paused"].standing is Standing.WARNING
        assert not [subject for subject, _ in alone if subject == "Leftovers"]

    async def main() -> None:
        async with town() as there:
            await scenario(there)

    play_town(main())


def test_without_any_cluster_and_without_proxmox_there_is_little_to_say() -> None:
    async def scenario(there: Remains) -> None:
        found = await examined(there, Scope())
        assert {subject for subject, _ in found} == {"Management API", "Leftovers"}
        assert found["Management API", "kinds"].standing is Standing.OK
        assert found["Leftovers", "orphans"].standing is Standing.OK

    play(scenario)


def test_a_host_that_is_off_is_a_warning() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        there.control.power_off("pve3")
        await asyncio.sleep(30)
        found = await examined(there)
        assert found[CONNECTION, "hosts"].standing is Standing.WARNING
        assert "Off: pve3" in found[CONNECTION, "hosts"].evidence
        assert found[CONNECTION, "quorum"].standing is Standing.OK
        assert found[CONNECTION, "endpoint https://pve3:8006"].standing is Standing.WARNING
        assert "pve3 is off" in found["Leftovers", "orphans"].evidence

    play(scenario)


def test_hosts_that_hang_delay_nothing_else() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()

        async def hanging(request: Request, proceed: Proceed) -> Answer:
            if request.path.startswith("/api2/json/nodes/pve2/"):
                await asyncio.Event().wait()
            return await proceed(request)

        there.emulator.around.append(hanging)
        begun = asyncio.get_running_loop().time()
        found = await examined(there, limit=60)
        assert asyncio.get_running_loop().time() - begun < 150
        assert found[CONNECTION, "privileges"].standing is Standing.OK
        assert "pve2 did not tell" in found[CONNECTION, "clocks"].evidence
        assert found[CONNECTION, "host versions"].standing is Standing.OK

    play(scenario)


def test_a_data_center_that_hangs_is_not_checked_and_hides_nothing() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        await make_pool(there, free=5)

        async def hanging(_: Request, __: Proceed) -> Answer:
            await asyncio.Event().wait()
            raise AssertionError

        there.emulator.around.append(hanging)
        found = await examined(there, limit=20)
        assert found[CONNECTION, "connection"].standing is Standing.UNCHECKED
        assert found["Addresses", "InClusterIPPool default/pool"].standing is Standing.OK
        assert found["Leftovers", "orphans"].standing is Standing.UNCHECKED

    play(scenario)


def test_a_wrong_token_is_a_problem_with_the_command_that_makes_another() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect(secret="wrong")
        found = await examined(there)
        assert found[CONNECTION, "credentials"].standing is Standing.PROBLEM
        assert "nagaya proxmox connect" in found[CONNECTION, "credentials"].evidence
        assert found[CONNECTION, "endpoint https://pve1:8006"].standing is Standing.OK or "insecure" in str(found)

    play(scenario)


def test_a_connection_whose_secret_is_gone_says_so() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        await there.client.delete(KINDS["Secret"], NAMESPACE, "pve")
        found = await examined(there)
        assert found[CONNECTION, "connection"].standing is Standing.PROBLEM
        assert "Secret default/pve does not exist" in found[CONNECTION, "connection"].evidence

    play(scenario)


def test_a_missing_privilege_is_a_problem_with_the_line_that_grants_it() -> None:
    async def scenario(there: Remains) -> None:
        access = there.emulator.datacenter.access
        access.users["nagaya@pve"] = User(tokens={"few": Token("secret")})
        access.roles["Few"] = frozenset({"Sys.Audit", "VM.Audit", "Datastore.Audit", "Pool.Audit"})
        for kind, subject in (("user", "nagaya@pve"), ("token", "nagaya@pve!few")):
            access.acl["/", kind, subject, "Few"] = True
        await there.connect(token="nagaya@pve!few", secret="secret")
        found = (await examined(there))[CONNECTION, "privileges"]
        assert found.standing is Standing.PROBLEM
        assert "VM.PowerMgmt on /pool/nagaya" in found.evidence
        assert any(each.startswith("pveum ") and "/pool/nagaya" in each for each in found.remedy)

    play(scenario)


def test_a_full_storage_is_a_problem_if_it_is_the_default_and_a_warning_else() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        there.emulator.datacenter.storages["local-lvm"].capacity = 3 << 30
        await asyncio.sleep(15)
        found = await examined(there)
        assert found[CONNECTION, "storage local-lvm"].standing is Standing.WARNING
        named = Merge({"spec": {"defaults": {"storage": "local-lvm"}}})
        await there.client.patch(KINDS["ProxmoxConnection"], NAMESPACE, "pve", named)
        found = await examined(there)
        assert found[CONNECTION, "storage local-lvm"].standing is Standing.PROBLEM
        assert "GiB free on pve" in found[CONNECTION, "storage local-lvm"].evidence

    play(scenario)


async def make_shop(there: Remains, *tags: str) -> None:
    """The objects of a cluster, as users write them."""
    network = {"networkDevices": [{"name": "net0", "bridge": "vmbr0"}]}
    machine = {"templateSelector": {"matchTags": [*tags]}, "network": network}
    template = {"apiGroup": GROUP, "kind": "ProxmoxMachineTemplate", "name": "shop"}
    machines = {
        "clusterName": "shop",
        "version": "v1.36.3",
        "bootstrap": {"dataSecretName": "boot"},
        "infrastructureRef": template,
    }
    infrastructure = {"apiGroup": GROUP, "kind": "ProxmoxCluster", "name": "shop"}
    label = {"cluster.x-k8s.io/cluster-name": "shop"}
    addresses = {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24, "gateway": "10.0.0.1"}
    endpoint = {"host": "10.0.0.5", "port": 6443}
    deployment = {
        "clusterName": "shop",
        "replicas": 1,
        "selector": {"matchLabels": label},
        "template": {"metadata": {"labels": label}, "spec": machines},
    }
    for kind, spec in (
        ("Cluster", {"infrastructureRef": infrastructure}),
        ("ProxmoxCluster", {"controlPlaneEndpoint": endpoint, "ipv4Config": addresses, "dnsServers": ["10.0.0.1"]}),
        ("ProxmoxMachineTemplate", {"template": {"spec": machine}}),
        ("MachineDeployment", deployment),
    ):
        await there.client.create(KINDS[kind], {"metadata": {"name": "shop", "namespace": NAMESPACE}, "spec": spec})


def test_a_template_that_no_host_has_is_a_problem() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        await make_shop(there, "kubernetes", "kubernetes-v1.30.0")
        await asyncio.sleep(11)
        found = (await examined(there))[CONNECTION, "template for MachineDeployment default/shop"]
        assert found.standing is Standing.PROBLEM
        assert "No template has the tags kubernetes;kubernetes-v1.30.0" in found.evidence
        assert "nagaya proxmox image add" in found.remedy[0]

    play(scenario)


def test_a_template_that_one_host_lacks_is_a_warning() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        await make_shop(there, "kubernetes", "kubernetes-v1.36.3")
        del there.emulator.datacenter.guests[9002]
        await asyncio.sleep(11)
        found = (await examined(there))[CONNECTION, "template for MachineDeployment default/shop"]
        assert found.standing is Standing.WARNING
        assert "Only pve1, pve3 can make machines from it." in found.evidence
        assert "is not on pve2" in found.evidence

    play(scenario)


async def make_pool(there: Remains, *, free: int) -> None:
    spec = {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24, "gateway": "10.0.0.1"}
    metadata = {"name": "pool", "namespace": NAMESPACE}
    await there.client.create(KINDS["InClusterIPPool"], {"metadata": metadata, "spec": spec})
    counts = {"total": 11, "free": free, "used": 11 - free, "outOfRange": 0}
    told = Merge({"status": {"ipAddresses": counts}})
    await there.client.patch(KINDS["InClusterIPPool"], NAMESPACE, "pool", told, subresource="status")


@pytest.mark.parametrize(("free", "standing"), [(0, Standing.PROBLEM), (2, Standing.WARNING), (9, Standing.OK)])
def test_pools_tell_how_many_addresses_are_left(free: int, standing: Standing) -> None:
    async def scenario(there: Remains) -> None:
        await make_pool(there, free=free)
        assert (await examined(there))["Addresses", "InClusterIPPool default/pool"].standing is standing

    play(scenario)


def test_controllers_that_do_not_run_are_a_problem() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        await asyncio.sleep(120)
        found = (await examined(there))["Management API", "controllers"]
        assert found.standing is Standing.PROBLEM
        assert "Nobody has looked at ProxmoxConnection pve" in found.evidence

    play(scenario)


def test_a_deletion_that_nobody_completes_is_told() -> None:
    async def scenario(there: Remains) -> None:
        await make_pool(there, free=5)
        held = Merge({"metadata": {"finalizers": ["ipam.cluster.x-k8s.io/protect-pool"]}})
        await there.client.patch(KINDS["InClusterIPPool"], NAMESPACE, "pool", held)
        await there.client.delete(KINDS["InClusterIPPool"], NAMESPACE, "pool")
        await asyncio.sleep(3 * 3600)
        found = (await examined(there))["InClusterIPPool default/pool", "deletion"]
        assert found.standing is Standing.PROBLEM
        assert "held by ipam.cluster.x-k8s.io/protect-pool" in found.evidence

    play(scenario)


def test_orphans_are_counted() -> None:
    async def scenario(there: Remains) -> None:
        await there.connect()
        await there.orphan()
        found = (await examined(there))["Leftovers", "orphans"]
        assert found.standing is Standing.WARNING
        assert found.evidence.startswith("VM 100 (a) on pve1 with its disks and 1 more")
        assert found.remedy == ("nagaya gc --dry-run",)

    play(scenario)
