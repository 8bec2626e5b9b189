"""What a hosted control plane tells kubelets, and how it reaches them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final

import msgspec

from nagaya.api.model import Model, doc, rule

ADDRESS_TYPES: Final = ("InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS")
DEFAULT_ADDRESS_TYPES: Final = ("InternalIP", "ExternalIP", "Hostname")


class JsonPatchOperation(Model):
    """One operation of a JSON patch (RFC 6902)."""

    __schema__: ClassVar[Mapping[str, object]] = {
        "rules": [
            rule("(self.op in ['move', 'copy']) == has(self.from)", "move and copy have a from, the others have none"),
        ]
    }

    op: Annotated[str, doc("What is done.", enum=["add", "remove", "replace", "move", "copy", "test"])]
    path: Annotated[str, doc("Where, as a JSON pointer: /evictionHard/memory.available.", maxLength=1024, pattern="^/")]
    from_: Annotated[
        str, doc("Where a moved or copied value comes from, as a JSON pointer.", maxLength=1024, pattern="^/")
    ] = msgspec.field(name="from", default="")
    value: Annotated[Any, doc("The value that is added, put in place, or tested for.")] = None


class HostedKubelet(Model):
    """What kubelets are told, and how they are reached."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    configuration_patches: Annotated[
        tuple[JsonPatchOperation, ...],
        doc(
            "Changes to the KubeletConfiguration that joining nodes get, as a JSON patch. Nodes that have joined keep "
            "theirs until they are replaced.",
            list_type="atomic",
            minItems=1,
            maxItems=100,
        ),
    ] = ()
    preferred_address_types: Annotated[
        tuple[Annotated[str, doc("A type of address.", enum=list(ADDRESS_TYPES))], ...],
        doc(
            "Which addresses of a node the API server tries for logs and exec, in this order. InternalIP, ExternalIP, "
            "Hostname if left out.",
            list_type="set",
            minItems=1,
            maxItems=5,
        ),
    ] = ()
    verify_serving_certificates: Annotated[
        bool | None,
        doc(
            "Whether the API server demands of kubelets a certificate of the cluster's own authority. If left out it "
            "does not, as kubeadm: kubelets sign their own. If true, kubelets are told to ask for such a certificate "
            "(serverTLSBootstrap), and logs and exec fail until somebody approves their requests."
        ),
    ] = None
