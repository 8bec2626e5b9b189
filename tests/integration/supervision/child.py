"""A process to be supervised that notices when there are two of it.

It takes a lock of its own, apart from the supervisor's: whoever finds it taken writes that down. Then it does what its
arguments say: `child.py FOLDER [lifetime=SECONDS] [ignore=term] [grandchild=plain|hidden] [memory=BYTES]`.
"""

import fcntl
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

folder = Path(sys.argv[1])
options = dict(word.split("=", 1) for word in sys.argv[2:])

alone = open(folder / "alone", "w")  # noqa: SIM115 - held to the end
try:
    fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    (folder / f"two-{os.getpid()}").write_text("there are two of one\n")
with open(folder / "lives", "a") as lives:
    lives.write(f"{os.getpid()}\n")

if options.get("ignore") == "term":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "grandchild" in options:
    # In a session of its own: a signal to the process group does not reach it. A hidden one keeps no file open either.
    grandchild = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(1000)"],
        start_new_session=True,
        close_fds=options["grandchild"] == "hidden",
    )
    (folder / "grandchild").write_text(str(grandchild.pid))
if "memory" in options:
    eaten = b"x" * int(options["memory"])

print(f"here is {os.getpid()}, {os.environ.get('SECRET', 'without a secret')}", flush=True)
(folder / "running").write_text(str(os.getpid()))
if "lifetime" in options:
    time.sleep(random.random() * float(options["lifetime"]))
    print("the last words", flush=True)
    sys.exit(3)
while True:
    time.sleep(1000)
