from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from nagaya.core.machine.deletion.drain.judgement import Fate, Verdict
from nagaya.core.machine.deletion.drain.pods import PODS
from nagaya.core.machine.deletion.volumes.attached import Attached, attached, claims_of_pods_that_stay
from nagaya.core.machine.deletion.volumes.objects import PERSISTENT_VOLUMES, PersistentVolume

STARTED = datetime(2024, 10, 9, 16, 13, 59, tzinfo=UTC)
ON_NODE = "kubernetes.io/csi/disks^handle"


def volume(name: str = "pv", claim: str = "pvc", **spec: Any) -> PersistentVolume:
    content: dict[str, Any] = {"csi": {"driver": "disks", "volumeHandle": "handle"}, **spec}
    if claim:
        content["claimRef"] = {"kind": "PersistentVolumeClaim", "namespace": "apps", "name": claim}
    return PERSISTENT_VOLUMES.convert({"metadata": {"name": name}, "spec": content})


def test_a_volume_is_known_by_what_the_node_says_and_by_attachments() -> None:
    wanted = Attached(claims=("apps/pvc",))
    assert attached({ON_NODE}, (), [volume()], ()) == wanted
    assert attached((), {"pv"}, [volume()], ()) == wanted
    assert attached({ON_NODE}, {"pv"}, [volume()], ()) == wanted


def test_other_volumes_do_not_matter() -> None:
    other = volume("other", csi={"driver": "disks", "volumeHandle": "another"})
    found = attached({ON_NODE}, (), [other, volume()], ())
    assert found == Attached(claims=("apps/pvc",))


def test_a_volume_without_a_claim_is_told_by_its_own_name() -> None:
    assert attached({ON_NODE}, (), [volume(claim="")], ()) == Attached(unclaimed=("pv",))
    odd = volume(claim="", claimRef={"kind": "Other", "name": "x"})
    assert attached((), {"pv"}, [odd], ()) == Attached(unclaimed=("pv",))


def test_what_matches_no_volume_is_waited_for_too() -> None:
    found = attached({ON_NODE, "kubernetes.io/in-tree/x"}, {"gone"}, [volume(csi=None)], ())
    assert found == Attached(unknown=(ON_NODE, "kubernetes.io/in-tree/x"), missing=("gone",))


def test_claims_of_pods_that_stay_are_not_waited_for() -> None:
    def verdict(name: str, fate: Fate) -> Verdict:
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}, {"name": "w"}]
        return Verdict(
            PODS.convert({"metadata": {"namespace": "apps", "name": "p"}, "spec": {"volumes": volumes}}), fate
        )

    ignored = claims_of_pods_that_stay(
        [verdict("pvc", Fate.LEAVE), verdict("evicted", Fate.EVICT), verdict("finished", Fate.DONE)]
    )
    assert ignored == {"apps/pvc"}
    assert not attached({ON_NODE}, {"pv"}, [volume()], ignored)


def test_the_message_names_five_of_each() -> None:
    found = Attached(
        claims=tuple(f"apps/{number}" for number in range(7)),
        unclaimed=("pv",),
        unknown=("kubernetes.io/in-tree/x",),
        missing=("gone",),
    )
    assert found.message(STARTED).splitlines() == [
        "Waiting for Node volumes to be detached (started at 2024-10-09T16:13:59Z)",
        "* PersistentVolumeClaims: apps/0, apps/1, apps/2, apps/3, apps/4, ... (2 more)",
        "* PersistentVolumes without a .spec.claimRef to a PersistentVolumeClaim: pv",
        "* Node with .status.volumesAttached entries not matching a PersistentVolume: kubernetes.io/in-tree/x",
        "* VolumeAttachment with .spec.source.persistentVolumeName not matching a PersistentVolume: gone",
    ]
