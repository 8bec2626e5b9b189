"""The programs in `tools/`, imported for their tests: they are not a package, and no test should start a process."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

_TOOLS = Path(__file__).parents[2] / "tools"


@cache
def load_tool(name: str) -> ModuleType:
    """Import `tools/NAME.py`."""
    spec = importlib.util.spec_from_file_location(name, _TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
