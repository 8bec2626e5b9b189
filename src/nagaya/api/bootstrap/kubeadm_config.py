"""KubeadmConfig: how one machine becomes a node, and the Secret with its boot data once that is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.bootstrap.kubeadm_config_spec import KubeadmConfigSpec
from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.cluster.v1beta1 import DEPRECATED, V1BETA1, FailureMessage, FailureReason, V1Beta1Conditions
from nagaya.api.definition import PAUSED_COLUMN, Column, Definition, age, provider_labels
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc

PROVIDER_LABELS: Final = provider_labels("bootstrap-kubeadm")

# Conditions

READY: Final = "Ready"
"""The boot data is there and so is everything that it is made from."""

CERTIFICATES_AVAILABLE: Final = "CertificatesAvailable"
"""The cluster's certificate authorities, which boot data is made from, are there."""

DATA_SECRET_AVAILABLE: Final = "DataSecretAvailable"  # noqa: S105 - a condition
"""The Secret with the boot data is there."""

# Reasons of Ready

READY_REASON: Final = "Ready"
NOT_READY: Final = "NotReady"
READY_UNKNOWN: Final = "ReadyUnknown"

# Reasons of CertificatesAvailable and DataSecretAvailable

AVAILABLE: Final = "Available"
NOT_AVAILABLE: Final = "NotAvailable"
INTERNAL_ERROR: Final = "InternalError"


class KubeadmConfigInitialization(Model):
    """What is done only once."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    data_secret_created: Annotated[
        bool | None,
        doc("True once the Secret with the boot data is made. The Machine waits for it, and infrastructure with it."),
    ] = None


class KubeadmConfigV1Beta1Status(Model):
    """The part of the status that v1beta1 had."""

    conditions: V1Beta1Conditions = ()
    failure_reason: Annotated[
        FailureReason, doc("In one word, why v1beta1 gave up on it.", minLength=1, maxLength=256)
    ] = ""
    failure_message: FailureMessage = ""


class KubeadmConfigDeprecatedStatus(Model):
    """What only clients of older versions of the API read."""

    v1beta1: Annotated[KubeadmConfigV1Beta1Status, V1BETA1] = KubeadmConfigV1Beta1Status()


class KubeadmConfigStatus(Model):
    """What became of the boot data."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Conditions = ()
    initialization: Annotated[
        KubeadmConfigInitialization, doc("What is done once in the life of the object; part of the contract.")
    ] = KubeadmConfigInitialization()
    data_secret_name: Annotated[
        str, doc("Name of the Secret with the boot data, in the same namespace.", minLength=1, maxLength=253)
    ] = ""
    observed_generation: ObservedGeneration = None
    deprecated: Annotated[KubeadmConfigDeprecatedStatus, DEPRECATED] = KubeadmConfigDeprecatedStatus()


class KubeadmConfig(Resource):
    """How one machine becomes a node with kubeadm. Usually made from a template, together with its Machine."""

    spec: Annotated[KubeadmConfigSpec, doc("What kubeadm is told and what is prepared on the machine.")] = (
        KubeadmConfigSpec()
    )
    status: Annotated[KubeadmConfigStatus, doc("What became of the boot data.")] = KubeadmConfigStatus()


KUBEADM_CONFIGS: Final = Kind("bootstrap.cluster.x-k8s.io", "v1beta2", "KubeadmConfig", "kubeadmconfigs", KubeadmConfig)
DEFINITION: Final = Definition(
    KUBEADM_CONFIGS,
    columns=(
        Column(
            "Cluster",
            r".metadata.labels['cluster\.x-k8s\.io/cluster-name']",
            description="The Cluster that the machine belongs to.",
        ),
        PAUSED_COLUMN,
        Column(
            "Data secret created",
            ".status.initialization.dataSecretCreated",
            description="Whether the Secret with the boot data is made.",
        ),
        age("KubeadmConfig"),
    ),
    labels=PROVIDER_LABELS,
)
