from __future__ import annotations

import msgspec

from nagaya.api.controlplane import hosted_addons
from nagaya.api.controlplane.hosted_addons import HostedAddons, KonnectivityAgent
from nagaya.api.controlplane.hosted_control_plane import HostedSettings
from nagaya.api.controlplane.hosted_kubelet import HostedKubelet
from nagaya.controlplane.hosted.components.facts import KineStore, ServingFacts, TenantFacts, TunnelFacts
from nagaya.controlplane.hosted.components.network import TenantNetwork
from nagaya.controlplane.hosted.tenant.declared import setup_of
from nagaya.controlplane.hosted.tenant.objects import objects
from nagaya.controlplane.hosted.tenant.setup import CoreDns, Konnectivity, KubeProxy, TenantSetup

NOTHING = HostedSettings()


def facts(settings: HostedSettings = NOTHING, *, tunnel: bool = False) -> TenantFacts:
    return TenantFacts(
        "shop",
        "v1.36.3",
        ServingFacts("127.0.0.1", "192.0.2.10"),
        KineStore("/run/kine.sock"),
        TenantNetwork(("10.96.0.0/16",), ("10.244.0.0/16",), "shop.local", ("10.96.0.53",)),
        settings,
        tunnel=TunnelFacts("/run/tunnel.sock", "127.0.0.1", 9132) if tunnel else None,
    )


def test_what_is_left_out_is_as_kubeadm_has_it() -> None:
    assert setup_of(facts(), "192.0.2.10", 6443, b"PEM") == TenantSetup(
        "shop",
        "v1.36.3",
        "192.0.2.10:6443",
        b"PEM",
        ("10.96.0.0/16",),
        ("10.244.0.0/16",),
        "shop.local",
        ("10.96.0.53",),
    )


def test_what_is_declared_is_set_up() -> None:
    agent = KonnectivityAgent(
        mode="Deployment", replicas=3, host_network=False, tolerations=({"key": "a"},), image_tag="v9"
    )
    addons = HostedAddons(
        core_dns=hosted_addons.CoreDns(replicas=5, image_tag="v1"),
        kube_proxy=hosted_addons.KubeProxy(mode="nftables", image_repository="example.com"),
        konnectivity=hosted_addons.Konnectivity(enabled=True, agent=agent),
    )
    found = setup_of(facts(HostedSettings(addons=addons), tunnel=True), "2001:db8::1", 6443, b"PEM")
    assert found.endpoint == "[2001:db8::1]:6443"
    assert found.core_dns == CoreDns(image_tag="v1", replicas=5)
    assert found.kube_proxy == KubeProxy("example.com", "", {"mode": "nftables"})
    assert found.konnectivity == Konnectivity(
        "2001:db8::1", 9132, "Deployment", 3, host_network=False, image_tag="v9", tolerations=({"key": "a"},)
    )


def test_what_is_switched_off_is_left_out() -> None:
    addons = HostedAddons(
        core_dns=hosted_addons.CoreDns(enabled=False), kube_proxy=hosted_addons.KubeProxy(enabled=False)
    )
    found = setup_of(facts(HostedSettings(addons=addons)), "192.0.2.10", 6443, b"PEM")
    assert (found.core_dns, found.kube_proxy, found.konnectivity) == (None, None, None)


def test_patches_keep_their_nulls() -> None:
    patches = [
        {"op": "add", "path": "/maxPods", "value": None},
        {"op": "remove", "path": "/clusterDomain"},
        {"op": "move", "path": "/x", "from": "/maxPods"},
    ]
    kubelet = {"configurationPatches": patches, "verifyServingCertificates": True}
    settings = HostedSettings(kubelet=msgspec.convert(kubelet, HostedKubelet))
    found = setup_of(facts(settings), "192.0.2.10", 6443, b"PEM")
    assert found.kubelet_patches == tuple(patches)
    assert found.verified_kubelets
    assert objects(found)
