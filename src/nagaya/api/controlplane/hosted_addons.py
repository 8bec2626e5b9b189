"""What a hosted control plane installs in its cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final

import msgspec

from nagaya.api.controlplane.hosted_components import ExtraArguments, Image, Resources
from nagaya.api.model import Model, doc

DEFAULT_KONNECTIVITY_PORT: Final = 8132
DAEMON_SET: Final = "DaemonSet"
DEPLOYMENT: Final = "Deployment"

Enabled = Annotated[bool | None, doc("Whether it is installed. What Nagaya installed is removed once this is false.")]
Repository = Annotated[
    str,
    doc("Registry and path of the image, without its name. registry.k8s.io if left out.", minLength=1, maxLength=512),
]
Tag = Annotated[
    str,
    doc("Tag of the image. The one that belongs to the Kubernetes version if left out.", minLength=1, maxLength=128),
]


class CoreDns(Model):
    """The DNS service of the cluster."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    enabled: Annotated[Enabled, doc("Whether CoreDNS is installed. It is if left out.")] = None
    image_repository: Repository = ""
    image_tag: Tag = ""
    replicas: Annotated[
        int | None,
        doc(
            "How many pods serve DNS. If left out there are 2 at first, and then as many as somebody in the cluster "
            "scales it to.",
            minimum=1,
            maximum=100,
        ),
    ] = None


class KubeProxy(Model):
    """What makes Services reachable on every node."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    enabled: Annotated[
        Enabled,
        doc("Whether kube-proxy is installed. It is if left out; say false if the network plugin replaces it."),
    ] = None
    image_repository: Repository = ""
    image_tag: Tag = ""
    mode: Annotated[
        str, doc("How it directs traffic. iptables if left out.", enum=["iptables", "nftables", "ipvs"])
    ] = ""


class KonnectivityServer(Model):
    """The end of the tunnel beside the API server."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    port: Annotated[
        int | None,
        doc(
            "The port that agents connect to, at the address of the API. If left out, 8132 in a management cluster, "
            "and a free port that is kept where control planes share a machine.",
            minimum=1024,
            maximum=49151,
        ),
    ] = None
    extra_args: ExtraArguments = ()
    resources: Annotated[Resources, doc("What the server gets of the machine that it runs on.")] = Resources()
    image: Image = ""


class KonnectivityAgent(Model):
    """The end of the tunnel on the nodes."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    mode: Annotated[
        str,
        doc(
            "DaemonSet for an agent on every node, Deployment for a few. DaemonSet if left out.",
            enum=[DAEMON_SET, DEPLOYMENT],
        ),
    ] = ""
    replicas: Annotated[int | None, doc("How many agents a Deployment has. 2 if left out.", minimum=1, maximum=100)] = (
        None
    )
    host_network: Annotated[
        bool | None,
        doc("Whether agents use the network of their node. They do if left out, so that they work without a CNI."),
    ] = None
    tolerations: Annotated[
        tuple[Mapping[str, Any], ...],
        doc(
            "Taints that agents tolerate, as in a pod. All of them if left out.",
            list_type="atomic",
            minItems=1,
            maxItems=64,
        ),
    ] = ()
    extra_args: ExtraArguments = ()
    image_repository: Repository = ""
    image_tag: Tag = ""


class Konnectivity(Model):
    """A tunnel from the API server to nodes that it cannot reach, opened by the nodes."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    enabled: Annotated[
        Enabled,
        doc(
            "Whether the tunnel is used. It is not if left out: then the API server must reach the nodes' addresses "
            "by itself for logs, exec, port-forward, and webhooks or APIs that run in the cluster."
        ),
    ] = None
    server: Annotated[KonnectivityServer, doc("The end of the tunnel beside the API server.")] = KonnectivityServer()
    agent: Annotated[KonnectivityAgent, doc("The end of the tunnel on the nodes.")] = KonnectivityAgent()


class HostedAddons(Model):
    """What is installed in the cluster, and healed if somebody changes it."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    core_dns: Annotated[CoreDns, doc("The DNS service of the cluster.")] = msgspec.field(
        name="coreDNS", default=CoreDns()
    )
    kube_proxy: Annotated[KubeProxy, doc("What makes Services reachable on every node.")] = KubeProxy()
    konnectivity: Annotated[
        Konnectivity, doc("A tunnel from the API server to nodes that it cannot reach, opened by the nodes.")
    ] = Konnectivity()
