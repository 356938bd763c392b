from pathlib import Path

import pytest

from agentkit.errors import ConfigError, InputError
from agentkit.evaluation.importers import read_recordings
from agentkit.evaluation.suites import RetrievalSuite, SessionsSuite, load_suite

RETRIEVAL = """\
kind: retrieval
name: small
title: A small suite
corpus: {reader: xquad, direction: zh-en}
metrics: [recall@5, MRR]
headline: recall@5
"""
SESSIONS = """\
kind: sessions
name: demo
title: A demo
user: demo
sessions: [{file: ../sessions/one.jsonl}]
metrics: [any-hit@3, MRR]
headline: any-hit@3
questions:
  - {id: q1, text: how to fill gaps, words: [median]}
"""


def suite_file(folder: Path, text: str) -> Path:
    file = folder / "suite.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_every_suite_that_ships_can_be_read_and_is_named_like_its_file(repository: Path) -> None:
    files = sorted((repository / "evals" / "suites").glob("*.yaml"))
    assert {load_suite(file).name for file in files} == {file.stem for file in files}
    assert {"locomo", "clinc150", "memdaily", "xquad-zh-en", "demo"} <= {f.stem for f in files}


def test_every_corpus_suite_that_ships_reports_on_questions_nothing_was_fitted_on(
    repository: Path,
) -> None:
    for file in (repository / "evals" / "suites").glob("*.yaml"):
        suite = load_suite(file)
        assert isinstance(suite, SessionsSuite) or suite.half == "report"


def test_a_small_suite_gets_the_defaults(tmp_path: Path) -> None:
    suite = load_suite(suite_file(tmp_path, RETRIEVAL))
    assert isinstance(suite, RetrievalSuite)
    assert (suite.half, suite.ages, suite.infer_tags) == ("report", "equal", False)
    assert [str(metric) for metric in suite.measured()] == ["recall@5", "MRR"]


@pytest.mark.parametrize(
    ("line", "wrong", "said"),
    [
        ("name: small", "name: small\nhalv: fit", "unknown key 'halv'; did you mean 'half'"),
        ("[recall@5, MRR]", "[]", "headline 'recall@5' is none of the metrics"),
        ("[recall@5, MRR]", "[recall@5, map]", "'map' is no metric"),
        ("headline: recall@5", "headline: P@5", "headline 'P@5' is none of the metrics"),
        ("reader: xquad", "reader: squad", "squad"),
        ("direction: zh-en", "direction: chinese", "corpus"),
        ("direction: zh-en", "direction: zh-en, parts: [a]", "unknown key 'parts'"),
        ("kind: retrieval", "kind: replay", "kind"),
    ],
)
def test_a_mistake_in_a_suite_is_named(tmp_path: Path, line: str, wrong: str, said: str) -> None:
    file = suite_file(tmp_path, RETRIEVAL.replace(line, wrong))
    with pytest.raises(ConfigError, match=r"suite\.yaml:") as caught:
        load_suite(file)
    assert said in str(caught.value)


def test_a_missing_suite_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such suite file"):
        load_suite(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("line", "wrong", "said"),
    [
        ("[any-hit@3, MRR]", "[any-hit@3, recall@5]", "cannot be measured on sessions"),
        ("words: [median]", "user: other", "must say what is right"),
        ("words: [median]", "words: [median], nothing: true", "must say what is right"),
        ("sessions: [{file: ../sessions/one.jsonl}]", "sessions: []", "at least one session file"),
        ("  - {id", "  - {id: q1, text: again, words: [x]}\n  - {id", "two questions are called"),
    ],
)
def test_a_mistake_in_a_session_suite_is_named(
    tmp_path: Path, line: str, wrong: str, said: str
) -> None:
    file = suite_file(tmp_path, SESSIONS.replace(line, wrong))
    with pytest.raises(ConfigError) as caught:
        load_suite(file)
    assert said in str(caught.value)


def test_the_demo_suite_names_sessions_that_ship_and_episodes_that_are_in_them(
    repository: Path,
) -> None:
    file = repository / "evals" / "suites" / "demo.yaml"
    suite = load_suite(file)
    assert isinstance(suite, SessionsSuite)
    recorded = {
        recording.source_id
        for session in suite.sessions
        for recording in read_recordings(
            file.parent / session.file, format=session.format
        ).recordings
    }
    named = {question.episode for question in suite.questions if question.episode}
    assert named
    assert named <= recorded


def test_a_corpus_that_ships_is_found_beside_its_suite_and_another_must_be_given(
    tmp_path: Path, repository: Path
) -> None:
    folder = repository / "evals" / "suites"
    ours = load_suite(folder / "pairs.yaml")
    theirs = load_suite(suite_file(tmp_path, RETRIEVAL))
    assert isinstance(ours, RetrievalSuite)
    assert isinstance(theirs, RetrievalSuite)
    assert ours.data(None, folder=folder) == repository / "evals" / "pairs"
    assert ours.data(tmp_path, folder=folder) == tmp_path
    assert theirs.data(tmp_path, folder=folder) == tmp_path
    with pytest.raises(InputError, match="'small' needs its corpus; give --data DIR"):
        theirs.data(None, folder=folder)
