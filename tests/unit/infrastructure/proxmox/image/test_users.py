from __future__ import annotations

from nagaya.infrastructure.proxmox.image.seen import Template
from nagaya.infrastructure.proxmox.image.users import Selection, Users
from support.subtest_cases import subtest_cases

PLAIN = Template(9000, "pve1", "debian-13", frozenset({"debian-13"}))
BAKED = Template(9001, "pve1", "debian-13-k8s", frozenset({"debian-13", "kubernetes-v1.36.3"}))
IN_USE = frozenset({"kubernetes-v1.36.3"})
OTHERS = frozenset({"kubernetes-v1.37.1"})


@subtest_cases(
    ("selection", "template", "versions", "means"),
    [
        (Selection("x", vmid=9000), PLAIN, IN_USE, True),
        (Selection("x", vmid=9001), PLAIN, IN_USE, False),
        (Selection("x", tags=frozenset({"debian-13"})), PLAIN, IN_USE, True),
        (Selection("x", tags=frozenset({"debian-13"})), BAKED, IN_USE, False),
        (Selection("x", tags=frozenset({"debian-13"}), exact=False), BAKED, IN_USE, True),
        (Selection("x", tags=frozenset({"debian-13"}), by_version=True), BAKED, IN_USE, True),
        (Selection("x", tags=frozenset({"debian-13"}), by_version=True), BAKED, OTHERS, False),
        (Selection("x", tags=frozenset({"debian-13"}), by_version=True), BAKED, frozenset(), True),
        (Selection("x", tags=frozenset({"debian-13"}), by_version=True), PLAIN, IN_USE, False),
        (Selection("x", tags=frozenset({"ubuntu-24.04"}), exact=False), BAKED, IN_USE, False),
    ],
    ids=[
        "by-id",
        "by-another-id",
        "exact",
        "exact-with-others",
        "subset",
        "version-in-use",
        "version-not-in-use",
        "no-version-known",
        "version-wanted-and-none-there",
        "other-origin",
    ],
)
def test_what_a_selector_means(selection: Selection, template: Template, versions: frozenset[str], means: bool) -> None:
    assert selection.means(template, versions) is means
    assert Users((selection,), versions).of(template) == (("x",) if means else ())


def test_who_would_find_an_image_beside_others_is_known() -> None:
    by_version = Selection("loose", exact=False, by_version=True)
    named = Selection("strict", tags=frozenset({"ubuntu-24.04"}), by_version=True)
    by_id = Selection("fixed", vmid=9001)
    users = Users((by_version, named, by_id), IN_USE)
    copy = Template(9002, "pve2", "debian-13-k8s", BAKED.tags)
    new = frozenset({"ubuntu-24.04", "kubernetes-v1.36.3"})
    assert users.torn(new, [PLAIN, BAKED, copy]) == {(9001, 9002): ("loose",)}
    assert users.torn(BAKED.tags, [PLAIN, BAKED, copy]) == {}
