"""What the boot data of a machine have kubeadm do there, and where: the part of it that a data center has to know.

What kubeadm is told is read as simulated tenants read it. Added is what they do not need, because a machine of theirs
knows its cluster: the address of the API, and what the kubelet says of the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.netns.cloud_config import CloudConfig
from nagaya.simulators.tenant import boot_data
from nagaya.simulators.tenant.boot_data import KubeadmBoot, Unusable
from nagaya.wire import bounded_yaml

PORT: Final = 6443
_GROUP: Final = "kubeadm.k8s.io/"
_INSTALLED: Final = re.compile(r"nagaya-install-kubernetes['\" ]+v?(\d+\.\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class KubeadmCall:
    """One call of kubeadm."""

    boot: KubeadmBoot
    endpoint: str
    """Where the API of the cluster is: host and port."""
    node: str
    """The name that the node is to have; empty if it is that of the machine."""
    provider_id: str
    node_address: str
    """The address that the kubelet is told to use; empty if it may choose."""
    authority: CertificateAuthority | None = field(default=None, repr=False)
    """That of the cluster, if it comes with the boot data."""
    installed: str = ""
    """The version of Kubernetes that is installed before, on an image that has none."""


def normalized(endpoint: str) -> str:
    """An address with its port, as it is compared: `https://` and a path are not part of it."""
    bare = endpoint.partition("://")[2] or endpoint
    bare = bare.partition("/")[0].lower()
    host, colon, port = bare.rpartition(":")
    if not colon or bare.endswith("]") or (":" in host and not host.endswith("]")):
        host, port = bare, str(PORT)
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


def read(user_data: str, config: CloudConfig, host: str) -> KubeadmCall | None:
    """What kubeadm is called with; None if it is not. `user_data` have their variables put in. Raises Unusable."""
    boot = boot_data.read(user_data.encode(), host)
    if boot is None:
        return None
    files = {file.path: file.content for file in (*config.files, *config.late_files)}
    documents = dict(_documents(files))
    told = documents.get("JoinConfiguration") or documents.get("InitConfiguration") or {}
    registration = told.get("nodeRegistration") or {}
    arguments = _arguments(registration.get("kubeletExtraArgs"))
    return KubeadmCall(
        boot,
        _endpoint(boot, told, documents.get("ClusterConfiguration") or {}, files),
        str(registration.get("name") or ""),
        arguments.get("provider-id", ""),
        arguments.get("node-ip", "").partition(",")[0],
        _authority(files),
        _installed(config.run),
    )


def _installed(script: str) -> str:
    found = _INSTALLED.search(script)
    return f"v{found[1]}" if found is not None else ""


def _documents(files: Mapping[str, bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, content in files.items():
        if path.endswith((".yaml", ".yml")) and _GROUP.encode() in content:
            for each in bounded_yaml.load_all(content):
                if isinstance(each, dict) and str(each.get("apiVersion", "")).startswith(_GROUP):
                    yield str(each.get("kind", "")), each


def _endpoint(
    boot: KubeadmBoot, told: Mapping[str, Any], cluster: Mapping[str, Any], files: Mapping[str, bytes]
) -> str:
    if boot.initializes:
        local = (told.get("localAPIEndpoint") or {}).get("advertiseAddress") or ""
        return _address(cluster.get("controlPlaneEndpoint") or local)
    discovery = told.get("discovery") or {}
    token = discovery.get("bootstrapToken") or {}
    if token.get("apiServerEndpoint"):
        return _address(token["apiServerEndpoint"])
    try:
        kubeconfig = bounded_yaml.load(files[discovery["file"]["kubeConfigPath"]])
        server = kubeconfig["clusters"][0]["cluster"]["server"]
    except (yaml.YAMLError, LookupError, TypeError):
        return ""
    return _address(server)


def _address(given: object) -> str:
    found = normalized(str(given)) if given else ""
    if found and not found.rpartition(":")[2].isdecimal():
        raise Unusable(f"{given} is not the address of an API")
    return found


def _arguments(given: object) -> dict[str, str]:
    """The older form of kubeadm's configuration has a mapping here, the newer one a list. The kubelet gets them through
    an environment file of systemd, which takes quotes off: CAPMOX's users write some."""
    if isinstance(given, dict):
        pairs = [*given.items()]
    else:
        listed = given if isinstance(given, list) else []
        pairs = [(each.get("name"), each.get("value")) for each in listed if isinstance(each, dict)]
    return {str(name): str(value).replace("'", "").replace('"', "") for name, value in pairs}


def _authority(files: Mapping[str, bytes]) -> CertificateAuthority | None:
    certificate, key = (files.get(f"/etc/kubernetes/pki/ca.{end}") for end in ("crt", "key"))
    if certificate is None or key is None:
        return None
    try:
        return CertificateAuthority.load(certificate, key)
    except ValueError as error:
        raise Unusable(f"the authority of the cluster in the boot data is of no use: {error}") from error
