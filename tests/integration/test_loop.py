"""The main job, end to end: run, episode, reflection, memory, recall, log, verdict."""

from pathlib import Path

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import TextPart, ToolCallPart

from agentkit import Hindsight, Kit
from agentkit.testing import Script, scripted_with

TASK_1 = "Fill the missing values in orders.csv with the mean of the column."
TASK_2 = "Please fill the gaps in invoices.csv, some amounts are missing."


def cleaning_agent(kit: Kit, script: Script) -> Agent[None, str]:
    agent = Agent(
        scripted_with(script),
        instructions="You clean tables.",
        capabilities=[Hindsight(kit, user_id="analyst")],
    )

    @agent.tool_plain(retries=3)
    def fill_missing(path: str, strategy: str) -> str:
        """Fill the missing values of a table."""
        if strategy == "mean":
            raise ModelRetry("cannot take the mean: column 'amount' holds the text 'N/A'")
        return f"filled 3 values in {path} with the {strategy}"

    del fill_missing
    return agent


async def test_the_lesson_of_the_first_task_is_in_the_request_of_the_second(
    tmp_path: Path,
) -> None:
    async with Kit.open(tmp_path) as kit:
        first = Script(
            [
                ToolCallPart("fill_missing", {"path": "orders.csv", "strategy": "mean"}),
                ToolCallPart("fill_missing", {"path": "orders.csv", "strategy": "median"}),
                "Done: the gaps are filled with the median.",
            ]
        )
        await cleaning_agent(kit, first).run(TASK_1)
        await kit.background.join()
        scope = kit.scope("analyst")

        (episode,) = await kit.episodes(scope=scope)
        assert episode.step_count == 6
        lessons = await kit.memories(scope=scope, memory_type="procedural")
        assert lessons
        trajectory = await kit.trajectory(episode.episode_id, scope=scope)
        for lesson in lessons:
            for cited in lesson.evidence:
                step = trajectory.step(cited.step_id)
                assert step is not None
                assert cited.quote in step.text

        second = Script(
            [
                ToolCallPart("fill_missing", {"path": "invoices.csv", "strategy": "median"}),
                [TextPart("Filled invoices.csv with the median, as 'N/A' rules out the mean.")],
            ]
        )
        await cleaning_agent(kit, second).run(TASK_2)
        assert lessons[0].content in second.sent(0).replace("&#39;", "'")

        await kit.background.join()
        served = [log for log in await kit.retrievals(scope=scope) if log.query.text == TASK_2]
        (log,) = served
        assert {candidate.memory_id for candidate in log.result.pool} >= {
            lesson.memory_id for lesson in lessons
        }
        labelled = {verdict.memory_id: verdict.kind for verdict in log.verdicts}
        assert labelled[lessons[0].memory_id] == "helpful"
        again = await kit.memory(lessons[0].memory_id, scope=scope)
        assert again.confidence > lessons[0].confidence
        assert again.used_count == 1


async def test_another_user_recalls_nothing_of_it(tmp_path: Path) -> None:
    async with Kit.open(tmp_path) as kit:
        await kit.remember("The door code is blue falcon.", scope=kit.scope("alice"))
        mine = await kit.recall("what is the door code?", scope=kit.scope("alice"))
        theirs = await kit.recall("what is the door code?", scope=kit.scope("Alice"))
        assert [hit.memory.content for hit in mine.hits] == ["The door code is blue falcon."]
        assert theirs.hits == ()
