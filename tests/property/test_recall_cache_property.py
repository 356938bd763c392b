"""The cache holds the scopes used last and no more bytes than it may, in whatever order."""

from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.recall import IndexCache, ScopeIndex
from agentkit.records import ScopeChanges
from tests.recall_scope import memory, unit


def sized(number: int) -> ScopeChanges:
    entries = tuple(memory(f"m{at}", "x", unit(*range(1, 33))) for at in range(number))
    return ScopeChanges(revision=number + 1, complete=True, entries=entries)


def bytes_of(changes: ScopeChanges) -> int:
    index = ScopeIndex()
    index.apply(changes)
    return index.nbytes


CHANGES = [sized(number) for number in (0, 10, 40, 200)]
SIZES = [bytes_of(changes) for changes in CHANGES]
uses = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, len(CHANGES) - 1)), max_size=30)


@given(uses=uses, budget=st.integers(1, 3 * max(SIZES)))
@settings(deadline=None, max_examples=60)
def test_what_is_held_was_used_last_and_fits(uses: list[tuple[str, int]], budget: int) -> None:
    cache = IndexCache(max_bytes=budget)
    order: list[str] = []
    sizes: dict[str, int] = {}
    for user, size in uses:
        order = [*(one for one in order if one != user), user]
        held = cache.held(user)
        assert cache.get(user) is (held or cache.held(user))
        cache.get(user).apply(CHANGES[size])
        cache.resized(user)
        sizes[user] = SIZES[size]
        assert cache.users == tuple(order[len(order) - len(cache) :])
        assert cache.nbytes == sum(sizes[one] for one in cache.users)
        assert cache.nbytes <= budget or cache.users == (user,)
        order = list(cache.users)
