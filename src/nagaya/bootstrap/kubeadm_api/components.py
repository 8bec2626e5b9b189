"""What the parts of a control plane are told: arguments, host folders, environment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from nagaya.api.bootstrap.cluster_configuration import APIServer, ControllerManager, Scheduler
from nagaya.api.bootstrap.component import Argument, HostPathMount
from nagaya.api.bootstrap.environment import EnvVar
from nagaya.bootstrap.kubeadm_api.document import Part, given
from nagaya.bootstrap.kubeadm_api.version import KubeadmVersion


def component(version: KubeadmVersion, settings: APIServer | ControllerManager | Scheduler) -> Part:
    """The settings of one component."""
    return Part(
        given(
            extraArgs=arguments(version, settings.extra_args),
            extraVolumes=[_volume(each) for each in settings.extra_volumes],
            extraEnvs=environment(version, settings.extra_envs),
        )
    )


def arguments(version: KubeadmVersion, given_arguments: Iterable[Argument]) -> list[dict[str, str]] | dict[str, str]:
    """Command line arguments: a list since v1beta4, in which one may come twice, before that a map."""
    if version is KubeadmVersion.V1BETA3:
        return {each.name: each.value for each in given_arguments}
    return [{"name": each.name, "value": each.value} for each in given_arguments]


def environment(version: KubeadmVersion, variables: Iterable[EnvVar]) -> list[Any]:
    """Environment variables, which v1beta3 does not know."""
    if version is KubeadmVersion.V1BETA3:
        return []
    return [msgspec.to_builtins(each) for each in variables]


def _volume(mount: HostPathMount) -> dict[str, Any]:
    return {
        "name": mount.name,
        "hostPath": mount.host_path,
        "mountPath": mount.mount_path,
        **given(readOnly=mount.read_only, pathType=mount.path_type),
    }
