"""A story that ends badly is told as shortly as it can be."""

from __future__ import annotations

from dataclasses import dataclass

from support.plane.accidents import Vanish
from support.plane.faults import Crash
from support.plane.play import Outcome
from support.plane.report import report
from support.plane.shrinking import TRIES, shortened
from support.plane.story import Story
from support.plane.user import Delete

GUILTY = (Vanish(3.0, 1), Delete(7.0, "amber"))
INNOCENT = tuple(Crash(float(number), 0, 1.0) for number in range(9))
STORY = Story(17, tuple(sorted([*GUILTY, *INNOCENT], key=lambda act: act.at)))


@dataclass(slots=True)
class Stage:
    """Ends badly if both of them happen, and otherwise if a certain other thing is left out."""

    played: int = 0

    def play(self, story: Story) -> Outcome:
        self.played += 1
        problems = []
        if all(act in story.acts for act in GUILTY):
            problems = [f"VM {100 + self.played} of amber-abcde is left"]
        elif not story.acts:
            problems = ["nothing happened"]
        return Outcome(story, problems, [f"played {len(story.acts)} acts"], ["asked something"])


def test_only_what_it_takes_is_left() -> None:
    stage = Stage()
    found = shortened(stage.play(STORY), stage.play)
    assert {*found.story.acts} == {*GUILTY}
    assert stage.played <= TRIES + 1


def test_it_is_the_same_each_time() -> None:
    first, second = Stage(), Stage()
    assert shortened(first.play(STORY), first.play) == shortened(second.play(STORY), second.play)
    assert first.played == second.played


def test_it_ends_after_so_many_tries() -> None:
    stage = Stage()
    shortened(stage.play(STORY), stage.play, tries=3)
    assert stage.played == 4


def test_the_report_has_the_seed_the_shortest_history_and_the_command() -> None:
    stage = Stage()
    outcome = stage.play(STORY)
    text = report(outcome, shortened(outcome, stage.play))
    assert "make simulate SEEDS=17" in text
    assert "2 of its 11 acts" in text
    assert all(str(act) in text for act in GUILTY)
    assert "Crash" not in text
