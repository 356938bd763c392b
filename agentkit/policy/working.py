"""What `memory/working.yaml` may say: the size of the bench and what is remembered at once."""

from fnmatch import fnmatchcase

from pydantic import Field

from agentkit.policy.model import PolicyModel
from agentkit.policy.phrases import Phrases, phrases


class RememberPolicy(PolicyModel):
    """When a user's sentence is written to memory at once.

    Attributes:
        enabled: Switch of the whole rule.
        asked: Phrases that ask to remember what follows ("remember that").
        standing: Phrases that make a sentence a standing order ("from now on").
        questions: Phrases that only ask about memory; they win over the others.
    """

    enabled: bool = True
    asked: Phrases = phrases(
        en=(
            "remember that | remember this | remember to | remember | make a note that | "
            "make a note | i want you to remember that | i'd like you to remember that"
        ),
        zh="记住 | 你要记住 | 记一下 | 记下来 | 记下 | 帮我记住 | 帮我记一下 | 帮我记下",
    )
    standing: Phrases = phrases(
        en="from now on | going forward | in future always | in the future always",
        zh="从现在起 | 从今以后 | 今后都 | 以后都 | 以后请 | 以后不要 | 以后别",
    )
    questions: Phrases = phrases(
        en=(
            "do you remember | can you remember | did you remember | i remember | "
            "i don't remember | i do not remember | i can't remember | remember when | "
            "remember how"
        ),
        zh="记不记得 | 还记得 | 你记得 | 我记得 | 我不记得 | 记住了吗 | 记住了没",
    )


class ModelBench(PolicyModel):
    """What is different for some models.

    Attributes:
        budget_tokens: Most tokens of one request to them, estimated, at least 200.
    """

    budget_tokens: int = Field(ge=200)


class WorkingPolicy(PolicyModel):
    """How much of a running task the model is sent.

    Attributes:
        budget_tokens: Most tokens of one request, estimated, at least 200.
        models: What is different for some models, by model string; `*` stands for any characters.
        goal_tokens: Most tokens of the task's first prompt once it is no longer the current one.
        large_result_tokens: A tool result above this is cut to its head and tail.
        result_head_chars: Characters kept from the start of a large tool result; a CJK character
            counts as four.
        result_tail_chars: Characters kept from its end, counted likewise.
        page_tokens: Most tokens of one page of a large result that the model opens again; a page
            is kept below `large_result_tokens` in any case.
        note_tokens: Most tokens of a note that the model pins to its bench.
        pinned_tokens: Most tokens of all that is pinned, and never more than half the budget.
        carry_over_tokens: Most tokens of what the next task of a session is told of the one
            before, wrapper included, and never more than a quarter of the budget; 0 for nothing.
        success_reward: A recorded session with at least this reward counts as a success.
        remember: When a user's sentence is written to memory at once.
    """

    budget_tokens: int = Field(default=24_000, ge=200)
    models: dict[str, ModelBench] = Field(default_factory=dict[str, ModelBench])
    goal_tokens: int = Field(default=800, ge=20)
    large_result_tokens: int = Field(default=2_000, ge=50)
    result_head_chars: int = Field(default=2_000, ge=0)
    result_tail_chars: int = Field(default=1_000, ge=0)
    page_tokens: int = Field(default=1_500, ge=20)
    note_tokens: int = Field(default=300, ge=10)
    pinned_tokens: int = Field(default=4_000, ge=50)
    carry_over_tokens: int = Field(default=200, ge=0)
    success_reward: float = Field(default=0.5, gt=0.0, le=1.0)
    remember: RememberPolicy = RememberPolicy()

    def budget_for(self, model: str | None) -> int:
        """Return the budget of a request to a model, in estimated tokens.

        Args:
            model: Model string such as `openai:gpt-4o`, or None where it is not known.

        Returns:
            The budget under the pattern with the most characters that are no `*`, of two such the
            first by name; `budget_tokens` where none matches.
        """
        matching = [name for name in self.models if model and fnmatchcase(model, name)]
        if not matching:
            return self.budget_tokens
        best = min(matching, key=lambda name: (name.count("*") - len(name), name))
        return self.models[best].budget_tokens

    def pin_limit_for(self, model: str | None) -> int:
        """Return how many estimated tokens may be pinned: so that a request always has room.

        Args:
            model: Model string, or None where it is not known.
        """
        return min(self.pinned_tokens, self.budget_for(model) // 2)
