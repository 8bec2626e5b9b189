from __future__ import annotations

from datetime import timedelta

from nagaya.clusters.up_to_date import GRACE, judged, judgements
from support.builders import NOW, date, machine

NEW = machine("new").having(metadata={"creationTimestamp": date(NOW)})


def test_a_new_machine_counts_when_its_grace_is_over() -> None:
    silent = NEW.made()
    assert judged([silent], NOW) == []
    assert judged([silent], NOW + GRACE - timedelta(seconds=1)) == []
    (moment,) = judgements([silent])
    assert judged([silent], moment) == [silent]


def test_a_machine_that_says_something_counts_at_once() -> None:
    telling = NEW.reporting("UpToDate", "False").made()
    assert judged([telling], NOW) == [telling]
    assert judgements([telling]) == []
