"""What `nagaya gc` prints, and how it ends."""

from __future__ import annotations

import pytest

from nagaya.cli.gc import _ask, _conclude, _document, _print
from nagaya.cli.output.ended import Ended
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.output.screen import Screen
from nagaya.clusters.leftovers import Untouched
from nagaya.insight.leftovers.gathering import Leftovers


def some() -> Leftovers:
    known = Untouched("VM 200", "It is another's.", "qm destroy 200")
    return Leftovers(untouched=[known], incomplete=["pve2 is off."])


def test_what_is_not_touched_and_not_seen_is_told_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    found, screen = some(), Screen(terminal=False)
    _print(found, screen)
    _conclude(found, dry_run=True, failed=[], screen=screen)
    assert capsys.readouterr().out.splitlines() == [
        "Not touched:",
        "  VM 200",
        "    It is another's.",
        "    qm destroy 200",
        "Not looked at:",
        "  pve2 is off.",
        "Found nothing to remove, but not everything could be looked at.",
    ]


def test_programs_get_all_of_it() -> None:
    assert _document(some(), dry_run=True, failed=[]) == {
        "dryRun": True,
        "leftovers": [],
        "notTouched": [{"what": "VM 200", "why": "It is another's.", "waits": False, "remedy": "qm destroy 200"}],
        "notLookedAt": ["pve2 is off."],
        "failed": [],
    }


def test_where_nobody_can_be_asked_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(Ended, match="--yes") as ended:
        _ask(2)
    assert ended.value.code is ExitCode.DECLINED
