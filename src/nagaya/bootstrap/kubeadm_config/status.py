"""What a KubeadmConfig tells of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from nagaya.api.bootstrap.kubeadm_config import (
    AVAILABLE,
    CERTIFICATES_AVAILABLE,
    DATA_SECRET_AVAILABLE,
    INTERNAL_ERROR,
    KUBEADM_CONFIGS,
    NOT_AVAILABLE,
    NOT_READY,
    READY,
    READY_REASON,
    READY_UNKNOWN,
    KubeadmConfig,
    KubeadmConfigInitialization,
    KubeadmConfigStatus,
)
from nagaya.api.cluster import pause
from nagaya.api.meta import Condition
from nagaya.bootstrap.kubeadm_config.plan import Plan, Step
from nagaya.bootstrap.kubeadm_config.seen import Seen
from nagaya.clusters.conditions import with_conditions
from nagaya.clusters.pause import NOT_PAUSED
from nagaya.kube.conditions import DefaultMerge, Source, condition, reasons, summary

CONDITIONS: Final = (READY, DATA_SECRET_AVAILABLE, CERTIFICATES_AVAILABLE, pause.CONDITION)
FIELDS: Final = ("initialization.dataSecretCreated", "dataSecretName", "observedGeneration")
_SUMMED_UP: Final = (DATA_SECRET_AVAILABLE, CERTIFICATES_AVAILABLE)
_MERGE: Final = DefaultMerge(reason=reasons(NOT_READY, READY_UNKNOWN, READY_REASON))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a plan."""

    secret: str = ""
    """The Secret with the data, once it is made."""
    certificates: Condition | None = None
    waits: str = ""
    """What is still missing."""
    requeue_after: float | None = None


CERTIFICATES_THERE: Final = condition(CERTIFICATES_AVAILABLE, True, AVAILABLE)


def certificates_problem(message: str) -> Condition:
    """The cluster's authorities cannot be used."""
    return condition(CERTIFICATES_AVAILABLE, "Unknown", INTERNAL_ERROR, message)


def status(
    seen: Seen, config: KubeadmConfig, planned: Plan, outcome: Outcome, *, complete: bool
) -> KubeadmConfigStatus:
    """The status after a plan was carried out. `config` is the newest; `complete` if nothing failed."""
    before = config.status
    name = outcome.secret or before.data_secret_name
    made = bool(outcome.secret) or bool(before.initialization.data_secret_created)
    waits = outcome.waits or (planned.sentence if planned.step is Step.WAIT else "")
    told: list[Condition | None] = [NOT_PAUSED]
    if made:
        told += [condition(DATA_SECRET_AVAILABLE, True, AVAILABLE), CERTIFICATES_THERE]
    elif waits:
        told += [condition(DATA_SECRET_AVAILABLE, False, NOT_AVAILABLE, waits), outcome.certificates]
    conditions = with_conditions(before.conditions, told, now=seen.now, generation=config.metadata.generation)
    ready = summary(Source(KUBEADM_CONFIGS.kind, config.metadata.name, conditions), READY, _SUMMED_UP, strategy=_MERGE)
    conditions = with_conditions(conditions, [ready], now=seen.now, generation=config.metadata.generation)
    return msgspec.structs.replace(
        before,
        conditions=conditions,
        initialization=KubeadmConfigInitialization(data_secret_created=made or None),
        data_secret_name=name,
        observed_generation=config.metadata.generation if complete else before.observed_generation,
    )
