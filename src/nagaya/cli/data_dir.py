"""Where Nagaya keeps its data on this machine unless the user says otherwise."""

from __future__ import annotations

import os
from pathlib import Path


def default_data_dir() -> Path:
    """The XDG data folder."""
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "nagaya"
