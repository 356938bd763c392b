import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agentkit.errors import InputError
from agentkit.evaluation.corpora.clinc150 import read_clinc150
from agentkit.evaluation.corpora.corpus import Corpus, CorpusQuery, Document, Group, half_of, take
from agentkit.evaluation.corpora.locomo import read_locomo
from agentkit.evaluation.corpora.memdaily import read_memdaily
from agentkit.evaluation.corpora.xquad import read_xquad, sentence_spans
from agentkit.records import Tag

LOCOMO: list[dict[str, Any]] = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Analyst",
            "speaker_b": "Operator",
            "session_10_date_time": "9:05 am on 2 March, 2024",
            "session_10": [{"speaker": "Operator", "dia_id": "D10:1", "text": "It is back up."}],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [
                {"speaker": "Analyst", "dia_id": "D2:1", "text": "The import failed."},
                {"speaker": "Operator", "dia_id": "D2:2", "text": "I restart it.", "img_url": []},
            ],
        },
        "qa": [
            {"question": "What failed?", "evidence": ["D2:01; D10:1", "D:2:2", "D"], "category": 1},
            {"question": "Who is on leave?", "evidence": [], "category": 3},
            {"question": "Trick?", "evidence": ["D2:1"], "category": 5},
        ],
    }
]
CLINC = {
    "train": [["freeze it", "freeze"], ["lock my card", "freeze"], ["what do i owe", "bill"]],
    "test": [["block the card", "freeze"], ["how much is due", "bill"]],
    "oos_test": [["sing", "oos"]],
}
MEMDAILY = [
    {
        "tid": 3,
        "message_list": [
            {
                "mid": 0,
                "message": "会议在北京。",
                "time": "2024年04月01日 周一 08:30",
                "place": "深圳",
            },
            {"mid": 1, "message": "会议有三千人。", "time": "soon", "place": "深圳"},
        ],
        "question_list": [{"qid": 0, "question": "会议在哪里？", "target_step_id": [0]}],
    }
]


def xquad_file(context: str, question: str, answer: str) -> object:
    start = context.index(answer)
    answers = [{"text": answer, "answer_start": start}]
    qas = [{"id": "q1", "question": question, "answers": answers}]
    return {
        "version": "1.1",
        "data": [{"title": "t", "paragraphs": [{"context": context, "qas": qas}]}],
    }


def write(folder: Path, name: str, content: object) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return file


def test_a_locomo_turn_becomes_a_memory_with_speaker_date_and_place_in_its_session(
    tmp_path: Path,
) -> None:
    write(tmp_path, "locomo/locomo_a.json", LOCOMO)
    (group,) = read_locomo(tmp_path).groups
    assert group.user_id == "conv-1"
    assert [document.doc_id for document in group.documents] == ["D2:1", "D2:2", "D10:1"]
    second = group.documents[1]
    assert second.text == "Operator (1:56 pm on 8 May, 2023): I restart it."
    assert (second.episode_id, second.position) == ("conv-1/session_2", 1)
    assert second.memory_type == "episodic"
    assert second.at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def test_badly_written_locomo_evidence_is_understood_and_unknown_turns_are_dropped(
    tmp_path: Path,
) -> None:
    file = write(tmp_path, "locomo_a.json", LOCOMO)
    failed, leave = read_locomo(file).groups[0].queries
    assert failed.gold == {"D2:1", "D10:1", "D2:2"}
    assert leave.gold == frozenset()
    assert (failed.label, leave.label) == ("multi-hop", "open-domain")


def test_adversarial_questions_come_only_when_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "locomo_a.json", LOCOMO)
    texts = [query.text for query in read_locomo(tmp_path, categories=(5,)).groups[0].queries]
    assert texts == ["Trick?"]


def test_clinc_memories_carry_their_intent_and_questions_come_from_the_test_part(
    tmp_path: Path,
) -> None:
    write(tmp_path, "data_full.json", CLINC)
    (group,) = read_clinc150(tmp_path, per_intent=1).groups
    assert [document.text for document in group.documents] == ["freeze it", "what do i owe"]
    assert group.documents[0].tags == (Tag("intent", "freeze"),)
    assert [(query.text, query.gold) for query in group.queries] == [
        ("block the card", {"freeze/00"}),
        ("how much is due", {"bill/00"}),
    ]


def test_clinc_requests_that_mean_no_intent_are_asked_only_when_wanted(tmp_path: Path) -> None:
    write(tmp_path, "data_full.json", CLINC)
    (without,) = read_clinc150(tmp_path).groups
    (group,) = read_clinc150(tmp_path, out_of_scope=True).groups
    assert group.queries[: len(without.queries)] == without.queries
    (outside,) = group.queries[len(without.queries) :]
    assert outside == CorpusQuery(
        query_id="oos_test/00000", text="sing", gold=frozenset(), label="oos"
    )


def test_clinc_memories_are_spread_over_the_training_part(tmp_path: Path) -> None:
    train = [[f"request {number}", "freeze"] for number in range(10)]
    write(tmp_path, "data_full.json", {"train": train, "test": [["block it", "freeze"]]})
    (few,) = read_clinc150(tmp_path, per_intent=5).groups
    assert [document.text for document in few.documents] == [
        f"request {n}" for n in (0, 2, 4, 6, 8)
    ]
    (all_of_them,) = read_clinc150(tmp_path, per_intent=50).groups
    assert len(all_of_them.documents) == len(all_of_them.queries[0].gold) == 10


def test_memdaily_messages_keep_their_order_and_their_time(tmp_path: Path) -> None:
    write(tmp_path, "memdaily/01_simple_items.json", MEMDAILY)
    (group,) = read_memdaily(tmp_path).groups
    assert group.user_id == "01_simple_items/3"
    assert group.documents[0].at == datetime(2024, 4, 1, 8, 30, tzinfo=UTC)
    assert group.documents[1].at is None
    assert group.queries[0].gold == {"0"}


def test_an_xquad_question_is_answered_by_the_sentence_that_holds_the_answer(
    tmp_path: Path,
) -> None:
    english = "The river is long. It flows at 3.5 m/s in May! Nobody swims there."
    write(tmp_path, "xquad.en.json", xquad_file(english, "How fast is it?", "3.5 m/s"))
    chinese = "这条河很长。五月流速为每秒3.5米！没有人在那里游泳。"
    write(tmp_path, "xquad.zh.json", xquad_file(chinese, "流速是多少？", "每秒3.5米"))
    for direction, asked, found in (
        ("zh-zh", "流速是多少？", "五月流速为每秒3.5米！"),
        ("zh-en", "流速是多少？", "It flows at 3.5 m/s in May!"),
        ("en-zh", "How fast is it?", "五月流速为每秒3.5米！"),
        ("en-mixed", "How fast is it?", "五月流速为每秒3.5米！"),
    ):
        corpus = read_xquad(tmp_path, direction=direction)
        (group,) = corpus.groups
        (query,) = group.queries
        texts = {document.doc_id: document.text for document in group.documents}
        assert corpus.name == f"xquad {direction}"
        assert query.text == asked
        assert [texts[doc_id] for doc_id in query.gold] == [found]
        assert len(texts) == 3


def test_sentences_lose_no_letter() -> None:
    text = '  "Stop." he said.  版本1.10已发布。好的！ end'
    spans = sentence_spans(text)
    assert "".join(text[start:end] for start, end in spans).replace(" ", "") == text.replace(
        " ", ""
    )
    assert [text[start:end] for start, end in spans][2] == "版本1.10已发布。"


@pytest.mark.parametrize(
    ("name", "content", "read", "wanted"),
    [
        ("locomo_a.json", '{"qa": []}', read_locomo, "LoCoMo JSON"),
        ("locomo_a.json", '[{"sample_id": "x", "qa": []}]', read_locomo, "LoCoMo JSON"),
        ("data_full.json", '{"train": [["one"]], "test": []}', read_clinc150, "CLINC150 JSON"),
        ("01_simple.json", '[{"tid": 1}]', read_memdaily, "MemDaily JSON"),
        ("xquad.zh.json", '{"data": [{"paragraphs": 3}]}', read_xquad, "XQuAD JSON"),
    ],
)
def test_a_file_of_another_form_is_named_with_the_form_wanted(
    tmp_path: Path, name: str, content: str, read: Callable[[Path], Corpus], wanted: str
) -> None:
    file = tmp_path / name
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=wanted) as caught:
        read(tmp_path)
    assert str(file) in str(caught.value)


def test_a_locomo_turn_without_text_is_named_by_its_session(tmp_path: Path) -> None:
    broken = json.loads(json.dumps(LOCOMO))
    del broken[0]["conversation"]["session_2"][0]["text"]
    write(tmp_path, "locomo_a.json", broken)
    with pytest.raises(InputError, match=r"conv-1\.session_2"):
        read_locomo(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_a_file_that_is_no_json_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "locomo_a.json"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"locomo_a\.json: no JSON"):
        read_locomo(file)


def test_a_missing_folder_and_a_missing_part_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give the folder"):
        read_locomo(tmp_path / "nowhere")
    write(tmp_path, "locomo_a.json", LOCOMO)
    with pytest.raises(InputError, match="no part 'locomo_b'"):
        read_locomo(tmp_path, parts=("locomo_b",))


def many_questions() -> Corpus:
    queries = tuple(
        CorpusQuery(query_id=f"q{i}", text="?", gold=frozenset({"d"})) for i in range(200)
    )
    documents = (Document(doc_id="d", text="text"),)
    return Corpus(
        name="many",
        groups=(
            Group(user_id="u1", documents=documents, queries=queries[:100]),
            Group(user_id="u2", documents=documents, queries=queries[100:]),
        ),
    )


def ids(corpus: Corpus) -> list[str]:
    return [query.query_id for group in corpus.groups for query in group.queries]


def test_the_halves_share_no_question_and_miss_none() -> None:
    corpus = many_questions()
    fit, report = ids(take(corpus, half="fit")), ids(take(corpus, half="report"))
    assert not set(fit) & set(report)
    assert set(fit) | set(report) == set(ids(corpus))
    assert 70 < len(fit) < 130
    assert half_of("q0") == half_of("q0")


def test_a_limit_is_spread_over_all_users() -> None:
    corpus = take(many_questions(), half="all", limit=10)
    assert [len(group.queries) for group in corpus.groups] == [5, 5]
    assert len(ids(take(many_questions(), half="all", limit=1000))) == 200


def test_a_user_without_a_question_left_is_dropped() -> None:
    corpus = take(many_questions(), half="all", limit=1)
    assert [group.user_id for group in corpus.groups] == ["u1"]
