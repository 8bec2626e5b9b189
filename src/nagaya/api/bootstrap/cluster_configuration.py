"""What kubeadm is told about the cluster as a whole: the settings of its control plane.

Given on the first control plane machine and kept by kubeadm inside the cluster. What Cluster API knows better than the
user (cluster name, networks, Kubernetes version) is not here: it comes from the Cluster and the Machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

import msgspec

from nagaya.api.bootstrap.component import (
    AlternativeNames,
    ExtraArguments,
    ExtraEnvironment,
    ExtraVolumes,
    ImageRepository,
    ImageTag,
)
from nagaya.api.bootstrap.etcd import Etcd
from nagaya.api.model import Model, doc

ENCRYPTION_ALGORITHMS: Final = ("ECDSA-P256", "ECDSA-P384", "RSA-2048", "RSA-3072", "RSA-4096")
NO_GATES: Final[Mapping[str, bool]] = {}


class APIServer(Model):
    """Settings of kube-apiserver."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    extra_args: ExtraArguments = ()
    extra_volumes: ExtraVolumes = ()
    extra_envs: ExtraEnvironment = ()
    cert_sans: Annotated[
        AlternativeNames,
        doc(
            "Further names and addresses that the serving certificate is valid for.",
            list_type="atomic",
            minItems=1,
            maxItems=100,
        ),
    ] = msgspec.field(name="certSANs", default=())


class ControllerManager(Model):
    """Settings of kube-controller-manager."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    extra_args: ExtraArguments = ()
    extra_volumes: ExtraVolumes = ()
    extra_envs: ExtraEnvironment = ()


class Scheduler(Model):
    """Settings of kube-scheduler."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    extra_args: ExtraArguments = ()
    extra_volumes: ExtraVolumes = ()
    extra_envs: ExtraEnvironment = ()


class DNS(Model):
    """Where the image of CoreDNS comes from."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    image_repository: ImageRepository = ""
    image_tag: ImageTag = ""


class ClusterConfiguration(Model):
    """Cluster-wide settings, used by `kubeadm init`."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    etcd: Annotated[
        Etcd, doc("Where the data of the cluster is kept. An etcd on each control plane machine if left out.")
    ] = Etcd()
    control_plane_endpoint: Annotated[
        str,
        doc(
            "Stable address of the control plane as host or host:port, usually of a load balancer. Taken from the "
            "Cluster's spec.controlPlaneEndpoint if left out.",
            minLength=1,
            maxLength=512,
        ),
    ] = ""
    api_server: Annotated[APIServer, doc("Settings of kube-apiserver.")] = APIServer()
    controller_manager: Annotated[ControllerManager, doc("Settings of kube-controller-manager.")] = ControllerManager()
    scheduler: Annotated[Scheduler, doc("Settings of kube-scheduler.")] = Scheduler()
    dns: Annotated[DNS, doc("Where the image of the cluster's DNS server comes from.")] = DNS()
    certificates_dir: Annotated[
        str,
        doc(
            "Folder for certificates and keys on control plane machines. /etc/kubernetes/pki if left out.",
            minLength=1,
            maxLength=512,
        ),
    ] = ""
    image_repository: Annotated[
        str,
        doc(
            "Registry and path that the images of all components are pulled from. registry.k8s.io if left out.",
            minLength=1,
            maxLength=512,
        ),
    ] = ""
    feature_gates: Annotated[
        Mapping[str, bool], doc("Features of kubeadm itself to switch on or off, such as ControlPlaneKubeletLocalMode.")
    ] = NO_GATES
    certificate_validity_period_days: Annotated[
        int,
        doc(
            "How long certificates that kubeadm issues are valid. 365 days if left out. Needs Kubernetes 1.31 or "
            "newer.",
            minimum=1,
            maximum=1095,
        ),
    ] = 0
    ca_certificate_validity_period_days: Annotated[
        int,
        doc(
            "How long the cluster's certificate authorities are valid. 3650 days if left out. Cannot be changed "
            "later, because authorities are never issued again.",
            minimum=1,
            maximum=36500,
        ),
    ] = 0
    encryption_algorithm: Annotated[
        str,
        doc(
            "Kind and size of new keys. RSA-2048 if left out. A change concerns certificates issued from then on; "
            "authorities and service account keys stay. Needs Kubernetes 1.31 or newer, ECDSA-P384 needs 1.34.",
            enum=list(ENCRYPTION_ALGORITHMS),
        ),
    ] = ""
