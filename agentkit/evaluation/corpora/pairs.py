"""Paraphrase pairs: a memory told one way, asked for another way, among memories like it."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentkit.errors import InputError
from agentkit.evaluation.corpora.corpus import Corpus, CorpusQuery, Document, Group
from agentkit.evaluation.corpora.files import find_files

PAIR_COLUMNS = ("id", "direction", "kind", "memory", "query")
DISTRACTOR_COLUMNS = ("language", "kind", "memory")
WANTED = (
    f"pairs.tsv ({', '.join(PAIR_COLUMNS)}) and distractors.tsv ({', '.join(DISTRACTOR_COLUMNS)}), "
    "fields separated by tabs, their names in the first line"
)
_SLOT = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of a file.

    Attributes:
        place: File and line, for messages.
        fields: One string a column.
    """

    place: str
    fields: tuple[str, ...]


def read_pairs(data: Path) -> Corpus:
    """Return the pairs as one user's memories, those that answer nothing beside them.

    Args:
        data: The folder with both files, or the folder above.

    Returns:
        One group. Every query has one answer; its label is the direction, language of the query
        then of the memory. Within a direction the first, third ... query are of the half `fit`.

    Raises:
        InputError: If a file is missing or of another format, or two memories are the same.
    """
    pairs = _read(data, name="pairs.tsv", columns=PAIR_COLUMNS)
    distractors = _read(data, name="distractors.tsv", columns=DISTRACTOR_COLUMNS)
    documents = [Document(doc_id=row.fields[0], text=row.fields[3]) for row in pairs]
    documents += [
        Document(doc_id=f"{row.fields[0]}-{number:03d}/{turn}", text=text)
        for number, row in enumerate(distractors, start=1)
        for turn, text in enumerate(expand(row.fields[2], place=row.place), start=1)
    ]
    _refuse_repeats([document.doc_id for document in documents], what="id")
    _refuse_repeats([document.text for document in documents], what="memory")
    group = Group(user_id="pairs", documents=tuple(documents), queries=tuple(_queries(pairs)))
    return Corpus(name="pairs", groups=(group,))


def expand(text: str, *, place: str = "") -> tuple[str, ...]:
    """Return the wordings of a line: `{a|b}` in it stands for `a` in the first, `b` in the second.

    Args:
        text: The line; without such choices it is its own only wording.
        place: File and line, for the message.

    Raises:
        InputError: If the choices of a line are not equally many.
    """
    choices = [match.group(1).split("|") for match in _SLOT.finditer(text)]
    counts = {len(one) for one in choices} or {1}
    if len(counts) > 1:
        raise InputError(f"{place}: each {{a|b}} of a line needs equally many choices: {text!r}")
    wordings: list[str] = []
    for turn in range(counts.pop()):
        words = iter([one[turn] for one in choices])
        wordings.append(_SLOT.sub(lambda _match, words=words: next(words), text))
    return tuple(wordings)


def _queries(rows: Sequence[_Row]) -> Iterator[CorpusQuery]:
    seen: Counter[str] = Counter()
    for row in rows:
        name, direction, _, _, query = row.fields
        yield CorpusQuery(
            query_id=name,
            text=query,
            gold=frozenset({name}),
            label=direction,
            half="report" if seen[direction] % 2 else "fit",
        )
        seen[direction] += 1


def _read(data: Path, *, name: str, columns: Sequence[str]) -> tuple[_Row, ...]:
    folder = data.parent if data.is_file() else data
    (file,) = find_files(folder, folder="pairs", pattern=name, wanted=WANTED)
    try:
        head, *lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read ({error}); wanted {WANTED}") from error
    if head.split("\t") != list(columns):
        raise InputError(f"{file}:1: the first line is not {columns}; wanted {WANTED}")
    rows = [
        _Row(f"{file}:{number}", tuple(line.split("\t")))
        for number, line in enumerate(lines, start=2)
    ]
    for row in rows:
        if len(row.fields) != len(columns) or not all(field.strip() for field in row.fields):
            raise InputError(f"{row.place}: a line needs {len(columns)} fields; wanted {WANTED}")
    return tuple(rows)


def _refuse_repeats(values: Sequence[str], *, what: str) -> None:
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        raise InputError(f"{what} {twice[0]!r} stands twice among the pairs and distractors")
