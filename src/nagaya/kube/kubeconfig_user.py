"""The user of a kubeconfig: which credentials it has, or which program gives them, and whom it acts as."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from nagaya.kube.connection import Connection, Impersonation
from nagaya.kube.exec_plugin import API_VERSIONS, ExecPlugin, InteractiveMode
from nagaya.kube.kubeconfig_entry import Entry, KubeconfigError, kind_of

_EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"
_MODES: Final = ("Never", "IfAvailable", "Always")


def with_user(connection: Connection, user: Entry, cluster: Entry) -> Connection:
    """The connection to a cluster, as this user. Raises KubeconfigError."""
    certificate, key = user.pem("client-certificate"), user.pem("client-key")
    if (certificate is None) != (key is None):
        missing = "client-certificate" if certificate is None else "client-key"
        raise KubeconfigError(f"{user.where}: {missing} or {missing}-data is missing. Add it.")
    connection = replace(
        connection,
        certificate=certificate,
        key=key,
        token=user.text("token"),
        token_file=user.path("tokenFile"),
        username=user.text("username"),
        password=user.text("password"),
        impersonation=_impersonation(user),
    )
    if connection.username and (connection.token or connection.token_file):
        raise KubeconfigError(f"{user.where}: it has a token and a username. Remove one of them.")
    if user.content.get("auth-provider"):
        raise KubeconfigError(f"{user.where}.auth-provider: it is no longer supported. Use an exec plugin instead.")
    plugin = user.content.get("exec")
    if not plugin or certificate is not None or connection.token or connection.token_file or connection.username:
        return connection  # credentials that are there already go first
    if not isinstance(plugin, dict):
        raise KubeconfigError(f"{user.where}.exec: it must be a mapping, but is {kind_of(plugin)}.")
    return replace(
        connection, plugin=_plugin(Entry(plugin, f"{user.where}.exec", user.folder, user.sealed), connection, cluster)
    )


def _impersonation(user: Entry) -> Impersonation | None:
    name, uid, groups = user.text("as"), user.text("as-uid"), user.texts("as-groups")
    extra = user.content.get("as-user-extra") or {}
    if not isinstance(extra, dict):
        raise KubeconfigError(f"{user.where}.as-user-extra: it must be a mapping, but is {kind_of(extra)}.")
    entry = Entry(extra, f"{user.where}.as-user-extra", None)
    pairs = tuple((field, value) for field in extra for value in entry.texts(field))
    if not name:
        if uid or groups or pairs:
            raise KubeconfigError(f"{user.where}: as-uid, as-groups and as-user-extra need `as`, the user. Add it.")
        return None
    return Impersonation(name, uid, groups, pairs)


def _plugin(plugin: Entry, connection: Connection, cluster: Entry) -> ExecPlugin:
    if plugin.sealed:
        raise KubeconfigError(
            f"{plugin.where}: a kubeconfig that is not a file of this machine may not run programs on it. "
            f"Use a token or a client certificate."
        )
    command, version, mode = plugin.text("command"), plugin.text("apiVersion"), plugin.text("interactiveMode")
    if not command:
        raise KubeconfigError(f"{plugin.where}.command: it is missing. Name the program that gives credentials.")
    if version not in API_VERSIONS:
        raise KubeconfigError(f"{plugin.where}.apiVersion: it must be {' or '.join(API_VERSIONS)}.")
    if not mode and version == API_VERSIONS[0]:
        raise KubeconfigError(f"{plugin.where}.interactiveMode: it is missing. Set it to one of {', '.join(_MODES)}.")
    mode = mode or "IfAvailable"
    if mode not in _MODES:
        raise KubeconfigError(f"{plugin.where}.interactiveMode: it must be one of {', '.join(_MODES)}.")
    if os.sep in command:  # kubectl looks relative programs up beside the kubeconfig, plain names in PATH
        command = str(plugin.path("command"))
    return ExecPlugin(
        version,
        command,
        plugin.texts("args"),
        tuple(_variable(plugin, each) for each in plugin.content.get("env") or ()),
        cast(InteractiveMode, mode),
        plugin.text("installHint"),
        _cluster_info(connection, cluster) if plugin.flag("provideClusterInfo") else "",
    )


def _variable(plugin: Entry, content: object) -> tuple[str, str]:
    entry = Entry(content if isinstance(content, dict) else {}, f"{plugin.where}.env[]", None)
    name = entry.text("name")
    if not name:
        raise KubeconfigError(f"{plugin.where}.env: each entry must have a name and a value.")
    return name, entry.text("value")


def _cluster_info(connection: Connection, cluster: Entry) -> str:
    authority = connection.authority
    text = authority.read_bytes() if isinstance(authority, Path) else authority
    extensions: Sequence[Any] = cluster.content.get("extensions") or ()
    config = [
        each.get("extension") for each in extensions if isinstance(each, dict) and each.get("name") == _EXEC_EXTENSION
    ]
    info: dict[str, Any] = {
        "server": connection.server,
        "tls-server-name": connection.tls_server_name,
        "insecure-skip-tls-verify": connection.insecure,
        "certificate-authority-data": base64.b64encode(text).decode() if text else "",
        "proxy-url": connection.proxy,
        "disable-compression": not connection.compression,
        "config": config[0] if config else None,
    }
    return msgspec.json.encode({name: value for name, value in info.items() if value}).decode()
