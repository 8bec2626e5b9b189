"""How claims, addresses and pools name each other. All are in one namespace."""

from __future__ import annotations

from typing import Annotated

from nagaya.api.cluster.formats import DNS_SUBDOMAIN, KIND
from nagaya.api.model import Model, doc


class IPPoolReference(Model):
    """A pool of any provider."""

    name: Annotated[str, doc("Name of the pool.", minLength=1, maxLength=253, pattern=DNS_SUBDOMAIN)]
    kind: Annotated[str, doc("Kind of the pool, such as InClusterIPPool.", minLength=1, maxLength=63, pattern=KIND)]
    api_group: Annotated[
        str,
        doc(
            "API group of the pool, such as ipam.cluster.x-k8s.io.",
            minLength=1,
            maxLength=253,
            pattern=DNS_SUBDOMAIN,
        ),
    ]


class IPAddressClaimReference(Model):
    """A claim."""

    name: Annotated[str, doc("Name of the IPAddressClaim.", minLength=1, maxLength=253, pattern=DNS_SUBDOMAIN)]


class IPAddressReference(Model):
    """An address that was given out."""

    name: Annotated[str, doc("Name of the IPAddress.", minLength=1, maxLength=253, pattern=DNS_SUBDOMAIN)]
