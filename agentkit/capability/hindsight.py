"""`Hindsight`: the capability that gives a pydantic-ai agent a memory that learns.

Trouble of ours never reaches the run: whatever fails here is logged with its traceback, and the
agent's answer goes out as if no memory were there.
"""

import asyncio
import copy
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

from pydantic_ai import DeferredToolRequests, RunContext
from pydantic_ai.agent import AbstractAgent, WrapperAgent
from pydantic_ai.capabilities import AbstractCapability, WrapRunHandler
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    SystemPromptPart,
    TextContent,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AgentToolset, CombinedToolset

from agentkit.capability.bench import Beside, fit_messages
from agentkit.capability.boundary import boundary
from agentkit.capability.carry import carry_over, ready_to_carry
from agentkit.capability.system_text import own_system_parts, with_own_system
from agentkit.capability.tools import MemoryTools
from agentkit.capability.workbench import WorkbenchTools, beside_of, model_string
from agentkit.errors import InputError
from agentkit.kit import Kit
from agentkit.kit.running import Holder
from agentkit.kit.tasks import LiveRun, RunRecord
from agentkit.records import Scope
from agentkit.steps import BRIEFING_MARK, instructions_of, prompt_text, steps_of

REFLECTION_MARK = "agentkit.reflection"
# Reading pins off a few sealed tasks takes milliseconds; a run does not wait for a slow bucket.
PINS_LIMIT_S = 2.0

UserOf = str | Callable[[RunContext[Any]], str]


@dataclass(frozen=True, slots=True)
class Ambient:
    """What a `Session` tells the capability about the run that it starts.

    Attributes:
        scope: Whose run it is.
        session_id: The session it belongs to.
        run_id: The run; the runs of other agents inside it have a scope of their own.
        heard: Gets the run's messages if it fails, so that the conversation keeps them.
    """

    scope: Scope
    session_id: str
    run_id: str
    heard: list[ModelMessage] = field(default_factory=list[ModelMessage])


AMBIENT: ContextVar[Ambient | None] = ContextVar("agentkit_ambient", default=None)
# By identity: agents compare by value and have no hash.
_EQUIPPED: "WeakValueDictionary[int, AbstractAgent[Any, Any]]" = WeakValueDictionary()


def is_equipped(agent: AbstractAgent[Any, Any]) -> bool:
    """Whether an agent was built with a `Hindsight` of its own."""
    while isinstance(agent, WrapperAgent):
        agent = agent.wrapped
    return _EQUIPPED.get(id(agent)) is agent


@dataclass
class RunState:
    """State of one run; `for_run` makes a fresh one, so that parallel runs do not mix.

    Attributes:
        scope: Whose run it is.
        session_id: Session it belongs to.
        continues: Whether the session goes on after this run, so that boundaries decide.
        bench_id: Session whose pins are on the bench; that of the conversation, even where the
            run is a task of its own.
        first_step: Number of this run's first step within the task, from 1.
        live: The run's message list as pydantic-ai keeps it; grows as the run goes.
        kept: Number of messages whose steps were handed over to be written.
        started: Whether the first model request was seen.
        fresh: Whether its session may go on where an earlier task ended.
        own_system: The agent's own system prompts, or None where the run began with no history.
        holder: Keeps the session's turn for this run.
    """

    scope: Scope
    session_id: str
    continues: bool
    bench_id: str
    first_step: int = 1
    live: list[ModelMessage] = field(default_factory=list[ModelMessage])
    kept: int = 0
    started: bool = False
    fresh: bool = False
    own_system: tuple[SystemPromptPart, ...] | None = None
    holder: Holder = field(default_factory=Holder)


@dataclass
class Hindsight(AbstractCapability[Any]):
    """Gives a pydantic-ai agent recall, a bounded workbench, recording and hindsight.

    Before the first request of a run the memories that fit the prompt are put in front of the
    model as delimited data; every request is fitted to the workbench's budget; what happens is
    recorded; when the task ends it is sealed and reflected on in the background.

    Args:
        kit: An open kit, or None to open the project at `project`.
        user_id: Whose memory it is: a name, or a function of the run context.
        agent_id: Name of the agent for memories of its own, or None to share with the user's
            other agents.
        project: Project folder, for specs from YAML, where no kit can be given.
        tools: Whether the model gets the memory tools (`memory_search`, `memory_write` and
            `memory_forget`) and the workbench tools (`workbench_open`, `workbench_pin` and
            `workbench_unpin`).

    Raises:
        InputError: If no user is given, or the name cannot be one.
    """

    kit: Kit | None = None
    user_id: UserOf = ""
    agent_id: str | None = None
    project: str | None = None
    tools: bool = True
    _state: RunState | None = field(default=None, init=False, repr=False, compare=False)
    _toolset: AgentToolset[Any] | None = field(default=None, init=False, repr=False, compare=False)
    _of_session: bool = field(default=False, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Open the kit where none is given, and refuse a missing user before any run."""
        if self.user_id == "":
            raise InputError("Hindsight needs a user: Hindsight(kit, user_id='...')")
        if isinstance(self.user_id, str):
            Scope(self.user_id, self.agent_id)
        if self.kit is None:
            self.kit = Kit.open(self.project)
        if self.tools:
            memory = MemoryTools(self.kit, self._bound).toolset()
            workbench = WorkbenchTools(self.kit, self._bound).toolset()
            self._toolset = CombinedToolset([memory, workbench])

    @classmethod
    def for_session(cls, kit: Kit, scope: Scope) -> "Hindsight":
        """Return the capability that a session adds to an agent that has none."""
        made = cls(kit, user_id=scope.user_id, agent_id=scope.agent_id)
        made._of_session = True
        return made

    @classmethod
    def from_spec(cls, *args: Any, **kwargs: Any) -> "Hindsight":
        """Build from an agent spec: `- Hindsight: {user_id: ..., project: ...}`."""
        return cls(None, *args, **kwargs)

    def for_agent(self, agent: AbstractAgent[Any, Any]) -> AbstractCapability[Any]:
        """Remember that this agent has a memory of its own."""
        if not self._of_session:
            _EQUIPPED[id(agent)] = agent
        return self

    def get_toolset(self) -> AgentToolset[Any] | None:
        """Return the memory tools and the workbench tools, built once."""
        return self._toolset

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        """Return a copy with state of its own; a reflection's run gets one that does nothing."""
        fresh = copy.copy(self)
        fresh._state = None
        if (ctx.metadata or {}).get(REFLECTION_MARK):
            return fresh
        with boundary("starting a run"):
            fresh._state = await self._start(ctx)
        return fresh

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put the briefing in front of the model once, and keep the steps so far."""
        state = self._state
        if state is None:
            return request_context
        state.live = ctx.messages
        first, state.started = not state.started, True
        if first:
            with boundary("asking the agent for its system text"):
                state.own_system = await own_system_parts(ctx)
            if state.fresh:
                await carry_over(ctx, self._the_kit, scope=state.scope, session_id=state.session_id)
            with boundary("recalling"):
                await self._brief(ctx, state)
        self._keep(ctx, state)
        return request_context

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any
    ) -> Any:
        """Keep the calls of a response before they run: one that is cut off leaves a trace."""
        del call, tool_def
        if self._state is not None and self._state.kept < len(ctx.messages):
            self._state.live = ctx.messages
            self._keep(ctx, self._state)
        return args

    def _keep(self, ctx: RunContext[Any], state: RunState) -> None:
        """Write the steps so far, beside the run."""
        with boundary("keeping the steps"):
            state.kept = len(state.live)
            record = self._record(ctx, state)
            self._the_kit.background.spawn(
                "keep steps", lambda: self._the_kit.tasks.keep(record), subject=record.run_id
            )

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Fit the messages to the workbench; the stored history stays whole."""
        state = self._state
        if state is None:
            return request_context
        messages = with_own_system(
            request_context.messages, own=state.own_system, run_id=ctx.run_id
        )
        fitted = fit_messages(
            messages,
            run_id=ctx.run_id,
            policy=self._the_kit.policy.working,
            model=model_string(request_context.model),
            beside=self._beside(state, messages),
        )
        return replace(request_context, messages=fitted)

    async def wrap_run(
        self, ctx: RunContext[Any], *, handler: WrapRunHandler
    ) -> AgentRunResult[Any]:
        """Record the run whichever way it ends, and never change how it ends."""
        try:
            result = await handler()
        except BaseException as error:
            self._finish(ctx, failure=type(error).__name__)
            raise
        if self._state is not None and isinstance(result.output, DeferredToolRequests):
            # The task is not over: it goes on when somebody has answered for the tools.
            self._state.continues = True
        self._finish(ctx, usage=(result.usage.input_tokens, result.usage.output_tokens))
        return result

    @property
    def _the_kit(self) -> Kit:
        assert self.kit is not None, "set in __post_init__"
        return self.kit

    def _bound(self, ctx: RunContext[Any]) -> Ambient:
        """Whose run this is, and in which session: the session's word goes first."""
        ambient = _ambient(ctx)
        if ambient is not None:
            return ambient
        user_id = self.user_id if isinstance(self.user_id, str) else self.user_id(ctx)
        session_id = ctx.conversation_id or ctx.run_id or ""
        return Ambient(Scope(user_id, self.agent_id), session_id, ctx.run_id or "")

    async def _start(self, ctx: RunContext[Any]) -> RunState:
        bound = self._bound(ctx)
        state = RunState(
            scope=bound.scope,
            session_id=bound.session_id,
            continues=_ambient(ctx) is not None or _is_conversation(ctx),
            bench_id=bound.session_id,
        )
        kit = self._the_kit
        await kit.start()
        if state.continues and not ctx.messages:
            await ready_to_carry(kit)
        first = await kit.take_turn(bound.scope, bound.session_id, holder=state.holder)
        if first is None:
            state.session_id = f"{bound.session_id}/{ctx.run_id}"
            state.continues = False
        elif state.continues:
            ended = await kit.begin_prompt(bound.scope, bound.session_id, prompt_text(ctx.prompt))
            state.first_step = 1 if ended else first
            state.fresh = state.first_step == 1 and not ctx.messages
            with boundary("reading what is pinned"):
                async with asyncio.timeout(PINS_LIMIT_S):
                    await kit.workbench.pins_of_session(bound.scope, bound.session_id)
        return state

    def _beside(self, state: RunState, messages: Sequence[ModelMessage]) -> Beside:
        """What stands on the bench beside the messages."""
        kit = self._the_kit
        with boundary("putting pins on the bench"):
            pins = kit.workbench.known_pins(state.scope, state.bench_id)
            return beside_of(kit, messages, pins=pins, handles=self.tools)
        return Beside(handles=self.tools)

    async def _brief(self, ctx: RunContext[Any], state: RunState) -> None:
        """Recall for this prompt; what the user asks to remember is written at once."""
        prompt = prompt_text(ctx.prompt)
        if not prompt.strip() or _resumes_tools(ctx.messages):
            return
        kit = self._the_kit
        await kit.remember_if_asked(prompt, scope=state.scope)
        briefing = await kit.brief(prompt, scope=state.scope, session_id=state.session_id)
        if briefing.text:
            mark = {BRIEFING_MARK: briefing.retrieval_id}
            ctx.enqueue(UserPromptPart([TextContent(briefing.text, metadata=mark)]))

    def _record(
        self,
        ctx: RunContext[Any],
        state: RunState,
        *,
        failure: str = "",
        usage: tuple[int, int] = (0, 0),
        episode_id: str | None = None,
    ) -> RunRecord:
        mine = [message for message in state.live if message.run_id == ctx.run_id]
        steps = steps_of(mine, start=state.first_step)
        if not steps and ctx.prompt:
            steps = steps_of([ModelRequest.user_text_prompt(prompt_text(ctx.prompt))])
        return RunRecord(
            scope=state.scope,
            session_id=state.session_id,
            run_id=ctx.run_id or "",
            continues=state.continues,
            steps=steps,
            instructions=instructions_of(mine),
            model=model_string(ctx.model),
            failure=failure,
            tokens_in=usage[0],
            tokens_out=usage[1],
            live=LiveRun(model=ctx.model, history=tuple(state.live)),
            episode_id=episode_id,
        )

    def _finish(
        self, ctx: RunContext[Any], *, failure: str = "", usage: tuple[int, int] = (0, 0)
    ) -> None:
        """Hand the run over; sealing and reflecting happen beside the caller."""
        state = self._state
        if state is None:
            return
        kit = self._the_kit
        with boundary("recording a run"):
            ambient = _ambient(ctx)
            if failure and ambient is not None:
                ambient.heard.extend(state.live)
            record = self._record(ctx, state, failure=failure, usage=usage, episode_id=kit.new_id())
            kit.background.spawn(
                "finish run", lambda: kit.finish_run(record), subject=record.subject
            )
        kit.end_turn(state.scope, state.session_id, holder=state.holder)
        if not state.continues and state.session_id == state.bench_id:
            kit.workbench.clear(state.scope, state.bench_id)


def _ambient(ctx: RunContext[Any]) -> Ambient | None:
    """What a session said about this very run, and not about one that it is a part of."""
    ambient = AMBIENT.get()
    return ambient if ambient is not None and ambient.run_id == ctx.run_id else None


def _is_conversation(ctx: RunContext[Any]) -> bool:
    """Whether a bare run belongs to a conversation that goes on.

    It does when it came with a history, or when the caller named the conversation; pydantic-ai
    gives every other run a fresh uuid7, and such a run is one task.
    """
    if ctx.messages:
        return True
    try:
        return UUID(ctx.conversation_id or "").version != 7
    except ValueError:
        return True


def _resumes_tools(messages: list[ModelMessage]) -> bool:
    """Whether the last request answers deferred tools, so there is no prompt to recall for."""
    if not messages or not isinstance(messages[-1], ModelRequest):
        return False
    return not any(isinstance(part, UserPromptPart) for part in messages[-1].parts)
