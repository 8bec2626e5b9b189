"""What a machine is to be. A MachineSpec stands in Machines and in the templates of everything that makes them."""

from __future__ import annotations

from typing import Annotated

import msgspec

from nagaya.api.cluster.gate import ReadinessGates
from nagaya.api.cluster.machine_deletion import MachineDeletion
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.cluster.taint import Taints
from nagaya.api.cluster.template_metadata import TemplateMetadata
from nagaya.api.model import Model, doc

ClusterName = Annotated[
    str,
    doc(
        "The Cluster that this belongs to, in the same namespace. It cannot be changed.",
        minLength=1,
        maxLength=63,
    ),
]
MinReadySeconds = Annotated[
    int | None,
    doc(
        "For how many seconds a machine must have been Ready before it counts as Available. If left out, it counts at "
        "once.",
        minimum=0,
    ),
]
FailureDomain = Annotated[
    str,
    doc(
        "The failure domain to place machines in: a name from status.failureDomains of the Cluster. If left out, the "
        "provider chooses.",
        minLength=1,
        maxLength=256,
    ),
]


class Bootstrap(Model):
    """Where the data comes from that makes a booting machine a node of the cluster. One of the two must be given."""

    config_ref: Annotated[
        ContractReference | None,
        doc(
            "The object of a bootstrap provider that makes the data, for example a KubeadmConfig. In a template it "
            "names a template of such objects, and every machine gets an object of its own."
        ),
    ] = None
    data_secret_name: Annotated[
        str | None,
        doc(
            "The Secret with the data under its key `value`. It is filled in from the object of configRef when that is "
            "ready. Give it yourself if you make the data.",
            minLength=0,
            maxLength=253,
        ),
    ] = None


class MachineSpec(Model):
    """What a machine is to be."""

    cluster_name: ClusterName
    bootstrap: Annotated[
        Bootstrap, doc("Where the data comes from that makes the machine a node of the cluster when it boots.")
    ]
    infrastructure_ref: Annotated[
        ContractReference,
        doc(
            "The object of an infrastructure provider that stands for the machine's hardware, for example a "
            "ProxmoxMachine. In a template it names a template of such objects, and every machine gets an object of "
            "its own."
        ),
    ]
    version: Annotated[
        str,
        doc(
            "The Kubernetes version that the machine runs, for example v1.36.3. Bootstrap providers read it. A "
            "missing v in front is added.",
            minLength=1,
            maxLength=256,
        ),
    ] = ""
    provider_id: Annotated[
        str,
        doc(
            "How the infrastructure calls the machine. It is filled in from the infrastructure object, and the Node "
            "with the same spec.providerID is the machine's. The cluster autoscaler finds machines by it.",
            minLength=1,
            maxLength=512,
        ),
    ] = msgspec.field(default="", name="providerID")
    failure_domain: FailureDomain = ""
    min_ready_seconds: MinReadySeconds = None
    readiness_gates: ReadinessGates = ()
    deletion: Annotated[MachineDeletion, doc("How long the steps of the machine's deletion may take.")] = (
        MachineDeletion()
    )
    taints: Taints = ()


class MachineTemplate(Model):
    """What machines are made from."""

    metadata: Annotated[TemplateMetadata, doc("Labels and annotations for the machines.")] = TemplateMetadata()
    spec: Annotated[
        MachineSpec, doc("What the machines are to be. References name templates, which are cloned for each machine.")
    ]
