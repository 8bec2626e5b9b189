"""How a hosted control plane runs as pods of a management cluster. As processes of one machine nothing of it counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final

from nagaya.api.cluster.template_metadata import TemplateMetadata
from nagaya.api.controlplane.hosted_components import SecretName
from nagaya.api.meta import NONE
from nagaya.api.model import Model, doc

NOTHING: Final[Mapping[str, Any]] = {}
ANNOTATION_PREFIXES: Final = (
    "app.kubernetes.io",
    "backup.velero.io",
    "cluster-autoscaler.kubernetes.io",
    "karpenter.sh",
    "kubectl.kubernetes.io",
    "prometheus.io",
)
is_pod_annotation: Final = re.compile(
    rf"(?:(?:{'|'.join(map(re.escape, ANNOTATION_PREFIXES))})/)?[A-Za-z0-9]([A-Za-z0-9_-]{{0,61}}[A-Za-z0-9])?",
    re.ASCII,
).fullmatch
"""Container runtimes, network plugins and sidecar injectors take orders from annotations of pods, up to devices and
folders of the node. So only annotations without a domain, and those of tools that change nothing, reach a pod."""
SERVICE_TYPES: Final = ("ClusterIP", "NodePort", "LoadBalancer")


class HostedService(Model):
    """How the API is reached from outside of the management cluster."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    type: Annotated[
        str,
        doc(
            "The type of the Service. LoadBalancer if left out. With NodePort, spec.network.address must say where "
            "the nodes are reached.",
            enum=list(SERVICE_TYPES),
        ),
    ] = ""
    metadata: Annotated[
        TemplateMetadata, doc("Labels and annotations of the Service, for load balancers that read them.")
    ] = TemplateMetadata()
    load_balancer_class: Annotated[
        str, doc("Which load balancer serves it. The cluster's default if left out.", minLength=1, maxLength=316)
    ] = ""
    load_balancer_source_ranges: Annotated[
        tuple[Annotated[str, doc("An address range.", minLength=1, maxLength=43)], ...],
        doc(
            "From where the API can be reached. From everywhere if left out.", list_type="set", minItems=1, maxItems=16
        ),
    ] = ()


class HostedDeployment(Model):
    """How the control plane runs as pods."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    image_repository: Annotated[
        str,
        doc(
            "The registry that the images of Kubernetes come from, such as a mirror. registry.k8s.io if left out.",
            minLength=1,
            maxLength=512,
        ),
    ] = ""
    image_pull_secrets: Annotated[
        tuple[SecretName, ...],
        doc(
            "Secrets with credentials for registries.",
            list_type="map",
            list_map_keys=["name"],
            minItems=1,
            maxItems=16,
        ),
    ] = ()
    node_selector: Annotated[Mapping[str, str], doc("Labels of the nodes that the pods may run on.")] = NONE
    tolerations: Annotated[
        tuple[Mapping[str, Any], ...],
        doc("Taints that the pods tolerate, as in a pod.", list_type="atomic", minItems=1, maxItems=64),
    ] = ()
    affinity: Annotated[
        Mapping[str, Any],
        doc("Affinity of the pods, as in a pod. If left out, pods of one control plane avoid each other's node."),
    ] = NOTHING
    topology_spread_constraints: Annotated[
        tuple[Mapping[str, Any], ...],
        doc(
            "How the pods are spread, as in a pod; a labelSelector that is left out selects the pods of the same "
            "Deployment. If left out, they are spread over zones where that is possible.",
            list_type="atomic",
            minItems=1,
            maxItems=16,
        ),
    ] = ()
    priority_class_name: Annotated[
        str, doc("The PriorityClass of the pods. The cluster's default if left out.", minLength=1, maxLength=253)
    ] = ""
    runtime_class_name: Annotated[
        str, doc("The RuntimeClass of the pods. The cluster's default if left out.", minLength=1, maxLength=253)
    ] = ""
    pod_metadata: Annotated[
        TemplateMetadata,
        doc(
            "Further labels and annotations of the pods. Nagaya's own win. Annotations have no domain, or one of "
            f"{', '.join(ANNOTATION_PREFIXES)}: others could reach the node."
        ),
    ] = TemplateMetadata()
    service: Annotated[HostedService, doc("How the API is reached from outside of the management cluster.")] = (
        HostedService()
    )
