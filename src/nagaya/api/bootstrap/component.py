"""Pieces that the settings of all kubeadm components share: arguments, images, host folders, host names in
certificates."""

from __future__ import annotations

from typing import Annotated

from nagaya.api.bootstrap.environment import EnvVar
from nagaya.api.model import Model, doc, rule


class Argument(Model):
    """A command line argument of a component."""

    name: Annotated[
        str, doc("Name of the flag without leading dashes, such as audit-log-path.", minLength=1, maxLength=256)
    ]
    value: Annotated[str, doc("What the flag is set to; may be empty.", minLength=0, maxLength=1024)]


class HostPathMount(Model):
    """A file or folder of the machine that a component can see."""

    name: Annotated[str, doc("Name of the volume in the component's pod.", minLength=1, maxLength=512)]
    host_path: Annotated[
        str, doc("Where the file or folder is on the machine, such as /etc/audit.", minLength=1, maxLength=512)
    ]
    mount_path: Annotated[str, doc("Where the component finds it.", minLength=1, maxLength=512)]
    read_only: Annotated[bool | None, doc("If true, the component cannot write to it. Writable if left out.")] = None
    path_type: Annotated[
        str,
        doc(
            "What must be at hostPath: DirectoryOrCreate, Directory, FileOrCreate, File, Socket, CharDevice or "
            "BlockDevice. Nothing is checked or made if left out."
        ),
    ] = ""


ImageRepository = Annotated[
    str, doc("Registry and path of the image. That of the cluster if left out.", minLength=1, maxLength=512)
]
ImageTag = Annotated[
    str,
    doc(
        "Version of the image. If set, kubeadm no longer picks the version that belongs to the Kubernetes version.",
        minLength=1,
        maxLength=256,
    ),
]
UNIQUE_NAMES = "self.all(x, self.exists_one(y, x.name == y.name))"

ExtraArguments = Annotated[
    tuple[Argument, ...],
    doc(
        "Arguments that the component is started with, beside those that kubeadm gives it; one of the same name "
        "replaces kubeadm's.",
        list_type="map",
        list_map_keys=["name", "value"],
        minItems=1,
        maxItems=100,
        rules=[rule(UNIQUE_NAMES, "an argument may be given once only")],
    ),
]
ExtraVolumes = Annotated[
    tuple[HostPathMount, ...],
    doc(
        "Files and folders of the machine that are mounted into the component's pod.",
        list_type="atomic",
        minItems=1,
        maxItems=100,
    ),
]
ExtraEnvironment = Annotated[
    tuple[EnvVar, ...],
    doc(
        "Environment variables of the component; they win over those that kubeadm sets itself, such as proxies. "
        "Needs Kubernetes 1.31 or newer.",
        list_type="atomic",
        minItems=1,
        maxItems=100,
    ),
]
AlternativeNames = tuple[Annotated[str, doc("A DNS name or an IP address.", minLength=1, maxLength=253)], ...]
