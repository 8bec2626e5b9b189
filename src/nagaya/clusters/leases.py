"""The Leases that tell who works for a management API: who runs controllers writes them, who explains reads them."""

from __future__ import annotations

from typing import Final

from nagaya.kube.key import Key

ELECTED: Final = "nagaya-controllers"
"""Of controllers that elect a leader, in the namespace that they were told."""
BESIDE_API: Final = Key("kube-system", "nagaya-up")
"""Of controllers in the process of the API itself. It is not renewed: whoever can read it talks to them."""
