"""Who answers at the address of a cluster's API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.model import Model, doc

KUBE_VIP: Final = "kube-vip"
NONE: Final = "none"


class ControlPlaneVirtualIP(Model):
    """How the address of the API server comes to the machines of the control plane."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    provider: Annotated[
        str | None,
        doc(
            "Who holds the address. kube-vip: the machines of a kubeadm control plane, by a static pod that they get; "
            "a kube-vip in files of kubeadmConfigSpec goes before it. none: something else, such as a load balancer. "
            "If left out: kube-vip for an address from controlPlaneEndpointPoolRef, and none for any other. A change "
            "is for machines that are made later.",
            enum=[KUBE_VIP, NONE],
        ),
    ] = None
    image: Annotated[
        str, doc("The image of kube-vip, with its tag. One that was tried if left out.", minLength=1, maxLength=512)
    ] = ""
    interface: Annotated[
        str,
        doc(
            "The network interface of the guests that gets the address. virtualIPNetworkInterface if left out, or else "
            "that of the default route.",
            minLength=1,
            maxLength=15,
        ),
    ] = ""
