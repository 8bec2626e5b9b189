"""Names and labels of what a control plane consists of.

Names of Services are the strictest that there are (63 characters, no dots, a letter first), so a control plane whose
name does not fit goes by a shorter one with a hash of the whole. Selectors use the same name: no two control planes of
a namespace ever select each other's pods.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER, KUBE_CONTROLLER_MANAGER

DOMAIN: Final = "hosted.nagaya.dev"
CONTROL_PLANE: Final = f"{DOMAIN}/control-plane"
"""On pods and all other objects: the control plane that they belong to, by its short name."""
FILES_HASH: Final = f"{DOMAIN}/files"
"""On pods: a hash of the files that they were started with. A renewed certificate changes it, and so rolls them."""

PROGRAM: Final = "app.kubernetes.io/name"
VERSION: Final = "app.kubernetes.io/version"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
NAGAYA: Final = "nagaya"

CONTROLLERS: Final = "kube-controllers"
"""kube-controller-manager and kube-scheduler, in one pod."""

_LONGEST: Final = 63 - len(f"-{KUBE_CONTROLLER_MANAGER}")
_DIGITS: Final = 10
_fits = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?").fullmatch


def short_name(name: str) -> str:
    """The name of a control plane, or one that stands for it where the name itself cannot be used."""
    if len(name) <= _LONGEST and _fits(name):
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]
    begin = re.sub(r"[^a-z0-9]+", "-", name)[: _LONGEST - _DIGITS - 3].strip("-")
    return f"h-{begin}-{digest}" if begin else f"h-{digest}"


def object_name(name: str, part: str) -> str:
    """The name of an object of a control plane."""
    return f"{short_name(name)}-{part}"


def account_name(name: str) -> str:
    """The ServiceAccount of the pods: never that of somebody else, such as `default`."""
    return object_name(name, "control-plane")


def selector(name: str, program: str) -> dict[str, str]:
    """The labels by which the pods of a program are found. They can never change."""
    return {PROGRAM: program, CONTROL_PLANE: short_name(name)}


def labels(name: str, cluster: str, part: str) -> dict[str, str]:
    """The labels of an object of a control plane."""
    return {**selector(name, part), MANAGED_BY: NAGAYA, CLUSTER_NAME: cluster}


def selector_text(name: str, program: str = KUBE_APISERVER) -> str:
    """The same as text, for the scale subresource."""
    return ",".join(f"{key}={value}" for key, value in sorted(selector(name, program).items()))


def server_names(name: str, namespace: str) -> tuple[str, ...]:
    """How the API is called within the management cluster, and within its pod by Konnectivity's server: its
    certificate must be valid for these."""
    service = object_name(name, KUBE_APISERVER)
    return (service, f"{service}.{namespace}", f"{service}.{namespace}.svc", "localhost", "127.0.0.1")


def internal_url(name: str, namespace: str, port: int) -> str:
    """Where the controllers, which are in the management cluster, reach the API."""
    return f"https://{object_name(name, KUBE_APISERVER)}.{namespace}.svc:{port}"
