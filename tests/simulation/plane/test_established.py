"""Every story that begins with a cluster finds it as it was made, whatever was played before."""

from __future__ import annotations

import pytest

from support.plane.accidents import ProgramDies
from support.plane.act import Act
from support.plane.established import Failed, established
from support.plane.faults import Crash
from support.plane.play import play
from support.plane.story import Story, told
from support.plane.user import Delete
from support.plane.wish import CLUSTERS, Wish

HOSTED = Wish(CLUSTERS[0], 1, 0, hosted=True)


@pytest.mark.long("plays whole histories of the plane")
def test_what_one_story_does_is_gone_in_the_next() -> None:
    crash = Story(5, (Crash(3.0, 7, 2.0), ProgramDies(20.0, 1)), HOSTED)
    first = play(crash)
    gone = play(Story(6, (Delete(1.0, HOSTED.name),), HOSTED))
    assert first.well, first.problems
    assert gone.well, gone.problems
    assert play(crash).trace == first.trace


def test_its_seed_decides_what_happens_by_chance() -> None:
    acts = (Crash(3.0, 7, 2.0), ProgramDies(20.0, 1))
    assert play(Story(5, acts, HOSTED)).trace != play(Story(7, acts, HOSTED)).trace


def test_a_story_that_breaks_says_where() -> None:
    nothing = Act(1.0)  # an act as such does not say what happens, so it raises NotImplementedError
    with pytest.raises(Failed, match=r"await act\.happen") as failed:
        established(HOSTED).play(Story(5, (nothing,), HOSTED))
    assert "NotImplementedError" in str(failed.value)
    assert play(Story(6, (Delete(1.0, HOSTED.name),), HOSTED)).well


def test_most_stories_begin_with_a_cluster_and_some_with_nothing() -> None:
    begin = [told(seed).established for seed in range(1, 201)]
    assert 10 < begin.count(None) < 60
    assert {each.hosted for each in begin if each is not None} == {True, False}


def test_a_story_says_what_it_begins_with() -> None:
    story = Story(5, (Delete(1.0, HOSTED.name),), HOSTED)
    assert "hosted=True" in str(story).splitlines()[0]
    assert story.without(story.acts).established == HOSTED
