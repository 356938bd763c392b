import json
from dataclasses import replace
from io import StringIO

from rich.console import Console

from agentkit.evaluation.intervals import Interval
from agentkit.evaluation.report import ArmResult, EvalReport, Gain, LabelResult, caption, table


def report() -> EvalReport:
    return EvalReport(
        suite="locomo",
        title="A title",
        data="somewhere",
        half="report",
        arms=(
            ArmResult(arm="lexical", metrics={"recall@10": Interval(0.5, 0.4, 0.6)}, abstained=0),
            ArmResult(
                arm="agentkit", metrics={"recall@10": Interval(0.61234, 0.5, 0.7)}, abstained=1
            ),
        ),
        gains=(
            Gain(
                metric="recall@10",
                arm="agentkit",
                against="lexical",
                difference=Interval(0.11234, 0.02, 0.2),
            ),
        ),
        n_queries=10,
        undefined=2,
        n_memories=30,
        n_groups=3,
        resampled_by="query",
        embedder="local@512",
        policy_fingerprint="abc",
        flags=("k >= store size: at k = 10",),
    )


def shown(found: EvalReport) -> str:
    console = Console(file=StringIO(), width=120)
    console.print(table(found))
    console.print(caption(found), markup=False)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_json_has_each_metric_with_its_interval_beside_it() -> None:
    found = json.loads(json.dumps(report().to_json(), allow_nan=False))
    assert found["suite"] == "locomo"
    assert found["data"] == "somewhere"
    assert found["arms"] == {
        "lexical": {"recall@10": 0.5, "recall@10_ci": [0.4, 0.6]},
        "agentkit": {"recall@10": 0.6123, "recall@10_ci": [0.5, 0.7]},
    }
    assert found["undefined"] == {"queries": 2, "abstained": {"lexical": 0, "agentkit": 1}}
    assert found["gains"]["recall@10"]["against"] == "lexical"


def test_a_mean_over_no_question_is_null_and_shown_as_a_dash() -> None:
    nan = float("nan")
    row = ArmResult(arm="agentkit", metrics={"MRR": Interval(nan, nan, nan)}, abstained=0)
    empty = replace(report(), arms=(row,), gains=(), n_queries=0)
    found = json.loads(json.dumps(empty.to_json(), allow_nan=False))
    assert found["arms"]["agentkit"] == {"MRR": None, "MRR_ci": [None, None]}
    assert " - " in shown(empty)


def test_the_table_shows_figures_gain_unanswerable_questions_and_warnings() -> None:
    text = shown(report())
    assert "0.612" in text
    assert "0.50-0.70" in text
    assert "agentkit +0.112 [+0.020, +0.200] against lexical" in text
    assert "2 questions have no answer; of these, left unanswered: lexical 0, agentkit 1" in text
    assert "k >= store size" in text


def test_questions_of_one_kind_have_figures_of_their_own_where_they_were_asked_for() -> None:
    rows = tuple(
        ArmResult(arm=arm, metrics={"MRR": Interval(mean, 0.1, 0.9)}, abstained=0)
        for arm, mean in (("lexical", 0.25), ("agentkit", 0.75))
    )
    found = replace(report(), labels=(LabelResult(label="zh-en", arms=rows, n_queries=4),))
    assert found.to_json()["labels"] == {
        "zh-en": {
            "n_queries": 4,
            "arms": {
                "lexical": {"MRR": 0.25, "MRR_ci": [0.1, 0.9]},
                "agentkit": {"MRR": 0.75, "MRR_ci": [0.1, 0.9]},
            },
        }
    }
    assert "zh-en (4 questions): MRR 0.750 [0.10, 0.90]" in shown(found)
    assert "labels" not in report().to_json()
