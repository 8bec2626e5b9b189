"""What bootstrap providers promise to infrastructure providers, beside the boot data themselves."""

from __future__ import annotations

from typing import Final

SENTINEL: Final = "/run/cluster-api/bootstrap-success.complete"
"""A file that a machine has once what its bootstrap provider had it do has succeeded. It is gone after a restart."""
