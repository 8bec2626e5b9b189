"""Which machines go first when there are too many."""

from __future__ import annotations

from typing import Annotated, Final

from nagaya.api.model import doc

RANDOM: Final = "Random"
NEWEST: Final = "Newest"
OLDEST: Final = "Oldest"

DeletionOrder = Annotated[
    str,
    doc(
        "Which machines go first when there are too many: the Newest, the Oldest, or any of them with Random. Whatever "
        "it says, those with the annotation cluster.x-k8s.io/delete-machine and those that do not work go before the "
        "others. Random if left out.",
        enum=[RANDOM, NEWEST, OLDEST],
    ),
]
