"""What `kubeadm join` is told on every machine but the first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec

from nagaya.api.bootstrap.discovery import Discovery
from nagaya.api.bootstrap.node_registration import APIEndpoint, NodeRegistration, Patches, SkipPhases, Timeouts
from nagaya.api.model import Model, doc


class JoinControlPlane(Model):
    """Settings of a further control plane machine."""

    local_api_endpoint: Annotated[APIEndpoint, doc("Where the API server of this machine listens.")] = msgspec.field(
        name="localAPIEndpoint", default=APIEndpoint()
    )


class JoinConfiguration(Model):
    """Settings of `kubeadm join`."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    node_registration: Annotated[
        NodeRegistration,
        doc("How the machine becomes a node. Keep it equal to that of initConfiguration."),
    ] = NodeRegistration()
    ca_cert_path: Annotated[
        str,
        doc(
            "Where the cluster's certificate authority is put on the machine. /etc/kubernetes/pki/ca.crt if left out.",
            minLength=1,
            maxLength=512,
        ),
    ] = ""
    discovery: Annotated[
        Discovery,
        doc("How the machine finds the API server. By a token made for it if left out."),
    ] = Discovery()
    control_plane: Annotated[
        JoinControlPlane | None,
        doc("If set, even to {}, the machine runs a control plane; if left out it is a worker."),
    ] = None
    skip_phases: SkipPhases = ()
    patches: Annotated[Patches, doc("Patches to what kubeadm writes during join.")] = Patches()
    timeouts: Annotated[Timeouts, doc("How long kubeadm waits for what.")] = Timeouts()
