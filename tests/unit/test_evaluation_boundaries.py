"""Boundary suites: cases are read strictly, and their figures say what they say."""

import json
import math
from collections import Counter
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from agentkit.errors import InputError
from agentkit.evaluation.boundaries import caption, evaluate_boundaries, score, table
from agentkit.evaluation.boundary_cases import BoundaryCase, read_cases
from agentkit.evaluation.intervals import wilson
from agentkit.evaluation.suites import BoundariesSuite, StepCosts, load_suite
from agentkit.policy import Policy
from agentkit.testing import HashEmbedder

OPEN = [{"user": "Sum the table", "answer": "It is 12.", "tool_calls": 2}]
COSTS = StepCosts(early_step=2.0, late_step=0.5)


def case(number: int, **changed: object) -> dict[str, object]:
    half = changed.pop("half", "fit")
    trigger = changed.get("trigger", "done")
    return {
        "id": f"{trigger}/en/{half}/{number:03d}",
        "trigger": "done",
        "fires": True,
        "kind": "thanks_and_close",
        "turns": OPEN,
        "prompt": "Thanks, that's all.",
        **changed,
    }


def written(folder: Path, *cases: dict[str, object], half: str = "fit") -> Path:
    lines = [json.dumps(one, ensure_ascii=False) + "\n" for one in cases]
    (folder / f"{half}.en.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def suite(*triggers: str, half: str = "fit") -> BoundariesSuite:
    named: Any = {
        "kind": "boundaries",
        "name": "small",
        "title": "Small",
        "folder": ".",
        "half": half,
        "languages": ("en",),
        "triggers": triggers,
    }
    return BoundariesSuite.model_validate(named)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"trigger": "quiet"}, "blank for quiet"),
        ({"prompt": ""}, "blank for quiet"),
        ({"keep": "tabs"}, "`keep` belongs to each remember"),
        ({"turns": []}, "turns: Tuple should have at least 1 item"),
        ({"fires": "yes"}, "fires: Input should be a valid boolean"),
        ({"mood": "good"}, "mood: Extra inputs"),
        ({"id": "topic/en/fit/001"}, "is not one of trigger 'done'"),
        ({"id": "done/zh/fit/001"}, "belongs into another file"),
        ({"id": "done/en/fit/001"}, "stands twice"),
    ],
)
def test_a_damaged_case_is_named_with_file_and_line(
    tmp_path: Path, changed: dict[str, object], said: str
) -> None:
    folder = written(tmp_path, case(1), case(2, **changed))
    with pytest.raises(InputError, match=r"fit\.en\.jsonl:2: ") as caught:
        read_cases(folder, half="fit", languages=["en"])
    assert said in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"report\.en\.jsonl: cannot be read"):
        read_cases(tmp_path, half="report", languages=["en"])


def test_a_wilson_interval_is_that_of_the_formula_and_none_without_cases() -> None:
    found = wilson(8, of=10)
    assert (found.mean, round(found.low, 4), round(found.high, 4)) == (0.8, 0.4902, 0.9433)
    assert wilson(10, of=10).high == pytest.approx(1.0)
    assert wilson(0, of=10).low == pytest.approx(0.0)
    assert round(wilson(10, of=10).low, 4) == 0.7225
    assert math.isnan(wilson(0, of=0).mean)


def test_too_early_loses_the_steps_of_the_task_and_too_late_carries_them() -> None:
    cases = [
        BoundaryCase.model_validate_json(json.dumps(case(number, fires=right)))
        for number, right in enumerate([True, True, False, False], start=1)
    ]
    row = score(cases, [True, False, True, False], judge="rules", costs=COSTS)
    assert (row.precision.mean, row.recall.mean) == (0.5, 0.5)
    # One turn: the user's words, the answer, two calls with their returns.
    assert (row.early_turns, row.early_steps, row.late_steps) == (1, 6, 6)
    assert row.cost == (2.0 * 6 + 0.5 * 6) / 4
    assert row.cost_never == 0.5 * 12 / 4


async def test_each_rule_is_asked_alone_and_wrong_cases_of_the_fit_half_are_listed(
    tmp_path: Path,
) -> None:
    talk = [*OPEN, *[{"user": "I see", "answer": "Yes.", "tool_calls": 0}] * 2]
    folder = written(
        tmp_path,
        case(1),
        case(2, fires=False, kind="thanks_then_more", prompt="Thanks, now also sort it"),
        case(3, kind="odd_ending", prompt="Off I go then"),
        case(4, trigger="quiet", turns=talk, prompt=""),
        case(5, trigger="remember", prompt="Remember that I use tabs", keep="I use tabs"),
        case(6, trigger="topic", prompt="Book a table for two in Hamburg on Friday"),
    )
    report = await evaluate_boundaries(
        suite("done", "quiet", "topic", "remember"), folder, embedder=None, policy=Policy()
    )
    found = {(row.trigger, row.judge): row for row in report.rows}
    assert found["done", "rules"].precision.mean == 1.0
    assert found["done", "rules"].recall.mean == 0.5
    assert found["quiet", "rules"].recall.mean == 1.0
    assert found["remember", "rules"].recall.mean == 1.0
    assert found["remember", "rules"].cost is None
    assert found["topic", "words"].recall.mean == 0.0
    assert [one.id for one in report.wrong] == ["done/en/fit/003", "topic/en/fit/006"]
    console = Console(file=StringIO(), width=160)
    console.print(table(report))
    assert isinstance(console.file, StringIO)
    assert "remember" in console.file.getvalue()
    assert "wrong: done/en/fit/003 (odd_ending): Off I go then" in caption(report)
    document = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert document["wrong"] == ["done/en/fit/003", "topic/en/fit/006"]
    assert document["rows"][0]["recall_ci"] == [0.0945, 0.9055]


async def test_no_case_of_the_report_half_is_ever_shown(tmp_path: Path) -> None:
    folder = written(tmp_path, case(1, half="report", prompt="Off I go then"), half="report")
    report = await evaluate_boundaries(
        suite("done", half="report"), folder, embedder=None, policy=Policy()
    )
    assert report.rows[0].recall.mean == 0.0
    assert report.wrong == ()
    assert "Off I go" not in caption(report) + json.dumps(report.to_json())


async def test_the_topic_is_judged_by_the_cosine_of_prompt_and_task(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        case(1, trigger="topic", fires=False, prompt="Sum the table"),
        case(2, trigger="topic", prompt="Book dinner for two in Hamburg on Friday evening"),
    )
    policy = Policy()
    near = policy.boundaries.topic.model_copy(update={"least_cosine": 0.9, "least_terms": 1})
    changed = replace(policy, boundaries=policy.boundaries.model_copy(update={"topic": near}))
    report = await evaluate_boundaries(
        suite("topic"), folder, embedder=HashEmbedder(), policy=changed
    )
    found = {row.judge: row for row in report.rows}
    assert (found["rules"].precision.mean, found["rules"].recall.mean) == (1.0, 1.0)
    assert found["words"].recall.mean == 0.0


@pytest.mark.parametrize("trigger", ["reopen", "forget"])
async def test_a_trigger_that_no_rule_answers_is_refused(tmp_path: Path, trigger: str) -> None:
    folder = written(tmp_path, case(1, trigger=trigger, fires=False, prompt="Once more"))
    with pytest.raises(InputError, match=f"no rule of agentkit answers '{trigger}' yet"):
        await evaluate_boundaries(suite(trigger), folder, embedder=None, policy=Policy())


async def test_a_suite_without_a_case_of_its_triggers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no case of quiet in the fit half"):
        await evaluate_boundaries(
            suite("quiet"), written(tmp_path, case(1)), embedder=None, policy=Policy()
        )


def test_the_set_that_ships_has_enough_cases_of_both_labels(repository: Path) -> None:
    folder = repository / "evals" / "boundaries"
    counts: Counter[tuple[str, str, str, bool]] = Counter()
    for half in ("fit", "report"):
        for one in read_cases(folder, half=half, languages=["en", "zh"]):
            counts[half, one.language, one.trigger, one.fires] += 1
    for half in ("fit", "report"):
        for language in ("en", "zh"):
            for trigger, least in (("done", 36), ("quiet", 36), ("topic", 36), ("remember", 15)):
                for label in (True, False):
                    assert counts[half, language, trigger, label] >= least, (half, trigger)


def test_the_two_halves_share_no_prompt(repository: Path) -> None:
    folder = repository / "evals" / "boundaries"
    said = {
        half: {
            one.prompt.casefold() for one in read_cases(folder, half=half, languages=["en", "zh"])
        }
        for half in ("fit", "report")
    }
    # Only the number is told: a prompt of the report half must not reach whoever changes rules.
    assert len((said["fit"] & said["report"]) - {""}) == 0


def test_the_suite_that_ships_reports_on_the_half_that_rules_are_not_fitted_on(
    repository: Path,
) -> None:
    shipped = load_suite(repository / "evals" / "suites" / "boundaries.yaml")
    assert isinstance(shipped, BoundariesSuite)
    assert shipped.half == "report"
    assert shipped.data(None, folder=repository / "evals" / "suites").is_dir()


async def test_done_is_judged_by_meaning_beside_the_rules_where_there_is_an_embedder(
    tmp_path: Path,
) -> None:
    folder = written(
        tmp_path,
        case(1),
        case(2, prompt="printed and signed. done and dusted"),
        case(3, fires=False, kind="thanks_then_more", prompt="make it a bit shorter"),
    )
    report = await evaluate_boundaries(
        suite("done"), folder, embedder=HashEmbedder(), policy=Policy()
    )
    found = {row.judge: row for row in report.rows}
    assert found["rules"].recall.mean == 0.5
    assert (found["meaning"].precision.mean, found["meaning"].recall.mean) == (1.0, 1.0)
