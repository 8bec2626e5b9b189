"""The kubeconfig that a joining machine finds the API server with, if the user asked for one to be written."""

from __future__ import annotations

from typing import Final

from nagaya.api.bootstrap.discovery import FileDiscovery, KubeConfigAuthExec, KubeConfigCluster, KubeConfigUser
from nagaya.api.bootstrap.files import File
from nagaya.bootstrap import yaml_text
from nagaya.bootstrap.kubeadm_api.document import Document, given
from nagaya.bootstrap.own_file import ROOT

_NAME: Final = "default"
_EXEC_VERSION: Final = "client.authentication.k8s.io/v1"
_PERMISSIONS: Final = "0640"


def discovery_kubeconfig(discovery: FileDiscovery | None) -> File | None:
    """The file, or None if the user brings it himself or needs none. The server and its authority are filled in."""
    if discovery is None or discovery.kube_config is None:
        return None
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": _cluster(discovery.kube_config.cluster)}],
        "users": [{"name": _NAME, "user": _user(discovery.kube_config.user)}],
        "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME}}],
        "current-context": _NAME,
    }
    return File(
        path=discovery.kube_config_path,
        owner=ROOT,
        permissions=_PERMISSIONS,
        content=yaml_text.dump(config),
    )


def _cluster(cluster: KubeConfigCluster) -> Document:
    names = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": cluster.certificate_authority_data,
        "proxy-url": cluster.proxy_url,
    }
    return given(**names)


def _user(user: KubeConfigUser) -> Document:
    found: Document = {}
    if user.auth_provider is not None:
        found["auth-provider"] = {
            "name": user.auth_provider.name,
            "config": dict(user.auth_provider.config),
        }
    if user.exec is not None:
        found["exec"] = _exec(user.exec)
    return found


def _exec(program: KubeConfigAuthExec) -> Document:
    return {
        "command": program.command,
        "args": list(program.args),
        "env": [{"name": each.name, "value": each.value} for each in program.env],
        "apiVersion": program.api_version or _EXEC_VERSION,
        "provideClusterInfo": bool(program.provide_cluster_info),
        "interactiveMode": "Never",
    }
