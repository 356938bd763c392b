from collections.abc import Sequence

from agentkit.evaluation.sessions import Recalled, evaluate_sessions, judge
from agentkit.evaluation.suites import Question, SessionsSuite

EPISODES = {"task 1": "e1", "task 2": "e2"}


def memory(name: str, content: str, *, episode_id: str | None = "e1") -> Recalled:
    return Recalled(memory_id=name, episode_id=episode_id, content=content)


def suite(*questions: Question) -> SessionsSuite:
    return SessionsSuite.model_validate(
        {
            "kind": "sessions",
            "name": "demo",
            "title": "A demo",
            "user": "demo",
            "sessions": ({"file": "one.jsonl"},),
            "questions": questions,
            "metrics": ("any-hit@1", "any-hit@3", "MRR"),
            "headline": "any-hit@3",
        }
    )


class Notebook:
    """Gives the same memories for every question of one user, and none to others."""

    def __init__(self, *memories: Recalled, user_id: str = "demo") -> None:
        self.memories = memories
        self.user_id = user_id
        self.limits: list[int] = []

    async def __call__(self, text: str, *, user_id: str, limit: int) -> Sequence[Recalled]:
        self.limits.append(limit)
        return self.memories[:limit] if user_id == self.user_id else ()


def test_a_memory_is_right_when_it_holds_every_word_whatever_the_case() -> None:
    question = Question(id="q", text="?", words=("median", "N/A"))
    recalled = [memory("m1", "use the Median"), memory("m2", "MEDIAN after dropping n/a")]
    assert judge(question, recalled=recalled, episodes=EPISODES).rank == 2


def test_one_of_several_words_is_enough_where_the_question_says_so() -> None:
    question = Question(id="q", text="?", any_words=("中位数", "median"))
    assert judge(question, recalled=[memory("m", "用中位数填充")], episodes=EPISODES).rank == 1
    assert judge(question, recalled=[memory("m", "用平均数填充")], episodes=EPISODES).rank is None


def test_the_memory_must_come_out_of_the_episode_that_taught_it() -> None:
    question = Question(id="q", text="?", episode="task 2")
    recalled = [memory("m1", "x"), memory("m2", "x", episode_id="e2")]
    assert judge(question, recalled=recalled, episodes=EPISODES).rank == 2
    assert judge(question, recalled=recalled, episodes={}).rank is None
    unbound = [memory("m3", "x", episode_id=None)]
    assert judge(question, recalled=unbound, episodes={}).rank is None


def test_a_question_that_wants_nothing_is_right_only_when_nothing_comes_back() -> None:
    question = Question(id="q", text="?", user="somebody else", nothing=True)
    assert judge(question, recalled=[], episodes={}).right
    assert not judge(question, recalled=[memory("m", "x")], episodes={}).right


async def test_a_session_suite_is_scored_by_the_first_right_memory() -> None:
    questions = (
        Question(id="q1", text="?", words=("alpha",)),
        Question(id="q2", text="?", words=("beta",)),
        Question(id="q3", text="?", words=("missing",)),
        Question(id="q4", text="?", user="stranger", nothing=True),
    )
    notebook = Notebook(memory("m1", "alpha"), memory("m2", "beta"))
    outcome = await evaluate_sessions(
        suite(*questions), recallers={"agentkit": notebook}, episodes=EPISODES
    )
    found = outcome.report.to_json()
    assert outcome.report.arm("agentkit").metrics["any-hit@1"].mean == 1 / 3
    assert outcome.report.arm("agentkit").metrics["any-hit@3"].mean == 2 / 3
    assert outcome.report.arm("agentkit").metrics["MRR"].mean == 0.5
    assert found["undefined"] == {"queries": 1, "abstained": {"agentkit": 1}}
    assert [answer.rank for answer in outcome.answers["agentkit"]] == [1, 2, None, None]
    assert [answer.right for answer in outcome.answers["agentkit"]] == [True, True, False, True]


async def test_two_memories_are_asked_the_same_questions() -> None:
    question = Question(id="q1", text="?", words=("alpha",))
    outcome = await evaluate_sessions(
        suite(question),
        recallers={"before": Notebook(), "after": Notebook(memory("m1", "alpha"))},
        episodes={},
    )
    rows = {row.arm: row.metrics["any-hit@3"].mean for row in outcome.report.arms}
    assert rows == {"before": 0.0, "after": 1.0}
