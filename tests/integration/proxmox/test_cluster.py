"""ProxmoxClusters on an emulated data center: pools, endpoint, credentials, and the end. CAPMOX's numbers are those of
its issues."""

from __future__ import annotations

import asyncio
from typing import Any

from nagaya.api.proxmox.group import ALLOWED_NAMESPACES
from nagaya.kube.patches import Merge
from nagaya.simulators.proxmox.control.control import Control
from support.proxmox_plane import KINDS, NAMESPACE, ProxmoxPlane, connection, credentials, make_cluster, play

POOL = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "vips"}
FOR_KUBELETS = {
    "bootstrap.nagaya.dev/kubelet-node-ip": "{{ ds.meta_data.node_ip }}",
    "bootstrap.nagaya.dev/kubelet-provider-id": "proxmox://{{ ds.meta_data.instance_id }}",
}
SECRET_FINALIZER = "proxmoxcluster.infrastructure.cluster.x-k8s.io/secret"
CLUSTER_FINALIZER = "proxmoxcluster.infrastructure.cluster.x-k8s.io"


async def connect(plane: ProxmoxPlane) -> None:
    await plane.create(credentials(plane), connection(insecure=True))


def machine(name: str, cluster: str = "shop", *, control_plane: bool = False, zone: str = "") -> dict[str, Any]:
    """A ProxmoxMachine of a cluster that nothing is done for."""
    labels = {"cluster.x-k8s.io/cluster-name": cluster}
    if control_plane:
        labels["cluster.x-k8s.io/control-plane"] = ""
    network: dict[str, Any] = {"networkDevices": [{"name": "net0", "bridge": "vmbr0"}]}
    if zone:
        network["zone"] = zone
    return {
        "kind": "ProxmoxMachine",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {"sourceNode": "pve1", "templateID": 9001, "network": network},
    }


def test_the_only_connection_of_the_namespace_is_taken_and_the_cluster_becomes_ready() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await make_cluster(plane)
        message = await plane.told("ProxmoxCluster", "shop", "ProxmoxAvailable", "NoConnection")
        assert message.startswith("Namespace default has no ProxmoxConnection: make one with")
        await connect(plane)
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")
        found = await plane.get("ProxmoxCluster", "shop")
        assert found.status.initialization.provisioned is True
        assert found.status.datacenter == plane.datacenter_id
        assert found.metadata.finalizers == (CLUSTER_FINALIZER,)
        assert [each.name for each in found.status.in_cluster_ip_pool_ref] == ["shop-v4-icip"]
        pool = await plane.get("InClusterIPPool", "shop-v4-icip")
        assert pool.spec.addresses == ("10.0.0.10-10.0.0.20",)
        assert (pool.spec.gateway, pool.spec.prefix) == ("10.0.0.1", 24)
        assert pool.spec.address_reuse_grace_period_seconds == 60
        assert pool.metadata.controller.name == "shop"

    play(scenario)


def test_capmox_210_with_several_connections_one_has_to_be_named() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(credentials(plane), connection("east", insecure=True), connection("west", insecure=True))
        await make_cluster(plane)
        message = await plane.told("ProxmoxCluster", "shop", "ProxmoxAvailable", "SeveralConnections")
        assert "east, west" in message
        await plane.merge("ProxmoxCluster", "shop", {"spec": {"connectionRef": {"name": "west"}}})
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")

    play(scenario)


def test_capmox_245_credentials_that_were_lost_and_come_back_need_no_restart_and_nothing_stays_failed() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await make_cluster(plane, credentialsRef={"name": "pve"})
        message = await plane.told("ProxmoxCluster", "shop", "ProxmoxAvailable", "SecretMissing")
        assert message.startswith("Secret default/pve does not exist")
        await plane.create(credentials(plane))
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")

    play(scenario)


def test_capmox_248_the_secret_is_looked_for_in_the_namespace_of_the_cluster_unless_another_is_named() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create({"kind": "Namespace", "metadata": {"name": "vault"}})
        await plane.create(credentials(plane, namespace="vault"))
        await make_cluster(plane, credentialsRef={"name": "pve"})
        await plane.told("ProxmoxCluster", "shop", "ProxmoxAvailable", "SecretMissing")
        await plane.merge("ProxmoxCluster", "shop", {"spec": {"credentialsRef": {"name": "pve", "namespace": "vault"}}})
        refused = await plane.told("ProxmoxCluster", "shop", "ProxmoxAvailable", "SecretUnusable")
        assert f"kubectl annotate secret pve -n vault {ALLOWED_NAMESPACES}=default" in refused
        assert not plane.asked()
        await allow(plane, "a, default")
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")
        secret = await plane.get("Secret", "pve", "vault")
        # Whoever may only refer to it must not keep it from being deleted, nor own it.
        assert (secret.metadata.finalizers, secret.metadata.owner_references) == ((), ())
        await allow(plane, "a")
        assert await plane.told("ProxmoxCluster", "shop", "ProxmoxAvailable", "SecretUnusable") == refused
        asked = len(plane.asked())
        await asyncio.sleep(300)
        assert len(plane.asked()) == asked

    play(scenario)


async def allow(plane: ProxmoxPlane, namespaces: str) -> None:
    """Let namespaces use the Secret vault/pve."""
    change = Merge({"metadata": {"annotations": {ALLOWED_NAMESPACES: namespaces}}})
    await plane.client.patch(KINDS["Secret"], "vault", "pve", change)


def test_capmox_155_an_address_that_ends_in_the_path_of_the_api_works() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(credentials(plane, url="https://pve2:8006/api2/json/"))
        await make_cluster(plane, credentialsRef={"name": "pve"})
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")

    play(scenario)


def test_capmox_86_a_refused_token_is_told_in_one_sentence() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(credentials(plane, secret="wrong"))
        await make_cluster(plane, credentialsRef={"name": "pve"})
        message = await plane.told("ProxmoxCluster", "shop", "ProxmoxAvailable", "SecretUnusable")
        assert "Authentication failed!" in message
        assert (await plane.get("ProxmoxCluster", "shop")).status.initialization.provisioned is None

    play(scenario)


def test_a_secret_is_owned_and_held_until_its_last_cluster_is_gone() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(credentials(plane))
        for name, host in (("shop", "10.0.0.5"), ("mill", "10.0.0.6")):
            await make_cluster(
                plane,
                name,
                credentialsRef={"name": "pve"},
                controlPlaneEndpoint={"host": host, "port": 6443},
                ipv4Config={"addresses": [f"{host}0-{host}9"], "prefix": 24, "gateway": "10.0.0.1"},
            )
            await plane.told("ProxmoxCluster", name, "Ready", "Provisioned")
        assert len(plane.transports) == 1
        secret = await plane.get("Secret", "pve")
        assert {each.name for each in secret.metadata.owner_references} == {"shop", "mill"}
        for name, rest in (("shop", (SECRET_FINALIZER,)), ("mill", ())):
            await plane.delete("Cluster", name)
            await plane.delete("ProxmoxCluster", name)
            await plane.gone("ProxmoxCluster", name)
            secret = await plane.get("Secret", "pve")
            assert secret is None or secret.metadata.finalizers == rest

    play(scenario)


def test_capmox_304_the_address_of_the_api_comes_from_a_pool_and_goes_back_to_it() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await connect(plane)
        await make_cluster(plane, controlPlaneEndpoint=None, controlPlaneEndpointPoolRef=POOL)
        await plane.told("ProxmoxCluster", "shop", "Ready", "WaitingForControlPlaneAddress")
        vips = {"addresses": ["10.0.9.7"], "prefix": 24, "gateway": "10.0.9.1"}
        await plane.create(
            {"kind": "InClusterIPPool", "metadata": {"name": "vips", "namespace": NAMESPACE}, "spec": vips}
        )
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")
        found = await plane.get("ProxmoxCluster", "shop")
        assert str(found.spec.control_plane_endpoint) == "10.0.9.7:6443"
        # So that the machines of its control plane hold the address, and it does not go missing.
        assert found.metadata.annotations == {**FOR_KUBELETS, "bootstrap.nagaya.dev/virtual-ip": "kube-vip"}
        await plane.delete("Cluster", "shop")
        await plane.delete("ProxmoxCluster", "shop")
        await plane.gone("ProxmoxCluster", "shop")
        await plane.gone("IPAddressClaim", "shop-control-plane-endpoint")

    play(scenario)


def test_who_holds_the_address_of_the_api_can_be_changed_and_is_told_by_one_write() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await connect(plane)
        await make_cluster(plane, controlPlaneVirtualIP={"provider": "kube-vip", "interface": "ens18"})
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")
        found = await plane.get("ProxmoxCluster", "shop")
        assert found.metadata.annotations == {
            **FOR_KUBELETS,
            "bootstrap.nagaya.dev/virtual-ip": "kube-vip",
            "bootstrap.nagaya.dev/virtual-ip-interface": "ens18",
        }
        await plane.merge("ProxmoxCluster", "shop", {"spec": {"controlPlaneVirtualIP": {"provider": "none"}}})

        async def silent() -> bool:
            return dict((await plane.get("ProxmoxCluster", "shop")).metadata.annotations) == FOR_KUBELETS

        await plane.until("the annotations are gone", silent)
        version = (await plane.get("ProxmoxCluster", "shop")).metadata.resource_version
        await asyncio.sleep(120)
        assert (await plane.get("ProxmoxCluster", "shop")).metadata.resource_version == version

    play(scenario)


def test_a_failure_domain_without_a_host_that_is_on_is_told() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await connect(plane)
        domains = [{"name": "left", "nodes": ["pve1", "pve2"]}, {"name": "pve3", "controlPlane": False}]
        await make_cluster(plane, failureDomains=domains)
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")
        before = (await plane.get("ProxmoxCluster", "shop")).status.failure_domains
        assert [(each.name, each.control_plane) for each in before] == [("left", True), ("pve3", False)]
        Control(plane.emulator).power_off("pve3")
        words = "All hosts of failure domain pve3 are off (pve3): machines for it wait."
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned", words)
        assert (await plane.get("ProxmoxCluster", "shop")).status.failure_domains == before

    play(scenario)


def test_capmox_305_capmox_425_capmox_763_clusters_that_share_a_pool_get_different_addresses_from_it() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await connect(plane)
        vips = {"addresses": ["10.0.9.7-10.0.9.9"], "prefix": 24, "gateway": "10.0.9.1"}
        await plane.create(
            {"kind": "InClusterIPPool", "metadata": {"name": "vips", "namespace": NAMESPACE}, "spec": vips}
        )
        hosts = set()
        for number, name in enumerate(("shop", "mill"), 1):
            await make_cluster(
                plane,
                name,
                controlPlaneEndpoint=None,
                controlPlaneEndpointPoolRef=POOL,
                ipv4Config={
                    "addresses": [f"10.{number}.0.10-10.{number}.0.20"],
                    "prefix": 24,
                    "gateway": f"10.{number}.0.1",
                },
            )
            await plane.told("ProxmoxCluster", name, "Ready", "Provisioned")
            hosts.add((await plane.get("ProxmoxCluster", name)).spec.control_plane_endpoint.host)
        assert hosts == {"10.0.9.7", "10.0.9.8"}

    play(scenario)


def test_capmox_16_clusters_with_the_same_addresses_are_told_so() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await connect(plane)
        await make_cluster(plane, "shop")
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")
        await make_cluster(plane, "mill", controlPlaneEndpoint={"host": "10.0.0.6", "port": 6443})

        message = await plane.told("ProxmoxCluster", "mill", "Ready", "WaitingForAddressPools", "belongs to")
        assert "10.0.0.10-10.0.0.20 belongs to InClusterIPPool default/shop-v4-icip already" in message
        other = {"addresses": ["10.0.0.30-10.0.0.40"], "prefix": 24, "gateway": "10.0.0.1"}
        await plane.merge("ProxmoxCluster", "mill", {"spec": {"ipv4Config": other}})
        await plane.told("ProxmoxCluster", "mill", "Ready", "Provisioned")

    play(scenario)


def test_zones_have_pools_of_their_own_and_a_second_zone_breaks_nothing_add_in_cluster_zone_ref_panic() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await connect(plane)
        zones = [
            {
                "zone": zone,
                "ipv4Config": {
                    "addresses": [f"10.{n}.0.10-10.{n}.0.20"],
                    "prefix": 24,
                    "gateway": f"10.{n}.0.1",
                    "metric": 7,
                },
                "ipv6Config": {"addresses": [f"fd0{n}::10-fd0{n}::20"], "prefix": 64, "gateway": f"fd0{n}::1"},
                "dnsServers": ["10.0.0.1"],
            }
            for n, zone in enumerate(("dmz", "lab"), 1)
        ]
        await make_cluster(plane, zoneConfig=zones)
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")
        found = (await plane.get("ProxmoxCluster", "shop")).status
        assert [each.name for each in found.in_cluster_ip_pool_ref] == [
            "shop-v4-icip",
            "shop-dmz-v4-icip",
            "shop-dmz-v6-icip",
            "shop-lab-v4-icip",
            "shop-lab-v6-icip",
        ]
        refs = {each.zone: each for each in found.in_cluster_zone_ref}
        assert refs["default"].in_cluster_ip_pool_ref_v4.name == "shop-v4-icip"
        assert refs["lab"].in_cluster_ip_pool_ref_v6.name == "shop-lab-v6-icip"
        assert (await plane.get("InClusterIPPool", "shop-dmz-v4-icip")).metadata.annotations["metric"] == "7"

    play(scenario)


def test_a_hosted_control_plane_needs_no_endpoint_and_an_external_one_is_waited_for() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await connect(plane)
        await make_cluster(
            plane,
            "hosted",
            controlPlaneEndpoint=None,
            externalManagedControlPlane=True,
            control_plane="HostedControlPlane",
        )
        await plane.told("ProxmoxCluster", "hosted", "Ready", "Provisioned")
        await make_cluster(
            plane,
            "kamaji",
            controlPlaneEndpoint=None,
            externalManagedControlPlane=True,
            ipv4Config={"addresses": ["10.7.0.10-10.7.0.20"], "prefix": 24, "gateway": "10.7.0.1"},
        )
        message = await plane.told("ProxmoxCluster", "kamaji", "Ready", "MissingControlPlaneEndpoint")
        assert "host" in message
        await plane.merge(
            "ProxmoxCluster", "kamaji", {"spec": {"controlPlaneEndpoint": {"host": "10.7.0.5", "port": 6443}}}
        )
        await plane.told("ProxmoxCluster", "kamaji", "Ready", "Provisioned")

    play(scenario)


def test_hosts_that_do_not_exist_are_told_and_failure_domains_are_published() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await connect(plane)
        domains: list[dict[str, Any]] = [
            {"name": "pve1"},
            {"name": "rack", "nodes": ["pve2", "pve9"], "controlPlane": False},
        ]
        await make_cluster(plane, failureDomains=domains)
        message = await plane.told("ProxmoxCluster", "shop", "Ready", "UnknownHosts")
        assert message.startswith("Proxmox VE has no hosts called pve9, but pve1, pve2, pve3")
        domains[1]["nodes"] = ["pve2", "pve3"]
        await plane.merge("ProxmoxCluster", "shop", {"spec": {"failureDomains": domains}})
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")
        found = (await plane.get("ProxmoxCluster", "shop")).status.failure_domains
        assert [(each.name, each.control_plane) for each in found] == [("pve1", True), ("rack", False)]

    play(scenario)


def test_a_cluster_stays_provisioned_when_proxmox_goes_away_and_says_so() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await connect(plane)
        await make_cluster(plane)
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")
        for node in plane.datacenter.nodes.values():
            node.online = False
        await plane.told("ProxmoxCluster", "shop", "ProxmoxAvailable", "ConnectionNotReady")
        assert (await plane.get("ProxmoxCluster", "shop")).status.initialization.provisioned is True
        for node in plane.datacenter.nodes.values():
            node.online = True
        await plane.told("ProxmoxCluster", "shop", "ProxmoxAvailable", "ProxmoxAvailable")

    play(scenario)


def test_machines_are_located_and_waited_for_at_the_end() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await connect(plane)
        await make_cluster(plane)
        await plane.create(machine("a", control_plane=True), machine("b"))
        for name, node in (("a", "pve1"), ("b", "pve2")):
            await plane.merge("ProxmoxMachine", name, {"status": {"proxmoxNode": node}}, "status")

        async def located() -> Any:
            return (await plane.get("ProxmoxCluster", "shop")).status.node_locations

        places = await plane.until("machines are located", located)
        assert [(each.machine.name, each.node) for each in places.control_plane] == [("a", "pve1")]
        await plane.delete("Cluster", "shop")
        await plane.delete("ProxmoxCluster", "shop")
        message = await plane.told("ProxmoxCluster", "shop", "Deleting", "WaitingForMachinesDeletion")
        assert "a, b" in message
        await plane.delete("ProxmoxMachine", "a")
        await plane.delete("ProxmoxMachine", "b")
        await plane.gone("ProxmoxCluster", "shop")

    play(scenario)


def test_a_paused_cluster_is_left_alone() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await connect(plane)
        await make_cluster(plane)
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")
        await plane.merge("Cluster", "shop", {"spec": {"paused": True}})
        await plane.told("ProxmoxCluster", "shop", "Paused", "Paused")
        changed = {"addresses": ["10.0.0.30"], "prefix": 24, "gateway": "10.0.0.1"}
        await plane.merge("ProxmoxCluster", "shop", {"spec": {"ipv4Config": changed}})
        await asyncio.sleep(30)
        assert (await plane.get("InClusterIPPool", "shop-v4-icip")).spec.addresses == ("10.0.0.10-10.0.0.20",)
        await plane.merge("Cluster", "shop", {"spec": {"paused": False}})

        async def updated() -> bool:
            return bool((await plane.get("InClusterIPPool", "shop-v4-icip")).spec.addresses == ("10.0.0.30",))

        await plane.until("the pool follows", updated)

    play(scenario)


def test_nothing_is_written_while_nothing_changes() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        await plane.create(credentials(plane))
        await make_cluster(plane, credentialsRef={"name": "pve"})
        await plane.told("ProxmoxCluster", "shop", "Ready", "Provisioned")
        await asyncio.sleep(60)
        versions = [
            (await plane.get(kind, name)).metadata.resource_version
            for kind, name in (("ProxmoxCluster", "shop"), ("Secret", "pve"), ("InClusterIPPool", "shop-v4-icip"))
        ]
        await asyncio.sleep(1200)
        assert versions == [
            (await plane.get(kind, name)).metadata.resource_version
            for kind, name in (("ProxmoxCluster", "shop"), ("Secret", "pve"), ("InClusterIPPool", "shop-v4-icip"))
        ]

    play(scenario)


def test_a_machine_template_tells_what_its_nodes_will_offer() -> None:
    async def scenario(plane: ProxmoxPlane) -> None:
        spec = {
            **machine("x")["spec"],
            "numSockets": 2,
            "numCores": 4,
            "memoryMiB": 8192,
            "disks": {"bootVolume": {"disk": "scsi0", "sizeGb": 40}},
        }
        await plane.create(
            {
                "kind": "ProxmoxMachineTemplate",
                "metadata": {"name": "workers", "namespace": NAMESPACE},
                "spec": {"template": {"spec": spec}},
            }
        )

        async def told() -> Any:
            return (await plane.get("ProxmoxMachineTemplate", "workers")).status.capacity

        assert await plane.until("the capacity is told", told) == {
            "cpu": "8",
            "memory": "8192Mi",
            "ephemeral-storage": "40Gi",
        }

    play(scenario)
