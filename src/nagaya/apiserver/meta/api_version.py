"""Which version of an API is the better one, by its name alone."""

from __future__ import annotations

import re
from typing import Final

_VERSION: Final = re.compile(r"^v([0-9]+)(?:(alpha|beta)([0-9]+))?$")
_STABILITY: Final = {None: 2, "beta": 1, "alpha": 0}


def version_order(version: str) -> tuple[int, int, int, int, str]:
    """A key that sorts versions as Kubernetes does: v10, v2, v1, v1beta2, v1alpha1, then everything else by name."""
    found = _VERSION.match(version)
    if found is None:
        return (1, 0, 0, 0, version)
    major, stage, minor = found.groups()
    return (0, -_STABILITY[stage], -int(major), -int(minor or 0), "")
