"""Which recalls the log keeps whole."""

from agentkit.recall import sampled, without_pool
from agentkit.records import RecallResult

IDS = [f"01900000-0000-7000-8000-{number:012d}" for number in range(2_000)]


def test_the_share_decides_how_many_recalls_are_kept_whole_and_the_id_which() -> None:
    half = {one for one in IDS if sampled(one, share=0.5)}
    assert 900 < len(half) < 1_100
    assert {one for one in IDS if sampled(one, share=0.5)} == half
    assert {one for one in IDS if sampled(one, share=0.1)} < half
    assert all(sampled(one, share=1.0) for one in IDS)
    assert not any(sampled(one, share=0.0) for one in IDS)


def test_a_recall_without_its_pool_says_so() -> None:
    result = RecallResult(retrieval_id="r1")
    assert result.whole
    assert not without_pool(result).whole
