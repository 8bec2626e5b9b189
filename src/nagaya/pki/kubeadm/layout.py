"""Where files of a control plane's certificates are, relative to the folder for them."""

from __future__ import annotations

from typing import Final

FOLDER: Final = "/etc/kubernetes/pki"
"""The folder on machines that kubeadm set up, unless its configuration names another."""
SERVICE_ACCOUNTS_KEY: Final = "sa.key"
SERVICE_ACCOUNTS_PUBLIC_KEY: Final = "sa.pub"


def certificate_file(name: str) -> str:
    """The file with the certificate of an authority or a leaf, such as `etcd/ca.crt`."""
    return f"{name}.crt"


def key_file(name: str) -> str:
    """The file with the private key of an authority or a leaf."""
    return f"{name}.key"
