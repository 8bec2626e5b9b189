"""Kubeconfigs: how a client is told where a cluster is, how to recognise it, and who to be there."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nagaya.pki import files


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """Proof by a certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)

    def as_user(self) -> dict[str, str]:
        """The `user` entry."""
        return {"client-certificate-data": _encoded(self.certificate), "client-key-data": _encoded(self.key)}


@dataclass(frozen=True, slots=True)
class BearerToken:
    """Proof by a token."""

    token: str = field(repr=False)

    def as_user(self) -> dict[str, str]:
        """The `user` entry."""
        return {"token": self.token}


Credentials = ClientCertificate | BearerToken


def build(
    server: str,
    authority: bytes | None,
    credentials: Credentials | None,
    *,
    cluster: str = "kubernetes",
    user: str = "kubernetes-admin",
    namespace: str = "",
) -> dict[str, Any]:
    """A kubeconfig with one cluster and, if there are credentials, one user and a current context that joins them.

    `server` is a URL, `authority` a PEM bundle. Without credentials it only says where the cluster is, as the ConfigMap
    `cluster-info` does for machines that are about to join.
    """
    place: dict[str, str] = {"server": server}
    if authority is not None:
        place["certificate-authority-data"] = _encoded(authority)
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "clusters": [{"name": cluster, "cluster": place}],
        "users": [],
        "contexts": [],
        "current-context": "",
    }
    if credentials is None:
        return config
    context = {"cluster": cluster, "user": user}
    if namespace:
        context["namespace"] = namespace
    config["users"] = [{"name": user, "user": credentials.as_user()}]
    config["contexts"] = [{"name": f"{user}@{cluster}", "context": context}]
    config["current-context"] = f"{user}@{cluster}"
    return config


def to_yaml(config: dict[str, Any]) -> bytes:
    """A kubeconfig as its file holds it."""
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(config, Dumper=dumper, sort_keys=False, width=4096)
    return text.encode()


def write(config: dict[str, Any], path: Path) -> None:
    """Write a kubeconfig that only its owner may read. An unchanged file stays, also where the disk is full."""
    content = to_yaml(config)
    if not files.holds(path, content):
        files.write_atomically(path, content)


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
