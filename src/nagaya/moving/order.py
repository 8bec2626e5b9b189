"""In which order objects are made: owners before what they own, and what stands alone in the world last. Pure."""

from __future__ import annotations

from nagaya.moving.belongings import Belongings
from nagaya.moving.item import CONFIG_MAPS, SECRETS, Item


def order(moved: Belongings) -> list[list[Item]]:
    """Rounds: all of a round may be made at the same time. Deleted is in the opposite order.

    Secrets and ConfigMaps that nobody owns are first, because others name them. Objects without a namespace that move
    on their own are last: they tell of others, which are to be there when somebody reads them.
    """
    rounds: dict[str, int] = {}
    items = {each.uid: each for each in moved.items}

    def depth(uid: str, below: tuple[str, ...] = ()) -> int:
        if uid not in rounds:
            # A circle of owners has no first one; whoever is met twice counts as having no owner.
            whose = moved.owners[uid] - {*below, uid}
            rounds[uid] = 1 + max((depth(owner, (*below, uid)) for owner in sorted(whose)), default=_first(items[uid]))
        return rounds[uid]

    for uid in items:
        depth(uid)
    last = max(rounds.values(), default=0) + 1
    for uid, each in items.items():
        if each.moves_alone and not each.kind.namespaced:
            rounds[uid] = last
    made: list[list[Item]] = [[] for _ in range(last + 1)]
    for each in sorted(moved.items, key=str):
        made[rounds[each.uid]].append(each)
    return [each for each in made if each]


def _first(item: Item) -> int:
    return -1 if item.kind in (SECRETS, CONFIG_MAPS) else 0
