"""Which versions of CoreDNS can follow each other, and what its configuration has to lose on the way.

Between 1.8.3 and the newest version that is known, no plugin or option of a Corefile was removed or got another
meaning but one: `endpoint` of the plugin kubernetes takes a single address, and ignores further ones. So a Corefile
stays as it is, byte for byte with its comments and foreign plugins, but for those further addresses. Older versions
belong to Kubernetes versions that are not supported any more; where they would have to be rewritten is refused.
"""

from __future__ import annotations

import re
from typing import Final

Version = tuple[int, int, int]

KNOWN: Final[frozenset[Version]] = frozenset(
    (1, minor, patch)
    for minor, patches in {
        8: (3, 4, 5, 6, 7),
        9: (0, 1, 2, 3, 4),
        10: (0, 1),
        11: (0, 1, 3, 4),
        12: (0, 1, 2, 3, 4),
        13: (0, 1, 2),
        14: (0, 1, 2, 3, 4, 6),
    }.items()
    for patch in patches
)
"""The versions that have been looked at."""
_KUBERNETES: Final = re.compile(r"^(\s*)kubernetes\b[^\n{]*\{\s*(#[^\n]*)?$")
_ENDPOINT: Final = re.compile(r"^(\s*endpoint\s+\S+)\s+[^\s#][^#]*?(\s*(?:#.*)?)$")


def migrated(corefile: str, before: Version, after: Version) -> str:
    """The configuration for another version. Raises ValueError if it is not known what it would take."""
    if before == after:
        return corefile
    if after < before:
        raise ValueError(
            f"CoreDNS {_text(after)} is older than {_text(before)}, which runs. Give the same or a newer tag."
        )
    for each in (before, after):
        if each not in KNOWN:
            raise ValueError(
                f"CoreDNS {_text(each)} is not one of the versions from {_text(min(KNOWN))} to {_text(max(KNOWN))} of "
                "which it is known how a Corefile gets from one to another. Change CoreDNS yourself, and set the "
                "annotation controlplane.cluster.x-k8s.io/skip-coredns on the KubeadmControlPlane."
            )
    return _with_single_endpoints(corefile)


def _with_single_endpoints(corefile: str) -> str:
    lines = corefile.split("\n")
    inside = False
    for number, line in enumerate(lines):
        if _KUBERNETES.match(line):
            inside = True
        elif inside and line.strip().startswith("}"):
            inside = False
        elif inside and (found := _ENDPOINT.match(line)) is not None:
            lines[number] = found.group(1) + found.group(2)
    return "\n".join(lines)


def _text(version: Version) -> str:
    return ".".join(map(str, version))
