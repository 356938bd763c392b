"""The model critic and judge, driven by scripted models through the real pydantic-ai."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agentkit.errors import ReflectionError
from agentkit.policy.reflection import ReflectionPolicy, TranscriptPolicy
from agentkit.records import (
    Episode,
    Memory,
    ReflectionCase,
    Scope,
    Step,
    StepKind,
    Tag,
    Trajectory,
    number_steps,
)
from agentkit.reflection import ModelCritic, ModelJudge, OwnRun, admit, decide, forbidden_texts
from agentkit.templates import Templates

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
POLICY = ReflectionPolicy()
SECRET = "tok_" + "9f8e7d6c5b4a3f2e1d0c"
LESSON = {
    "content": "Deploys go out on Tuesdays",
    "memory_type": "semantic",
    "cues": ["planning a release"],
    "tags": ["domain:operations", "nonsense"],
    "evidence": [{"step_id": "s0001", "quote": "deploy on Tuesdays"}],
}
PLAIN = json.dumps({"summary": "talked", "lessons": [LESSON]})
REPLIES = {
    "plain": PLAIN,
    "fence": f"```json\n{PLAIN}\n```",
    "prose": f"Here is what I found:\n```json\n{PLAIN}\n```\nHope this helps",
    "thinking": f"<think>two {{ braces }}</think>{PLAIN}",
    "bare list": json.dumps([LESSON]),
}


class Script:
    """A model that answers by a script and remembers what it was sent."""

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = list(replies)
        self.sent: list[list[ModelMessage]] = []
        self.instructions: list[str | None] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.sent.append(list(messages))
        self.instructions.append(info.instructions)
        assert info.function_tools == []
        reply = self.replies[min(len(self.sent), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return ModelResponse(parts=[TextPart(reply)])

    @property
    def model(self) -> FunctionModel:
        return FunctionModel(self, model_name="scripted")

    @property
    def prompt(self) -> str:
        return str(self.sent[-1][-1])


@pytest.fixture
def templates(repository: Path) -> Templates:
    return Templates([repository / "prompts"])


def step(kind: StepKind, text: str, tool: str | None = None) -> Step:
    return Step(step_id="", kind=kind, text=text, tool=tool, call_id="c1" if tool else None)


TALK = (
    step("user", f"We deploy on Tuesdays. export API_TOKEN={SECRET}"),
    step("model", "Noted."),
)
WORK = (
    *TALK,
    step("tool_call", '{"service": "queue"}', "restart"),
    step("tool_return", "restarted", "restart"),
)


def memory(content: str, *, days: int = 0) -> Memory:
    return Memory(
        memory_id=f"id of {content}",
        scope=Scope("u1"),
        memory_type="semantic",
        content=content,
        status="active",
        confidence=0.75,
        alpha=3.0,
        beta=1.0,
        trust=0.9,
        source="model_critic",
        created_at=NOW.replace(day=1 + days),
        recorded_at=NOW,
    )


def case(*steps: Step, recalled: tuple[Memory, ...] = (), system: str = "") -> ReflectionCase:
    trajectory = Trajectory(steps=number_steps(steps), instructions=system)
    return ReflectionCase(
        episode=Episode(
            episode_id="e1",
            scope=Scope("u1"),
            session_id="s1",
            goal=trajectory.goal,
            outcome="unknown",
            outcome_source=None,
            end_reason="done",
            trajectory_uri="memory:1",
            trajectory_sha256="0",
            instructions=system,
            model=None,
            step_count=len(steps),
            tokens_in=0,
            tokens_out=0,
            started_at=NOW,
            ended_at=NOW,
        ),
        trajectory=trajectory,
        recalled=recalled,
    )


@pytest.mark.parametrize("kind", REPLIES)
@pytest.mark.parametrize("attempt", [1, 3])
async def test_a_wrapped_answer_gives_its_one_memory(
    templates: Templates, kind: str, attempt: int
) -> None:
    script = Script(REPLIES[kind])
    critic = ModelCritic(script.model, templates=templates, policy=POLICY, attempt=attempt)
    reflection = await critic.review(case(*TALK))
    (lesson,) = reflection.lessons
    assert lesson.content == "Deploys go out on Tuesdays"
    assert (lesson.source, lesson.confidence) == ("model_critic", POLICY.confidence.model_critic)
    assert lesson.tags == (Tag("domain", "operations"),)
    assert reflection.critic == "function:scripted"
    assert reflection.tokens_in > 0
    assert admit(lesson, policy=POLICY, trajectory=case(*TALK).trajectory).action == "add"


async def test_a_cut_answer_is_an_error_to_retry_that_repeats_nothing_of_it(
    templates: Templates,
) -> None:
    script = Script(PLAIN[: PLAIN.index("Tuesdays") + 2])
    critic = ModelCritic(script.model, templates=templates, policy=POLICY)
    with pytest.raises(ReflectionError, match="cut off") as caught:
        await critic.review(case(*TALK))
    assert caught.value.retryable
    assert "Deploys" not in str(caught.value)


async def test_a_model_that_answers_by_tool_call_is_read_too(templates: Templates) -> None:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        (tool,) = info.output_tools
        return ModelResponse(parts=[ToolCallPart(tool.name, json.loads(PLAIN))])

    critic = ModelCritic(FunctionModel(answer), templates=templates, policy=POLICY)
    assert len((await critic.review(case(*TALK))).lessons) == 1


async def test_one_bad_answer_is_mended_within_the_run(templates: Templates) -> None:
    script = Script("I would rather not.", PLAIN)
    critic = ModelCritic(script.model, templates=templates, policy=POLICY)
    assert len((await critic.review(case(*TALK))).lessons) == 1


@pytest.mark.parametrize(
    ("error", "retryable", "wait_s"),
    [
        (ModelHTTPError(429, "scripted", retry_after=7.0), True, 7.0),
        (ModelHTTPError(503, "scripted"), True, None),
        (ModelHTTPError(400, "scripted"), False, None),
        (ModelHTTPError(401, "scripted"), False, None),
    ],
)
async def test_a_failure_of_the_provider_says_whether_and_when_to_retry(
    templates: Templates, error: Exception, retryable: bool, wait_s: float | None
) -> None:
    critic = ModelCritic(Script(error).model, templates=templates, policy=POLICY)
    with pytest.raises(ReflectionError, match="did not answer") as caught:
        await critic.review(case(*TALK))
    assert (caught.value.retryable, caught.value.retry_after_s) == (retryable, wait_s)


async def test_an_empty_answer_is_an_error_and_not_nothing_to_learn(templates: Templates) -> None:
    critic = ModelCritic(Script("").model, templates=templates, policy=POLICY)
    with pytest.raises(ReflectionError):
        await critic.review(case(*TALK))


async def test_an_unknown_model_string_is_one_clear_error(templates: Templates) -> None:
    critic = ModelCritic("nobody:nothing", templates=templates, policy=POLICY)
    with pytest.raises(ReflectionError, match="nobody:nothing cannot be asked") as caught:
        await critic.review(case(*TALK))
    assert not caught.value.retryable


async def test_an_episode_in_which_nothing_happened_is_sent_nowhere(templates: Templates) -> None:
    script = Script(PLAIN)
    critic = ModelCritic(script.model, templates=templates, policy=POLICY)
    reflection = await critic.review(case(step("user", "hi"), step("model", "")))
    assert (reflection.lessons, script.sent) == ((), [])


async def test_the_model_is_shown_no_briefing_and_no_secret_and_only_marked_memories(
    templates: Templates,
) -> None:
    script = Script(PLAIN)
    briefing = step("briefing", "<memories>User prefers metric units</memories>")
    recalled = (memory("User prefers short answers"),)
    await ModelCritic(script.model, templates=templates, policy=POLICY).review(
        case(briefing, *WORK, recalled=recalled)
    )
    assert "metric units" not in script.prompt
    assert SECRET not in script.prompt
    before, _, _ = script.prompt.partition("User prefers short answers")
    assert "<recalled>" in before
    assert 'id=\\"s0004\\"' in script.prompt or 'id="s0004"' in script.prompt


async def test_recalled_memories_get_verdicts_and_invented_ids_get_none(
    templates: Templates,
) -> None:
    known = memory("User prefers metric units")
    answer = {
        "lessons": [],
        "verdicts": [
            {"memory_id": known.memory_id, "kind": "helpful", "reason": "used"},
            {"memory_id": "made up", "kind": "misleading"},
        ],
    }
    critic = ModelCritic(Script(json.dumps(answer)).model, templates=templates, policy=POLICY)
    reflection = await critic.review(case(*WORK, recalled=(known,)))
    assert [(one.memory_id, one.kind, one.source) for one in reflection.verdicts] == [
        (known.memory_id, "helpful", "reflection")
    ]


async def test_recalled_memories_are_not_learnt_again(templates: Templates) -> None:
    known = memory("User prefers metric units")
    for said in ("User prefers metric units", "The user likes metric units."):
        evidence = [{"step_id": "s0002", "quote": "Noted"}]
        answer = json.dumps({"lessons": [{"content": said, "evidence": evidence}]})
        given = case(*TALK, recalled=(known,))
        critic = ModelCritic(Script(answer).model, templates=templates, policy=POLICY)
        (lesson,) = (await critic.review(given)).lessons
        decided = admit(lesson, policy=POLICY, trajectory=given.trajectory, briefed=given.recalled)
        assert decided.action == "refuse"


async def test_a_line_of_the_prompt_or_of_the_system_text_is_never_stored(
    templates: Templates,
) -> None:
    system = "You are the ops helper. Always name the host before you restart a service on it."
    given = case(step("user", "hi there"), step("model", "hello"), system=system)
    copied = [
        "Leave out small talk, what only mattered today, passwords and keys.",
        "Always name the host before you restart a service on it.",
    ]
    evidence = [{"step_id": "s0002", "quote": "hello"}]
    answer = {"lessons": [{"content": line, "evidence": evidence} for line in copied]}
    critic = ModelCritic(Script(json.dumps(answer)).model, templates=templates, policy=POLICY)
    lessons = (await critic.review(given)).lessons
    texts = forbidden_texts(templates, given.trajectory)
    decisions = [
        admit(one, policy=POLICY, trajectory=given.trajectory, forbidden_texts=texts)
        for one in lessons
    ]
    assert [one.action for one in decisions] == ["refuse", "refuse"]
    assert all("prompt" in one.reason for one in decisions)


def marked(part: UserPromptPart) -> bool:
    return not isinstance(part.content, str)


async def test_the_agents_own_model_gets_its_own_history_without_the_briefing(
    templates: Templates,
) -> None:
    briefing = TextContent("User prefers metric units", metadata={"briefing": "r1"})
    history: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart([briefing])], instructions="OPS RULES"),
        ModelRequest(parts=[UserPromptPart("We deploy on Tuesdays")], instructions="OPS RULES"),
        ModelResponse(parts=[ToolCallPart("restart", {"a": 1}, tool_call_id="c1")]),
        ModelRequest(parts=[ToolReturnPart("restart", "ok", tool_call_id="c1")]),
        ModelResponse(parts=[ToolCallPart("restart", {"a": 2}, tool_call_id="c2")]),
    ]
    script = Script(PLAIN)
    critic = ModelCritic(
        script.model,
        templates=templates,
        policy=POLICY,
        own_run=OwnRun(messages=history, is_briefing=marked),
    )
    reflection = await critic.review(case(*WORK, system="OPS RULES"))
    assert len(reflection.lessons) == 1
    assert script.instructions == ["OPS RULES"]
    sent = str(script.sent[0])
    assert "We deploy on Tuesdays" in sent
    assert "metric units" not in sent
    assert "Look back on your own run" in script.prompt


async def test_a_second_attempt_shows_a_transcript_in_place_of_the_history(
    templates: Templates,
) -> None:
    script = Script(PLAIN)
    own = OwnRun(messages=[ModelRequest(parts=[UserPromptPart("HISTORY")])], is_briefing=marked)
    critic = ModelCritic(script.model, templates=templates, policy=POLICY, own_run=own, attempt=2)
    await critic.review(case(*WORK))
    assert "HISTORY" not in str(script.sent)
    assert "another agent" in script.prompt


async def test_a_third_attempt_asks_for_plain_json_by_schema_in_the_prompt(
    templates: Templates,
) -> None:
    script = Script(PLAIN)
    critic = ModelCritic(script.model, templates=templates, policy=POLICY, attempt=3)
    await critic.review(case(*WORK))
    assert "Its schema:" in script.prompt


def long_case() -> ReflectionCase:
    middle = [step("tool_return", f"page {n} says " + "word " * 200, "fetch") for n in range(30)]
    return case(*WORK, *middle, step("user", "thanks, that was all"))


SMALL = POLICY.model_copy(
    update={"transcript": TranscriptPolicy(budget_tokens=1_500, step_tokens=300, summary_chunks=3)}
)


async def test_the_middle_of_a_long_task_is_summarised_first(templates: Templates) -> None:
    script = Script("PART ONE", "PART TWO", "PART THREE", PLAIN)
    critic = ModelCritic(script.model, templates=templates, policy=SMALL)
    reflection = await critic.review(long_case())
    assert len(script.sent) == 4
    assert len(reflection.lessons) == 1
    for part in ("PART ONE", "PART TWO", "PART THREE", "<left_out steps="):
        assert part in script.prompt
    assert "page 15 says" not in script.prompt


async def test_a_chunk_that_is_refused_for_good_leaves_a_note_and_the_rest_goes_on(
    templates: Templates,
) -> None:
    script = Script("PART ONE", ModelHTTPError(400, "scripted"), "PART THREE", PLAIN)
    critic = ModelCritic(script.model, templates=templates, policy=SMALL)
    assert len((await critic.review(long_case())).lessons) == 1
    assert "not summarised" in script.prompt
    assert "PART THREE" in script.prompt


async def test_at_most_the_wanted_number_of_lessons_comes_back(templates: Templates) -> None:
    answer = json.dumps({"lessons": [LESSON] * 9})
    critic = ModelCritic(Script(answer).model, templates=templates, policy=POLICY)
    given = replace(case(*TALK), lesson_limit=2)
    assert len((await critic.review(given)).lessons) == 2


async def test_a_model_judges_and_the_guard_has_the_last_word(templates: Templates) -> None:
    said = {"relationship": "contradicts", "confidence": 0.99, "rationale": "all of it"}
    judge = ModelJudge(Script(json.dumps(said)).model, templates=templates, policy=POLICY)
    old, new = memory("The team ships on Fridays."), memory("The team no longer ships on Fridays.")
    judgement = await judge.judge(new, old)
    assert (judgement.relationship, judgement.rationale) == ("contradicts", "all of it")
    assert decide(new, old, judgement, policy=POLICY) == "old"
    works = memory("Mira works at Acme Labs as a controller.")
    other = memory("Mira administers the Acme Labs git server.", days=1)
    assert decide(other, works, await judge.judge(other, works), policy=POLICY) is None


async def test_a_judge_that_fails_is_an_error_to_retry(templates: Templates) -> None:
    judge = ModelJudge(Script("no idea").model, templates=templates, policy=POLICY)
    with pytest.raises(ReflectionError) as caught:
        await judge.judge(memory("a fact"), memory("another fact"))
    assert caught.value.retryable


async def test_a_model_that_takes_too_long_is_given_up(templates: Templates) -> None:
    async def never(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await asyncio.Event().wait()
        raise AssertionError

    hasty = POLICY.model_copy(update={"timeout_s": 0.05})
    critic = ModelCritic(FunctionModel(never), templates=templates, policy=hasty)
    with pytest.raises(ReflectionError) as caught:
        await critic.review(case(*TALK))
    assert caught.value.retryable
