"""The record of a remediation, kept in annotations: on the control plane until the replacement is made, and on the
replacement from then on. Retries are counted from it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from nagaya.api.controlplane.kubeadm_control_plane import LastRemediation
from nagaya.api.model import Model

_EPOCH = datetime.fromisoformat("0001-01-01T00:00:00+00:00")


class RemediationRecord(Model, omit_defaults=False):
    """A machine that was deleted because it was unhealthy."""

    machine: str = ""
    timestamp: datetime | None = None
    retry_count: int = 0
    """How many replacements before it failed, one after the other."""

    @property
    def annotation(self) -> str:
        """As it stands in an annotation."""
        return msgspec.json.encode(self).decode()

    @property
    def status(self) -> LastRemediation:
        """As it stands in the status."""
        return LastRemediation(machine=self.machine, time=self.timestamp or _EPOCH, retry_count=self.retry_count)


class UnreadableRecord(ValueError):
    """An annotation that somebody else wrote."""


def read(annotation: str) -> RemediationRecord:
    """A record from an annotation. Raises UnreadableRecord."""
    try:
        return msgspec.json.decode(annotation.encode(), type=RemediationRecord)
    except msgspec.MsgspecError as error:
        raise UnreadableRecord(
            f"the record of a remediation cannot be read: {error}. Delete the annotation."
        ) from error
