"""Which time a recall is about: the caller's range, else one that the text speaks of."""

from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from agentkit.kit.approximate import Search
from agentkit.policy.recall import RecallPolicy
from agentkit.recall import Filter, FoundTime, RankQuery, ScopeIndex, count_passing, find_time
from agentkit.records import Float32Array, Query, TimeRange


@dataclass(frozen=True, slots=True)
class Chosen:
    """A query as it is searched with.

    Attributes:
        query: The query, with the range that filters.
        place: Which of `Period.texts` to search with.
        relaxations: What was dropped, in words.
    """

    query: Query
    place: int = 0
    relaxations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Period:
    """The texts to embed before it is known whether a time phrase filters.

    Attributes:
        texts: What to search with: the whole text, or the text without its time phrase and then
            the whole one.
        found: The phrase, or None.
    """

    texts: tuple[str, ...]
    found: FoundTime | None = None

    @classmethod
    def of(cls, query: Query, *, now: datetime, zone: tzinfo) -> "Period":
        """Look for a time phrase where the caller names no time.

        Args:
            query: What is asked.
            now: Current time, aware.
            zone: Time zone of the person.
        """
        if query.within is None and query.infer_time:
            found = find_time(query.text, now=now, zone=zone)
            if found is not None:
                return cls((found.rest, query.text), found)
        return cls((query.text,))

    def searches(self, query: Query, vectors: Float32Array) -> tuple[Search, ...]:
        """Return the ways in which the query may be searched, before one is chosen.

        Args:
            query: What is asked.
            vectors: shape (len(texts), dim), float32: embeddings of `texts`; a row of zeros, of a
                blank text, is no search.
        """
        ways = [query] * len(self.texts)
        if self.found is not None:
            ways[0] = replace(query, within=self.found.within)
        return tuple(
            Search(way, vector) for way, vector in zip(ways, vectors, strict=True) if vector.any()
        )

    def choose(
        self,
        query: Query,
        *,
        index: ScopeIndex,
        agent_id: str | None,
        now: datetime,
        policy: RecallPolicy,
    ) -> Chosen:
        """Let the phrase filter where enough is left, else search with the whole text.

        Args:
            query: What is asked.
            index: The user's memories.
            agent_id: Agent of the scope, or None.
            now: Current time, aware.
            policy: Says how many are enough; one at least.
        """
        if self.found is None:
            return Chosen(query)
        narrowed = replace(query, within=self.found.within)
        wanted = RankQuery.of(narrowed, text="", vector=None, agent_id=agent_id)
        left = count_passing(index, Filter.of(wanted), now_s=now.timestamp())
        if left >= max(1, policy.tags.relax_below):
            return Chosen(narrowed)
        return Chosen(query, 1, (_dropped(self.found.phrase, self.found.within, left=left),))


def _dropped(phrase: str, within: TimeRange, *, left: int) -> str:
    found = "no memory was left" if left == 0 else f"only {left} were left"
    return f"dropped the time {phrase!r} ({within}): with it {found}"
