"""The pairs that ship say the same in other words, and their reader refuses what it cannot read."""

from collections import Counter
from pathlib import Path

import pytest

from agentkit.errors import InputError
from agentkit.evaluation.corpora.corpus import Group, take
from agentkit.evaluation.corpora.pairs import expand, read_pairs
from agentkit.text import FUNCTION_WORDS, stem, terms

DIRECTIONS = ("en-en", "zh-zh", "zh-en", "en-zh")
ISSUE_QUERY = "这份数据有缺失，你看着办"
ISSUE_MEMORY = "fill the nulls in this CSV with the median"
# Of the telling words (Chinese: pairs of characters) of a query, at most this share in its answer.
MOST_OVERLAP = 0.25
PAIRS = "id\tdirection\tkind\tmemory\tquery\n"
DISTRACTORS = "language\tkind\tmemory\n"


@pytest.fixture(scope="module")
def shipped() -> Group:
    (group,) = read_pairs(Path(__file__).parents[2] / "evals" / "pairs").groups
    return group


def telling(text: str) -> set[str]:
    found = (term for term in terms(text) if term not in FUNCTION_WORDS)
    return {stem(term) for term in found if term.isascii() or len(term) > 1}


def write(folder: Path, *, pairs: str = "", distractors: str = "") -> Path:
    (folder / "pairs.tsv").write_text(PAIRS + pairs, encoding="utf-8")
    (folder / "distractors.tsv").write_text(DISTRACTORS + distractors, encoding="utf-8")
    return folder


def test_at_least_forty_pairs_ship_half_of_them_across_languages(shipped: Group) -> None:
    counts = Counter(query.label for query in shipped.queries)
    assert set(counts) == set(DIRECTIONS)
    assert counts.total() >= 40
    across = counts["zh-en"] + counts["en-zh"]
    assert 2 * across == counts.total()


def test_a_pair_is_in_the_languages_of_its_direction(shipped: Group) -> None:
    texts = {document.doc_id: document.text for document in shipped.documents}
    for query in shipped.queries:
        asked, told = query.label.split("-")
        assert query.text.isascii() == (asked == "en"), query.text
        assert texts[query.query_id].isascii() == (told == "en"), texts[query.query_id]


def test_a_query_has_few_words_of_its_answer(shipped: Group) -> None:
    texts = {document.doc_id: document.text for document in shipped.documents}
    for query in shipped.queries:
        asked = telling(query.text)
        shared = asked & telling(texts[query.query_id])
        assert len(shared) <= MOST_OVERLAP * len(asked), f"{query.query_id} shares {shared}"


def test_every_query_has_one_answer_that_no_other_query_has(shipped: Group) -> None:
    ids = {document.doc_id for document in shipped.documents}
    answers = [answer for query in shipped.queries for answer in query.gold]
    assert len(answers) == len(set(answers)) == len(shipped.queries)
    assert set(answers) <= ids
    assert len({query.text for query in shipped.queries}) == len(shipped.queries)


def test_a_thousand_memories_that_answer_nothing_stand_beside_the_answers(shipped: Group) -> None:
    answers = {answer for query in shipped.queries for answer in query.gold}
    others = [one.text for one in shipped.documents if one.doc_id not in answers]
    assert len(others) == len(set(others)) == 1000
    assert sum(text.isascii() for text in others) == 500
    assert not any(mark in text for text in others for mark in "{|}")


def test_the_pair_of_the_issue_is_among_them(shipped: Group) -> None:
    texts = {document.doc_id: document.text for document in shipped.documents}
    (found,) = [query for query in shipped.queries if query.text == ISSUE_QUERY]
    assert texts[found.query_id] == ISSUE_MEMORY


def test_the_halves_take_turns_within_a_direction(tmp_path: Path) -> None:
    lines = [
        ("a", "en-en"),
        ("b", "zh-en"),
        ("c", "en-en"),
        ("d", "zh-en"),
        ("e", "en-en"),
    ]
    folder = write(
        tmp_path,
        pairs="".join(f"{name}\t{way}\tx\ttold {name}\tasked {name}\n" for name, way in lines),
    )
    corpus = read_pairs(folder)
    (fit,), (report,) = take(corpus, half="fit").groups, take(corpus, half="report").groups
    assert [query.query_id for query in fit.queries] == ["a", "b", "e"]
    assert [query.query_id for query in report.queries] == ["c", "d"]
    assert fit.documents == report.documents


def test_choices_of_a_line_take_turns_together() -> None:
    text = "The {red|blue} lamp means {stop|go}."
    assert expand(text) == ("The red lamp means stop.", "The blue lamp means go.")
    assert expand("No choice.") == ("No choice.",)


def test_a_distractor_stands_there_once_a_wording(tmp_path: Path) -> None:
    folder = write(tmp_path, distractors="en\tx\tone {a|b}\nen\tx\ttwo\n")
    (group,) = read_pairs(folder).groups
    assert {one.doc_id: one.text for one in group.documents} == {
        "en-001/1": "one a",
        "en-001/2": "one b",
        "en-002/1": "two",
    }


@pytest.mark.parametrize(
    ("pairs", "distractors", "said"),
    [
        ("a\ten-en\tx\ttold\n", "", r"pairs\.tsv:2: a line needs 5 fields"),
        ("a\ten-en\tx\t \tasked\n", "", r"pairs\.tsv:2: a line needs 5 fields"),
        ("", "en\tx\tone {a|b} {c}\n", r"distractors\.tsv:2: .* equally many choices"),
        ("a\ten-en\tx\ttold\tasked\n", "en\tx\ttold\n", "memory 'told' stands twice"),
        ("a\ten-en\tx\tm\tq\na\ten-en\tx\tn\tr\n", "", "id 'a' stands twice"),
    ],
)
def test_a_line_that_cannot_be_meant_is_refused_with_its_place(
    tmp_path: Path, pairs: str, distractors: str, said: str
) -> None:
    folder = write(tmp_path, pairs=pairs, distractors=distractors)
    with pytest.raises(InputError, match=said):
        read_pairs(folder)


def test_a_file_with_other_columns_or_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no pairs\.tsv there"):
        read_pairs(tmp_path)
    folder = write(tmp_path)
    (folder / "pairs.tsv").write_text("id\tquery\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"pairs\.tsv:1: the first line is not"):
        read_pairs(folder)
    (folder / "pairs.tsv").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read"):
        read_pairs(folder)
