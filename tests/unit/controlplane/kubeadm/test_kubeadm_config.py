from __future__ import annotations

from typing import Any

import pytest

from nagaya.controlplane.kubeadm.kubeadm_config import api_server_port, is_for_join, kubeadm_spec, new_config
from support.builders import CLUSTER
from unit.controlplane.kubeadm.examples import config, kcp


def test_the_first_machine_has_no_join_configuration_and_the_others_no_init_configuration() -> None:
    both = {"nodeRegistration": {"name": "x"}}
    of = kcp().wanting(kubeadmConfigSpec={"initConfiguration": both, "joinConfiguration": both}).made()
    first = new_config(of, CLUSTER, "a", join=False)["spec"]
    assert first == {"initConfiguration": {"nodeRegistration": {"name": "x"}}}
    other = new_config(of, CLUSTER, "b", join=True)["spec"]
    assert other == {"joinConfiguration": {"nodeRegistration": {"name": "x"}, "controlPlane": {}}}


def test_a_machine_that_joins_is_known_by_its_control_plane_even_if_nothing_is_declared() -> None:
    assert new_config(kcp().made(), CLUSTER, "a", join=True)["spec"] == {"joinConfiguration": {"controlPlane": {}}}
    assert "spec" not in new_config(kcp().made(), CLUSTER, "a", join=False)
    assert is_for_join(config("a"))
    assert not is_for_join(config("a", join=False))


def test_no_object_without_content_is_sent_but_empty_taints_are() -> None:
    spec: dict[str, Any] = {"joinConfiguration": {"nodeRegistration": {"taints": []}, "timeouts": {}}}
    content = new_config(kcp().wanting(kubeadmConfigSpec=spec).made(), CLUSTER, "a", join=True)
    assert content["spec"] == {"joinConfiguration": {"nodeRegistration": {"taints": ()}, "controlPlane": {}}}


@pytest.mark.parametrize(
    ("version", "gates"),
    [
        ("v1.30.9", {}),
        ("v1.31.0-rc.1", {"ControlPlaneKubeletLocalMode": True}),
        ("v1.35.4", {"ControlPlaneKubeletLocalMode": True}),
        ("v1.36.0-alpha.1", {}),
        ("v1.36.3", {}),
    ],
)
def test_kubelets_talk_to_the_api_server_beside_them(version: str, gates: dict[str, bool]) -> None:
    spec = kubeadm_spec(kcp(version=version).made(), join=True)
    assert spec.cluster_configuration.feature_gates == gates


def test_a_gate_that_somebody_set_stays() -> None:
    said = {"clusterConfiguration": {"featureGates": {"ControlPlaneKubeletLocalMode": False}}}
    of = kcp(version="v1.34.0").wanting(kubeadmConfigSpec=said).made()
    gates = kubeadm_spec(of, join=False).cluster_configuration.feature_gates
    assert gates == {"ControlPlaneKubeletLocalMode": False}


def test_the_port_of_the_api_server_is_that_of_init_or_of_join_or_the_usual_one() -> None:
    assert api_server_port(config("a")) == 6443
    joined = kcp().wanting(
        kubeadmConfigSpec={"joinConfiguration": {"controlPlane": {"localAPIEndpoint": {"bindPort": 7}}}}
    )
    assert api_server_port(config("a", joined.made())) == 7
    first = kcp().wanting(kubeadmConfigSpec={"initConfiguration": {"localAPIEndpoint": {"bindPort": 8}}})
    assert api_server_port(config("a", first.made(), join=False)) == 8


def test_a_configuration_belongs_to_the_control_plane_until_its_machine_takes_it() -> None:
    owner = new_config(kcp().made(), CLUSTER, "a", join=True)["metadata"]["ownerReferences"][0]
    assert owner["kind"] == "KubeadmControlPlane"
    assert "controller" not in owner
