import json
from pathlib import Path

from agentkit.evaluation.importers import read_recordings


def write(tmp_path: Path, *runs: dict[str, object]) -> Path:
    file = tmp_path / "runs.json"
    file.write_text(json.dumps(list(runs)), encoding="utf-8")
    return file


def run(task: int, trial: int, reward: object, *messages: dict[str, object]) -> dict[str, object]:
    traj = list(messages) or [{"role": "user", "content": f"task {task}"}]
    return {"task_id": task, "trial": trial, "reward": reward, "info": {}, "traj": traj}


def test_each_trial_is_a_recording_with_the_outcome_of_its_reward(tmp_path: Path) -> None:
    file = write(tmp_path, run(3, 0, 1.0), run(3, 1, 0.0), run(3, 2, None))
    report = read_recordings(file)
    assert report.format == "tau-bench"
    found = [(item.source_id, item.outcome, item.reward) for item in report.recordings]
    assert found == [
        ("task 3 trial 0", "success", 1.0),
        ("task 3 trial 1", "failure", 0.0),
        ("task 3 trial 2", "unknown", None),
    ]
    assert report.skipped == ()


def test_the_mark_by_which_the_simulated_user_hangs_up_is_no_word_of_the_user(
    tmp_path: Path,
) -> None:
    file = write(
        tmp_path,
        run(
            1,
            0,
            1.0,
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Thank you! ###STOP###"},
            {"role": "user", "content": "###STOP###"},
        ),
    )
    steps = read_recordings(file, strict=True).recordings[0].trajectory.steps
    assert [step.text for step in steps] == ["Hi", "Done.", "Thank you!"]


def test_a_run_without_steps_is_reported(tmp_path: Path) -> None:
    nothing: list[object] = []
    empty: dict[str, object] = {**run(2, 0, 1.0), "traj": nothing}
    report = read_recordings(write(tmp_path, run(1, 0, 1.0), empty))
    assert len(report.recordings) == 1
    assert [part.reason for part in report.skipped] == ["the run has no steps"]
