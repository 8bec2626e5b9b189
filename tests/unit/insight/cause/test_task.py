"""What failed tasks of Proxmox VE mean."""

from __future__ import annotations

from nagaya.infrastructure.proxmox.client.upid import upid
from nagaya.insight.cause.task import meaning
from support.subtest_cases import subtest_cases

TASK = upid("UPID:pve2:0001A2B3:00C4D5E6:69A42BCC:qmclone:104:nagaya@pve!token:")


@subtest_cases(
    ("line", "what", "remedy"),
    [
        (
            'lvcreate error: Volume group "pve" has insufficient free space (100 extents): 3172 required.',
            "volume group pve on host pve2 is full",
            "Free at least 12 GiB",
        ),
        ("qemu-img: error while writing: No space left on device", "storage of its disks on host pve2 is full", "Free"),
        (
            "TASK ERROR: Permission check failed (/vms/104, VM.Config.Disk)",
            "lacks VM.Config.Disk on /vms/104",
            "nagaya proxmox connect",
        ),
        ("cluster not ready - no quorum?", "no quorum", "pvecm status"),
        ("bridge 'vmbr7' does not exist", "host pve2 has no bridge vmbr7", "Make the bridge on pve2"),
        ("storage 'nfs' is not online", "host pve2 cannot use storage nfs", "Bring storage nfs back"),
        ("kvm: cannot set up guest memory 'pc.ram': Cannot allocate memory", "too little memory", "Stop or move"),
        ("VM is locked (backup)", "VM 104 is locked", "qm unlock 104"),
        ("MAX 16 vcpus allowed per VM on this node", "no machine with more than 16 processors", "numCores"),
        ("interrupted by signal", "it was interrupted", "host pve2"),
    ],
)
def test_known_failures_have_a_remedy(line: str, what: str, remedy: str) -> None:
    found = meaning(TASK, ["starting", line])
    assert found is not None
    assert what in found.what
    assert remedy in found.remedy


def test_what_nobody_has_put_into_words_is_left_as_it_is() -> None:
    assert meaning(TASK, ["something else went wrong"]) is None
