"""The rule critic's own words, in English and Chinese."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from agentkit.records import Language
from agentkit.reflection.repairs import Repair
from agentkit.reflection.tooluse import Change

ARROW = " → "


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Sentences with places to fill, in one language.

    What to do stands first and the task last, so that a cut preview still holds the lesson.

    Attributes:
        changed: `tool`, `fix`, `error`: a failure that other arguments mended.
        again: `tool`, `error`: the same call worked when it was made again.
        again_after: `tool`, `error`, `others`: it worked after other tools ran.
        instead: `tool`, `error`, `other`: another tool worked in its place.
        unsolved: `tool`, `error`: a failure that nothing mended.
        detour: `tool`, `changes`: a call of the failed tool with other arguments.
        after: `fix`, `others`: doing other things first.
        replaced: `name`, `old`, `new`: one argument that was changed.
        added: `name`, `new`: one argument that was added.
        dropped: `name`, `old`: one argument that was left out.
        worked: `way`: the tools that led to success.
        failed: `way`, `answer`: a way that did not lead there.
        no_tool: `answer`: a failure without one tool call.
        ruling: `said`: what was found to hold.
        preference: `said`: how the user wants things.
        request: `said`: what the user asked to have remembered, in the user's words alone, as
            the working memory writes it; so the two are one memory.
        fact: `said`: what the user told of themselves.
        correction: `said`: how the user put the agent right.
        task: `lesson`, `goal`: where a lesson comes from.
        error_cue: `tool`, `error`: when a lesson about an error is useful.
        comma: Between the entries of a list.
        summary: `goal`, `calls`, `failures`: what was done.
        unknown_goal: In place of a goal that was never said.
    """

    changed: str
    again: str
    again_after: str
    instead: str
    unsolved: str
    detour: str
    after: str
    replaced: str
    added: str
    dropped: str
    worked: str
    failed: str
    no_tool: str
    ruling: str
    preference: str
    request: str
    fact: str
    correction: str
    task: str
    error_cue: str
    comma: str
    summary: str
    unknown_goal: str


WORDS: Mapping[Language, Words] = MappingProxyType(
    {
        "en": Words(
            changed="`{tool}`: call it with {fix} when it fails with “{error}”.",
            again="`{tool}`: the same call worked when made again; it had failed with “{error}”.",
            again_after="After {others}, the same `{tool}` call worked; it had failed with "
            "“{error}”.",
            instead="Use `{other}` instead of `{tool}`, which failed with “{error}”.",
            unsolved="Check before calling `{tool}`: it failed with “{error}”, and no later call "
            "mended it.",
            detour="`{tool}` with {changes}",
            after="{fix}, after {others},",
            replaced="{name} {new} instead of {old}",
            added="{name} {new}",
            dropped="no {name}",
            worked="This way worked: {way}.",
            failed="This way did not reach the goal: {way}. It ended with “{answer}”.",
            no_tool="Look things up with the tools before saying what cannot be done: without a "
            "single tool call it failed, with the answer “{answer}”.",
            ruling="What held: “{said}”",
            preference="The user prefers: “{said}”",
            request="{said}",
            fact="The user says of themselves: “{said}”",
            correction="The user put it right: “{said}”",
            task="{lesson} Task: “{goal}”",
            error_cue="{tool} error: {error}",
            comma=", ",
            summary="{goal} ({calls} tool calls, {failures} failed)",
            unknown_goal="(not said)",
        ),
        "zh": Words(
            changed="`{tool}`：{fix}，再调用一次，可解决报错“{error}”。",
            again="`{tool}`：原样再调用一次就成功了；之前报错“{error}”。",
            again_after="先用 {others}，同样的 `{tool}` 调用就成功了；之前报错“{error}”。",
            instead="改用 `{other}`，不用 `{tool}`：它报错“{error}”。",
            unsolved="调用 `{tool}` 前先检查：它报错“{error}”，后来没有解决。",
            detour="`{tool}`（{changes}）",
            after="先用 {others}，{fix}",
            replaced="{name} 用 {new} 不用 {old}",
            added="加上 {name} {new}",
            dropped="去掉 {name}",
            worked="这样做成功了：{way}。",
            failed="这样做没有达到目标：{way}。最后的回答：“{answer}”。",
            no_tool="说做不到之前先用工具查一查：没有调用任何工具就失败了，回答是“{answer}”。",
            ruling="结论：“{said}”",
            preference="用户的偏好：“{said}”",
            request="{said}",
            fact="用户的情况：“{said}”",
            correction="用户纠正说：“{said}”",
            task="{lesson}任务：“{goal}”",
            error_cue="{tool} 报错：{error}",
            comma="、",
            summary="{goal}（调用工具 {calls} 次，失败 {failures} 次）",
            unknown_goal="（没有说明）",
        ),
    }
)


def say_repair(repair: Repair, *, words: Words) -> str:
    """Return a failure and what mended it, what to do first.

    Args:
        repair: A failed tool use and what worked after it.
        words: The language.
    """
    use = repair.failed
    if repair.fix == "unsolved" or repair.worked is None:
        return words.unsolved.format(tool=use.tool, error=use.error)
    others = words.comma.join(_before(repair, words=words))
    if repair.fix == "again":
        template = words.again_after if others else words.again
        return template.format(tool=use.tool, error=use.error, others=others)
    if repair.fix == "instead":
        return words.instead.format(tool=use.tool, error=use.error, other=repair.worked.tool)
    fix = say_changes(repair.changed, words=words)
    if others:
        fix = words.after.format(fix=fix, others=others)
    return words.changed.format(tool=use.tool, fix=fix, error=use.error)


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


def _before(repair: Repair, *, words: Words) -> list[str]:
    """Return what ran between a failure and what worked, in code marks."""
    said = [f"`{tool}`" for tool in repair.between]
    if repair.detour:
        changed = say_changes(repair.detour, words=words)
        said.append(words.detour.format(tool=repair.failed.tool, changes=changed))
    return said


def say_way(tools: Sequence[str]) -> str:
    """Return tool names in order, neighbours once, joined by arrows."""
    distinct = [tool for at, tool in enumerate(tools) if at == 0 or tools[at - 1] != tool]
    return ARROW.join(f"`{tool}`" for tool in distinct)
