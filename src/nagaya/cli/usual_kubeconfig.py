"""Which kubeconfig is meant when none is named: kubectl's, or else that of `nagaya up` on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from nagaya.cli.data_dir import default_data_dir


def usual_kubeconfig(given: Path | None) -> Path | None:
    """The one that was given, or that of `nagaya up` if kubectl has none; None leaves the choice to kubectl's rules."""
    own, usual = default_data_dir() / "kubeconfig", Path.home() / ".kube" / "config"
    if given is None and not os.environ.get("KUBECONFIG") and not usual.exists() and own.exists():
        return own
    return given
