"""How a kubeadm control plane replaces its machines: on changes, before certificates end, when they are unhealthy."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar, Final

from nagaya.api.model import Model, doc

ROLLING_UPDATE: Final = "RollingUpdate"
DEFAULT_MIN_HEALTHY_PERIOD_SECONDS: Final = 60 * 60
"""A failure later than this after a remediation is a new one, not a retry."""


class RolloutBefore(Model):
    """What is waited for no longer."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    certificates_expiry_days: Annotated[
        int,
        doc("Machines whose certificates end within this many days are replaced. Never if left out.", minimum=7),
    ] = 0


class RollingUpdate(Model):
    """The numbers of a rolling update."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    max_surge: Annotated[
        int | str | None,
        doc(
            "1 makes a new machine before an old one goes; 0 removes the old one first, which needs 3 or more "
            "replicas. 1 if left out."
        ),
    ] = None


class RolloutStrategy(Model):
    """How machines are replaced."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    type: Annotated[str, doc("RollingUpdate, which replaces them one after the other.", enum=[ROLLING_UPDATE])]
    rolling_update: Annotated[RollingUpdate, doc("The numbers of a rolling update.")] = RollingUpdate()


class Rollout(Model):
    """When and how machines are replaced that nothing is wrong with."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    before: Annotated[RolloutBefore, doc("Replace machines before something happens to them.")] = RolloutBefore()
    after: Annotated[
        datetime | None,
        doc(
            "Once this time has come, machines made before it are replaced, even if nothing changed. Example: "
            "2027-03-09T09:00:00Z."
        ),
    ] = None
    strategy: Annotated[
        RolloutStrategy | None, doc("How machines are replaced. One after the other, new before old, if left out.")
    ] = None


class Remediation(Model):
    """How unhealthy machines are replaced."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    max_retry: Annotated[
        int | None,
        doc(
            "How often a replacement that fails too is replaced. After that the control plane waits for a person. "
            "Without end if left out."
        ),
    ] = None
    retry_period_seconds: Annotated[
        int | None,
        doc("How long to wait before a replacement that fails is replaced. Not at all if left out.", minimum=0),
    ] = None
    min_healthy_period_seconds: Annotated[
        int | None,
        doc(
            "A machine that fails later than this after the last remediation counts as a new problem, so that "
            "retries begin at 0 again. 3600 s if left out.",
            minimum=0,
        ),
    ] = None


class MachineNaming(Model):
    """How machines are named."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    template: Annotated[
        str,
        doc(
            "Pattern for the names of machines and of their objects. It must contain {{ .random }}, five random "
            "letters and digits, and may use {{ .cluster.name }} and {{ .kubeadmControlPlane.name }}. Names over 63 "
            "characters are cut to 58 and get a random end. {{ .kubeadmControlPlane.name }}-{{ .random }} if left out.",
            minLength=1,
            maxLength=256,
        ),
    ] = ""
