"""HostedControlPlane: the API of a cluster as processes beside Nagaya, or as pods of a management cluster.

It has no Machines. Everything in the specification is optional but the version: what is left out is taken from the
Cluster, or is what most want.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

import msgspec

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.controlplane.hosted_addons import HostedAddons
from nagaya.api.controlplane.hosted_components import HostedApiServer, HostedComponent
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneCondition
from nagaya.api.controlplane.hosted_deployment import HostedDeployment
from nagaya.api.controlplane.hosted_group import GROUP, IDENTITY, PROVIDER_LABELS, VERSION
from nagaya.api.controlplane.hosted_kubelet import HostedKubelet
from nagaya.api.controlplane.hosted_network import HostedNetwork
from nagaya.api.controlplane.hosted_status import HostedControlPlaneStatus
from nagaya.api.definition import PAUSED_COLUMN, Column, Definition, Scale, age, condition
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc, rule

FINALIZER: Final = "controlplane.cluster.x-k8s.io/hostedcontrolplane"
"""Keeps a HostedControlPlane until its processes have ended and its data is removed."""

DEFAULT_DATA_STORE: Final = "default"
DEFAULT_REPLICAS: Final = 1


class DataStoreReference(Model):
    """The DataStore that keeps the data."""

    name: Annotated[
        str,
        doc(
            "Its name. It cannot change: data does not move between stores by itself.",
            minLength=1,
            maxLength=253,
            rules=[rule("self == oldSelf", "cannot be changed: data does not move between stores by itself")],
        ),
    ]


class HostedSettings(Model):
    """All that a control plane and a template for control planes have in common."""

    data_store_ref: Annotated[
        DataStoreReference,
        doc(
            "The DataStore that keeps the data. The one called default if left out. As long as there is none of this "
            "name the control plane waits for it.",
            default={"name": DEFAULT_DATA_STORE},
        ),
    ] = DataStoreReference(name=DEFAULT_DATA_STORE)
    network: Annotated[HostedNetwork, doc("Where the API is reached, and the addresses within the cluster.")] = (
        HostedNetwork()
    )
    api_server: Annotated[HostedApiServer, doc("Options of kube-apiserver.")] = HostedApiServer()
    controller_manager: Annotated[HostedComponent, doc("Options of kube-controller-manager.")] = HostedComponent()
    scheduler: Annotated[HostedComponent, doc("Options of kube-scheduler.")] = HostedComponent()
    kine: Annotated[
        HostedComponent, doc("Options of kine, which runs beside the API server if the DataStore speaks SQL.")
    ] = HostedComponent()
    kubelet: Annotated[HostedKubelet, doc("What kubelets are told, and how they are reached.")] = HostedKubelet()
    addons: Annotated[HostedAddons, doc("What is installed in the cluster.")] = HostedAddons()
    deployment: Annotated[
        HostedDeployment,
        doc("How the control plane runs as pods of a management cluster. As processes nothing of it counts."),
    ] = HostedDeployment()


class HostedControlPlaneSpec(HostedSettings):
    """Which control plane there is to be."""

    __schema__: ClassVar[Mapping[str, object]] = {
        "rules": [
            rule(
                "!has(oldSelf.controlPlaneEndpoint) || has(self.controlPlaneEndpoint)",
                "controlPlaneEndpoint cannot be removed: nodes and kubeconfigs have it",
            ),
            rule(
                "has(self.tenantID) == has(oldSelf.tenantID) && (!has(self.tenantID) || "
                "self.tenantID == oldSelf.tenantID)",
                "tenantID cannot be added, changed or removed: the programs and the data are known by it",
            ),
        ]
    }

    version: Annotated[
        str,
        doc(
            "Kubernetes version, such as v1.36.3. A newer one upgrades the control plane, at most one minor version "
            "at a time, and not back to an older minor version.",
            minLength=1,
            maxLength=256,
        ),
    ]
    replicas: Annotated[
        int | None,
        doc(
            "How many API servers there are, and how many of each other program, of which one works at a time. 1 if "
            "left out. With 2 or more an upgrade interrupts nothing. 0 stops the control plane and keeps its data.",
            minimum=0,
            maximum=9,
            default=DEFAULT_REPLICAS,
        ),
    ] = None
    control_plane_endpoint: Annotated[
        Endpoint,
        doc(
            "Where the API is reached. Nagaya sets it as soon as it is known; set it yourself only if something in "
            "front of the API has another address. It cannot change afterwards.",
            rules=[
                rule(
                    "!has(oldSelf.host) || has(self.host) && self.host == oldSelf.host",
                    "host cannot be changed: nodes and kubeconfigs have it",
                ),
                rule(
                    "!has(oldSelf.port) || has(self.port) && self.port == oldSelf.port",
                    "port cannot be changed: nodes and kubeconfigs have it",
                ),
            ],
        ),
    ] = Endpoint()
    tenant_id: Annotated[
        str,
        doc(
            "By what the programs and the data are known, if they began under another management API: the uid that "
            "the HostedControlPlane had there. `nagaya move` writes it; leave it out. Whoever claims what belongs to "
            "another gets nothing of it. It cannot change.",
            **IDENTITY,
        ),
    ] = msgspec.field(default="", name="tenantID")


class HostedControlPlane(Resource):
    """The API of a cluster, run beside Nagaya: a real kube-apiserver, kube-controller-manager and kube-scheduler."""

    spec: Annotated[HostedControlPlaneSpec, doc("Which control plane there is to be.")]
    status: Annotated[HostedControlPlaneStatus, doc("How the control plane is.")] = HostedControlPlaneStatus()

    @property
    def tenant_id(self) -> str:
        """By what its programs, its files and its data are known: it outlives a move, and the uid does not."""
        return self.spec.tenant_id or self.metadata.uid

    @property
    def store_name(self) -> str:
        """The DataStore that its data is in, or is about to be; empty before that is decided."""
        if self.status.data_store is not None:
            return self.status.data_store.name
        # The data of what was moved is there, whether or not its status has been found out again.
        return self.spec.data_store_ref.name if self.spec.tenant_id else ""


HOSTED_CONTROL_PLANES: Final = Kind(GROUP, VERSION, "HostedControlPlane", "hostedcontrolplanes", HostedControlPlane)
DEFINITION: Final = Definition(
    HOSTED_CONTROL_PLANES,
    short_names=("hcp",),
    columns=(
        Column(
            "Cluster",
            r".metadata.labels['cluster\.x-k8s\.io/cluster-name']",
            description="The Cluster whose control plane it is.",
        ),
        condition(
            str(HostedControlPlaneCondition.AVAILABLE), description="Whether the API of the cluster can be used."
        ),
        Column("Desired", ".spec.replicas", "integer", description="How many API servers are declared."),
        Column("Ready", ".status.readyReplicas", "integer", description="How many API servers are ready."),
        Column("Up-to-date", ".status.upToDateReplicas", "integer", description="How many are as declared."),
        Column("Endpoint", ".spec.controlPlaneEndpoint.host", description="Where the API is reached."),
        Column("Port", ".spec.controlPlaneEndpoint.port", "integer", description="The port of the API."),
        Column("Data store", ".spec.dataStoreRef.name", priority=10, description="Where the data is."),
        PAUSED_COLUMN,
        Column(
            "Initialized",
            ".status.initialization.controlPlaneInitialized",
            "boolean",
            description="Whether the API has answered its first request.",
        ),
        age("HostedControlPlane"),
        Column("Version", ".spec.version", description="The Kubernetes version that is declared."),
    ),
    scale=Scale(),
    labels=PROVIDER_LABELS,
)
