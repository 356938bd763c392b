"""Secrets are masked before anything is stored, hashed, logged or compared.

Patterns of our own for token shapes and for `name = value` forms in English and Chinese.
Placeholders, references to the environment and the examples of vendors' manuals stay as they are.
"""

import re
from dataclasses import dataclass

MASK = "[secret]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """A text without its secrets.

    Attributes:
        text: The text with each secret replaced by `[secret]`.
        count: Number of secrets that were masked.
    """

    text: str
    count: int


# Each pattern has one group, `secret`: what is masked. The rest keeps the sense of the text.
_SHAPES: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (
            r"(?P<secret>-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----"
            r"(?:.*?-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|[\s\S]*\Z))",
            re.DOTALL,
        ),
        (r"(?P<secret>\beyJ[\w-]{6,}(?:\.[\w-]+)*)", 0),
        (r"Authorization[\"']?\s*[:=]\s*[\"']?\w+\s+(?P<secret>[\w.~+/=-]{6,})", re.I),
        (r"\b(?:Bearer|Basic|Token)\s+(?P<secret>(?=[\w.~+/=-]*\d)[\w.~+/-]{16,}=*)", re.I),
        (r"(?P<secret>\b(?:AKIA|ASIA|AGPA|AROA)[0-9A-Z]{16}\b)", 0),
        (r"(?P<secret>\bsk-(?:proj-|ant-|svcacct-|or-v1-)?[\w-]{16,})", 0),
        (r"(?P<secret>\b(?:sk|rk|pk)_(?:live|test)_[0-9A-Za-z]{10,})", 0),
        (r"(?P<secret>\bgh[pousr]_[0-9A-Za-z]{20,}|\bgithub_pat_\w{22,})", 0),
        (r"(?P<secret>\bglpat-[\w-]{16,})", 0),
        (r"(?P<secret>\bxox[abeoprs]-[\w-]{10,}|\bxapp-[\w-]{10,})", 0),
        (r"(?P<secret>\bAIza[\w-]{30,}|\bya29\.[\w-]{20,})", 0),
        (r"(?P<secret>\bhf_[0-9A-Za-z]{20,}|\bnpm_[0-9A-Za-z]{30,}|\bpypi-[\w-]{30,})", 0),
        (r"[a-z][a-z0-9+.-]*://[^\s:/@]*:(?P<secret>[^\s:/@]{3,})@", re.I),
    )
)
_NAME = (
    r"pass(?:word|wd|phrase|code)?|pwd|secret(?:[_ -]?key)?|api[_ -]?key|apikey|"
    r"access[_ -]?(?:key|token)|auth[_ -]?token|refresh[_ -]?token|client[_ -]?secret|"
    r"private[_ -]?key|token|credential|pin"
)
_VALUE = (
    r"\\?[\"'`“「]?(?P<secret>(?<=[\"“])[^\"”\n\\]{3,}|(?<=')[^'\n]{3,}|(?<=`)[^`\n]{3,}|"
    r"(?<=「)[^」\n]{3,}|(?<![\"'`“「])PLAIN)"
)
_ASSIGNED = re.compile(
    rf"(?:\b|(?<=_))(?:[A-Za-z0-9]+[_-])*(?P<name>{_NAME})\b\\?[\"']?"
    r"(?P<link>\s*(?::=|=>|[:=])\s*|\s+(?:is|was)(?:\s+now)?\s*:?\s+)"
    + _VALUE.replace("PLAIN", r"[^\s\"'`,;，。；\\]{3,}"),
    re.IGNORECASE,
)
_ASSIGNED_ZH = re.compile(
    r"(?:密码|口令|密钥|秘钥|令牌|验证码|暗号)(?:已经|现在|还)?\s*"
    r"(?:改成了?|改为|换成了?|设为|是|为|[:：=＝])\s*" + _VALUE.replace("PLAIN", "[!-~]{4,}")
)
_PLACEHOLDER = re.compile(
    r"^(?:process\.env\b.*|os\.environ\b.*|os\.getenv.*|getenv.*|env\..*|ENV\[.*|\$.*|%\w+%|<.*>?|"
    r"\{\{?.*|\[.*|x{3,}.*|\*{3,}.*|\.{3,}|…+|_+|your[_-].*|my[_-].*|changeme|redacted|masked|"
    r"example.*|placeholder|none|null|nil|undefined|true|false|string|str|int|required|optional|"
    r"missing|needed|empty|blank|invalid|valid|expired|wrong|unknown|stored|hidden|rotated|not|"
    r"never|always|only|self\..*|config\..*|settings\..*|request\..*|args\..*|secrets\..*|"
    r"[A-Za-z_.]+\(.*)$",
    re.IGNORECASE,
)
# A key that vendors print in their manuals is nobody's key.
_DOCUMENTED = re.compile(r"EXAMPLE(?:KEY)?$")
_PROSE_LINK = re.compile(r"\s+(?:is|was)", re.IGNORECASE)
_ORDINARY = re.compile(r"^[a-z]+$|^[A-Z][a-z]+$")


def redact(text: str) -> Redaction:
    """Return the text with its secrets masked, the rest of it unchanged.

    Args:
        text: Any text; one without secrets comes back as it is.
    """
    masked, total = text, 0
    for pattern in (*_SHAPES, _ASSIGNED, _ASSIGNED_ZH):
        result = _mask(masked, pattern)
        masked, total = result.text, total + result.count
    return Redaction(text=masked, count=total)


def _mask(text: str, pattern: re.Pattern[str]) -> Redaction:
    pieces: list[str] = []
    end, count = 0, 0
    for match in pattern.finditer(text):
        if _harmless(match):
            continue
        start, stop = match.span("secret")
        pieces += [text[end:start], MASK]
        end, count = stop, count + 1
    return Redaction(text="".join([*pieces, text[end:]]), count=count)


def _harmless(match: re.Match[str]) -> bool:
    """Whether what was matched is no secret: a placeholder, a mask, or an ordinary word."""
    value = match["secret"].strip("\"'`“”「」")
    bare = value.rstrip(".!?)")
    if _DOCUMENTED.search(bare) or _PLACEHOLDER.match(bare):
        return True
    parts = match.groupdict()
    link, name = parts.get("link"), parts.get("name")
    if link is None or name is None:
        return False
    if "token" in name.casefold() and bare.isdecimal():
        return True  # a number of tokens, not a token
    # After "is", as in "the token is short", a plain word is prose and no value.
    return _PROSE_LINK.match(link) is not None and _ORDINARY.match(bare) is not None
