"""A model's answer is read however it is wrapped, and a cut one is none (RF-01)."""

import pytest

from agentkit.errors import ReflectionError
from agentkit.reflection.output import (
    JudgementOutput,
    ReflectionOutput,
    parse_judgement,
    parse_reflection,
    schema_text,
)

LESSON = '{"content": "Deploys go out on Tuesdays", "memory_type": "semantic"}'
PLAIN = f'{{"summary": "talked", "lessons": [{LESSON}]}}'
WRAPPED = {
    "plain": PLAIN,
    "fence": f"```json\n{PLAIN}\n```",
    "prose and fence": f"Here is what I found:\n```json\n{PLAIN}\n```\nHope this helps",
    "thinking": f"<think>two {{ braces }}</think>{PLAIN}",
    "thinking without a start": f"two {{ braces }}</think>\n{PLAIN}",
    "bare list": f"[{LESSON}]",
    "prose": f"Two {{ braces }} first. {PLAIN} Done.",
    "other json first": f'{{"note": 1}} {PLAIN}',
    "trailing comma": PLAIN.replace("}]}", "},]}"),
    "raw line break": PLAIN.replace("talked", "talked\nmuch"),
    "more keys than asked": PLAIN.replace("{", '{"mood": "fine", ', 1),
}
CUT = {
    "in the content": PLAIN[: PLAIN.index("Tuesdays") + 2],
    "after a whole lesson": f'{{"lessons": [{LESSON}, {{"content": "Deploys go out on Tu',
    "after the lessons": f'{{"lessons": [{LESSON}], "summary": "ta',
    "before the lessons": '{"summary": "a", "verdicts": [], "lessons": [{"con',
    "bare list": f'[{LESSON}, {{"content": "Dep',
    "in a fence": f"```json\n{PLAIN[:50]}\n```",
    "in open thinking": "<think>I should {",
}


@pytest.mark.parametrize("kind", WRAPPED)
def test_a_wrapped_answer_gives_exactly_its_lesson(kind: str) -> None:
    lessons = parse_reflection(WRAPPED[kind]).lessons
    assert [lesson.content for lesson in lessons] == ["Deploys go out on Tuesdays"]


@pytest.mark.parametrize("kind", CUT)
def test_a_cut_answer_gives_nothing_and_may_be_tried_again(kind: str) -> None:
    with pytest.raises(ReflectionError) as caught:
        parse_reflection(CUT[kind])
    assert caught.value.retryable
    assert "Deploys" not in str(caught.value)


@pytest.mark.parametrize("reply", ["", "   ", "I have nothing to say.", "{}", '{"lessons": 7}'])
def test_an_answer_of_another_form_is_an_error_and_not_nothing_to_learn(reply: str) -> None:
    with pytest.raises(ReflectionError):
        parse_reflection(reply)


def test_nothing_to_learn_is_a_valid_answer() -> None:
    assert parse_reflection('{"lessons": []}').lessons == []


def test_a_strange_type_or_outcome_costs_no_lesson() -> None:
    reply = '{"lessons": [{"content": "a", "memory_type": "fact"}], "outcome": "mixed"}'
    read = parse_reflection(reply)
    assert read.lessons[0].memory_type == "semantic"
    assert read.outcome == "unknown"


def test_a_judgement_is_read_out_of_prose() -> None:
    said = parse_judgement(
        'I think {"relationship": "refines", "confidence": 0.8, "rationale": "more detail"}'
    )
    assert (said.relationship, said.confidence) == ("refines", 0.8)


def test_a_judgement_of_another_word_is_an_error() -> None:
    with pytest.raises(ReflectionError):
        parse_judgement('{"relationship": "hates", "confidence": 1}')


def test_the_schema_is_simple_enough_for_strict_providers() -> None:
    for output in (ReflectionOutput, JudgementOutput):
        text = schema_text(output)
        assert "anyOf" not in text
        assert "oneOf" not in text
        assert "additionalProperties" not in text
