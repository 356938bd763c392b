"""Whatever comes in by a door, admission answers, and what it lets in stays let in."""

from hypothesis import given
from hypothesis import strategies as st

from agentkit.policy.reflection import ReflectionPolicy
from agentkit.records import Evidence, Lesson, MemoryType, Source, Step, Trajectory, number_steps
from agentkit.reflection.admission import admit
from agentkit.reflection.quotes import stands_in
from agentkit.reflection.secrets import redact

POLICY = ReflectionPolicy()
TEXT = st.text(max_size=300)
SOURCES: list[Source] = ["user", "model_critic", "rule_critic", "agent", "tool", "web", "import"]
TYPES: list[MemoryType] = ["episodic", "semantic", "procedural"]
LESSONS = st.builds(
    Lesson,
    content=TEXT,
    memory_type=st.sampled_from(TYPES),
    confidence=st.floats(allow_nan=False),
    source=st.sampled_from(SOURCES),
    cues=st.lists(TEXT, max_size=12).map(tuple),
    evidence=st.lists(
        st.builds(Evidence, st.sampled_from(["s0001", "s0002", "s0003"]), st.text(max_size=20)),
        max_size=3,
    ).map(tuple),
    intent=st.text(max_size=30),
)


@given(LESSONS, st.lists(TEXT, max_size=2))
def test_admission_bounds_whatever_it_lets_in_and_settles_at_once(
    lesson: Lesson, texts: list[str]
) -> None:
    steps = number_steps(Step(step_id="", kind="user", text=text) for text in texts)
    trajectory = Trajectory(steps=steps)
    once = admit(lesson, policy=POLICY, trajectory=trajectory)
    kept = once.lesson
    assert 0.05 <= kept.confidence <= 0.95
    assert len(kept.cues) <= POLICY.admission.cue_limit
    assert redact(kept.content).text == kept.content
    assert "\x00" not in kept.content
    kept.content.encode("utf-8")
    if once.action == "add":
        assert kept.content.strip()
        assert len(kept.content) <= POLICY.admission.content_chars
        for item in kept.evidence:
            cited = trajectory.step(item.step_id)
            assert cited is not None
            assert stands_in(item.quote, redact(cited.text).text)
        again = admit(kept, policy=POLICY, trajectory=trajectory)
        assert (again.action, again.lesson.content) == ("add", kept.content)
