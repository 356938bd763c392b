"""One task, from the prompt to what was learnt."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentkit.chat.asking import Answer, ask
from agentkit.chat.events import Learnt, Tell
from agentkit.chat.learning import what_was_learnt
from agentkit.kit.background import EXIT_BUDGET_S

if TYPE_CHECKING:
    from pydantic_ai import Agent
    from pydantic_ai.run import AgentRunResult

    from agentkit.kit import Kit


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A task that is over.

    Attributes:
        answer: What the agent answered.
        learnt: What came of it, or None where the task could not be recorded.
    """

    answer: Answer
    learnt: Learnt | None


async def run_task(
    kit: "Kit",
    agent: "Agent[object, str]",
    task: str,
    *,
    user_id: str,
    tell: Tell,
    stream: bool,
    limit_s: float = EXIT_BUDGET_S,
) -> Done:
    """Have an agent do one task, and look back on it.

    Args:
        kit: The open project.
        agent: The agent, without a memory of its own.
        task: What is to be done.
        user_id: Whose memory.
        tell: Told what was recalled, the answer, and what was learnt.
        stream: Whether the answer is told in pieces as it comes.
        limit_s: Longest wait in seconds for the look back.

    Raises:
        RunError: If the run failed or the answer is blank. The task is recorded all the same.
        InputError: If the user's name cannot be one.
    """
    from agentkit.capability import Hindsight

    scope = kit.scope(user_id)
    session_id = kit.new_id()
    hindsight = Hindsight(kit, user_id=user_id)

    async def run(prompt: str, **options: Any) -> "AgentRunResult[str]":
        return await agent.run(
            prompt, capabilities=[hindsight], conversation_id=session_id, **options
        )

    answer = await ask(run, task, kit=kit, scope=scope, tell=tell, stream=stream)
    await kit.background.join(lane="record")
    episodes = await kit.episodes(scope=scope, limit=1, session_id=session_id)
    if not episodes:
        return Done(answer=answer, learnt=None)
    learnt = await what_was_learnt(kit, episodes[0], limit_s=limit_s)
    tell(learnt)
    return Done(answer=answer, learnt=learnt)
