"""The rule critic's own words, in English and Chinese."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from agentkit.records import Language
from agentkit.reflection.tooluse import Change

ARROW = " → "


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Sentences with places to fill, in one language.

    Attributes:
        repaired: `goal`, `tool`, `error`, `fix`: a failure and what worked after it.
        unsolved: `goal`, `tool`, `error`: a failure that nothing mended.
        again: Calling the tool once more as it was.
        changed: `changes`: calling it with other arguments.
        after: `fix`, `others`: doing other things first.
        instead: `other`: using another tool.
        replaced: `name`, `old`, `new`: one argument that was changed.
        added: `name`, `new`: one argument that was added.
        dropped: `name`, `old`: one argument that was left out.
        worked: `goal`, `way`: the tools that led to success.
        failed: `goal`, `way`, `answer`: a way that did not lead there.
        no_tool: `goal`, `answer`: a failure without one tool call.
        ruling: `goal`, `said`: what was found to hold.
        preference: `said`: how the user wants things.
        fact: `said`: what the user told of themselves.
        correction: `goal`, `said`: how the user put the agent right.
        error_cue: `tool`, `error`: when a lesson about an error is useful.
        comma: Between the entries of a list.
        summary: `goal`, `calls`, `failures`: what was done.
        unknown_goal: In place of a goal that was never said.
    """

    repaired: str
    unsolved: str
    again: str
    changed: str
    after: str
    instead: str
    replaced: str
    added: str
    dropped: str
    worked: str
    failed: str
    no_tool: str
    ruling: str
    preference: str
    fact: str
    correction: str
    error_cue: str
    comma: str
    summary: str
    unknown_goal: str


WORDS: Mapping[Language, Words] = MappingProxyType(
    {
        "en": Words(
            repaired="Task “{goal}”: `{tool}` failed: “{error}”. What worked: {fix}.",
            unsolved="Task “{goal}”: `{tool}` failed: “{error}”. No later call mended it, "
            "so check this before calling it again.",
            again="calling it again as it was",
            changed="calling it again with {changes}",
            after="{fix}, after {others}",
            instead="using `{other}` instead",
            replaced="{name} {new} instead of {old}",
            added="{name} {new} added",
            dropped="no {name}",
            worked="Task “{goal}”: this way worked: {way}.",
            failed="Task “{goal}”: this way did not reach the goal: {way}. "
            "It ended with “{answer}”.",
            no_tool="Task “{goal}”: it failed without a single tool call, with the answer "
            "“{answer}”. Look things up with the tools before saying what cannot be done.",
            ruling="Task “{goal}”: what held: “{said}”",
            preference="The user prefers: “{said}”",
            fact="The user says of themselves: “{said}”",
            correction="Task “{goal}”: the user put the agent right: “{said}”",
            error_cue="{tool} error: {error}",
            comma=", ",
            summary="{goal} ({calls} tool calls, {failures} failed)",
            unknown_goal="(not said)",
        ),
        "zh": Words(
            repaired="任务“{goal}”：`{tool}` 失败：“{error}”。有效的做法：{fix}。",
            unsolved="任务“{goal}”：`{tool}` 失败：“{error}”。"
            "后来没有解决，再次调用前先检查这一点。",
            again="原样再调用一次",
            changed="改变参数再调用：{changes}",
            after="先用 {others}，然后{fix}",
            instead="改用 `{other}`",
            replaced="{name} 用 {new}，不用 {old}",
            added="加上 {name} {new}",
            dropped="去掉 {name}",
            worked="任务“{goal}”：这样做成功了：{way}。",
            failed="任务“{goal}”：这样做没有达到目标：{way}。最后的回答：“{answer}”。",
            no_tool="任务“{goal}”：没有调用任何工具就失败了，回答是“{answer}”。"
            "说做不到之前先用工具查一查。",
            ruling="任务“{goal}”：结论：“{said}”",
            preference="用户的偏好：“{said}”",
            fact="用户的情况：“{said}”",
            correction="任务“{goal}”：用户纠正说：“{said}”",
            error_cue="{tool} 报错：{error}",
            comma="，",
            summary="{goal}（调用工具 {calls} 次，失败 {failures} 次）",
            unknown_goal="（没有说明）",
        ),
    }
)


def say_changes(found: Sequence[Change], *, words: Words) -> str:
    """Return the changed arguments as one phrase; at least one change.

    Args:
        found: What was changed between two calls.
        words: The language.
    """
    said: list[str] = []
    for change in found:
        if change.new is None:
            said.append(words.dropped.format(name=change.name, old=change.old))
        elif change.old is None:
            said.append(words.added.format(name=change.name, new=change.new))
        else:
            said.append(words.replaced.format(name=change.name, new=change.new, old=change.old))
    return words.comma.join(said)


def say_tools(tools: Sequence[str], *, words: Words) -> str:
    """Return tool names in code marks, as a list."""
    return words.comma.join(f"`{tool}`" for tool in tools)


def say_way(tools: Sequence[str]) -> str:
    """Return tool names in order, neighbours once, joined by arrows."""
    distinct = [tool for at, tool in enumerate(tools) if at == 0 or tools[at - 1] != tool]
    return ARROW.join(f"`{tool}`" for tool in distinct)
