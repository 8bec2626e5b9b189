"""How a machine enters a cluster as a node, and what both `kubeadm init` and `kubeadm join` are told."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar, Final

import msgspec

from nagaya.api.bootstrap.component import UNIQUE_NAMES, Argument
from nagaya.api.model import Model, doc, rule

IMAGE_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")


class Taint(Model):
    """A mark on a node that keeps pods away unless they tolerate it."""

    key: Annotated[str, doc("Name of the taint, such as node-role.kubernetes.io/control-plane.")]
    value: Annotated[str, doc("Value of the taint; often empty.")] = ""
    effect: Annotated[
        str, doc("What happens to pods that do not tolerate it: NoSchedule, PreferNoSchedule or NoExecute.")
    ]
    time_added: Annotated[datetime | None, doc("When the taint was put on the node; set by Kubernetes.")] = None


class NodeRegistration(Model):
    """How the kubelet of a machine is started and what its node looks like at first."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    name: Annotated[
        str,
        doc(
            "Name of the node; also the name that the kubelet's certificate is issued for. The host name if left out.",
            minLength=1,
            maxLength=253,
        ),
    ] = ""
    cri_socket: Annotated[
        str,
        doc(
            "Socket of the container runtime, such as unix:///var/run/containerd/containerd.sock. Found by kubeadm if "
            "left out.",
            minLength=1,
            maxLength=512,
        ),
    ] = ""
    taints: Annotated[
        tuple[Taint, ...] | None,
        doc(
            "Taints that the node registers with. If left out, control plane nodes get "
            "node-role.kubernetes.io/control-plane:NoSchedule and workers none; an empty list means none.",
            minItems=0,
            maxItems=100,
        ),
    ] = None
    kubelet_extra_args: Annotated[
        tuple[Argument, ...],
        doc(
            "Arguments that the kubelet is started with, beside those that kubeadm gives it; one of the same name "
            "replaces kubeadm's. Example: name node-labels, value tier=gold.",
            list_type="map",
            list_map_keys=["name", "value"],
            minItems=1,
            maxItems=100,
            rules=[rule(UNIQUE_NAMES, "an argument of the kubelet may be given once only")],
        ),
    ] = ()
    ignore_preflight_errors: Annotated[
        tuple[Annotated[str, doc("Name of a check.", minLength=1, maxLength=512)], ...],
        doc(
            "Checks of kubeadm whose errors are shown as warnings, such as Swap; 'all' means every one.",
            list_type="atomic",
            minItems=1,
            maxItems=50,
        ),
    ] = ()
    image_pull_policy: Annotated[
        str,
        doc(
            "When kubeadm pulls images: Always, IfNotPresent or Never. IfNotPresent if left out.",
            enum=list(IMAGE_PULL_POLICIES),
        ),
    ] = ""
    image_pull_serial: Annotated[
        bool | None,
        doc("Whether images are pulled one after the other. True if left out. Needs Kubernetes 1.31 or newer."),
    ] = None


class APIEndpoint(Model):
    """Where the API server of one machine listens."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    advertise_address: Annotated[
        str,
        doc(
            "IP address that the API server tells others. That of the default route if left out.",
            minLength=1,
            maxLength=39,
        ),
    ] = ""
    bind_port: Annotated[int, doc("Port that the API server listens on. 6443 if left out.", minimum=1)] = 0


class Patches(Model):
    """Last changes to what kubeadm writes."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    directory: Annotated[
        str,
        doc(
            "Folder on the machine with patches that kubeadm applies to its manifests, named "
            "target[suffix][+patchtype].extension, such as kube-apiserver0+merge.yaml. Put them there with files.",
            minLength=1,
            maxLength=512,
        ),
    ] = ""


class Timeouts(Model):
    """How long kubeadm waits."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    control_plane_component_health_check_seconds: Annotated[
        int | None,
        doc("For a component such as the API server to become healthy. 240 s if left out.", minimum=0),
    ] = None
    kubelet_health_check_seconds: Annotated[
        int | None, doc("For the kubelet to become healthy. 240 s if left out.", minimum=0)
    ] = None
    kubernetes_api_call_seconds: Annotated[
        int | None, doc("For an answer of the Kubernetes API. 60 s if left out.", minimum=0)
    ] = msgspec.field(name="kubernetesAPICallSeconds", default=None)
    etcd_api_call_seconds: Annotated[int | None, doc("For an answer of etcd. 120 s if left out.", minimum=0)] = (
        msgspec.field(name="etcdAPICallSeconds", default=None)
    )
    tls_bootstrap_seconds: Annotated[
        int | None,
        doc("For the kubelet of a joining node to get its certificate. 300 s if left out.", minimum=0),
    ] = None
    discovery_seconds: Annotated[
        int | None,
        doc("For a joining node to find and verify the API server. 300 s if left out.", minimum=0),
    ] = None


SkipPhases = Annotated[
    tuple[Annotated[str, doc("Name of a phase.", minLength=1, maxLength=256)], ...],
    doc(
        "Phases of kubeadm to leave out, such as addon/kube-proxy; `kubeadm init --help` lists them.",
        list_type="atomic",
        minItems=1,
        maxItems=50,
    ),
]
