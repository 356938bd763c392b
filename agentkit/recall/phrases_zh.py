"""How Chinese names a time."""

import re
from datetime import date
from re import Match

from agentkit.recall.moment import FEW_DAYS, DayPart, Moment, Unit
from agentkit.recall.phrase import Grammar, Rule
from agentkit.records import TimeRange

_DIGITS = "〇一二三四五六七八九"
_NUMBER = r"(?:\d{1,3}|[一二两俩三四五六七八九]?十[一二三四五六七八九]?|[一二两俩三四五六七八九])"
_WEEK = r"(?:个?(?:星期|礼拜)|个?周)"
_DAYS = "一二三四五六日天"
_UNITS: dict[str, Unit] = {
    "分钟": "minute",
    "小时": "hour",
    "钟头": "hour",
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "季度": "quarter",
    "年": "year",
}
# "三月" is a month of the year, "三个月" a number of them.
_UNIT = r"(个?(?:小时|星期|礼拜|季度)|个月|个钟头|分钟|天|日|周|年)"
_PARTS: dict[str, DayPart] = {
    "凌晨": "dawn",
    "早上": "morning",
    "早晨": "morning",
    "清晨": "morning",
    "上午": "morning",
    "中午": "noon",
    "下午": "afternoon",
    "傍晚": "evening",
    "晚上": "evening",
    "夜里": "night",
}
_PART = f"(?:的?({'|'.join(_PARTS)}))?"
_DAYS_AGO = {"今": 0, "昨": 1, "前": 2, "大前": 3}
_YEARS_AGO = {"今": 0, "去": 1, "前": 2, "大前": 3}
_YEAR = r"((?:19[7-9]|20\d)\d|[一二][〇零一二三四五六七八九]{3})年"
_MONTH = r"(1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月份?"
_DATE = r"([12]\d|3[01]|0?[1-9]|[二三]?十[一二三四五六七八九]?|[一二三四五六七八九])[日号]"
_NO_NUMBER = r"(?<![\d一二两三四五六七八九十百千万几第每个某])"
# Words that the last sign in front, or the first behind, belongs to instead: 线上 周报, 前端.
_NOT_UP = r"(?<![线网身手马以之加桌路早晚登])"
_NOT_ROUND = r"(?![围边期到转折旋全密详易岁遭报刊薪长]|年(?!前))"
_NOT_THIS = r"(?<![基成样资书日根文版剧课脚副剧抄])"
_NO_AGE = r"(?![轻龄代岁])"
_NO_FRONT = r"(?![端后面提景置缀台进途锋卫锁辈者列半])"
_MOON = r"(?![亮球台饼光色])"


def _number(text: str) -> int:
    if text.isdigit():
        return int(text)
    text = text.replace("两", "二").replace("俩", "二")
    if "十" not in text:
        return _DIGITS.index(text)
    tens, ones = text.split("十")
    return (_DIGITS.index(tens) if tens else 1) * 10 + (_DIGITS.index(ones) if ones else 0)


def _year(text: str) -> int:
    signs = (sign if sign.isdigit() and sign.isascii() else _DIGITS.index(sign) for sign in text)
    return int("".join(map(str, signs))) if "零" not in text else _year(text.replace("零", "〇"))


def _unit(text: str) -> Unit:
    return _UNITS[text.removeprefix("个")]


def _on(moment: Moment, on: date, part: str | None) -> TimeRange:
    return moment.day(on) if part is None else moment.part(on, _PARTS[part])


def _week_day(match: Match[str], moment: Moment) -> TimeRange:
    back = len(match[1]) if match[1].startswith("上") else 0
    day = match[2]
    if day == "末":
        return moment.weekend(back)
    return _on(moment, moment.weekday_of(_weekday(day), weeks_ago=back), match[3])


def _weekday(sign: str) -> int:
    return min(_DAYS.index(sign), 6)


def _bare_day(match: Match[str], moment: Moment) -> TimeRange:
    return _on(moment, moment.latest_weekday(_weekday(match[1]), with_today=True), match[2])


def _day(match: Match[str], moment: Moment) -> TimeRange:
    return _on(moment, moment.days_ago(_DAYS_AGO[match[1]]), match[2])


def _date(match: Match[str], moment: Moment) -> TimeRange:
    """A month or a day with, or without, its year."""
    relative, absolute, month, day = match[1], match[2], _number(match[3]), match[4]
    if relative is None and absolute is None:
        return (
            moment.latest_month(month) if day is None else moment.latest_date(month, _number(day))
        )
    year = moment.today.year - _YEARS_AGO[relative] if relative else _year(absolute)
    return moment.month(year, month) if day is None else moment.day(date(year, month, _number(day)))


def _relative_year(match: Match[str], moment: Moment) -> TimeRange:
    return moment.year(moment.today.year - _YEARS_AGO[match[1]])


def _refuses(before: str, behind: str) -> bool:
    return re.search(r"每个?$", before) is not None


_RULES = (
    Rule(rf"(?<![以之目从当提大如N])(大前|前|昨|今)[天日]{_PART}(?!气)", _day),
    Rule(r"大前天", lambda m, at: at.day(at.days_ago(3))),
    Rule(r"今[早晨]", lambda m, at: at.part(at.today, "morning")),
    Rule(r"今晚", lambda m, at: at.part(at.today, "night")),
    Rule(r"昨[晚夜]", lambda m, at: at.part(at.days_ago(1), "night")),
    Rule(
        rf"{_NO_NUMBER}({_NUMBER}){_UNIT}(?:以|之)?前{_NO_FRONT}",
        lambda m, at: at.ago(_number(m[1]), _unit(m[2])),
    ),
    Rule(r"(?:好|前)?几天(?:以|之)?前", lambda m, at: at.days(at.days_ago(FEW_DAYS), at.today)),
    Rule(
        rf"(?:最近|过去|近|这)(?:的)?({_NUMBER}){_UNIT}(?:以?来|里|内)?",
        lambda m, at: at.past(_number(m[1]), _unit(m[2])),
    ),
    Rule(r"(?:最近|过去|近|这|前)几天", lambda m, at: at.past(FEW_DAYS, "day")),
    Rule(rf"{_NOT_UP}(上{{1,3}}){_WEEK}{_NOT_ROUND}", lambda m, at: at.week(len(m[1]))),
    Rule(rf"{_NOT_THIS}(?:这|本){_WEEK}{_NOT_ROUND}", lambda m, at: at.week(0)),
    Rule(rf"{_NOT_UP}(上{{1,3}}|这|本){_WEEK}([{_DAYS}末]){_PART}", _week_day),
    Rule(
        rf"(?<![上下这本每各逢一两几\d周个])(?:周|星期|礼拜)([{_DAYS}])(?![鸣期])(?!至|到周){_PART}",
        _bare_day,
    ),
    Rule(rf"{_NOT_UP}(上{{1,3}})个?月{_MOON}", lambda m, at: at.months_ago(len(m[1]))),
    Rule(rf"{_NOT_THIS}(?:这个|当|本)月{_MOON}", lambda m, at: at.months_ago(0)),
    Rule(r"(上{1,3})个?季度", lambda m, at: at.quarters_ago(len(m[1]))),
    Rule(r"(?:这个?|本)季度", lambda m, at: at.quarters_ago(0)),
    Rule(
        rf"{_NO_NUMBER}(?:(今|去|大前|前)年的?|{_YEAR}的?)?{_NO_NUMBER}{_MONTH}(?:{_DATE})?"
        r"(?![内亮])",
        _date,
    ),
    Rule(rf"(?<![过如以之百千万十\d])(今|去|大前|前)年{_NO_AGE}", _relative_year),
    Rule(rf"{_NO_NUMBER}{_YEAR}", lambda m, at: at.year(_year(m[1]))),
)

GRAMMAR = Grammar(
    rules=_RULES,
    leads=(("since", r"(?:自从|自|从)\s*$"),),
    tails=(
        ("since", r"\s*(?:以来|起|开始|至今)"),
        ("before", r"\s*(?:之前|以前)"),
        ("after", r"\s*(?:之后|以后)"),
        ("until", r"\s*为止"),
    ),
    tail_after_lead=r"\s*(?:以来|起|开始|至今|到现在)",
    joint=r"\s*(?:到|至|和|与|—|–|~)\s*",
    joint_lead=r"(?:从|自|在)?\s*$",
    joint_needs_lead=False,
    refuses=_refuses,
)
