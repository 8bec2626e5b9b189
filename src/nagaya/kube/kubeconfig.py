"""Kubeconfigs: from files, from a mapping, or from the folder that every pod has.

Files are merged as kubectl does it: of two entries with the same name the first counts, whole. What is wrong is
reported with the file, the field and a remedy. A kubeconfig that comes from elsewhere, such as a Secret that others
may write, is `sealed`: it can neither read files of this machine nor run programs on it.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from nagaya.kube.connection import Connection
from nagaya.kube.kubeconfig_entry import Entry, KubeconfigError, kind_of
from nagaya.kube.kubeconfig_user import with_user

__all__ = ["Connection", "KubeconfigError", "in_cluster", "load", "parse", "parse_text"]

ACCOUNT_FOLDER: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_PROXY_SCHEMES: Final = ("http", "https")
_SERVER: Final = re.compile(
    r"(?i:https?)://(\[(?P<address>[^]]+)\]|(?P<name>[a-zA-Z0-9_.-]+))(:(?P<port>[0-9]{1,5})?)?(/[a-zA-Z0-9_.~%:=+/-]*)?"
)


def load(path: Path | str | None = None, context: str | None = None) -> Connection:
    """The connection of a file, or else of the files in $KUBECONFIG, or else of ~/.kube/config.

    Raises KubeconfigError.
    """
    if path is not None:
        return parse(_read(Path(path)), context, folder=Path(path).absolute().parent, source=str(path))
    named = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    candidates = named or [Path.home() / ".kube" / "config"]
    present = [file for file in dict.fromkeys(candidates) if _is_there(file)]
    if not present:
        files = ", ".join(map(str, candidates))
        raise KubeconfigError(f"there is no kubeconfig: {files} does not exist. Name one, or set KUBECONFIG.")
    merged: dict[str, dict[str, Entry]] = {"clusters": {}, "users": {}, "contexts": {}}
    current = ""
    for file in present:
        content = _read(file)
        current = current or _current(content, str(file))
        for section, entries in merged.items():
            for name, entry in _entries(content, section, str(file), file.absolute().parent).items():
                entries.setdefault(name, entry)
    return _connect(merged, context or current, ", ".join(map(str, present)))


def parse(
    content: Mapping[str, Any],
    context: str | None = None,
    *,
    folder: Path | None = None,
    source: str = "kubeconfig",
    sealed: bool = False,
) -> Connection:
    """The connection of a kubeconfig that has been read already. Without a folder its paths must be absolute.

    Raises KubeconfigError.
    """
    sections = {name: _entries(content, name, source, folder, sealed) for name in ("clusters", "users", "contexts")}
    return _connect(sections, context or _current(content, source), source)


def parse_text(text: bytes | str, context: str | None = None, *, source: str = "kubeconfig") -> Connection:
    """The connection of a kubeconfig as a Secret holds it: sealed. Raises KubeconfigError."""
    return parse(_parsed(text, source), context, source=source, sealed=True)


def in_cluster(folder: Path = ACCOUNT_FOLDER, environment: Mapping[str, str] | None = None) -> Connection:
    """The connection of a pod to its own cluster, as its service account. Raises KubeconfigError outside of one."""
    environment = os.environ if environment is None else environment
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise KubeconfigError(
            "this is not a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set. Name a kubeconfig."
        )
    token, authority, namespace = folder / "token", folder / "ca.crt", folder / "namespace"
    if not token.is_file():
        raise KubeconfigError(f"there is no file {token}: let the pod have its service account's token.")
    host = f"[{host}]" if ":" in host else host
    connection = Connection(
        f"https://{host}:{port}", authority=authority if authority.is_file() else None, token_file=token
    )
    return replace(connection, namespace=namespace.read_text().strip()) if namespace.is_file() else connection


def _is_there(path: Path) -> bool:
    """Also if it may not be looked at: then reading it says why."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _read(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise KubeconfigError(f"{path}: {error.strerror}. Name a kubeconfig that can be read.") from error
    return _parsed(text, str(path))


def _parsed(text: bytes | str, source: str) -> Mapping[str, Any]:
    import yaml

    from nagaya.wire import bounded_yaml

    try:
        content = bounded_yaml.load(text)
    except yaml.YAMLError as error:
        # Only where it is: what YAML has to say about it quotes the content.
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise KubeconfigError(f"{source}{line}: it is not YAML. Correct it.") from None
    except UnicodeDecodeError:
        raise KubeconfigError(f"{source}: it is not text. Name a kubeconfig.") from None
    if not isinstance(content, dict):
        raise KubeconfigError(f"{source}: it is not a kubeconfig but {kind_of(content)}.")
    return content


def _current(content: Mapping[str, Any], source: str) -> str:
    return Entry(content, source, None).text("current-context")


def _entries(
    content: Mapping[str, Any], section: str, source: str, folder: Path | None, sealed: bool = False
) -> dict[str, Entry]:
    listed = content.get(section) or []
    if not isinstance(listed, list):
        raise KubeconfigError(f"{source}: {section} must be a list, but is {kind_of(listed)}.")
    singular = section[:-1]
    found: dict[str, Entry] = {}
    for position, each in enumerate(listed):
        name = each.get("name") if isinstance(each, dict) else None
        entry = each.get(singular) or {} if isinstance(each, dict) else None
        if not isinstance(name, str) or not isinstance(entry, dict):
            raise KubeconfigError(f"{source}: {section}[{position}] must have a name and a {singular}.")
        found.setdefault(name, Entry(entry, f"{source}: {section}[{name}].{singular}", folder, sealed))
    return found


def _connect(sections: Mapping[str, Mapping[str, Entry]], context: str, source: str) -> Connection:
    if not context:
        raise KubeconfigError(f"{source}: current-context is not set. Set it, or name a context.")
    chosen = _named(sections, "contexts", context, f"{source}: there is no context {context!r}")
    cluster_name, user_name = chosen.text("cluster"), chosen.text("user")
    cluster = _named(
        sections, "clusters", cluster_name, f"{chosen.where}.cluster: there is no cluster {cluster_name!r}"
    )
    user = Entry({}, chosen.where, None)
    if user_name:
        user = _named(sections, "users", user_name, f"{chosen.where}.user: there is no user {user_name!r}")
    return with_user(replace(_at_cluster(cluster, chosen.text("namespace")), sealed=cluster.sealed), user, cluster)


def _named(sections: Mapping[str, Mapping[str, Entry]], section: str, name: str, problem: str) -> Entry:
    found = sections[section].get(name)
    if found is None:
        known = ", ".join(sorted(sections[section])) or "none"
        raise KubeconfigError(f"{problem}. There are: {known}.")
    return found


def _at_cluster(cluster: Entry, namespace: str) -> Connection:
    server, name = cluster.text("server").rstrip("/"), cluster.text("tls-server-name")
    if not _is_server(server):
        raise KubeconfigError(f"{cluster.where}.server: it must be a URL such as https://host:6443.")
    if name and not _is_host(name):
        raise KubeconfigError(f"{cluster.where}.tls-server-name: it must be a host name or an IP address.")
    proxy = cluster.text("proxy-url")
    if proxy and cluster.sealed:
        raise KubeconfigError(
            f"{cluster.where}.proxy-url: a kubeconfig that is not a file of this machine may name no proxy. Remove it."
        )
    if proxy and (urlsplit(proxy).scheme not in _PROXY_SCHEMES or not urlsplit(proxy).hostname):
        raise KubeconfigError(
            f"{cluster.where}.proxy-url: only proxies at http:// and https:// can be used. For a SOCKS proxy, put an "
            f"HTTP proxy before it."
        )
    authority, insecure = cluster.pem("certificate-authority"), cluster.flag("insecure-skip-tls-verify")
    if authority is not None and insecure:
        raise KubeconfigError(
            f"{cluster.where}.insecure-skip-tls-verify: there is a certificate-authority too. Remove one of them."
        )
    return Connection(
        server,
        authority=authority,
        proxy=proxy,
        tls_server_name=name,
        insecure=insecure,
        compression=not cluster.flag("disable-compression"),
        namespace=namespace or "default",
    )


def _is_server(text: str) -> bool:
    """Whether a text is a URL that a path can be added to. It may hold no credentials: error messages show it."""
    found = _SERVER.fullmatch(text)
    if found is None or not 0 < int(found["port"] or 443) < 65536:
        return False
    try:
        return _is_host(found["name"]) if found["name"] else bool(ipaddress.IPv6Address(found["address"]))
    except ValueError:
        return False


def _is_host(text: str) -> bool:
    """Whether resolvers and TLS take a text as a name. Names of other scripts must be in their ASCII form."""
    try:
        return bool(text.encode("idna")) and text.isascii() and text.isprintable()
    except UnicodeError:
        return False
