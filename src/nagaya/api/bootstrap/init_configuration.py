"""What `kubeadm init` is told on the first control plane machine of a cluster, beside the cluster's own settings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar

import msgspec

from nagaya.api.bootstrap.node_registration import APIEndpoint, NodeRegistration, Patches, SkipPhases, Timeouts
from nagaya.api.model import Model, doc


class BootstrapToken(Model):
    """A short-lived secret with which machines may join."""

    token: Annotated[
        str,
        doc(
            "The token itself, of the form abcdef.0123456789abcdef: a public id and a secret.",
            minLength=1,
            maxLength=23,
        ),
    ]
    description: Annotated[
        str, doc("What the token is for; shown to other administrators.", minLength=1, maxLength=512)
    ] = ""
    ttl_seconds: Annotated[
        int | None,
        doc("How long the token is valid. 86400 (a day) if left out; 0 means forever. Excludes expires.", minimum=0),
    ] = None
    expires: Annotated[datetime | None, doc("When the token ends, instead of ttlSeconds.")] = None
    usages: Annotated[
        tuple[Annotated[str, doc("A use of the token.", minLength=1, maxLength=256)], ...],
        doc(
            "What the token may be used for: signing, authentication. Both if left out.",
            list_type="atomic",
            minItems=1,
            maxItems=100,
        ),
    ] = ()
    groups: Annotated[
        tuple[Annotated[str, doc("Name of a group.", minLength=1, maxLength=256)], ...],
        doc(
            "Groups that a client with this token is in, starting with system:bootstrappers:.",
            list_type="atomic",
            minItems=1,
            maxItems=100,
        ),
    ] = ()


class InitConfiguration(Model):
    """Settings of `kubeadm init` that concern the first machine only."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    bootstrap_tokens: Annotated[
        tuple[BootstrapToken, ...],
        doc(
            "Tokens to create in the new cluster. Usually left out: a token is made for every joining machine.",
            list_type="atomic",
            minItems=1,
            maxItems=100,
        ),
    ] = ()
    node_registration: Annotated[
        NodeRegistration,
        doc("How the machine becomes a node. Keep it equal to that of joinConfiguration."),
    ] = NodeRegistration()
    local_api_endpoint: Annotated[APIEndpoint, doc("Where the API server of this machine listens.")] = msgspec.field(
        name="localAPIEndpoint", default=APIEndpoint()
    )
    skip_phases: SkipPhases = ()
    patches: Annotated[Patches, doc("Patches to what kubeadm writes during init.")] = Patches()
    timeouts: Annotated[Timeouts, doc("How long kubeadm waits for what.")] = Timeouts()
