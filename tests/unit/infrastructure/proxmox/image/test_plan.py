"""What is decided from what is seen, without any data center."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.infrastructure.proxmox.client import upid
from nagaya.infrastructure.proxmox.image.checksum import checksum
from nagaya.infrastructure.proxmox.image.choice import NoChoice
from nagaya.infrastructure.proxmox.image.image import Image
from nagaya.infrastructure.proxmox.image.marker import RETIRED, marker_of
from nagaya.infrastructure.proxmox.image.plan import plan
from nagaya.infrastructure.proxmox.image.seen import Seen, SeenStorage, Template, Underway
from nagaya.infrastructure.proxmox.image.steps import Create, Follow, MakeTemplate, Retire, Tag
from nagaya.infrastructure.proxmox.image.wanted import Wanted, vmid_range

IMAGE = Image("debian-13", "https://images.example/debian.qcow2", checksum("ab" * 64))
OLDER = replace(IMAGE, checksum=checksum("cd" * 64))
WANTED = Wanted(IMAGE, storage="local-lvm")
GIB = 1 << 30


def storage(host: str, name: str, *contents: str, shared: bool = False, **more: Any) -> SeenStorage:
    return SeenStorage(host, name, frozenset(contents), shared, free=100 * GIB, **more)


def seen(hosts: int = 2, **more: Any) -> Seen:
    names = [f"pve{number}" for number in range(1, hosts + 1)]
    storages = [
        each
        for name in names
        for each in (
            storage(name, "local", "iso", "import"),
            storage(name, "local-lvm", "images", type="lvmthin"),
            storage(name, "ceph", "images", shared=True, type="rbd"),
        )
    ]
    return Seen((9, 2), dict.fromkeys(names, True), **{"storages": tuple(storages), **more})


def template(vmid: int, host: str = "pve1", image: Image = IMAGE, **more: Any) -> Template:
    given_as: dict[str, Any] = {
        "tags": frozenset(image.tags),
        "marker": marker_of(image, vmid, "2030"),
        "volumes": (f"local-lvm:base-{vmid}-disk-0",),
        **more,
    }
    return Template(vmid, host, image.name, **given_as)


def running(type: str, id: str, host: str = "pve1") -> Underway:
    text = f"UPID:{host}:00000FAD:000BFA4A:6AFA3B4B:{type}:{id}:root@pam:"
    return Underway(upid(text), type, id)


def test_each_host_with_a_local_storage_gets_one_of_its_own() -> None:
    made = plan(seen(), WANTED)
    assert [each.host for each in made.hosts] == ["pve1", "pve2"]
    assert [each.vmid for each in made.hosts] == [9000, 9001]
    assert [type(step) for step in made.hosts[0].steps] == [Create, MakeTemplate, Tag]
    assert [str(each.storage.place) for each in made.downloads] == ["('pve1', 'local')", "('pve2', 'local')"]
    assert len(made.cleanup) == 2


def test_a_vmid_that_is_taken_is_not_given() -> None:
    made = plan(seen(taken=frozenset({9000, 9002})), WANTED)
    assert [each.vmid for each in made.hosts] == [9001, 9003]


def test_a_range_without_a_free_vmid_is_told() -> None:
    made = plan(seen(taken=frozenset({9000})), replace(WANTED, vmids=vmid_range("9000-9001")))
    assert [each.waits for each in made.hosts] == [False, True]
    assert made.hosts[1].why == "no VMID from 9000 to 9001 is free: give another --vmid-range."


def test_one_template_is_enough_on_a_storage_that_all_see() -> None:
    made = plan(seen(), replace(WANTED, storage="ceph"))
    assert made.shared
    assert [each.host for each in made.hosts] == ["pve1"]


def test_where_all_see_the_disks_a_host_that_is_off_is_not_waited_for() -> None:
    made = plan(replace(seen(), hosts={"pve1": False, "pve2": True}), replace(WANTED, storage="ceph"))
    assert [(each.host, each.waits) for each in made.hosts] == [("pve2", False)]


def test_what_is_finished_is_left_as_it_is() -> None:
    made = plan(seen(1, templates=(template(9000),)), WANTED)
    assert made.nothing
    assert made.hosts[0].why == "pve1 has it: template 9000."


@pytest.mark.parametrize(
    ("copy", "steps"),
    [
        (template(9000, template=False, tags=frozenset()), [MakeTemplate, Tag]),
        (template(9000, tags=frozenset()), [Tag]),
        (template(9000, tags=frozenset({RETIRED})), [Tag]),
    ],
    ids=["machine", "without-tags", "retired"],
)
def test_what_is_unfinished_is_finished_and_not_made_again(copy: Template, steps: list[type]) -> None:
    (part,) = plan(seen(1, templates=(copy,)), WANTED).hosts
    assert [type(step) for step in part.steps] == steps
    assert part.download is None


def test_an_older_build_loses_its_tags_just_before_the_newer_one_gets_them() -> None:
    old = template(9000, image=OLDER)
    (part,) = plan(seen(1, templates=(old,), taken=frozenset({9000})), WANTED).hosts
    assert part.steps[-2:] == (Retire("pve1", old), Tag("pve1", 9001, ("debian-13",)))


def test_of_two_alike_the_first_stays_and_the_other_retires() -> None:
    (part,) = plan(seen(1, templates=(template(9005), template(9001))), WANTED).hosts
    assert [step.vmid for step in part.steps if isinstance(step, Retire)] == [9005]
    assert part.vmid == 9001


def test_a_template_of_somebody_else_is_left_alone_and_told_of() -> None:
    foreign = Template(8000, "pve1", "theirs", frozenset({"debian-13"}))
    made = plan(seen(1, templates=(foreign,)), WANTED)
    assert not any(isinstance(step, Retire) for step in made.hosts[0].steps)
    assert "8000 (theirs) on pve1, which Nagaya did not make" in made.notes[0]


def test_what_runs_already_is_waited_for() -> None:
    (part,) = plan(seen(1, underway=(running("qmcreate", "9000"),), taken=frozenset({9000})), WANTED).hosts
    assert [type(step) for step in part.steps] == [Follow]
    made = plan(seen(1, underway=(running("download", IMAGE.file),)), WANTED)
    assert made.downloads[0].underway is not None
    assert "go on with the download" in str(made.downloads[0])


@pytest.mark.parametrize(
    ("copy", "words"),
    [
        (template(9000, template=False, lock="create"), "qm unlock 9000"),
        (template(9000, template=False, running=True), "stop it first"),
    ],
    ids=["locked", "running"],
)
def test_what_only_a_person_can_put_right_is_told(copy: Template, words: str) -> None:
    (part,) = plan(seen(1, templates=(copy,)), WANTED).hosts
    assert part.waits
    assert words in part.why


def test_a_host_without_room_is_told_and_the_other_done() -> None:
    full = tuple(
        replace(each, free=GIB) if (each.host, each.name) == ("pve2", "local") else each for each in seen().storages
    )
    made = plan(seen(storages=full, size=3 * GIB), WANTED)
    assert [each.waits for each in made.hosts] == [False, True]
    assert "has 1.0 GiB free, and the image needs 3.0 GiB" in made.hosts[1].why


def test_a_file_that_was_left_is_removed_or_kept_as_asked() -> None:
    there = seen(1, templates=(template(9000),), files=frozenset({(("pve1", "local"), IMAGE.file)}))
    assert [step.volume for step in plan(there, WANTED).cleanup] == [f"local:import/{IMAGE.file}"]
    assert plan(there, replace(WANTED, keep_file=True)).nothing


def without_import(**more: Any) -> Seen:
    bare = seen(1)
    storages = tuple(replace(each, contents=each.contents - {"import"}) for each in bare.storages)
    return replace(bare, storages=storages, **more)


def test_without_a_storage_for_images_the_command_is_told_that_makes_one() -> None:
    with pytest.raises(NoChoice, match=r"`pvesm set local --content import,iso` on any host, or give --enable-import"):
        plan(without_import(), WANTED)
    made = plan(without_import(), replace(WANTED, enable_import=True))
    assert str(made.enable) == "let storage local take images (content import,iso)"


@pytest.mark.parametrize(
    ("seen_as", "wanted", "words"),
    [
        (seen(), replace(WANTED, storage=""), r"\(ceph, local-lvm\): choose one with --storage"),
        (seen(), replace(WANTED, storage="nope"), "No host shows a storage nope"),
        (seen(), replace(WANTED, storage="local"), "pvesm set local --content images,import,iso"),
        (seen(), replace(WANTED, hosts=("pve9",)), "There is no host pve9: the hosts are pve1, pve2"),
        (replace(seen(), release=(8, 1)), WANTED, "This is Proxmox VE 8.1"),
        (
            without_import(),
            replace(WANTED, import_storage="local-lvm", enable_import=True),
            "Storage local-lvm cannot take images: .*pvesm add dir",
        ),
        (seen(), replace(WANTED, import_storage="nope"), "No host shows a storage nope: .*--import-storage nope`"),
    ],
    ids=["several", "unknown", "no-images", "no-host", "old", "no-files", "unknown-import"],
)
def test_what_cannot_be_chosen_is_a_sentence_with_the_remedy(seen_as: Seen, wanted: Wanted, words: str) -> None:
    with pytest.raises(NoChoice, match=words):
        plan(seen_as, wanted)


@pytest.mark.parametrize(
    ("wanted", "storages", "words"),
    [
        (replace(WANTED, storage="nope"), seen().storages, "ceph, local, local-lvm"),
        (replace(WANTED, storage="nope"), (), "none"),
        (replace(WANTED, import_storage="nope"), seen().storages, "ceph, local, local-lvm"),
    ],
    ids=["disks", "disks-and-nothing-is-seen", "downloads"],
)
def test_for_a_storage_that_no_host_shows_each_that_there_is_is_named_once(
    wanted: Wanted, storages: tuple[SeenStorage, ...], words: str
) -> None:
    with pytest.raises(NoChoice) as refusal:
        plan(seen(storages=storages), wanted)
    assert str(refusal.value).startswith(f"No host shows a storage nope: there are {words}. Check --")


@pytest.mark.parametrize("text", ["", "a-b", "9100-9000", "1-2", "99", "9000-9999999999"])
def test_a_range_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no range of VMIDs"):
        vmid_range(text)


copies = st.builds(
    template,
    st.integers(9000, 9005),
    st.sampled_from(["pve1", "pve2"]),
    st.sampled_from([IMAGE, OLDER]),
    template=st.booleans(),
    tags=st.sampled_from([frozenset(IMAGE.tags), frozenset({RETIRED}), frozenset()]),
)


@given(st.lists(copies, unique_by=lambda each: each.vmid), st.booleans())
def test_after_the_plan_each_host_has_exactly_one_that_selectors_find(templates: list[Template], off: bool) -> None:
    world = replace(
        seen(templates=tuple(templates), taken=frozenset(each.vmid for each in templates)),
        hosts={"pve1": True, "pve2": not off},
    )
    made = plan(world, WANTED)
    for part in made.hosts:
        if part.waits:
            continue
        tags = {each.vmid: each.tags for each in templates if each.host == part.host and each.template}
        made_template = {each.vmid for each in templates if each.host == part.host and each.template}
        for step in part.steps:
            if isinstance(step, Create):
                assert step.vmid not in world.taken
            elif isinstance(step, MakeTemplate):
                made_template.add(step.vmid)
                tags[step.vmid] = frozenset()
            elif isinstance(step, Retire):
                tags[step.vmid] = frozenset({RETIRED})
            elif isinstance(step, Tag):
                assert step.vmid in made_template
                tags[step.vmid] = frozenset(step.tags)
        found = [vmid for vmid, held in tags.items() if held == frozenset(IMAGE.tags)]
        assert found == [part.vmid]
