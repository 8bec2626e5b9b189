"""Where kubeadm keeps the data of a cluster: in an etcd beside each API server, or in one that exists already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec

from nagaya.api.bootstrap.component import AlternativeNames, ExtraArguments, ExtraEnvironment, ImageRepository, ImageTag
from nagaya.api.model import Model, doc


class LocalEtcd(Model):
    """An etcd member on every control plane machine."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    image_repository: ImageRepository = ""
    image_tag: ImageTag = ""
    data_dir: Annotated[
        str,
        doc("Folder on the machine for etcd's data. /var/lib/etcd if left out.", minLength=1, maxLength=512),
    ] = ""
    extra_args: ExtraArguments = ()
    extra_envs: ExtraEnvironment = ()
    server_cert_sans: Annotated[
        AlternativeNames,
        doc(
            "Further names and addresses that the certificate for clients is valid for.",
            list_type="atomic",
            minItems=1,
            maxItems=100,
        ),
    ] = msgspec.field(name="serverCertSANs", default=())
    peer_cert_sans: Annotated[
        AlternativeNames,
        doc(
            "Further names and addresses that the certificate for other members is valid for.",
            list_type="atomic",
            minItems=1,
            maxItems=100,
        ),
    ] = msgspec.field(name="peerCertSANs", default=())


class ExternalEtcd(Model):
    """An etcd cluster that somebody else runs. Its certificates must be on the machines already, e.g. from `files`."""

    endpoints: Annotated[
        tuple[Annotated[str, doc("URL of a member.", minLength=1, maxLength=512)], ...],
        doc("URLs of the members, such as https://10.0.0.5:2379.", list_type="atomic", minItems=1, maxItems=50),
    ]
    ca_file: Annotated[
        str, doc("Path of the certificate authority that etcd's certificates are from.", minLength=1, maxLength=512)
    ]
    cert_file: Annotated[
        str, doc("Path of the certificate that the API server shows to etcd.", minLength=1, maxLength=512)
    ]
    key_file: Annotated[str, doc("Path of the key of that certificate.", minLength=1, maxLength=512)]


class Etcd(Model):
    """One of two: `local` or `external`."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    local: Annotated[LocalEtcd, doc("Settings of the etcd that runs on each control plane machine.")] = LocalEtcd()
    external: Annotated[ExternalEtcd | None, doc("An etcd cluster that exists already. Excludes local.")] = None
