"""Which kubeconfig is meant when none is named: kubectl's, or else that of `nagaya up` on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from nagaya.cli.data_dir import default_data_dir


def own_kubeconfig() -> Path | None:
    """That of `nagaya up` with the usual data folder; None if there is none, or nobody may look."""
    own = default_data_dir() / "kubeconfig"
    return own if os.path.exists(own) else None


def usual_kubeconfig(given: Path | None) -> Path | None:
    """The one that was given, or that of `nagaya up` if kubectl has none; None leaves the choice to kubectl's rules."""
    usual = Path.home() / ".kube" / "config"
    if given is None and not os.environ.get("KUBECONFIG") and not os.path.lexists(usual):
        return own_kubeconfig()
    return given
