"""The addresses within a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from nagaya.api.model import Model, doc


class NetworkRanges(Model):
    """Address ranges."""

    cidr_blocks: Annotated[
        tuple[
            Annotated[
                str, doc("An address range, for example 10.244.0.0/16 or fd00::/108.", minLength=1, maxLength=43)
            ],
            ...,
        ],
        doc(
            "The ranges. One of IPv4 and one of IPv6 make a dual-stack cluster; the first is the primary one.",
            minItems=1,
            maxItems=100,
            list_type="atomic",
        ),
    ]


class ClusterNetwork(Model):
    """The addresses within a cluster."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    api_server_port: Annotated[
        int | None,
        doc(
            "The port that the API server listens on. Providers choose, usually 6443, if left out.",
            minimum=1,
            maximum=65535,
        ),
    ] = None
    services: Annotated[NetworkRanges | None, doc("The ranges that Services get their cluster addresses from.")] = None
    pods: Annotated[NetworkRanges | None, doc("The ranges that pods get their addresses from.")] = None
    service_domain: Annotated[
        str,
        doc(
            "The DNS domain of Services. Bootstrap providers choose, usually cluster.local, if left out.",
            minLength=1,
            maxLength=253,
        ),
    ] = ""


class Endpoint(Model):
    """Where an API server is reached."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    host: Annotated[str, doc("The address or name that the API server is reached at.", minLength=1, maxLength=512)] = ""
    port: Annotated[int | None, doc("The port that the API server is reached at.", minimum=1, maximum=65535)] = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port or 0}"

    @property
    def valid(self) -> bool:
        """Whether it is known where the API server is reached: host and port, not one of them."""
        return bool(self.host) and bool(self.port)
