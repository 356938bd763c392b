"""What was pasted into a query: fences, logs, code, labels of a dialog, standing instructions."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Role = Literal["", "person", "other"]

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
# A dated line, a level, a stack frame, a bare path or code: what machines write, not people.
_MACHINE = re.compile(
    r"[\[(]?\d{4}[-/]\d\d[-/]\d\d|[\[(]?\d\d:\d\d:\d\d|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d"
    r"|\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|TRACE|FATAL)\b|\d{1,3}(?:\.\d{1,3}){3}\b"
    r"|at \S+\(|File \"|Traceback |\w+=\S+ \w+=|[{}\[\]<>|#+=*]|\S+\.\w{1,4}:\d+"
    r"|(?:def|class|import|from|return|const|let|var|function|public|private|static|package|func|fn"
    r"|struct|enum|if|for|while|try|else|SELECT|INSERT|UPDATE|DELETE|CREATE)\b.*[;:{}()\[\],=\\]$"
    r"|from [\w.]+ import |import [\w.]+(?: as \w+)?$|\S.*[;{}]$|[\w.]+\(.*\)$|[\w.\[\]]+ [-+*]?= "
)
_SYMBOL_SHARE = 0.3
# Deletes what people write most of; what is left of an ASCII line are digits and signs.
_LETTERS = {
    code: None for code in map(ord, " \tabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
}
# How dialogs are written down: by label, by chat markup, by tags.
_LABEL = re.compile(
    r"^[ \t]*(?:#{1,4} *|\*\*)?(?P<label>user|human|customer|question|query|q|me"
    r"|system|assistant|ai|bot|agent|answer|a|developer|context|instructions?"
    r"|用户|客户|读者|提问|问题|问|系统|助手|客服|回答|答|背景)(?:\*\*)? ?[:：](?:\*\*)?"
    r"|<\|(?:im_start|start_header_id)\|>(?P<chat>\w+)(?:<\|end_header_id\|>)?"
    r"|<(?P<tag>/?(?:system|system_prompt|instructions|context|document|user|user_query|query|question))>"
    r"|(?P<mark><\|(?:im_end|eot_id|end)\|>|\[/?INST\]|<</?SYS>>|</?s>)",
    re.MULTILINE | re.IGNORECASE,
)
_PERSON = frozenset(
    "user human customer question query q me 用户 客户 读者 提问 问题 问 "
    "user_query [inst] <</sys>>".split()
)
_CLOSES = frozenset("<|im_end|> <|eot_id|> <|end|> <s> </s>".split())
# How standing instructions speak to a model: who it is, what it must and must not do.
_ORDERS = re.compile(
    r"^(?:you are|you're|you will be|act as|your (?:role|task|job|goal)|as an? (?:ai|assistant)"
    r"|(?:never|always|ensure|make sure|remember|keep|avoid|only|respond|reply|follow|use)\b"
    r"|(?:do not|don't) \w+|if (?:the|a|an) (?:user|customer|reader)\b)"
    r"|\b(?:you (?:must|may|should) (?:not|never|always)|the user(?:'s)?|the assistant|must never"
    r"|these (?:rules|instructions)|before (?:every|each|you) (?:answer|reply|send))\b"
    r"|^(?:你|您)(?:是|将扮演|的(?:任务|职责|角色|目标|身份))|^(?:请)?(?:不要|勿|务必|始终|切勿|严禁|禁止|必须)"
    r"|^(?:作为一|扮演|如果用户|当用户|回答时|输出时)|(?:以上|以下)(?:规则|规定|内容|要求)|不得|本规定",
    re.IGNORECASE,
)
_PERSONA = re.compile(
    r"you are (?:an?|the|now|our)\b|you're (?:an?|the)\b|act as\b|your (?:role|task|job) is\b"
    r"|system (?:prompt|instructions?)\b|(?:你|您)(?:是(?!不是|否)|将扮演|现在是|要扮演)"
    r"|系统(?:设定|提示)|扮演",
    re.IGNORECASE,
)
_ITEM = re.compile(r"(?:[-•·–]|\(?\d{1,2}[.)、]|[一二三四五六七八九十]{1,3}、)\s*\S")
_ASKS = re.compile(r"[?？]\W*$")
_NUMBER = re.compile(r"\d+")
# Lines that differ in numbers alone, and stand there this often, are written by a machine.
_REPEATS = 3


@dataclass(frozen=True, slots=True)
class Part:
    """Neighbouring lines that a person may have written.

    Attributes:
        text: The lines, trimmed, none of them blank.
        role: Who says it, as far as a label told: the `person`, an `other`, or "".
        turn: Number of the label that it stands under; 0 before the first.
    """

    text: str
    role: Role = ""
    turn: int = 0


def unfenced(text: str) -> str:
    """Return a text without its fenced blocks; a fence that is never closed ends with the text.

    Args:
        text: Any text.
    """
    places = [found.start() for found in _FENCE.finditer(text)]
    if not places:
        return text
    kept: list[str] = []
    outside = 0
    for opens, closes in zip(places[::2], [*places[1::2], -1], strict=False):
        kept.append(text[outside:opens])
        end = text.find("\n", closes) if closes >= 0 else -1
        outside = len(text) if end < 0 else end
    kept.append(text[outside:])
    return "\n\n".join(kept)


def written(text: str) -> tuple[Part, ...]:
    """Return what of a text a person may have written, in order.

    Args:
        text: A text without fences.

    Returns:
        Paragraphs without the lines of logs and code; of a paragraph that is mostly such lines
        what stands in front of and behind them.
    """
    lines = Counter(_NUMBER.sub("0", line.strip()) for line in text.splitlines())
    repeated = frozenset(line for line, count in lines.items() if line and count >= _REPEATS)
    found: list[Part] = []
    role: Role = ""
    turn = begins = 0
    for label in _LABEL.finditer(text):
        found += _parts(text[begins : label.start()], repeated, role=role, turn=turn)
        role, turn, begins = _role(label), turn + 1, label.end()
    found += _parts(text[begins:], repeated, role=role, turn=turn)
    return tuple(found)


def by_machine(line: str) -> bool:
    """Return whether a line looks like one of a log or of a program.

    Args:
        line: One line, trimmed.
    """
    if _MACHINE.match(line):
        return True
    if line.isascii():
        signs = len(line.translate(_LETTERS))
    else:
        signs = sum(not (char.isalpha() or char.isspace()) for char in line)
    return signs > _SYMBOL_SHARE * len(line) + 2 and not _ASKS.search(line)


def orders(text: str) -> bool:
    """Return whether a text speaks as standing instructions do; a question never does.

    Args:
        text: A sentence, or lines of a few.
    """
    return any(
        (_ORDERS.search(line) or _ITEM.match(line)) and not _ASKS.search(line)
        for line in text.splitlines()
    )


def opens_orders(text: str) -> bool:
    """Return whether a text begins as a system prompt does: by saying who the model is.

    Args:
        text: A paragraph or more.
    """
    return _PERSONA.match(text) is not None


def _role(label: re.Match[str]) -> Role:
    name = next(filter(None, label.group("label", "chat", "tag", "mark"))).lower()
    if name in _PERSON:
        return "person"
    return "" if name in _CLOSES or name.startswith("/") else "other"


def _parts(text: str, repeated: frozenset[str], *, role: Role, turn: int) -> Iterator[Part]:
    for paragraph in _PARAGRAPH.split(text):
        lines = [line for line in map(str.strip, paragraph.splitlines()) if line]
        people = [not by_machine(line) and _NUMBER.sub("0", line) not in repeated for line in lines]
        if 2 * sum(people) > len(lines):
            runs = [[line for line, own in zip(lines, people, strict=True) if own]]
        elif any(people):
            first = people.index(False)
            last = len(people) - people[::-1].index(False)
            runs = [lines[:first], lines[last:]]
        else:
            runs = []
        yield from (Part("\n".join(run), role, turn) for run in runs if run)
