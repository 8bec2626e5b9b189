"""All objects of a tenant, and all that it might have: what is not among the first but the second was switched off."""

from __future__ import annotations

from dataclasses import replace

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.tenant import api_endpoint, bootstrap, configuration, core_dns, konnectivity, kube_proxy
from nagaya.controlplane.hosted.tenant.kinds import Manifest
from nagaya.controlplane.hosted.tenant.releases import release_of
from nagaya.controlplane.hosted.tenant.setup import CoreDns, Konnectivity, KubeProxy, TenantSetup
from nagaya.kube.key import Key

Place = tuple[Kind[Untyped], Key]


def objects(setup: TenantSetup) -> tuple[Manifest, ...]:
    """What the tenant shall hold, in the order in which it is made.

    Raises ValueError, with the reason, if the version is too old or a patch of the kubelet's configuration fails.
    """
    release_of(setup.version)
    found = [*configuration.objects(setup), *bootstrap.objects(setup)]
    if setup.api_address:
        found += api_endpoint.objects(setup)
    if setup.konnectivity is not None:
        found += konnectivity.objects(setup, setup.konnectivity)
    if setup.kube_proxy is not None:
        found += kube_proxy.objects(setup, setup.kube_proxy)
    if setup.core_dns is not None:
        found += core_dns.objects(setup, setup.core_dns)
    return tuple(found)


def switched_off(setup: TenantSetup) -> frozenset[Place]:
    """The places of objects that another setup of this tenant would have, and this one has not.

    Only these are ever removed, and only with our label: a copy that a user made under another name is the user's.
    """
    everything: set[Place] = set()
    for mode in ("DaemonSet", "Deployment"):
        agents = Konnectivity("localhost", mode=mode)
        full = replace(
            setup,
            core_dns=CoreDns(),
            kube_proxy=KubeProxy(),
            konnectivity=agents,
            kubelet_patches=(),
            api_address="192.0.2.1",
        )
        everything |= {(each.kind, each.key) for each in objects(full)}
    return frozenset(everything - {(each.kind, each.key) for each in objects(setup)})
