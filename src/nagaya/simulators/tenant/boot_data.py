"""What the boot data of a machine tell kubeadm to do, read as the machine would read them.

Only what shows in the cluster matters: which subcommand, how the node registers, the token, the cluster's
configuration, and the authorities that come as files. Boot data in which kubeadm is not mentioned are somebody's own:
nothing is read from those, whatever they are.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import yaml

from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.netns import cloud_config
from nagaya.simulators.tenant.settings import Taint
from nagaya.wire import bounded_yaml

_GROUP: Final = "kubeadm.k8s.io/"
_INIT: Final = "InitConfiguration"
_JOIN: Final = "JoinConfiguration"
_CLUSTER: Final = "ClusterConfiguration"
_NOTHING: Final[Mapping[str, Any]] = {}

Document = Mapping[str, Any]


class Unusable(ValueError):
    """Boot data that mention kubeadm and cannot be used; the message says where, and quotes nothing."""


@dataclass(frozen=True, slots=True)
class KubeadmBoot:
    """One call of kubeadm."""

    initializes: bool
    """Whether it is `kubeadm init`; else it is `kubeadm join`."""
    control_plane: bool
    cluster: Document = field(default_factory=lambda: _NOTHING)
    """The ClusterConfiguration of `kubeadm init`."""
    token: str = field(default="", repr=False)
    """With which a machine joins; empty if it has other credentials."""
    authority_pins: tuple[str, ...] = ()
    """What the cluster's authority must be one of, if there are any: `sha256:<hash of its public key>`."""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] | None = None
    """None: those that kubeadm gives by itself."""
    external_cloud: bool = False
    skipped: frozenset[str] = frozenset()
    """Phases that are left out."""
    bind_port: int = 6443
    etcd_authority: CertificateAuthority | None = None
    """The authority of etcd, if it comes with the boot data. kubeadm makes one if not."""


def read(data: bytes, host: str) -> KubeadmBoot | None:
    """What boot data tell kubeadm on a host of this name; None if they do not mention it. Raises Unusable."""
    try:
        files = dict(_files(data, host))
    except cloud_config.NotUnderstood:
        return None
    documents: dict[str, Document] = {}
    for path, content in files.items():
        if path.endswith((".yaml", ".yml")) and _GROUP.encode() in content:
            documents.update(_documents(path, content))
    if _JOIN in documents:
        return _joining(documents[_JOIN], files)
    if _INIT in documents or _CLUSTER in documents:
        return _initializing(documents.get(_INIT, _NOTHING), documents.get(_CLUSTER, _NOTHING), files)
    return None


def _files(data: bytes, host: str) -> Iterator[tuple[str, bytes]]:
    if data.lstrip()[:1] == b"{":
        yield from _ignition_files(data)
        return
    config = _cloud_config(data, {"local_hostname": host, "hostname": host, "instance_id": host})
    for each in (*config.files, *config.late_files):
        yield each.path, each.content


def _cloud_config(data: bytes, names: Mapping[str, str]) -> cloud_config.CloudConfig:
    try:
        return cloud_config.read(data, names)
    except cloud_config.NotUnderstood:
        first, _, rest = data.partition(b"\n")
        if first.strip().lower() != b"## template: jinja":
            raise
        # Statements of Jinja stand in commands and users' files, in which nothing is read here.
        return cloud_config.read(rest, names)


def _ignition_files(data: bytes) -> Iterator[tuple[str, bytes]]:
    try:
        config = json.loads(data)
        listed = ((config.get("storage") or {}).get("files")) or []
    except (ValueError, AttributeError) as error:
        raise cloud_config.NotUnderstood("the data are no Ignition config") from error
    for each in listed:
        source = (each.get("contents") or {}).get("source") or ""
        if isinstance(each.get("path"), str) and source.startswith("data:"):
            form, _, content = source.removeprefix("data:").partition(",")
            raw = unquote_to_bytes(content)
            try:
                yield each["path"], base64.b64decode(raw) if form.endswith(";base64") else raw
            except binascii.Error as error:
                raise cloud_config.NotUnderstood("a file of the Ignition config is not Base64") from error


def _documents(path: str, content: bytes) -> Iterator[tuple[str, Document]]:
    try:
        for each in bounded_yaml.load_all(content):
            if isinstance(each, dict) and str(each.get("apiVersion", "")).startswith(_GROUP):
                yield str(each.get("kind", "")), each
    except yaml.YAMLError as error:
        raise Unusable(f"{path} of the boot data is not YAML") from error


def _initializing(init: Document, cluster: Document, files: Mapping[str, bytes]) -> KubeadmBoot:
    return _boot(
        init,
        files,
        initializes=True,
        control_plane=True,
        cluster=cluster,
        bind_port=_port(init.get("localAPIEndpoint")),
    )


def _joining(join: Document, files: Mapping[str, bytes]) -> KubeadmBoot:
    discovery = _mapping(join.get("discovery"), "discovery")
    token = _mapping(discovery.get("bootstrapToken"), "discovery.bootstrapToken")
    control_plane = join.get("controlPlane")
    return _boot(
        join,
        files,
        initializes=False,
        control_plane=control_plane is not None,
        token=str(discovery.get("tlsBootstrapToken") or token.get("token") or ""),
        authority_pins=tuple(str(each) for each in token.get("caCertHashes") or ()),
        bind_port=_port(_mapping(control_plane, "controlPlane").get("localAPIEndpoint")),
    )


def _boot(document: Document, files: Mapping[str, bytes], **more: Any) -> KubeadmBoot:
    registration = _mapping(document.get("nodeRegistration"), "nodeRegistration")
    arguments = _arguments(registration.get("kubeletExtraArgs"))
    taints = registration.get("taints")
    return KubeadmBoot(
        labels=_labels(arguments.get("node-labels", "")),
        taints=None if taints is None else tuple(_taint(each) for each in taints),
        external_cloud=arguments.get("cloud-provider") == "external",
        skipped=frozenset(str(each) for each in document.get("skipPhases") or ()),
        etcd_authority=_etcd_authority(files),
        **more,
    )


def _etcd_authority(files: Mapping[str, bytes]) -> CertificateAuthority | None:
    found = {
        end: next((content for path, content in files.items() if path.endswith(f"/etcd/ca.{end}")), None)
        for end in ("crt", "key")
    }
    if found["crt"] is None or found["key"] is None:
        return None
    try:
        return CertificateAuthority.load(found["crt"], found["key"])
    except ValueError as error:
        raise Unusable(f"the authority of etcd in the boot data is of no use: {error}") from error


def _mapping(value: object, where: str) -> Document:
    if value is None:
        return _NOTHING
    if not isinstance(value, dict):
        raise Unusable(f"{where} of kubeadm's configuration is not a mapping")
    return value


def _arguments(given: object) -> dict[str, str]:
    """v1beta3 has a mapping here, v1beta4 a list."""
    if isinstance(given, dict):
        return {str(name): str(value) for name, value in given.items()}
    listed = given if isinstance(given, list) else []
    return {str(each.get("name")): str(each.get("value")) for each in listed if isinstance(each, dict)}


def _labels(text: str) -> dict[str, str]:
    pairs = (each.partition("=") for each in text.split(",") if each)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _taint(given: object) -> Taint:
    taint = _mapping(given, "nodeRegistration.taints")
    return Taint(str(taint.get("key") or ""), str(taint.get("effect") or ""), str(taint.get("value") or ""))


def _port(endpoint: object) -> int:
    port = _mapping(endpoint, "localAPIEndpoint").get("bindPort")
    return port if isinstance(port, int) and 0 < port < 1 << 16 else 6443
