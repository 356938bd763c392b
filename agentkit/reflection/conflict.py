"""How a new memory stands to an old one, by rules, and which of two is flagged.

Nothing is ever retired here: a contradiction marks one side as disputed, and a person decides.
"""

import re
from typing import Literal

from agentkit.policy.reflection import ReflectionPolicy
from agentkit.records import Judgement, Memory, Relationship
from agentkit.reflection.facts import differences, exclude_each_other, read_facts, without_numbers
from agentkit.reflection.gist import gist, plain
from agentkit.text import normalise

Side = Literal["new", "old"]
# Telling terms in common below which two texts are about different things. Chosen so that
# rules which merely share a word ("Always rebase ...", "Never rebase another's ...") stay apart.
RELATED_SHARE = 0.34
# Nothing but a fact may differ where one statement replaces the other.
SAME_FRAME_SHARE = 0.75
CONTAINED_SHARE = 0.9
SUBJECT_TERMS = 2
# Longer texts report cases and differ in more than one thing.
MOST_STATEMENT_TERMS = 14
_CHANGE = re.compile(
    r"\b(?:moved|migrated|switched|changed|renamed|upgraded|downgraded|transferred|relocated)\b"
    r".*?\bfrom (?P<old>.+?) (?:to|into) (?P<new>[^,.;]+)|"
    r"\b(?:no longer|used to|instead of|replaced|not any ?more)\b|"
    r"从\s*(?P<zh_old>.+?)\s*(?:迁移?|改|换|搬|切换?|升级?|转|调整?)(?:移|成|为|到|至|去|用)+\s*(?P<zh_new>[^，。；]+)|"
    r"不再|改为|改成|改用|换成|取代",
    re.IGNORECASE,
)
_PIECE = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff][\w.'’-]*")
_ARTICLES = frozenset({"the", "a", "an", "our", "my"})
_CHANGE_WORDS = re.compile(
    r"^(?:move|migrate|switch|change|rename|upgrade|downgrade|transfer|relocate|replace|now)$"
)


class RuleJudge:
    """The judge that needs no model."""

    async def judge(self, new: Memory, old: Memory) -> Judgement:
        """Return the relationship of two memories by rules; it never raises and never waits."""
        return judge(new, old)


def judge(new: Memory, old: Memory) -> Judgement:
    """Return how a new memory stands to an old one, by their words.

    Events (episodic memories) contradict nothing: what happened, happened. A text in another
    language cannot be compared by words and counts as unrelated, with little confidence.

    Args:
        new: The memory that was just written.
        old: A memory of the same scope near to it.
    """
    if plain(new.content) == plain(old.content):
        return _said("duplicate", 0.99, "the same words")
    if "episodic" in (new.memory_type, old.memory_type):
        return _said("unrelated", 0.9, "an event contradicts nothing")
    if new.language != old.language:
        return _said("unrelated", 0.2, "rules cannot compare two languages")
    # Instructions for two situations may name two values; only facts have one at a time.
    values = "procedural" not in (new.memory_type, old.memory_type)
    return _contradiction(new.content, old.content, values=values) or _likeness(
        new.content, old.content
    )


def decide(
    new: Memory, old: Memory, judgement: Judgement, *, policy: ReflectionPolicy
) -> Side | None:
    """Return which side becomes disputed, or None.

    Only a contradiction flags, when it is sure enough and both are about the same question
    (a guard on the judge, who may be a model and wrong). The side with the lower
    trust x confidence is disputed, on a tie the older one; what the user asked to remember for
    good is disputed by the user alone.

    Args:
        new: The memory that was just written.
        old: The memory it was judged beside.
        judgement: What the judge said.
        policy: Confidence from which a contradiction flags.
    """
    if judgement.relationship != "contradicts":
        return None
    if judgement.confidence < policy.conflict.flag_confidence or not same_question(new, old):
        return None
    if _kept_for_user(old) and new.source != "user":
        return "new"
    if _kept_for_user(new) and old.source != "user":
        return "old"
    ours, theirs = new.trust * new.confidence, old.trust * old.confidence
    if abs(ours - theirs) < 1e-9:
        return "old" if old.created_at <= new.created_at else "new"
    return "new" if ours < theirs else "old"


def same_question(new: Memory, old: Memory) -> bool:
    """Whether two memories answer the same question: same subject, same relation.

    The subject is among the first telling terms; the relation is the term after it, or any
    other telling term in common that is no name, or a word of change. Two languages cannot be
    compared by words and pass.

    Args:
        new: One memory.
        old: The other.
    """
    if new.language != old.language:
        return True
    ours, theirs = _telling(new.content), _telling(old.content)
    subject = _subject(ours, theirs)
    if not subject:
        return False
    if _CHANGE.search(normalise(new.content)) or _CHANGE.search(normalise(old.content)):
        return True
    names = _name_terms(new.content) | _name_terms(old.content)
    if set(ours) & set(theirs) - subject - names:
        return True
    return not (set(ours) | set(theirs)) - names - subject


def _contradiction(new: str, old: str, *, values: bool) -> Judgement | None:
    """Return a contradiction that words alone show, or None."""
    ours, theirs = _telling(new), _telling(old)
    if not _subject(ours, theirs) or max(len(ours), len(theirs)) > MOST_STATEMENT_TERMS:
        return None
    changed = _said_change(new, old)
    if changed is not None:
        return changed
    frame = _frame_share(ours, theirs)
    if frame < SAME_FRAME_SHARE:
        return None
    if read_facts(new).negated != read_facts(old).negated:
        return _said("contradicts", 0.85, "the same statement, but only one of them says not")
    if exclude_each_other(new, old):
        return _said("contradicts", 0.75, "; ".join(differences(new, old)))
    return _other_value(new, old) if values else None


def _said_change(new: str, old: str) -> Judgement | None:
    """Return a contradiction where the new text says that the old value was left behind."""
    match = _CHANGE.search(normalise(new))
    if match is None:
        return None
    before = match["old"] or match["zh_old"]
    if before and plain(before) in plain(old):
        return _said("contradicts", 0.8, f"the new one says that {before.strip()!r} was left")
    return None


def _other_value(new: str, old: str) -> Judgement | None:
    """Return a contradiction where a number or name differs and it is no part of the subject."""
    ours, theirs = read_facts(new), read_facts(old)
    numbers = bool(ours.numbers - theirs.numbers) and bool(theirs.numbers - ours.numbers)
    names = bool(ours.names - theirs.names) and bool(theirs.names - ours.names)
    if not (numbers or names) or _differ_at_start(new, old):
        return None
    return _said("contradicts", 0.7, "; ".join(differences(new, old)))


def _likeness(new: str, old: str) -> Judgement:
    """Return how alike two texts are that do not contradict each other."""
    ours, theirs = set(_telling(new)), set(_telling(old))
    if not ours or not theirs:
        return _said("unrelated", 0.5, "too few words to compare")
    shared = len(ours & theirs)
    jaccard = shared / len(ours | theirs)
    apart = differences(new, old)
    if jaccard >= CONTAINED_SHARE and not apart:
        return _said("duplicate", 0.85, "the same telling words, numbers and names")
    if not _subject(_telling(new), _telling(old)):
        return _said("unrelated", 0.7, "they do not begin with the same thing")
    if shared / len(theirs) >= CONTAINED_SHARE and len(ours) > len(theirs) and not _flips(new, old):
        return _said("refines", 0.7, "the new one says all of the old one, and more")
    if jaccard >= RELATED_SHARE:
        return _said("consistent", 0.6, "about the same thing, and nothing stands against it")
    return _said("unrelated", 0.7, "few words in common")


def _flips(new: str, old: str) -> bool:
    return read_facts(new).negated != read_facts(old).negated or exclude_each_other(new, old)


def _telling(text: str) -> tuple[str, ...]:
    """Return the telling terms without numbers and words of negation and choice."""
    facts = read_facts(text)
    skipped = facts.choices | facts.numbers
    return tuple(
        term
        for term in gist(without_numbers(text))
        if term not in skipped and not _CHANGE_WORDS.match(term)
    )


def _frame_share(ours: tuple[str, ...], theirs: tuple[str, ...]) -> float:
    """Return the share of telling terms in common, one differing slot apart."""
    left, right = set(ours), set(theirs)
    smaller = min(len(left), len(right))
    longer = max(len(left), len(right))
    if smaller == 0:
        return 0.0
    shared = len(left & right)
    # A slot may hold one name on each side: it must not count against the frame.
    slot = 1 if len(left - right) <= 1 and len(right - left) <= 1 else 0
    return min(1.0, (shared + slot) / longer) if shared else 0.0


def _subject(ours: tuple[str, ...], theirs: tuple[str, ...]) -> frozenset[str]:
    """Return the terms that both texts begin with, in any order."""
    return frozenset(ours[:SUBJECT_TERMS]) & frozenset(theirs[:SUBJECT_TERMS])


def _differ_at_start(new: str, old: str) -> bool:
    """Whether the texts differ where they name what they speak of: then it is another thing.

    "Team A ships ..." and "Team B ships ..." differ in their second word; a value stands later.
    """
    ours, theirs = _pieces(new), _pieces(old)
    same = next(
        (at for at, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other),
        min(len(ours), len(theirs)),
    )
    return same < SUBJECT_TERMS


def _pieces(text: str) -> list[str]:
    """Return the words of a text, Chinese by character, without a leading article."""
    found = _PIECE.findall(normalise(text).casefold())
    return found[1:] if found and found[0] in _ARTICLES else found


def _name_terms(text: str) -> frozenset[str]:
    return frozenset(term for name in read_facts(text).names for term in gist(name))


def _kept_for_user(memory: Memory) -> bool:
    return memory.permanent and memory.source == "user"


def _said(relationship: Relationship, confidence: float, rationale: str) -> Judgement:
    return Judgement(relationship=relationship, confidence=confidence, rationale=rationale)
