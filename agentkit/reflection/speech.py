"""What the user said about how things should be: preferences, facts, corrections, thanks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agentkit.records import Outcome, Step, Trajectory
from agentkit.reflection.gist import gist
from agentkit.reflection.tooluse import ToolUse
from agentkit.text import one_line

StatementKind = Literal["preference", "request", "fact", "correction"]
LEAST_CHARS = 6
MOST_CHARS = 300
GOAL_TERMS = 3
_SENTENCE = re.compile(r"[^.!?。！？；;\n]+(?:\.(?=\w)[^.!?。！？；;\n]+)*[.!?。！？；;]*")
_GREETING = re.compile(
    r"^\s*(?:(?:hi|hello|hey|dear|good (?:morning|afternoon|evening))(?: there| all| team)?|"
    r"你好|您好|嗨|早上好|下午好|晚上好|在吗)\s*[,.!?，。！？~]*\s*",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\bi(?:['’]d| would)? (?:much |really |strongly |usually |generally )?prefer\b|"
    r"\bmy preference\b|"
    r"\bi (?:always|never|usually|only) (?:want|use|need|like|work|book|fly|take)|"
    r"\bi (?:don['’]t|do not) (?:want|like)\b|\bplease (?:always|never)\b|"
    r"^\W*always\b(?! (?:a|happy|glad|good|nice)\b)|"
    r"^\W*never\b(?! (?:mind|again|had|seen|heard|been)\b)|\bin (?:the )?future\b|"
    r"\bas a rule\b|\bi(?:['’]d)? like (?:my|all|every)\b|"
    r"我(?:们)?(?:更|比较|最|还是|一直)?(?:喜欢|偏好|习惯|不喜欢|讨厌|只要|只用)|"
    r"(?:以后|今后)(?=[^，。]*(?:都|请|要|用|不|别))|一律|下次(?=[^，。]*(?:请|要|用|都|别|不))",
    re.IGNORECASE,
)
# How things should be, or how they go wrong: "every time it fails" is no wish.
_HABIT = re.compile(
    r"\bby default\b|\bevery time\b|总是|始终|每次都|默认|不要再|别再", re.IGNORECASE
)
_TROUBLE = re.compile(
    r"\b(?:errors?|fails?|failed|failing|crash\w*|breaks?|broken|wrong|hangs?|never ?mind)\b|"
    r"报错|出错|错误|失败|崩溃|不行|不对|卡住|算了",
    re.IGNORECASE,
)
# What follows these is remembered, without them.
_ASKED = re.compile(
    r"(?:^\W*|please |and |also |you to |[,;] ?)(?:remember(?! when\b| how\b| the time\b| me\b)|"
    r"keep in mind|make a note|note)(?:(?<!note) this| that| to|"
    r"(?<=remember)(?= (?:i|my|we|our)\b)|(?=:))\s*[:,]?\s*(?P<en>\S.*)|"
    r"(?:请|麻烦|帮我)?(?:你要)?(?:记住|请记得|记一下|记下来?)[:：，,\s]*(?P<zh>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
# A standing order is remembered whole.
_STANDING = re.compile(
    r"\bfrom now on\b|\bgoing forward\b|从(?:现在|今)(?:起|往后|开始|以后)|(?:今后|以后)都",
    re.IGNORECASE,
)
_FACT = re.compile(
    r"^\W*(?:(?:and|also|btw|fyi|by the way|note that),? )?(?:my|our) (?!user|password|order|"
    r"reservation|original|current|upcoming|reason|question|problem|issue|situation|goal|focus|"
    r"plan|trip|id\b|email|phone|friend)"
    r"[\w -]{2,30}? (?:is|are|runs|uses)\b|"
    r"\bi(?:['’]m| am) (?:a|an|the) (?!bit\b|little\b|lot\b)\w+|"
    r"\bi (?:work|live) (?:at|in|for|as|on)\b|\bwe (?:use|run|deploy|store|work with)\b|"
    r"我叫|我住在|我在[^，。]{1,12}(?:工作|上班)|我(?:们)?的[^，。]{1,12}(?:是|在|用)|"
    r"我们(?:用的是|使用|部署|采用)",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"^\W*(?:no\b|nope\b|not quite|wrong\b|actually\b|that(?:['’]s| is) (?:not|wrong|incorrect)|"
    r"that(?:['’]s| is) (?:far |much |way )?too\b|"
    r"you (?:forgot|missed|misunderstood|got)|i (?:said|meant|asked for)|"
    r"不对|不是|错了|你?(?:搞|弄|理解|算)错|我(?:说|要|问)的是|应该是)",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"\bthank|\bthat(?:['’]s| is) (?:all|it|everything)\b|no (?:problem|worries)|"
    r"谢谢|没有了|不用了|不是很",
    re.IGNORECASE,
)
_YES = re.compile(
    r"^\W*(?:yes|yeah|yep|sure|ok(?:ay)?|sounds good|that sounds|go ahead|是的|好的|对|行|可以)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"[?？]\s*$|^\W*(?:can|could|would|will|do|does|is|are|what|how|which|why)\b", re.I
)
_CONTENT = re.compile(
    r"\bthank|\bperfect\b|\bgreat\b|\bexcellent\b|\bthat works\b|\bit works\b|\bexactly\b|"
    r"\bthat(?:['’]s| is) (?:it|all|right|correct)\b|"
    r"谢谢|好了|可以了|搞定|完美|没问题|太好了|正确|辛苦",
    re.IGNORECASE,
)
_COMPLAINT = re.compile(
    r"doesn['’]t work|does not work|didn['’]t work|still (?:wrong|fail|broken|not)|not what i|"
    r"give up|\buseless\b|\bwrong\b|\bincorrect\b|never mind|"
    r"还是不行|不对|没用|算了|失败|错了|不行",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence of the user that is worth keeping.

    Attributes:
        kind: `preference`, `request` (to remember something), `fact` or `correction`.
        text: The sentence, on one line; of a request, what is to be remembered.
        quote: The sentence as it stands in the step.
        step: The step.
    """

    kind: StatementKind
    text: str
    quote: str
    step: Step


def statements(trajectory: Trajectory) -> tuple[Statement, ...]:
    """Return what the user stated, in order, each sentence once.

    Questions are no statements, nor is a correction before the agent did anything.

    Args:
        trajectory: The steps of a task.
    """
    found: dict[str, Statement] = {}
    answered = False
    for step in trajectory.steps:
        answered = answered or step.kind in ("model", "tool_call")
        if step.kind != "user":
            continue
        whole = without_greeting(step.text)
        asks = _QUESTION.search(next(iter(_sentences(whole)), ""))
        if answered and not asks and is_correction(whole) and len(gist(whole)) >= 2:
            # What is right stands in the sentences after the "no".
            _keep(found, _statement(whole, kind="correction", step=step))
        for sentence in _sentences(step.text):
            statement = _stated(sentence, step=step)
            if statement is not None:
                _keep(found, statement)
    return tuple(found.values())


def goal_of(trajectory: Trajectory, *, limit_chars: int) -> str:
    """Return what the user wanted, on one line, without a greeting.

    Where the first words say too little, the next ones of the user are added.

    Args:
        trajectory: The steps of a task.
        limit_chars: Longest goal.
    """
    said: list[str] = []
    for step in trajectory.steps:
        if step.kind != "user":
            continue
        text = without_greeting(step.text)
        if text:
            said.append(text)
        if len(gist(" ".join(said))) >= GOAL_TERMS:
            break
    return one_line(" ".join(said), limit_chars=limit_chars)


def judge_outcome(trajectory: Trajectory, uses: Sequence[ToolUse]) -> Outcome:
    """Return how a task went, by the user's last words, then by its last tool and answer.

    Args:
        trajectory: The steps of a task.
        uses: Its tool uses, in order.
    """
    last = next((step for step in reversed(trajectory.steps) if step.kind == "user"), None)
    first = next((step for step in trajectory.steps if step.kind == "user"), None)
    answers = [step for step in trajectory.steps if step.kind == "model" and step.text.strip()]
    if last is not None and last is not first:
        if _COMPLAINT.search(last.text):
            # What the agent did about it afterwards may have helped: nobody said.
            mended = any(step.kind == "model" for step in _after(trajectory, last))
            return "unknown" if mended else "failure"
        if _CONTENT.search(last.text):
            return "success"
    if uses and uses[-1].failed:
        return "failure"
    if not answers and not any(use.ok for use in uses):
        return "failure"
    return "success" if uses and answers and uses[-1].ok else "unknown"


def _after(trajectory: Trajectory, last: Step) -> Sequence[Step]:
    return trajectory.steps[trajectory.steps.index(last) + 1 :]


def without_greeting(text: str) -> str:
    """Return the words of a user without a greeting at their start."""
    return _GREETING.sub("", text).strip()


def is_telling(text: str) -> bool:
    """Whether words of the user say more than thanks, a farewell or a plain yes."""
    return len(gist(text)) >= GOAL_TERMS and not (_POLITE.search(text) or _YES.match(text))


def is_correction(text: str) -> bool:
    """Whether the user's words put the agent right."""
    return bool(_CORRECTION.match(text)) and not _POLITE.search(text)


def _stated(sentence: str, *, step: Step) -> Statement | None:
    """Return what a sentence states, or None."""
    bare = without_greeting(sentence)
    if not LEAST_CHARS <= len(bare) <= MOST_CHARS or _QUESTION.search(bare):
        return None
    asked = _ASKED.search(bare)
    wanted = bare if asked is None else asked["en"] or asked["zh"]
    if len(gist(wanted)) < 2:
        return None
    kind = _kind(wanted) if asked is None else "request"
    if kind is None:
        return None
    return replace(_statement(wanted, kind=kind, step=step), quote=sentence.strip())


def _kind(said: str) -> StatementKind | None:
    """Return what kind of statement this is, or None."""
    if _STANDING.search(said):
        return "request"
    if _PREFERENCE.search(said) or (_HABIT.search(said) and not _TROUBLE.search(said)):
        return "preference"
    return "fact" if _FACT.search(said) else None


def _statement(said: str, *, kind: StatementKind, step: Step) -> Statement:
    text = one_line(without_greeting(said), limit_chars=MOST_CHARS)
    return Statement(kind=kind, text=text, quote=said.strip(), step=step)


def _keep(found: dict[str, Statement], statement: Statement) -> None:
    found.setdefault(statement.text.casefold(), statement)


def _sentences(text: str) -> list[str]:
    return [match.group() for match in _SENTENCE.finditer(text) if match.group().strip()]
