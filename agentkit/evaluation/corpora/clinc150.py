"""CLINC150: short requests, each with the one of 150 intents that it means."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from agentkit.evaluation.corpora.corpus import Corpus, CorpusQuery, Document, Group
from agentkit.evaluation.corpora.files import CorpusRow, find_files, read_file
from agentkit.records import Tag

WANTED = (
    "CLINC150 JSON (data_full.json): {train: [[text, intent], ...], test: [[text, intent], ...]}"
)
INDEXED_PER_INTENT = 20


class _Splits(CorpusRow):
    train: tuple[tuple[str, str], ...]
    test: tuple[tuple[str, str], ...]
    oos_test: tuple[tuple[str, str], ...] = ()


def read_clinc150(
    data: Path,
    *,
    parts: Sequence[str] = (),
    per_intent: int = INDEXED_PER_INTENT,
    out_of_scope: bool = False,
) -> Corpus:
    """Return CLINC150 as one user's memories tagged by intent, asked with held-out requests.

    Args:
        data: The data file, its folder, or the folder above.
        parts: File names without ending; empty for `data_full`.
        per_intent: Requests remembered of each intent, spread evenly over its training part:
            neighbours there are paraphrases of one prompt.
        out_of_scope: Whether the requests that mean none of the intents are asked as well; no
            document is gold for them.

    Returns:
        One group; every document carries `intent:<name>`; all documents of the true intent are
        gold.

    Raises:
        InputError: If the file is missing or of another format.
    """
    files = find_files(
        data, folder="clinc150", pattern="data_*.json", wanted=WANTED, parts=parts or ["data_full"]
    )
    splits = read_file(files[0], form=_Splits, wanted=WANTED)
    of_intent: dict[str, list[str]] = defaultdict(list)
    for text, intent in splits.train:
        of_intent[intent].append(text)
    remembered = {intent: _spread(texts, count=per_intent) for intent, texts in of_intent.items()}
    documents = tuple(
        Document(doc_id=f"{intent}/{number:02d}", text=text, tags=(Tag("intent", intent),))
        for intent, texts in remembered.items()
        for number, text in enumerate(texts)
    )
    gold = {
        intent: frozenset(f"{intent}/{number:02d}" for number in range(len(texts)))
        for intent, texts in remembered.items()
    }
    queries = tuple(
        CorpusQuery(
            query_id=f"test/{number:05d}",
            text=text,
            gold=gold.get(intent, frozenset()),
            tags=(Tag("intent", intent),),
            label=intent,
        )
        for number, (text, intent) in enumerate(splits.test)
    )
    if out_of_scope:
        queries += tuple(
            CorpusQuery(query_id=f"oos_test/{number:05d}", text=text, gold=frozenset(), label="oos")
            for number, (text, _) in enumerate(splits.oos_test)
        )
    group = Group(user_id="clinc150", documents=documents, queries=queries)
    return Corpus(name="clinc150", groups=(group,))


def _spread(texts: Sequence[str], *, count: int) -> list[str]:
    """Take `count` texts at equal distances, all of them when there are fewer."""
    if count >= len(texts):
        return list(texts)
    return [texts[place * len(texts) // count] for place in range(count)]
