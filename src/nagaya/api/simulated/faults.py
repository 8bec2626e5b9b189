"""Faults that users order, to see what their clusters do about them. Taken away, they are over."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.model import Model, doc, rule

PROVISION: Final = "Provision"
BOOT: Final = "Boot"
JOIN: Final = "Join"
RUN: Final = "Run"
DELETE: Final = "Delete"

FAIL: Final = "Fail"
HANG: Final = "Hang"
REFUSE: Final = "Refuse"

KUBELET_DEAD: Final = "KubeletDead"
NETWORK_GONE: Final = "NetworkGone"
RUNTIME_DOWN: Final = "RuntimeDown"
MEMORY_PRESSURE: Final = "MemoryPressure"
DISK_PRESSURE: Final = "DiskPressure"
PID_PRESSURE: Final = "PIDPressure"
ETCD_DOWN: Final = "EtcdDown"
ETCD_NO_SPACE: Final = "EtcdNoSpace"
ETCD_CORRUPT: Final = "EtcdCorrupt"
ETCD_SLOW: Final = "EtcdSlow"
NODE_FAULTS: Final = (
    KUBELET_DEAD,
    NETWORK_GONE,
    RUNTIME_DOWN,
    MEMORY_PRESSURE,
    DISK_PRESSURE,
    PID_PRESSURE,
    ETCD_DOWN,
    ETCD_NO_SPACE,
    ETCD_CORRUPT,
    ETCD_SLOW,
)

Percent = Annotated[
    int | None,
    doc(
        "How many of a hundred objects suffer from the fault; all if left out. Which ones is settled when they are "
        "made.",
        minimum=1,
        maximum=100,
    ),
]


class MachineFault(Model):
    """Something that goes wrong with a simulated machine."""

    __schema__: ClassVar[Mapping[str, object]] = {
        "rules": [
            rule(
                "self.stage == 'Run' ? !(self.mode in ['Fail', 'Hang']) : self.mode in ['Fail', 'Hang']",
                "mode is Fail or Hang, with the stage Run what happens to the node, for example KubeletDead",
            )
        ]
    }

    stage: Annotated[
        str,
        doc(
            "When it happens. Provision: the machine is never made. Boot: it is made and does not come up. Join: it "
            "comes up and its Node does not appear. Run: something happens to the node. Delete: it does not go away.",
            enum=[PROVISION, BOOT, JOIN, RUN, DELETE],
        ),
    ]
    mode: Annotated[
        str,
        doc(
            "How it goes wrong. Fail is reported, Hang never comes to an end. With the stage Run: KubeletDead and "
            "NetworkGone silence the node, RuntimeDown makes it NotReady, the pressures are reported as conditions. On "
            "a control plane machine that kubeadm sets up: EtcdDown stops its etcd, EtcdNoSpace and EtcdCorrupt raise "
            "alarms of it, EtcdSlow has it take seconds to answer.",
            enum=[FAIL, HANG, *NODE_FAULTS],
        ),
    ]
    percent: Percent = None


class ClusterFault(Model):
    """Something that goes wrong with a simulated cluster."""

    __schema__: ClassVar[Mapping[str, object]] = {
        "rules": [
            rule(
                "self.stage == 'Run' ? self.mode in ['Hang', 'Refuse'] : self.mode in ['Fail', 'Hang']",
                "mode is Fail or Hang, with the stage Run it is Hang or Refuse",
            )
        ]
    }

    stage: Annotated[
        str,
        doc(
            "When it happens. Provision: the infrastructure is never ready. Run: something happens to the API of the "
            "cluster. Delete: the cluster does not go away.",
            enum=[PROVISION, RUN, DELETE],
        ),
    ]
    mode: Annotated[
        str,
        doc(
            "How it goes wrong. Fail is reported, Hang never comes to an end. With the stage Run: the API takes "
            "requests and never answers (Hang), or accepts no connections (Refuse).",
            enum=[FAIL, HANG, REFUSE],
        ),
    ]
    percent: Percent = None


def suffered(faults: Iterable[MachineFault] | Iterable[ClusterFault], stage: str, uid: str) -> tuple[str, ...]:
    """The modes of the faults that the object of a uid suffers from at a stage, in their order.

    Whether a fault that is not everybody's hits an object depends on its uid alone, so it stays so.
    """
    return tuple(each.mode for each in faults if each.stage == stage and _hit(each, uid))


def _hit(fault: MachineFault | ClusterFault, uid: str) -> bool:
    if fault.percent is None:
        return True
    digest = hashlib.sha256(f"{uid}/{fault.stage}/{fault.mode}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % 100 < fault.percent
