from __future__ import annotations

import subprocess
import sys

LOOK = """
import gc
from nagaya.cli import heap
heap.settle()
print(gc.isenabled(), gc.get_threshold()[0] == heap.ALLOCATIONS, gc.get_freeze_count() > 0)
"""


def test_what_a_process_begins_with_is_not_looked_at_and_the_rest_still_is() -> None:
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "True"]
