"""An owner that is made to be killed: supervises three processes in a folder until it is.

`owner.py SUPERVISED WORKPLACE ROUND`. One process is steady, one dies by itself all the time, and one is described
differently in every round, so that it has to be replaced.
"""

import asyncio
import sys
from pathlib import Path

from nagaya.supervision.backoff import Backoff
from nagaya.supervision.spec import ProcessSpec
from nagaya.supervision.supervisor import Supervisor
from nagaya.world import World

CHILD = Path(__file__).with_name("child.py")


def specs(workplace: Path, round_number: str) -> list[ProcessSpec]:
    """What the owner wants in a round."""
    found = []
    for name, more in (("steady", []), ("dying", ["lifetime=0.05"]), ("changing", [])):
        (workplace / name).mkdir(exist_ok=True)
        command = (sys.executable, str(CHILD), str(workplace / name), *more)
        files = round_number if name == "changing" else ""
        found.append(ProcessSpec(name, command, files_hash=files, grace=5.0))
    return found


async def main(folder: Path, workplace: Path, round_number: str) -> None:
    rule = Backoff(first=0.01, limit=0.02)
    supervisor = Supervisor(folder, World(), backoff=rule, listener=lambda event: print(event, flush=True))
    await supervisor.start()
    await asyncio.gather(*(supervisor.ensure(spec) for spec in specs(workplace, round_number)))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
