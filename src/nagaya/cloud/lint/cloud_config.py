"""What the configuration of a cloud controller manager says about where its cloud is. Only hosts leave this module."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from nagaya.cloud.lint.expansion import contents
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.plain import at, mappings, text
from nagaya.cloud.lint.workload import Workload

_URL: Final = re.compile(r"\bhttps?://[^\s\"',\]}]+")
_SETTING: Final = re.compile(
    r"^\s*[-]?\s*\"?(?:server|host|endpoint|vcenter|virtualcenter|api-?endpoint|url|auth-url)\"?\s*[:=]\s*\"?([^\s\"#,]+)",
    re.IGNORECASE | re.MULTILINE,
)
_SECTION: Final = re.compile(r"^\s*\[\w+ \"([^\"]+)\"\]", re.MULTILINE)
_HOST: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class CloudConfig:
    """The configuration that a cloud controller manager reads."""

    text: str
    """Secret: it holds credentials."""
    reference: str
    """The object that it is in."""

    def __repr__(self) -> str:
        """Without the text."""
        return f"CloudConfig({self.reference})"

    def hosts(self) -> list[str]:
        """The hosts that it names, by name or by address, each once."""
        found = [_host(each) for each in _URL.findall(self.text)]
        found += [_host(each) for each in _SETTING.findall(self.text)]
        found += [_host(each) for each in _SECTION.findall(self.text)]
        return list(dict.fromkeys(filter(None, found)))

    def names(self) -> list[str]:
        """The hosts that must be looked up before they can be reached."""
        return [each for each in self.hosts() if not is_address(each) and "." in each]


def config_of(workload: Workload, manifests: Iterable[Manifest]) -> CloudConfig | None:
    """The configuration of a cloud controller manager, if it is in the set."""
    wanted = {(each.kind, each.name) for each in workload.references() if ".volumes[" in each.path}
    texts = {
        f"{each}": "\n".join(content for _, content in contents(each))
        for each in manifests
        if each.namespace == workload.namespace and (each.kind, each.name) in wanted
    }
    if not texts:
        return None
    return CloudConfig("\n".join(texts.values()), ", ".join(texts))


def mounted_secrets(workload: Workload) -> Iterator[tuple[str, str]]:
    """The Secrets that a pod mounts, each with its path."""
    for index, volume in enumerate(mappings(workload.pod.get("volumes"))):
        if name := text(at(volume, "secret", "secretName")):
            yield name, f"{workload.path}.volumes[{index}].secret.secretName"


def is_address(host: str) -> bool:
    """Whether a host is an address and no name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _host(value: str) -> str:
    try:
        host = urlsplit(value if "://" in value else f"//{value}").hostname or ""
    except ValueError:
        return ""
    return host if is_address(host) or _HOST.fullmatch(host) else ""
