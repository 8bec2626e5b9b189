"""KubeadmConfig and its template: arguments became lists, time-outs moved together, and what the Cluster says went."""

from __future__ import annotations

from typing import Final

from nagaya.api.conversion.draft import Draft

_COMPONENTS: Final = (("apiServer",), ("controllerManager",), ("scheduler",), ("etcd", "local"))
_SAID_ELSEWHERE: Final = {
    "clusterName": "not carried over: the name of the Cluster is used.",
    "kubernetesVersion": "not carried over: set spec.version of the Machine or of the control plane.",
    "networking": "not carried over: set spec.clusterNetwork of the Cluster.",
}


def kubeadm_config(draft: Draft) -> None:
    """A KubeadmConfig."""
    spec = draft.at("spec")
    if spec is not None:
        kubeadm_config_spec(spec)


def kubeadm_config_template(draft: Draft) -> None:
    """A KubeadmConfigTemplate."""
    spec = draft.at("spec", "template", "spec")
    if spec is not None:
        kubeadm_config_spec(spec)


def kubeadm_config_spec(spec: Draft) -> None:
    """How a machine becomes a node, wherever it is written."""
    for name in ("clusterConfiguration", "initConfiguration", "joinConfiguration"):
        _command(spec, name)
    _cluster_configuration(spec)
    initialization = spec.at("initConfiguration")
    if initialization is not None:
        for token in initialization.each("bootstrapTokens"):
            token.move_seconds("ttl", "ttlSeconds")
    discovery = spec.at("joinConfiguration", "discovery")
    if discovery is not None:
        spec.put(discovery.take_seconds("timeout"), "joinConfiguration", "timeouts", "tlsBootstrapSeconds")
    spec.drop("useExperimentalRetryJoin", "not carried over: kubeadm retries by itself.", loss=False)


def _command(spec: Draft, name: str) -> None:
    command = spec.at(name)
    if command is None:
        return
    # They named the form of kubeadm's own files; the version is chosen when those are written.
    command.take("apiVersion")
    command.take("kind")
    registration = command.at("nodeRegistration")
    if registration is not None:
        _arguments(registration, "kubeletExtraArgs")


def _cluster_configuration(spec: Draft) -> None:
    configuration = spec.at("clusterConfiguration")
    if configuration is None:
        return
    for name, why in _SAID_ELSEWHERE.items():
        configuration.drop(name, why, loss=bool(configuration.content.get(name)))
    for path in _COMPONENTS:
        component = configuration.at(*path)
        if component is not None:
            _arguments(component, "extraArgs")
    api_server = configuration.at("apiServer")
    if api_server is not None:
        timeout = api_server.take_seconds("timeoutForControlPlane")
        for command in ("initConfiguration", "joinConfiguration"):
            spec.put(timeout, command, "timeouts", "controlPlaneComponentHealthCheckSeconds")


def _arguments(component: Draft, name: str) -> None:
    arguments = component.content.get(name)
    if isinstance(arguments, dict):
        component.put([{"name": key, "value": value} for key, value in sorted(arguments.items())], name)
