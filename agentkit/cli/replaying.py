"""Session suites: recorded sessions go through the whole kit, then questions are asked."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from agentkit.evaluation.importers import read_recordings
from agentkit.evaluation.report import EvalReport
from agentkit.evaluation.sessions import Recalled, evaluate_sessions
from agentkit.evaluation.suites import SessionsSuite
from agentkit.kit import Kit


async def replay(
    suite: SessionsSuite,
    *,
    folder: Path,
    root: Path,
    progress: Callable[[int, int | None], None],
) -> EvalReport:
    """Return the figures of a session suite, run in a store of its own that is thrown away.

    Args:
        suite: The suite.
        folder: Folder that the suite's session files are relative to.
        root: Project whose prompts, policy and settings are in force.
        progress: Told how many episodes of how many were reflected on.

    Raises:
        RecordingError: If a session file cannot be read.
        InputError: If a format is unknown.
    """
    with tempfile.TemporaryDirectory(prefix="agentkit-eval-") as state:
        async with Kit.open(
            root, state_dir=state, database_url=None, index="none", worker="external"
        ) as kit:
            episodes = await _learn(kit, suite, folder=folder, progress=progress)
            outcome = await evaluate_sessions(
                suite,
                recallers={"agentkit": _KitRecaller(kit)},
                episodes=episodes,
                data=str(folder),
                embedder=kit.settings.embedder,
                policy_fingerprint=kit.policy.fingerprint,
            )
    return outcome.report


async def _learn(
    kit: Kit, suite: SessionsSuite, *, folder: Path, progress: Callable[[int, int | None], None]
) -> dict[str, str]:
    """Import and reflect; return the episode id of each recording by its session's name."""
    scope = kit.scope(suite.user)
    total = 0
    for session in suite.sessions:
        report = read_recordings(folder / session.file, format=session.format)
        counts = await kit.import_recordings(report.recordings, scope=scope)
        total += counts.added
    await kit.reflect(scope=scope, progress=lambda done, left: progress(done, done + left))
    episodes = await kit.episodes(scope=scope, limit=max(total, 1))
    return {episode.session_id: episode.episode_id for episode in episodes}


class _KitRecaller:
    """Asks a kit."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def __call__(self, text: str, *, user_id: str, limit: int) -> Sequence[Recalled]:
        query = self._kit.query(text, top_k=limit)
        result = await self._kit.recall(query, scope=self._kit.scope(user_id))
        return [
            Recalled(
                memory_id=hit.memory.memory_id,
                episode_id=hit.memory.episode_id,
                content=hit.memory.content,
            )
            for hit in result.hits
        ]
