"""Starts the balancer from its folder: nothing else of Nagaya can be imported, and needs to be there."""

import os
import runpy
import sys

if __name__ == "__main__":
    folder = os.path.dirname(os.path.abspath(__file__))
    # Last, so that no file beside it can stand for a module of Python's own.
    sys.path[:] = [*(each for each in sys.path if each != folder), os.path.dirname(folder)]
    runpy.run_module(f"{os.path.basename(folder)}.program", run_name="__main__", alter_sys=True)
