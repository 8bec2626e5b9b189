from __future__ import annotations

from nagaya.kube.cache.change import Change
from nagaya.kube.cache.store import Store
from nagaya.kube.key import Key
from support.crates import Crate, crate


class Told:
    """A store, and what it told."""

    def __init__(self, *, whole: bool = True) -> None:
        self.changes: list[Change[Crate]] = []
        self.store: Store[Crate] = Store(self.changes.append, whole=whole)

    def versions(self) -> list[tuple[str, str]]:
        """The versions before and after, of each change; `-` for nothing."""
        taken = [
            tuple("-" if each is None else each.metadata.resource_version for each in change) for change in self.changes
        ]
        self.changes.clear()
        return [(old, new) for old, new in taken]

    def held(self) -> dict[str, int]:
        return {obj.metadata.name: int(obj.metadata.resource_version) for obj in self.store.list()}


def test_objects_are_listed_by_namespace_and_name() -> None:
    store = Told().store
    for namespace, name in (("b", "y"), ("a", "z"), ("b", "x"), ("a", "y")):
        store.saw(crate(name, store.position + 1, namespace=namespace))
    assert [Key.of(obj) for obj in store.list()] == [Key("a", "y"), Key("a", "z"), Key("b", "x"), Key("b", "y")]
    assert [obj.metadata.name for obj in store.list("b")] == ["x", "y"]
    assert store.list("c") == []
    assert len(store) == 4
    store.saw_deleted(crate("y", 9, namespace="b"))
    assert [obj.metadata.name for obj in store.list("b")] == ["x"]
    assert len(store) == 3


def test_an_older_event_never_overwrites_the_answer_to_a_write() -> None:
    told = Told()
    told.store.replace([crate("a", 5)], 5)
    told.store.wrote(crate("a", 8))
    told.store.saw(crate("a", 7))
    told.store.saw(crate("a", 8))
    assert told.versions() == [("-", "5"), ("5", "8")]
    told.store.saw(crate("a", 9))
    assert told.versions() == [("8", "9")]


def test_an_older_list_never_overwrites_or_drops_what_was_written_since() -> None:
    told = Told()
    told.store.replace([crate("a", 5)], 5)
    told.store.wrote(crate("a", 8))
    told.store.wrote(crate("b", 9))
    told.store.begin_list()
    told.store.replace([crate("a", 5)], 7)
    assert told.held() == {"a": 8, "b": 9}


def test_a_late_answer_does_not_bring_back_what_was_deleted_since() -> None:
    told = Told()
    told.store.replace([crate("a", 5)], 5)
    told.store.saw_deleted(crate("a", 9))
    told.store.wrote(crate("a", 8))
    assert told.held() == {}
    assert told.versions() == [("-", "5"), ("5", "-")]


def test_an_event_that_was_told_before_does_not_bring_back_what_was_deleted_since() -> None:
    told = Told()
    told.store.replace([crate("a", 5)], 5)
    told.store.saw_deleted(crate("a", 9))
    told.store.saw(crate("a", 8))
    assert told.held() == {}
    assert told.store.position == 9


def test_an_object_whose_deletion_was_answered_does_not_come_back_by_stale_events() -> None:
    told = Told()
    told.store.replace([crate("a", 5)], 5)
    told.store.deleted(crate("a", 5))
    told.store.saw(crate("a", 6))
    told.store.saw_deleted(crate("a", 7))
    assert told.versions() == [("-", "5"), ("5", "-")]
    told.store.saw(crate("a", 8, uid="another"))
    assert told.versions() == [("-", "8")]


def test_an_object_that_we_made_and_deleted_before_the_watch_saw_it_is_never_seen_again() -> None:
    told = Told()
    told.store.replace([], 5)
    told.store.wrote(crate("a", 6))
    told.store.deleted(crate("a", 6))
    told.store.saw(crate("a", 6))
    told.store.saw_deleted(crate("a", 7))
    assert told.versions() == [("-", "6"), ("6", "-")]


def test_a_list_from_before_a_deletion_does_not_undo_it_but_a_later_one_settles_it() -> None:
    told = Told()
    told.store.replace([crate("a", 5)], 5)
    told.store.begin_list()
    told.store.deleted(crate("a", 5))
    told.store.replace([crate("a", 5)], 6)
    assert told.held() == {}
    told.store.begin_list()
    told.store.replace([], 8)
    assert told.store._gone == set()


def test_a_new_object_of_the_same_name_is_told_as_an_end_and_a_beginning() -> None:
    told = Told()
    told.store.replace([crate("a", 5, uid="one")], 5)
    told.store.replace([crate("a", 8, uid="two")], 9)
    assert told.versions() == [("-", "5"), ("5", "-"), ("-", "8")]


def test_a_list_reports_what_was_deleted_unseen() -> None:
    told = Told()
    told.store.replace([crate("a", 3), crate("b", 4)], 5)
    told.store.replace([crate("b", 4)], 9)
    assert told.versions() == [("-", "3"), ("-", "4"), ("3", "-")]


def test_objects_that_cannot_be_read_are_not_taken_for_deleted() -> None:
    told = Told()
    told.store.replace([crate("a", 3), crate("b", 4)], 5)
    told.store.replace([crate("b", 4)], 9, [Key("n", "a")])
    assert told.held() == {"a": 3, "b": 4}
    assert not told.store.missing([crate("b", 4)], 9, [Key("n", "a")])
    told.store.lose(Key("n", "a"))
    assert told.held() == {"b": 4}


def test_a_server_whose_data_were_restored_is_believed() -> None:
    told = Told()
    told.store.replace([crate("a", 50), crate("b", 60)], 60)
    told.store.replace([crate("a", 20)], 30)
    assert told.held() == {"a": 20}
    assert told.store.position == 30
    told.store.saw(crate("c", 31))
    assert told.held() == {"a": 20, "c": 31}


def test_a_selection_takes_our_writes_only_of_objects_it_has() -> None:
    """Whether a new object belongs to the selection only the server knows."""
    told = Told(whole=False)
    told.store.replace([crate("a", 5)], 5)
    told.store.wrote(crate("a", 6))
    told.store.wrote(crate("b", 7))
    assert told.held() == {"a": 6}
    told.store.saw_deleted(crate("a", 6))
    assert told.held() == {}


def test_indexes_follow_every_change() -> None:
    told = Told()
    store = told.store
    store.saw(crate("b", 1, owners=("o1",), colour="red"))
    store.add_index("colour", lambda obj: [obj.data["colour"]])
    store.saw(crate("a", 2, owners=("o1", "o2"), colour="red"))
    assert [obj.metadata.name for obj in store.by("owner", "o1")] == ["a", "b"]
    assert [obj.metadata.name for obj in store.by("colour", "red")] == ["a", "b"]
    store.saw(crate("a", 3, owners=("o2",), colour="blue"))
    assert [obj.metadata.name for obj in store.by("owner", "o1")] == ["b"]
    assert [obj.metadata.name for obj in store.by("colour", "blue")] == ["a"]
    assert store.by("colour", "blue")[0].metadata.resource_version == "3"
    store.saw_deleted(crate("a", 4))
    assert store.by("owner", "o2") == store.by("colour", "blue") == []


def test_a_bookmark_moves_the_position_only_forward() -> None:
    store = Told().store
    store.saw_position(7)
    store.saw_position(5)
    assert store.position == 7


def test_a_list_tells_whether_something_is_still_missing() -> None:
    store = Told().store
    store.replace([crate("a", 3)], 5)
    assert not store.missing([crate("a", 3)], 6)
    assert store.missing([crate("a", 6)], 6)
    assert store.missing([crate("a", 3), crate("b", 6)], 6)
    assert store.missing([], 6)
