"""The order in which kinds check an update, and how often they tell what is wrong with metadata."""

from support.core_kinds import CoreKinds

UNKNOWN = 'Invalid value: "nobody": name is neither a standard finalizer name nor is it fully qualified'
FINALIZER = f"metadata.finalizers[0]: {UNKNOWN}"


async def test_a_new_object_is_told_once_that_its_finalizer_is_unknown() -> None:
    found = await CoreKinds().refused(
        "storageclasses.storage.k8s.io", {"metadata": {"finalizers": ["nobody"]}, "provisioner": "x"}
    )
    assert found == [FINALIZER]


async def test_each_kind_repeats_the_rules_for_metadata_in_its_own_order() -> None:
    kinds = CoreKinds()
    await kinds.create("storageclasses.storage.k8s.io", {"provisioner": "x"})
    await kinds.create("priorityclasses.scheduling.k8s.io", {"value": 1})
    await kinds.create("runtimeclasses.node.k8s.io", {"handler": "x"})
    patch = {"metadata": {"finalizers": ["nobody"]}}
    twice = await kinds.change_refused("storageclasses.storage.k8s.io", "it", {**patch, "provisioner": "y"})
    assert twice == [FINALIZER, FINALIZER, 'provisioner: Invalid value: "y": field is immutable']
    once = await kinds.change_refused("priorityclasses.scheduling.k8s.io", "it", {**patch, "value": 2})
    assert once == [FINALIZER, "value: Forbidden: may not be changed in an update."]
    # Runtime classes do not care about finalizers.
    changed = await kinds.change("runtimeclasses.node.k8s.io", "it", patch)
    assert changed["metadata"]["finalizers"] == ["nobody"]


async def test_a_missing_value_that_must_not_change_is_shown_as_null() -> None:
    kinds = CoreKinds()
    made = {"storageClassName": "a", "nodeTopology": {"matchLabels": {"a": "b"}}}
    await kinds.create("csistoragecapacities.storage.k8s.io", made)
    found = await kinds.change_refused("csistoragecapacities.storage.k8s.io", "it", {"nodeTopology": None})
    assert found == ["nodeTopology: Invalid value: null: field is immutable"]


async def test_a_status_is_written_apart_from_the_rest() -> None:
    kinds = CoreKinds()
    name = "volumeattachments.storage.k8s.io"
    spec = {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    made = await kinds.create(name, {"spec": spec, "status": {"attached": True}})
    assert made["status"] == {"attached": False}
    both = {"metadata": {"labels": {"a": "b"}}, "spec": {"nodeName": "m"}, "status": {"attached": True}}
    changed = await kinds.change(name, "it", both, "status")
    assert changed["status"] == {"attached": True}
    assert changed["spec"] == spec
    assert "labels" not in changed["metadata"]
