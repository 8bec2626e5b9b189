"""How many recorded answers of PVE the emulator gives, by file; with numbers as arguments, what differs in those.

python tools/pve_recorded.py            # a table
python tools/pve_recorded.py 04 07.1    # the differences of file 04, and of all cases that begin with 07.1
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.proxmox_recorded.case import files
from support.proxmox_recorded.player import played


def main(wanted: list[str]) -> None:
    """Print the table or the differences."""
    for number, cases in files().items():
        if wanted and not any(each.startswith(number) for each in wanted):
            continue
        found = played(number)
        good = sum(not each for each in found.values())
        print(f"{number}: {good} of {len(cases)}")
        for case in cases:
            if found[case.id] and any(case.id.startswith(each) for each in wanted):
                print(f"  {case.id} {case.title} ({case.who[:60]})")
                for step in case.steps:
                    print(f"      {step['request'][:150]} {step.get('query', '')} {step.get('form', '')[:150]}")
                for line in found[case.id]:
                    print(f"    - {line}")


if __name__ == "__main__":
    main(sys.argv[1:])
