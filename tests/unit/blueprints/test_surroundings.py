"""What a cluster on Proxmox VE finds around it, and which command makes what it does not."""

from __future__ import annotations

import pytest

from nagaya.blueprints.surroundings import Missing, check_template, tags_there, versions
from support.proxmox_image_lab import digest, image_lab, on_local_disks
from support.virtual_run import run

OLD = frozenset({"kubernetes", "kubernetes-v1.35.10"})
NEW = frozenset({"kubernetes", "kubernetes-v1.36.3", "gpu"})
PLAIN = frozenset({"debian-13"})


def test_versions_are_those_of_templates_the_newest_first() -> None:
    assert versions([OLD, NEW, PLAIN, frozenset({"kubernetes-v1.35.4"})]) == ["v1.36.3", "v1.35.10", "v1.35.4"]
    assert versions([OLD, NEW], ["gpu"]) == ["v1.36.3"]


def test_a_template_counts_as_soon_as_it_is_made_though_the_list_does_not_say_yet_what_it_is() -> None:
    async def main() -> None:
        async with image_lab() as it:
            await it.add(on_local_disks(it.publish(digest("first"))))
            rows = (await it.center.client.inventory.get(0)).machines
            assert {rows[vmid].template for vmid in it.images()} == {None}
            check_template(await tags_there(it.center.client), "v1.36.3", [], "debian-13")

    run(main())


def test_a_template_that_fits_is_enough() -> None:
    check_template([OLD, NEW], "v1.36.3", ["gpu"], "")
    check_template([PLAIN], "v1.36.3", [], "debian-13")


@pytest.mark.parametrize(
    ("version", "tags", "image", "told"),
    [
        ("v1.37.1", [], "", "There are templates for v1.36.3, v1.35.10: choose one with --version."),
        ("v1.37.1", [], "", "nagaya proxmox image add --url URL --kubernetes v1.37.1"),
        ("v1.36.3", ["fast"], "", "has the tags fast, kubernetes-v1.36.3."),
        ("v1.36.3", [], "ubuntu-24.04", "nagaya proxmox image add --distribution ubuntu-24.04"),
    ],
)
def test_without_one_the_command_that_makes_it_is_named(version: str, tags: list[str], image: str, told: str) -> None:
    with pytest.raises(Missing) as caught:
        check_template([OLD, NEW, PLAIN], version, tags, image)
    assert told in str(caught.value)
