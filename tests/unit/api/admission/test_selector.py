from __future__ import annotations

import pytest

from nagaya.api.admission.selector import InvalidSelector, read
from nagaya.api.cluster.selector import LabelSelector, LabelSelectorRequirement

ROLE = LabelSelector(match_labels={"role": "deckhand"})
ODD = LabelSelector(match_expressions=(LabelSelectorRequirement(key="role", operator="In", values=("cook", "mate")),))


def test_labels_and_expressions_select() -> None:
    assert read(ROLE).matches({"role": "deckhand", "more": "x"})
    assert read(ODD).matches({"role": "mate"})
    assert not read(ODD).matches({"role": "deckhand"})


def test_an_empty_selector_selects_everything() -> None:
    assert read(LabelSelector()).matches({})


def test_labels_besides_count_and_win() -> None:
    assert str(read(ROLE, {"cluster": "shop"})) == "cluster=shop,role=deckhand"
    assert str(read(ROLE, {"role": "cook"})) == "role=cook"
    assert str(read(ODD, {"cluster": "shop"})) == "cluster=shop,role in (cook,mate)"


def test_what_cannot_be_understood_is_refused() -> None:
    with pytest.raises(InvalidSelector):
        read(LabelSelector(match_expressions=(LabelSelectorRequirement(key="role", operator="Like"),)))
