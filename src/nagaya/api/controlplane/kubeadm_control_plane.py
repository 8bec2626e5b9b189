"""KubeadmControlPlane: the machines that run a cluster's API, made, upgraded and healed one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar, Final

from nagaya.api.bootstrap.kubeadm_config_spec import KubeadmConfigSpec
from nagaya.api.cluster.gate import ReadinessGates
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.cluster.status_version import StatusVersion
from nagaya.api.cluster.taint import Taints
from nagaya.api.cluster.template_metadata import TemplateMetadata
from nagaya.api.cluster.v1beta1 import DEPRECATED, V1BETA1, FailureMessage, FailureReason, V1Beta1Conditions
from nagaya.api.controlplane.conditions import AVAILABLE
from nagaya.api.controlplane.rollout import MachineNaming, Remediation, Rollout
from nagaya.api.definition import PAUSED_COLUMN, Column, Definition, Scale, age, condition, provider_labels
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc

PROVIDER_LABELS: Final = provider_labels("control-plane-kubeadm")


class MachineDeletion(Model):
    """How long steps of the deletion of a machine may take."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    node_drain_timeout_seconds: Annotated[
        int | None,
        doc(
            "How long the drain of the node may take before the rest goes on. Without end if 0 or left out.", minimum=0
        ),
    ] = None
    node_volume_detach_timeout_seconds: Annotated[
        int | None,
        doc("How long to wait until volumes are detached. Without end if 0 or left out.", minimum=0),
    ] = None
    node_deletion_timeout_seconds: Annotated[
        int | None,
        doc("How long to try to delete the Node. Without end if 0; 10 s if left out.", minimum=0),
    ] = None


class KubeadmControlPlaneMachineSpec(Model):
    """What the Machines look like."""

    infrastructure_ref: Annotated[
        ContractReference,
        doc("The template that the infrastructure of the machines is made from. Another one rolls all machines."),
    ]
    readiness_gates: ReadinessGates = ()
    deletion: Annotated[MachineDeletion, doc("How long steps of the deletion of a machine may take.")] = (
        MachineDeletion()
    )
    taints: Taints = ()


class KubeadmControlPlaneMachineTemplate(Model):
    """What the Machines of the control plane are made from."""

    metadata: Annotated[
        TemplateMetadata, doc("Labels and annotations of the machines. A change reaches machines that exist.")
    ] = TemplateMetadata()
    spec: Annotated[KubeadmControlPlaneMachineSpec, doc("What the machines look like.")]


class KubeadmControlPlaneSpec(Model):
    """How many machines, at which version, and how they are made."""

    replicas: Annotated[
        int | None,
        doc("How many machines there are. 1 if left out. Odd unless etcd is external, so that it keeps its quorum."),
    ] = None
    version: Annotated[
        str,
        doc(
            "Kubernetes version, such as v1.36.3. A newer one upgrades the control plane machine by machine; at most "
            "one minor version at a time.",
            minLength=1,
            maxLength=256,
        ),
    ]
    machine_template: Annotated[
        KubeadmControlPlaneMachineTemplate, doc("What the machines of the control plane are made from.")
    ]
    kubeadm_config_spec: Annotated[
        KubeadmConfigSpec, doc("How the machines become nodes. Most changes roll all machines.")
    ] = KubeadmConfigSpec()
    rollout: Annotated[Rollout, doc("When and how machines are replaced that nothing is wrong with.")] = Rollout()
    remediation: Annotated[Remediation, doc("How unhealthy machines are replaced.")] = Remediation()
    machine_naming: Annotated[MachineNaming, doc("How machines are named.")] = MachineNaming()


class LastRemediation(Model):
    """The last machine that was replaced because it was unhealthy."""

    machine: Annotated[str, doc("Name of that machine.", minLength=1, maxLength=253)]
    time: Annotated[datetime, doc("When it was replaced.")]
    retry_count: Annotated[int, doc("How many replacements before it failed, one after the other.", minimum=0)]


class KubeadmControlPlaneInitialization(Model):
    """What is done only once."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    control_plane_initialized: Annotated[
        bool | None, doc("True once the API of the cluster accepted requests. Workers are not made before.")
    ] = None


class KubeadmControlPlaneV1Beta1Status(Model):
    """The part of the status that v1beta1 had."""

    conditions: V1Beta1Conditions = ()
    failure_reason: FailureReason = ""
    failure_message: FailureMessage = ""
    updated_replicas: Annotated[int, doc("Machines made from what is declared now.")] = 0
    ready_replicas: Annotated[int, doc("Machines whose node is ready.")] = 0
    unavailable_replicas: Annotated[int, doc("Machines that are missing or not ready.")] = 0


class KubeadmControlPlaneDeprecatedStatus(Model):
    """What only clients of older versions of the API read."""

    v1beta1: Annotated[KubeadmControlPlaneV1Beta1Status, V1BETA1] = KubeadmControlPlaneV1Beta1Status()


class KubeadmControlPlaneStatus(Model):
    """How the control plane is."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Conditions = ()
    initialization: Annotated[
        KubeadmControlPlaneInitialization, doc("What is done once in the life of the object; part of the contract.")
    ] = KubeadmControlPlaneInitialization()
    selector: Annotated[
        str,
        doc(
            "Which machines belong to it, as a label selector; for the scale subresource.", minLength=1, maxLength=4096
        ),
    ] = ""
    replicas: Annotated[int | None, doc("How many machines there are.")] = None
    ready_replicas: Annotated[int | None, doc("How many of them are ready.")] = None
    available_replicas: Annotated[int | None, doc("How many of them are available: ready for long enough.")] = None
    up_to_date_replicas: Annotated[int | None, doc("How many of them are as declared.")] = None
    versions: Annotated[
        tuple[StatusVersion, ...],
        doc(
            "The Kubernetes versions of the machines.",
            minItems=1,
            maxItems=100,
            list_type="map",
            list_map_keys=["version"],
        ),
    ] = ()
    version: Annotated[
        str,
        doc("The lowest Kubernetes version of any machine. Read versions instead.", minLength=1, maxLength=256),
    ] = ""
    observed_generation: ObservedGeneration = None
    last_remediation: Annotated[
        LastRemediation | None, doc("The last machine that was replaced because it was unhealthy.")
    ] = None
    deprecated: Annotated[KubeadmControlPlaneDeprecatedStatus, DEPRECATED] = KubeadmControlPlaneDeprecatedStatus()


class KubeadmControlPlane(Resource):
    """The machines that run a cluster's API, each a node made with kubeadm."""

    spec: Annotated[KubeadmControlPlaneSpec, doc("How many machines, at which version, and how they are made.")]
    status: Annotated[KubeadmControlPlaneStatus, doc("How the control plane is.")] = KubeadmControlPlaneStatus()


KUBEADM_CONTROL_PLANES: Final = Kind(
    "controlplane.cluster.x-k8s.io", "v1beta2", "KubeadmControlPlane", "kubeadmcontrolplanes", KubeadmControlPlane
)
DEFINITION: Final = Definition(
    KUBEADM_CONTROL_PLANES,
    short_names=("kcp",),
    columns=(
        Column(
            "Cluster",
            r".metadata.labels['cluster\.x-k8s\.io/cluster-name']",
            description="The Cluster whose control plane it is.",
        ),
        condition(AVAILABLE, description="Whether the API of the cluster can be used."),
        Column("Desired", ".spec.replicas", "integer", description="How many machines are declared."),
        Column("Current", ".status.replicas", "integer", description="How many machines there are."),
        Column("Ready", ".status.readyReplicas", "integer", description="How many machines are ready."),
        Column("Available", ".status.availableReplicas", "integer", description="How many machines are available."),
        Column("Up-to-date", ".status.upToDateReplicas", "integer", description="How many machines are as declared."),
        PAUSED_COLUMN,
        Column(
            "Initialized",
            ".status.initialization.controlPlaneInitialized",
            "boolean",
            description="Whether the API of the cluster accepted its first requests.",
        ),
        age("KubeadmControlPlane"),
        Column("Version", ".spec.version", description="The Kubernetes version that is declared."),
    ),
    scale=Scale(),
    labels=PROVIDER_LABELS,
)
