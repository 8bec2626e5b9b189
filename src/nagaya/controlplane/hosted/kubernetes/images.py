"""The images of the programs, as kubeadm names them: by version, from one registry, unless the user says otherwise."""

from __future__ import annotations

from typing import Final

from nagaya.api.controlplane.hosted_arguments import (
    KINE,
    KONNECTIVITY_SERVER,
    KUBE_APISERVER,
    KUBE_CONTROLLER_MANAGER,
    KUBE_SCHEDULER,
)
from nagaya.controlplane.hosted.components.facts import TenantFacts
from nagaya.controlplane.hosted.tenant.releases import image_tag, release_of

REGISTRY: Final = "registry.k8s.io"
KINE_IMAGE: Final = "docker.io/rancher/kine:v0.14.10"
"""kine is not of the Kubernetes project, so a mirror of its registry does not have it."""


def image(facts: TenantFacts, program: str) -> str:
    """The image of a program. Raises ValueError if the version is none that can be run."""
    settings = facts.settings
    own = {
        KUBE_APISERVER: settings.api_server.image,
        KUBE_CONTROLLER_MANAGER: settings.controller_manager.image,
        KUBE_SCHEDULER: settings.scheduler.image,
        KINE: settings.kine.image or KINE_IMAGE,
        KONNECTIVITY_SERVER: settings.addons.konnectivity.server.image,
    }[program]
    if own:
        return own
    registry = settings.deployment.image_repository.rstrip("/") or REGISTRY
    if program == KONNECTIVITY_SERVER:
        return f"{registry}/kas-network-proxy/proxy-server:{release_of(facts.version).konnectivity}"
    return f"{registry}/{program}:{image_tag(facts.version)}"
