"""Which proxy leads to a server: the one of the kubeconfig, or else the one of the environment.

The variables are read as Go programs read them: HTTPS_PROXY or HTTP_PROXY by the server's scheme, in capitals or small
letters, and NO_PROXY with host names, domains, addresses, networks, each maybe with a port, or `*`. A server on this
machine is never asked through a proxy of the environment.
"""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit, urlunsplit


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and what it wants to hear from its users."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def proxy_for(server: str, named: str, environment: Mapping[str, str]) -> Proxy | None:
    """The proxy for a server's URL; `named` is what the kubeconfig says. Raises ValueError for one of no use."""
    chosen = named or _from_environment(server, environment)
    if not chosen:
        return None
    if "://" not in chosen:
        chosen = f"http://{chosen}"
    parts = urlsplit(chosen)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("the proxy in HTTPS_PROXY is not at http:// or https://. Put an HTTP proxy before it.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    address = f"{host}:{parts.port}" if parts.port else host
    headers = {}
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return Proxy(urlunsplit((parts.scheme, address, "", "", "")), headers)


def _from_environment(server: str, environment: Mapping[str, str]) -> str:
    parts = urlsplit(server)
    name = "HTTPS_PROXY" if parts.scheme == "https" else "HTTP_PROXY"
    chosen = environment.get(name) or environment.get(name.lower()) or ""
    if not chosen or not parts.hostname:
        return ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    excluded = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    return "" if _is_excluded(parts.hostname.lower().rstrip("."), port, excluded) else chosen


def _is_excluded(host: str, port: int, excluded: str) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_matches(host, address, port, rule.strip().lower()) for rule in excluded.split(",") if rule.strip())


def _matches(host: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None, port: int, rule: str) -> bool:
    if rule == "*":
        return True
    if "/" in rule:
        try:
            return address is not None and address in ipaddress.ip_network(rule, strict=False)
        except ValueError:
            return False
    if _address(rule) is None:
        bare, _, wanted = rule.rpartition(":")
        if bare and wanted.isdigit():
            if int(wanted) != port:
                return False
            rule = bare.strip("[]")
    found = _address(rule)
    if found is not None or address is not None:
        return found is not None and found == address
    rule = rule.removeprefix("*")
    # A plain name stands for itself and what is below it, one with a dot before it only for the latter.
    return host.endswith(rule) if rule.startswith(".") else host == rule or host.endswith(f".{rule}")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
