"""Which token is used, made and removed, for everything that can be found."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from nagaya.infrastructure.proxmox.client.access import KnownToken
from nagaya.infrastructure.proxmox.connection.establishing.token import Held, comment_for, decide
from nagaya.world import World

USER = "nagaya@pve"
OURS = comment_for("default/proxmox")


def world() -> World:
    return World(random=random.Random(1))


def known(*names: str, comment: str = OURS) -> dict[str, KnownToken]:
    return {name: KnownToken(name, comment) for name in names}


def id_of(name: str) -> str:
    return f"{USER}!{name}"


def test_the_first_token_has_a_name_that_nobody_else_takes() -> None:
    found = decide(USER, Held(), known("nagaya"), world())
    assert found.new
    assert found.name.startswith("nagaya-")
    assert found.leaving == ()


def test_a_token_that_works_is_kept() -> None:
    found = decide(USER, Held(id_of("a"), works=True), known("a", "b"), world())
    assert (found.name, found.new, found.leaving) == ("a", False, ())


def test_a_rotation_makes_another_and_removes_the_first() -> None:
    found = decide(USER, Held(id_of("a"), works=True), known("a"), world(), rotate=True)
    assert found.new
    assert found.name != "a"
    assert found.leaving == ("a",)


def test_a_new_token_is_told_with_the_one_that_it_replaces_and_whether_that_still_works() -> None:
    def sentence(held: Held) -> str:
        found = decide(USER, held, known("a"), world(), rotate=True)
        start = f"make the token {id_of(found.name)}, which has rights of its own only"
        assert found.sentence.startswith(start)
        return found.sentence.removeprefix(start)

    assert sentence(Held()) == ""
    assert sentence(Held(id_of("a"), works=True)) == ", in place of nagaya@pve!a"
    lost = ", in place of nagaya@pve!a, which Proxmox VE does not take any more"
    assert sentence(Held(id_of("a"), works=False)) == lost


def test_a_rotation_that_had_stored_the_new_token_only_removes_the_old_one() -> None:
    held = Held(id_of("b"), works=True, leaving=(id_of("a"),))
    for rotate in (True, False):
        found = decide(USER, held, known("a", "b"), world(), rotate=rotate)
        assert (found.name, found.new, found.leaving) == ("b", False, ("a",))


def test_a_token_that_was_about_to_be_made_is_made_anew_under_its_name() -> None:
    for there in (known("a", "b"), known("a")):
        found = decide(USER, Held(id_of("a"), works=True, making=id_of("b")), there, world())
        assert (found.name, found.new, found.leaving) == ("b", True, ("a",))
        assert found.unusable == ("b" if "b" in there else "")


def test_what_others_made_stays() -> None:
    found = decide(USER, Held(id_of("a"), works=True), known("a", comment="by hand"), world(), rotate=True)
    assert found.leaving == ()
    assert found.notes == ("The token nagaya@pve!a stays: it was not made by Nagaya.",)
    found = decide(USER, Held("root@pam!x", works=True), known("x"), world())
    assert found.new
    assert found.leaving == ()


NAMES = st.sampled_from(["", "a", "b", "c"])


@given(
    token=NAMES,
    works=st.booleans(),
    making=NAMES,
    leaving=st.lists(st.sampled_from(["a", "b", "c"]), unique=True),
    there=st.sets(st.sampled_from(["a", "b", "c"])),
    rotate=st.booleans(),
)
def test_the_token_that_is_used_is_never_removed_and_only_one_that_works_is_kept(
    token: str, works: bool, making: str, leaving: list[str], there: set[str], rotate: bool
) -> None:
    held = Held(id_of(token) if token else "", works, id_of(making) if making else "", tuple(map(id_of, leaving)))
    found = decide(USER, held, known(*there), world(), rotate=rotate)
    assert found.name not in found.leaving
    assert {*found.leaving} <= there
    if found.new:
        assert found.name not in there or found.unusable == found.name
    else:
        assert works
        assert found.name == token
        assert token in there
    # Whatever is left to be removed is removed by this run.
    assert ({*leaving} & there) - {found.name} <= {*found.leaving}
