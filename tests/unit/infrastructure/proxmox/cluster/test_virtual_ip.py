"""Whether the machines of a control plane are told to hold the address of its API."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.infrastructure.proxmox.cluster.plan import plan
from nagaya.infrastructure.proxmox.cluster.virtual_ip import changed
from unit.infrastructure.proxmox.cluster.test_plan import POOL, seen

ANNOTATION = "bootstrap.nagaya.dev/virtual-ip"
ALWAYS = {
    "bootstrap.nagaya.dev/kubelet-node-ip": "{{ ds.meta_data.node_ip }}",
    "bootstrap.nagaya.dev/kubelet-provider-id": "proxmox://{{ ds.meta_data.instance_id }}",
}
FROM_POOL: dict[str, Any] = {"controlPlaneEndpoint": None, "controlPlaneEndpointPoolRef": POOL}


def test_an_address_from_a_pool_is_held_by_the_machines_and_said_together_with_the_address() -> None:
    before = plan(seen(FROM_POOL))
    assert (before.endpoint, before.annotations) == (None, ALWAYS)
    steps = plan(seen(FROM_POOL, address="10.0.0.7"))
    assert steps.endpoint is not None
    assert steps.endpoint.host == "10.0.0.7"
    assert steps.annotations == {**ALWAYS, ANNOTATION: "kube-vip"}


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({}, {}),  # the address of a load balancer, for all we know
        ({"controlPlaneVirtualIP": {"provider": "kube-vip"}}, {ANNOTATION: "kube-vip"}),
        ({"controlPlaneEndpointPoolRef": POOL, "controlPlaneVirtualIP": {"provider": "none"}}, {}),
        ({"controlPlaneEndpointPoolRef": POOL, "externalManagedControlPlane": True}, {}),
        (
            {
                "controlPlaneEndpointPoolRef": POOL,
                "controlPlaneVirtualIP": {"image": "mirror/kube-vip:v9", "interface": "ens18"},
            },
            {ANNOTATION: "kube-vip", f"{ANNOTATION}-image": "mirror/kube-vip:v9", f"{ANNOTATION}-interface": "ens18"},
        ),
        (
            {"controlPlaneEndpointPoolRef": POOL, "virtualIPNetworkInterface": "eth1"},
            {ANNOTATION: "kube-vip", f"{ANNOTATION}-interface": "eth1"},
        ),
        ({"controlPlaneEndpoint": {"host": "fd00::5", "port": 6443}, "controlPlaneEndpointPoolRef": POOL}, ...),
    ],
)
def test_who_holds_the_address(spec: dict[str, Any], wanted: Any) -> None:
    expected = {ANNOTATION: "kube-vip"} if wanted is ... else wanted
    assert plan(seen(spec)).annotations == {**ALWAYS, **expected}


def test_a_hosted_control_plane_has_its_own_address() -> None:
    reference = {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "HostedControlPlane", "name": "shop"}
    found = seen({"controlPlaneEndpointPoolRef": POOL}, owner={"spec": {"controlPlaneRef": reference}})
    assert plan(found).annotations == ALWAYS


def test_kube_vip_for_a_name_is_refused_in_words() -> None:
    spec = {
        "controlPlaneEndpoint": {"host": "api.example.org", "port": 6443},
        "controlPlaneVirtualIP": {"provider": "kube-vip"},
    }
    steps = plan(seen(spec))
    assert steps.annotations == ALWAYS
    assert steps.sentence.startswith("kube-vip cannot hold api.example.org, which is a name: give")


def test_only_what_differs_is_written_and_what_is_not_wanted_any_more_goes() -> None:
    present = {ANNOTATION: "kube-vip", f"{ANNOTATION}-image": "old", "foreign": "stays"}
    assert changed(present, {ANNOTATION: "kube-vip"}) == {f"{ANNOTATION}-image": None}
    assert changed(present, {}) == {ANNOTATION: None, f"{ANNOTATION}-image": None}
    assert changed(present, {ANNOTATION: "kube-vip", f"{ANNOTATION}-image": "old"}) == {}
