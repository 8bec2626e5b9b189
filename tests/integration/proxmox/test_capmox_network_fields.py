"""Fields of the network of CAPMOX's machines, each seen at work: in the VM, and in what its guest is told."""

from __future__ import annotations

from typing import Any

from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS
from nagaya.kube.patches import Merge
from support.proxmox_machine_seen import make_pool, net, pool, says, told, vm
from support.proxmox_yard import NAMESPACE, Yard, play


def network(*devices: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"networkDevices": [*devices], **more}


async def dual_stack(yard: Yard) -> None:
    """Give the cluster addresses of both families."""
    config = {"addresses": ["fd00::10-fd00::90"], "prefix": 64, "gateway": "fd00::1", "metric": 70}
    await yard.cluster(ipv6Config=config)
    await make_pool(yard, "harbour-v6-icip", "fd00::", prefix=64)
    zone = {
        "zone": "default",
        "inClusterIPPoolRefV4": {"name": "harbour-v4-icip"},
        "inClusterIPPoolRefV6": {"name": "harbour-v6-icip"},
    }
    change = Merge({"status": {"inClusterZoneRef": [zone]}})
    await yard.user.patch(PROXMOX_CLUSTERS, NAMESPACE, "harbour", change, subresource="status")


def test_a_device_is_plugged_in_as_it_says() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        first = net(model="e1000", vlan=42, queues=4, mtu=1, linkMtu=1400)
        await yard.machine("a", network=network(first, net("net1", mtu=1300, ipPoolRef=[])))
        (made,) = await yard.provisioned("a")
        config = vm(yard, made).config
        options = config["net0"].split(",")
        assert options[0].startswith("e1000=")
        assert {"bridge=vmbr0", "tag=42", "queues=4", "mtu=1"} <= {*options}
        assert config["net1"].startswith("virtio=")
        assert "mtu=1300" in config["net1"]
        ethernets = told(yard, made)[0]["ethernets"]
        assert [each.get("mtu") for each in ethernets.values()] == [1400, 1300], "1 is the size of the bridge"
        assert [(each.network_name, each.connected) for each in made.status.network] == [("net0", True), ("net1", True)]
        assert made.status.network[0].mac_addr == options[0].removeprefix("e1000=")
        assert made.status.network[0].ip_addrs == ("10.0.0.10",)

    play(scenario)


def test_devices_count_by_their_names_whatever_order_they_are_written_in() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", network=network(net("net1", vlan=9), net("net0")))
        (made,) = await yard.provisioned("a")
        ethernets = told(yard, made)[0]["ethernets"]
        assert [each.get("addresses") for each in ethernets.values()] == [["10.0.0.10/24"], None]
        config = vm(yard, made).config
        assert "tag=9" in config["net1"]
        assert ethernets["eth1"]["match"]["macaddress"] in config["net1"].lower()

    play(scenario)


def test_routes_policies_and_routing_domains_reach_the_guest() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await make_pool(yard, "blue", "10.9.0.", metric="100")
        first = net(
            routes=[
                {"to": "172.16.0.0/12", "via": "10.0.0.7", "metric": 50, "table": 7},
                {"to": "all", "via": "fd00::7"},
            ],
            routingPolicy=[
                {"from": "10.0.0.0/24", "to": "default", "table": 7, "priority": 99},
                {"from": "all", "to": "fd00:9::/64", "table": 8},
                {"from": "all", "table": 9, "is6": True},
            ],
        )
        blue = {
            "name": "vrf-blue",
            "table": 500,
            "interfaces": ["net1"],
            "routes": [{"to": "10.8.0.0/16", "via": "10.9.0.3"}],
            "routingPolicy": [{"from": "10.9.0.0/16"}],
        }
        red = {"name": "vrf-red", "table": 600, "routes": [{"to": "default", "via": "10.7.0.2", "metric": 100}]}
        await yard.machine("a", network=network(first, net("net1", ipPoolRef=[pool("blue")]), vrfs=[blue, red]))
        (made,) = await yard.provisioned("a")
        content, _ = told(yard, made)
        eth0, eth1 = content["ethernets"]["eth0"], content["ethernets"]["eth1"]
        assert eth0["routes"] == [
            {"to": "0.0.0.0/0", "via": "10.0.0.1", "metric": 100},
            {"to": "172.16.0.0/12", "via": "10.0.0.7", "metric": 50, "table": 7},
            {"to": "::/0", "via": "fd00::7"},
        ]
        assert eth0["routing-policy"] == [
            {"to": "0.0.0.0/0", "from": "10.0.0.0/24", "priority": 99, "table": 7},
            {"to": "fd00:9::/64", "from": "::/0", "table": 8},
            {"from": "::/0", "table": 9},
        ]
        assert eth1["routes"] == [{"to": "0.0.0.0/0", "via": "10.9.0.1", "metric": 100}], "it is in a table of its own"
        assert content["vrfs"] == {
            "vrf-blue": {
                "table": 500,
                "routes": [{"to": "10.8.0.0/16", "via": "10.9.0.3"}],
                "routing-policy": [{"from": "10.9.0.0/16"}],
                "interfaces": ["eth1"],
            },
            "vrf-red": {"table": 600, "routes": [{"to": "0.0.0.0/0", "via": "10.7.0.2", "metric": 100}]},
        }

    play(scenario)


def test_a_route_that_cannot_be_read_is_named() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", network=network(net(routes=[{"to": "10.0.0.0/99", "via": "10.0.0.7"}])))
        await yard.machine("b", network=network(net(routes=[{"via": "10.0.0.7"}])))
        assert "routes[].to of net0: '10.0.0.0/99'" in await says(yard, "a", "VMProvisionFailed")
        assert "a route of net0 does not say where `to`" in await says(yard, "b", "VMProvisionFailed")

    play(scenario)


def test_a_machine_has_both_families_on_the_devices_that_say_so() -> None:
    async def scenario(yard: Yard) -> None:
        await dual_stack(yard)
        await yard.machine("one", network=network(net()))
        second = net("net1", defaultIPv6=True, dnsServers=["fd00::53"])
        await yard.machine("two", network=network(net(defaultIPv4=True, defaultIPv6=False), second))
        one, two = await yard.provisioned("one", "two")
        (eth0,) = told(yard, one)[0]["ethernets"].values()
        assert [each.partition("/")[2] for each in eth0["addresses"]] == ["24", "64"]
        assert [(each["to"], each["metric"]) for each in eth0["routes"]] == [("0.0.0.0/0", 100), ("::/0", 70)]
        assert len([each for each in one.status.addresses if each.type == "InternalIP"]) == 2
        (default,) = [each for each in one.status.ip_addresses if each.net == "default"]
        assert (len(default.ipv4), len(default.ipv6)) == (1, 1)
        devices = told(yard, two)[0]["ethernets"]
        assert [[":" in address for address in each["addresses"]] for each in devices.values()] == [[False], [True]]
        assert [each["nameservers"]["addresses"] for each in devices.values()] == [["10.0.0.1"], ["fd00::53"]]

    play(scenario)


def test_a_device_has_an_address_of_each_pool_that_it_names_with_the_metric_of_the_pool() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await make_pool(yard, "storage", "10.1.0.", metric="700")
        await make_pool(yard, "backup", "10.2.0.")
        await make_pool(yard, "other", "10.3.0.")
        await make_pool(yard, "all", "10.4.0.", metric="900", everywhere=True)
        first = net(ipPoolRef=[pool("storage"), pool("backup")])
        second = net("net1", ipPoolRef=[pool("other"), pool("all", "GlobalInClusterIPPool")])
        await yard.machine("a", network=network(first, second))
        (made,) = await yard.provisioned("a")
        content, _ = told(yard, made)
        eth0, eth1 = content["ethernets"].values()
        assert eth0["addresses"] == ["10.0.0.10/24", "10.1.0.10/24", "10.2.0.10/24"]
        assert eth1["addresses"] == ["10.3.0.10/24", "10.4.0.10/24"]
        routes = [*eth0["routes"], *eth1["routes"]]
        assert [(each["via"], each["metric"]) for each in routes] == [
            ("10.0.0.1", 100),
            ("10.1.0.1", 700),
            ("10.2.0.1", 101),
            ("10.3.0.1", 102),
            ("10.4.0.1", 900),
        ]
        # They are called as in CAPMOX.
        names = sorted(each.metadata.name for each in (await yard.user.list(IP_ADDRESS_CLAIMS)).items)
        assert names == ["a-net0-0-inet", "a-net0-1-inet", "a-net0-2-inet", "a-net1-0-inet", "a-net1-1-inet"]

    play(scenario)


def test_a_device_that_is_no_default_of_any_family_has_the_addresses_of_its_pools_alone() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await make_pool(yard, "storage", "10.1.0.")
        first = net(defaultIPv4=False, ipPoolRef=[pool("storage")])
        await yard.machine("a", network=network(first, net("net1", defaultIPv4=True)))
        (made,) = await yard.provisioned("a")
        eth0, eth1 = told(yard, made)[0]["ethernets"].values()
        assert (eth0["addresses"], eth1["addresses"]) == (["10.1.0.10/24"], ["10.0.0.10/24"])

    play(scenario)


def test_a_zone_that_the_cluster_does_not_have_is_told() -> None:
    async def scenario(yard: Yard) -> None:
        await yard.cluster()
        await yard.machine("a", network=network(net(), zone="east"))
        message = await says(yard, "a", "WaitingForStaticIPAllocation")
        assert "zoneConfig of ProxmoxCluster harbour has no such zone (it has none)" in message

    play(scenario)
