"""What to type first in another terminal: where this program is, if a shell would not find it, and the kubeconfig.

`make up` starts the program by its path, so that it runs says nothing about the shell of whoever reads on.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

_PROGRAM: Final = "nagaya"


def exports(kubeconfig: Path) -> list[str]:
    """The lines, in their order."""
    lines = [f"export KUBECONFIG={shlex.quote(str(kubeconfig.absolute()))}"]
    folder = Path(sys.executable).parent
    if shutil.which(_PROGRAM) is None and (folder / _PROGRAM).exists():
        lines.insert(0, f'export PATH={shlex.quote(str(folder))}:"$PATH"')
    return lines
