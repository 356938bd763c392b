import json
from pathlib import Path
from typing import Any

import pytest

from agentkit.evaluation.suites import RetrievalSuite, load_suite
from agentkit.policy.recall import FloorPolicy

SUITES = ("locomo", "clinc150", "memdaily", "xquad-zh-zh", "xquad-zh-en", "xquad-en-zh")
# Issue 2: at or above the best other row of the same run, or at most this far below it.
MOST_BELOW = 0.01


def committed(repository: Path, name: str) -> dict[str, Any]:
    text = (repository / "evals" / "baselines" / f"{name}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def suite_of(repository: Path, name: str) -> RetrievalSuite:
    suite = load_suite(repository / "evals" / "suites" / f"{name}.yaml")
    assert isinstance(suite, RetrievalSuite)
    return suite


@pytest.mark.parametrize("name", SUITES)
def test_the_committed_figures_are_those_of_the_suite(repository: Path, name: str) -> None:
    suite, found = suite_of(repository, name), committed(repository, name)
    assert found["suite"] == name
    assert found["half"] == "report"
    assert list(found["arms"]) == ["lexical", "dense", "fixed", "agentkit"]
    expected = [key for metric in suite.metrics for key in (metric, f"{metric}_ci")]
    assert all(list(row) == expected for row in found["arms"].values())


@pytest.mark.parametrize("name", SUITES)
def test_our_recall_is_not_below_the_best_other_row(repository: Path, name: str) -> None:
    headline, arms = suite_of(repository, name).headline, committed(repository, name)["arms"]
    others = max(row[headline] for arm, row in arms.items() if arm != "agentkit")
    assert arms["agentkit"][headline] >= others - MOST_BELOW


def test_all_figures_come_from_one_policy_and_one_embedder(repository: Path) -> None:
    found = [committed(repository, name) for name in SUITES]
    assert len({(one["policy"], one["embedder"]) for one in found}) == 1


def test_the_table_shows_the_figures_of_the_files(repository: Path) -> None:
    shown = (repository / "evals" / "baselines" / "README.md").read_text(encoding="utf-8")
    for name in SUITES:
        found, metrics = committed(repository, name), suite_of(repository, name).metrics
        assert found["policy"] in shown
        for metric in metrics:
            cells = [f"{row[metric]:.3f}" for row in found["arms"].values()]
            plain = f"| {metric} | {' | '.join(cells)} |"
            assert plain in shown.replace("**", ""), f"{name}: {plain}"


def test_the_best_similarity_tells_requests_that_no_memory_answers(repository: Path) -> None:
    found = committed(repository, "clinc150-oos")
    for name in ("best_similarity", "best_similarity_words_spared"):
        assert found[name]["auroc_ci"][0] >= 0.90
    refused = [point["out_of_scope_refused"] for point in found["by_floor"].values()]
    assert refused == sorted(refused)


def test_the_default_floor_costs_no_suite_anything_that_counts(repository: Path) -> None:
    found = committed(repository, "clinc150-oos")
    assert found["default"] == FloorPolicy().least(found["embedder"])
    assert set(found["cost_of_the_default"]) == set(SUITES)
    for one in found["cost_of_the_default"].values():
        assert one["without"] - one["with"] <= 0.002


@pytest.mark.parametrize(
    ("name", "half", "asked"), [("pairs", "report", 28), ("pairs-all", "all", 56)]
)
def test_the_committed_figures_of_the_pairs_are_by_direction_and_name_no_folder_of_a_machine(
    repository: Path, name: str, half: str, asked: int
) -> None:
    suite, found = suite_of(repository, "pairs"), committed(repository, name)
    assert (found["suite"], found["half"], found["data"]) == ("pairs", half, "evals/pairs")
    assert (found["n_queries"], found["n_memories"]) == (asked, 1056)
    assert list(found["labels"]) == ["en-en", "en-zh", "zh-en", "zh-zh"]
    assert sum(one["n_queries"] for one in found["labels"].values()) == asked
    expected = [key for metric in suite.metrics for key in (metric, f"{metric}_ci")]
    for rows in (found, *found["labels"].values()):
        assert all(list(row) == expected for row in rows["arms"].values())


@pytest.mark.parametrize("name", ["xquad-zh-mixed", "xquad-en-mixed"])
def test_a_scope_in_two_languages_is_found_better_than_by_an_even_mix(
    repository: Path, name: str
) -> None:
    headline, arms = suite_of(repository, name).headline, committed(repository, name)["arms"]
    assert arms["agentkit"][headline] > arms["fixed"][headline] + 0.1
