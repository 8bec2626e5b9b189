"""How the kinds of the core name the objects of providers, whose types they do not know."""

from __future__ import annotations

from typing import Annotated

from nagaya.api.cluster.formats import API_VERSION, DNS_SUBDOMAIN, KIND
from nagaya.api.model import Model, doc

KindName = Annotated[
    str,
    doc("The kind of the object, for example ProxmoxMachine.", minLength=1, maxLength=63, pattern=KIND),
]
ObjectName = Annotated[
    str,
    doc("The name of the object, in the same namespace.", minLength=1, maxLength=253, pattern=DNS_SUBDOMAIN),
]


class ContractReference(Model):
    """An object of a provider in the same namespace. Its version is not written down: the labels of its CRD say which
    version fulfils the contract.
    """

    api_group: Annotated[
        str,
        doc(
            "The API group of the object, for example infrastructure.cluster.x-k8s.io. The version is found through "
            "the contract labels of the CRD.",
            minLength=1,
            maxLength=253,
            pattern=DNS_SUBDOMAIN,
        ),
    ]
    kind: KindName
    name: ObjectName


class TemplateReference(Model):
    """A template of a provider in the same namespace, at a version of its own."""

    api_version: Annotated[
        str,
        doc(
            "The API group and version of the template, for example infrastructure.cluster.x-k8s.io/v1beta2.",
            minLength=1,
            maxLength=317,
            pattern=API_VERSION,
        ),
    ]
    kind: Annotated[KindName, doc("The kind of the template, for example ProxmoxMachineTemplate.")]
    name: Annotated[ObjectName, doc("The name of the template, in the same namespace.")]
