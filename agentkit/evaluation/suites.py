"""What a file in `evals/suites/` may say, and reading it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agentkit.errors import InputError
from agentkit.evaluation.boundary_cases import CaseHalf, Trigger
from agentkit.evaluation.corpora.clinc150 import INDEXED_PER_INTENT, read_clinc150
from agentkit.evaluation.corpora.corpus import Corpus, Half
from agentkit.evaluation.corpora.locomo import DEFAULT_CATEGORIES, read_locomo
from agentkit.evaluation.corpora.memdaily import read_memdaily
from agentkit.evaluation.corpora.pairs import read_pairs
from agentkit.evaluation.corpora.xquad import read_xquad
from agentkit.evaluation.metrics import Metric, MetricName, parse_metric
from agentkit.policy.loader import load_yaml
from agentkit.policy.model import PolicyModel
from agentkit.records import Language

MetricNames = tuple[MetricName, ...]
Ages = Literal["equal", "recorded"]


class LocomoCorpus(PolicyModel):
    """LoCoMo dialogs.

    Attributes:
        reader: `locomo`.
        parts: File names without ending; empty for all.
        categories: Question categories, 1 to 5.
    """

    reader: Literal["locomo"]
    parts: tuple[str, ...] = ()
    categories: tuple[int, ...] = DEFAULT_CATEGORIES

    def read(self, data: Path) -> Corpus:
        """Return the corpus out of a file or folder."""
        return read_locomo(data, parts=self.parts, categories=self.categories)


class Clinc150Corpus(PolicyModel):
    """CLINC150 requests.

    Attributes:
        reader: `clinc150`.
        per_intent: Requests remembered of each intent, at least 1.
    """

    reader: Literal["clinc150"]
    per_intent: int = Field(default=INDEXED_PER_INTENT, ge=1)

    def read(self, data: Path) -> Corpus:
        """Return the corpus out of a file or folder."""
        return read_clinc150(data, per_intent=self.per_intent)


class MemDailyCorpus(PolicyModel):
    """MemDaily messages.

    Attributes:
        reader: `memdaily`.
        parts: File names without ending; empty for all.
    """

    reader: Literal["memdaily"]
    parts: tuple[str, ...] = ()

    def read(self, data: Path) -> Corpus:
        """Return the corpus out of a file or folder."""
        return read_memdaily(data, parts=self.parts)


class XquadCorpus(PolicyModel):
    """XQuAD sentences.

    Attributes:
        reader: `xquad`.
        direction: `<language of the questions>-<language of the memories>`, or `mixed` for both.
    """

    reader: Literal["xquad"]
    direction: str = Field(pattern=r"^[a-z]{2}-([a-z]{2}|mixed)$")

    def read(self, data: Path) -> Corpus:
        """Return the corpus out of a file or folder."""
        return read_xquad(data, direction=self.direction)


class PairsCorpus(PolicyModel):
    """Paraphrase pairs of our own, which ship.

    Attributes:
        reader: `pairs`.
        folder: Where they lie, relative to the folder of the suite file.
    """

    reader: Literal["pairs"]
    folder: str = Field(min_length=1)

    def read(self, data: Path) -> Corpus:
        """Return the corpus out of a file or folder."""
        return read_pairs(data)


CorpusChoice = Annotated[
    LocomoCorpus | Clinc150Corpus | MemDailyCorpus | XquadCorpus | PairsCorpus,
    Field(discriminator="reader"),
]


class RetrievalSuite(PolicyModel):
    """A labelled corpus, asked through every arm.

    Attributes:
        kind: `retrieval`.
        name: Name of the suite in reports, that of the file.
        title: One line for the head of the table.
        notes: What to know when reading the figures.
        corpus: Reader and its choices.
        metrics: What is measured, in the order of the table.
        headline: The metric by which arms are compared; one of `metrics`.
        half: Questions asked: `report` (never fitted on), `fit`, or `all`.
        infer_tags: Whether recall may infer tags from the question.
        tag_memories: Whether a memory carries the tags whose phrases stand in it, as one that is
            written does.
        by_label: Whether each kind of question is measured for itself as well.
        ages: `equal` makes all memories equally old, so that decay is out of the picture;
            `recorded` takes the dates of the corpus, asked at the last of them.
    """

    kind: Literal["retrieval"]
    name: str
    title: str
    notes: str = ""
    corpus: CorpusChoice
    metrics: MetricNames
    headline: MetricName
    half: Half = "report"
    infer_tags: bool = False
    tag_memories: bool = False
    by_label: bool = False
    ages: Ages = "equal"

    @model_validator(mode="after")
    def _headline_is_measured(self) -> Self:
        _check_headline(self.headline, metrics=self.metrics)
        return self

    def measured(self) -> tuple[Metric, ...]:
        """Return the metrics in order."""
        return tuple(map(parse_metric, self.metrics))

    def data(self, given: Path | None, *, folder: Path) -> Path:
        """Return where the corpus is: as given, else where the suite says that it ships.

        Args:
            given: What the caller gave, or None.
            folder: Folder of the suite file.

        Raises:
            InputError: If nothing was given and the corpus does not ship.
        """
        if given is not None:
            return given
        if isinstance(self.corpus, PairsCorpus):
            return Path(os.path.normpath(folder / self.corpus.folder))
        raise InputError(f"suite {self.name!r} needs its corpus; give --data DIR")


class SessionFile(PolicyModel):
    """Recorded sessions to import.

    Attributes:
        file: Path relative to the folder of the suite file.
        format: Format of the importer, or None to find out.
    """

    file: str = Field(min_length=1)
    format: str | None = None


class Question(PolicyModel):
    """A question asked after the sessions were reflected on.

    Attributes:
        id: Name of the question, unique in the suite.
        text: The question, worded otherwise than the memory.
        user: Who asks; None for the suite's user. Another user must get nothing.
        words: A right memory holds each of these, upper and lower case alike.
        any_words: A right memory holds at least one of these; empty for no such condition.
        episode: `source_id` of the recording that a right memory came out of, or None.
        nothing: True when no memory may come back at all.
    """

    id: str = Field(min_length=1)
    text: str = Field(min_length=1)
    user: str | None = None
    words: tuple[str, ...] = ()
    any_words: tuple[str, ...] = ()
    episode: str | None = None
    nothing: bool = False

    @model_validator(mode="after")
    def _says_what_is_right(self) -> Self:
        expects = bool(self.words or self.any_words or self.episode)
        if expects == self.nothing:
            raise ValueError(
                f"question {self.id!r} must say what is right (words, any_words or episode), "
                "or nothing: true, and not both"
            )
        return self


class SessionsSuite(PolicyModel):
    """Recorded sessions, replayed in order; then questions that their lessons should answer.

    Attributes:
        kind: `sessions`.
        name: Name of the suite in reports, that of the file.
        title: One line for the head of the table.
        notes: What to know when reading the figures.
        user: User under whom the sessions are imported.
        sessions: Files in the order of import.
        questions: What is asked afterwards.
        metrics: `any-hit@k` and `MRR` only, for how many right memories there are is not known.
        headline: The metric to look at first; one of `metrics`.
    """

    kind: Literal["sessions"]
    name: str
    title: str
    notes: str = ""
    user: str
    sessions: tuple[SessionFile, ...]
    questions: tuple[Question, ...]
    metrics: MetricNames
    headline: MetricName

    @model_validator(mode="after")
    def _can_be_measured(self) -> Self:
        if not self.sessions or not self.questions:
            raise ValueError("a session suite needs at least one session file and one question")
        unfit = [name for name in self.metrics if not name.startswith(("any-hit@", "MRR"))]
        if unfit:
            raise ValueError(f"{unfit[0]!r} cannot be measured on sessions; use any-hit@k or MRR")
        ids = [question.id for question in self.questions]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"two questions are called {twice[0]!r}; rename one")
        _check_headline(self.headline, metrics=self.metrics)
        return self

    def measured(self) -> tuple[Metric, ...]:
        """Return the metrics in order."""
        return tuple(map(parse_metric, self.metrics))


class StepCosts(PolicyModel):
    """What a wrong boundary costs, a step.

    Attributes:
        early_step: A step that left the bench though the task went on, at least 0.
        late_step: A step still carried though the task was over, at least 0.
    """

    early_step: float = Field(default=1.0, ge=0.0)
    late_step: float = Field(default=0.25, ge=0.0)


class BoundariesSuite(PolicyModel):
    """Labelled cases of where a task ends, asked of the rules.

    Attributes:
        kind: `boundaries`.
        name: Name of the suite in reports, that of the file.
        title: One line for the head of the table.
        notes: What to know when reading the figures.
        folder: Where the cases lie, relative to the folder of the suite file.
        half: `report` (rules are never fitted on it) or `fit`.
        languages: Languages asked; each needs its file.
        triggers: Rules asked, in the order of the table.
        costs: What too early and too late cost.
    """

    kind: Literal["boundaries"]
    name: str
    title: str
    notes: str = ""
    folder: str = Field(min_length=1)
    half: CaseHalf = "report"
    languages: tuple[Language, ...] = Field(min_length=1)
    triggers: tuple[Trigger, ...] = Field(min_length=1)
    costs: StepCosts = StepCosts()

    def data(self, given: Path | None, *, folder: Path) -> Path:
        """Return where the cases lie: as given, else where the suite says.

        Args:
            given: What the caller gave, or None.
            folder: Folder of the suite file.
        """
        return given or Path(os.path.normpath(folder / self.folder))


Suite = RetrievalSuite | SessionsSuite | BoundariesSuite


class _Head(BaseModel):
    """Enough of a suite to know which model reads it."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    kind: Literal["retrieval", "sessions", "boundaries"]


def load_suite(file: Path) -> Suite:
    """Return the suite that a YAML file describes.

    Args:
        file: A file such as `evals/suites/locomo.yaml`.

    Raises:
        InputError: If there is no such file.
        ConfigError: With file, line and key, if it is no suite.
    """
    if not file.is_file():
        raise InputError(f"{file}: no such suite file; `evals/suites/` holds those that ship")
    kind = load_yaml(file, _Head).kind
    if kind == "sessions":
        return load_yaml(file, SessionsSuite)
    if kind == "boundaries":
        return load_yaml(file, BoundariesSuite)
    return load_yaml(file, RetrievalSuite)


def _check_headline(headline: str, *, metrics: Sequence[str]) -> None:
    if headline not in metrics:
        raise ValueError(f"headline {headline!r} is none of the metrics of this suite")
