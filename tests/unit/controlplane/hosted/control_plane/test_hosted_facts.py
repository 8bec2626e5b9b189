from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from nagaya.controlplane.hosted.control_plane.endpoint import look
from nagaya.controlplane.hosted.control_plane.facts import Declared
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.pki.keys import KeyAlgorithm
from nagaya.pki.kubeadm.inputs import Inputs
from support.hosted_seen import cluster_of, machine, plane_of

OF_THE_CLUSTER = {"services": {"cidrBlocks": ["10.50.0.0/16"]}, "serviceDomain": "shared.local"}
OWN = {"serviceCIDRs": ["10.60.0.0/16", "fd00:60::/112"], "dnsDomain": "own.local", "certSANs": ["api.example"]}


@pytest.mark.parametrize(
    ("network", "cidrs", "domain", "sans"),
    [
        ({}, ("10.50.0.0/16",), "shared.local", ()),
        (OWN, ("10.60.0.0/16", "fd00:60::/112"), "own.local", ("api.example",)),
    ],
    ids=["of the Cluster", "of its own"],
)
def test_certificates_are_made_for_the_network_of_the_plane_else_for_that_of_its_cluster(
    network: dict[str, Any], cidrs: tuple[str, ...], domain: str, sans: tuple[str, ...]
) -> None:
    plane = plane_of({"network": network, "controlPlaneEndpoint": {"host": "192.0.2.3", "port": 7443}})
    cluster = cluster_of({"clusterNetwork": OF_THE_CLUSTER})
    declared = Declared(plane, cluster, look(plane, cluster, [plane], machine()))

    assert declared.inputs(HostSettings(Path("/nowhere"), leaf_validity=timedelta(days=7))) == Inputs(
        cluster_name="one",
        service_cidrs=cidrs,
        dns_domain=domain,
        endpoint_host="192.0.2.3",
        advertise_address="192.0.2.3",
        api_server_sans=("localhost", "127.0.0.1", "192.0.2.3", *sans),
        algorithm=KeyAlgorithm.ECDSA_P256,
        leaf_validity=timedelta(days=7),
    )
