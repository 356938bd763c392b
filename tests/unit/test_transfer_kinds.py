"""Every table travels, or is named as one that does not."""

from agentkit.store.tables import Row
from agentkit.store.transfer.comparing import difference
from agentkit.store.transfer.kinds import KINDS, NOT_MOVED, Record, columns_of, table_of


def test_every_table_is_moved_or_named_as_one_that_is_not() -> None:
    moved = [table_of(kind.table).name for kind in KINDS]
    moved += [table_of(part.table).name for kind in KINDS for part in kind.parts]
    assert len(moved) == len(set(moved))
    assert set(moved) | NOT_MOVED == set(Row.metadata.tables)


def test_keys_are_the_primary_keys_and_owners_name_them_in_order() -> None:
    for kind in KINDS:
        assert set(kind.key) == {column.name for column in table_of(kind.table).primary_key}
        for part in kind.parts:
            assert len(part.owner) == len(kind.key)
            columns = set(columns_of(part.table))
            assert {*part.owner, *part.order, *part.left_out, "user_id"} <= columns
        assert not (kind.extra & set(columns_of(kind.table)))
        assert "record" not in columns_of(kind.table)


def test_a_record_is_no_different_from_itself_and_another_users_is() -> None:
    for kind in KINDS:
        values: dict[str, object] = dict.fromkeys(columns_of(kind.table), "x")
        if kind.name == "retrieval":
            continue
        mine = Record(kind=kind, values=values)
        assert difference(mine, mine) == ""
        if kind.has_user:
            theirs = Record(kind=kind, values=values | {"user_id": "y"})
            assert difference(theirs, mine) == "another user has it"
