"""The least of the greatest values, against putting all in order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agentkit.recall.top import least_of_top


@given(
    seed=st.integers(0, 2**32 - 1),
    number=st.integers(1, 5_000),
    limit=st.integers(1, 60),
    distinct=st.sampled_from([1, 2, 30, 1_000_000]),
)
def test_it_is_what_ordering_them_all_gives(
    seed: int, number: int, limit: int, distinct: int
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(-distinct, distinct, number) / distinct
    wanted = min(limit, number)
    assert least_of_top(values, wanted) == np.sort(values)[-wanted]
