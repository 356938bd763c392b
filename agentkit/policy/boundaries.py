"""What `memory/boundaries.yaml` may say: when a task ends, and how the user's words are read."""

from pydantic import Field

from agentkit.policy.closing import MeaningRule
from agentkit.policy.model import PolicyModel
from agentkit.policy.phrases import Phrases, phrases


class DoneRule(PolicyModel):
    """The user says that it is done and asks nothing new in the same breath.

    Attributes:
        enabled: Switch of this boundary.
        endings: Words that end a task by themselves.
        thanks: Words that end it when the whole message holds nothing but thanks.
        fillers: Words that may stand around them without meaning anything new.
        asks: Words that ask for something new; one of them, or a question mark, and it goes on.
        meaning: How what these words leave open is told by meaning.
    """

    enabled: bool = True
    endings: Phrases = phrases(
        en=(
            "that's it | that is it | thats it | that's all | that is all | thats all | "
            "that will be all | that'll be all | that's everything | that is everything | "
            "we're done | we are done | i'm done | i am done | all done | nothing else | "
            "no further questions | all set | that solved it | that solves it | "
            "that fixed it | that did it | problem solved | it works now | that works | "
            "works now | goodbye | bye"
        ),
        zh=(
            "好了 | 可以了 | 行了 | 搞定了 | 搞定 | 就这样 | 就这些 | 没别的了 | "
            "没有别的了 | 没其他的了 | 没有其他问题了 | 没问题了 | 没事了 | 解决了 | "
            "完成了 | 结束吧 | 再见 | 拜拜"
        ),
    )
    thanks: Phrases = phrases(
        en=(
            "thanks | thank you | thank u | thx | many thanks | cheers | much appreciated | "
            "appreciate it | appreciated"
        ),
        zh="谢谢 | 多谢 | 感谢 | 谢了 | 辛苦了 | 麻烦你了 | 麻烦您了",
    )
    fillers: Phrases = phrases(
        en=(
            "ok | okay | alright | great | perfect | good | nice | cool | excellent | "
            "awesome | wonderful | fine | yes | yep | yeah | no | nope | well | so | very | "
            "much | a lot | a million | again | really | i | you | it | that | this | all | "
            "for | your | the | help | time | today | now | then | and | i think | i guess | "
            "i need | i needed | i wanted | what i needed | exactly | of | from me | looks | "
            "is | work | job | have a nice day | have a good day | have a great day | "
            "see you | later | too"
        ),
        zh=(
            "好的 | 好 | 嗯 | 行 | 可以 | 对 | 是的 | 很好 | 太好了 | 完美 | 不错 | 非常 | "
            "十分 | 太 | 很 | 都 | 那 | 就 | 先 | 今天 | 这次 | 你 | 您 | 的 | 帮助 | 帮忙 | "
            "了 | 啊 | 呀 | 啦 | 哦 | 吧 | 哈 | 没有 | 没 | 问题"
        ),
    )
    asks: Phrases = phrases(
        en=(
            "please | can you | could you | would you | will you | also | next | one more | "
            "another | but | however | except | what about | how about | let's | i want | "
            "i'd like | i would like | not"
        ),
        zh=(
            "请 | 帮我 | 再 | 还有 | 还要 | 还需要 | 然后 | 接着 | 接下来 | 顺便 | 另外 | "
            "不过 | 但是 | 怎么 | 什么 | 吗 | 呢 | 能不能 | 下一步"
        ),
    )
    meaning: MeaningRule = MeaningRule()


class QuietRule(PolicyModel):
    """Work was done with tools, and then only talk followed.

    Attributes:
        enabled: Switch of this boundary.
        turns: Turns in a row without a tool call, at least 1.
        offers: Questions with which an answer concludes ("anything else?").
        pending: Words in the last answer that leave something to be done, awaited or repaired.
        doubts: Words of the user that leave the last turn open, as a question mark does.
    """

    enabled: bool = True
    turns: int = Field(default=2, ge=1)
    offers: Phrases = phrases(
        en="anything else | something else | further questions | else i can",
        zh="还有什么 | 还有其他 | 还需要 | 其他问题 | 别的问题",
    )
    pending: Phrases = phrases(
        en=(
            "i'll | i will | i continue | i go on | i keep | i leave | i install | "
            "as soon as | once you | once the | once it | until | waiting | on hold | "
            "still | not yet | so far | remaining | unknown | the others | "
            "at the moment | at present | i'd have to | i would have to | i'd need | "
            "i need | i'm going to | does not show | did not | cannot | can't"
        ),
        zh=(
            "我会 | 我就 | 我将 | 我等 | 等你 | 等您 | 收到后 | 收到以后 | 以后就 | "
            "之后就 | 之前不 | 之前先 | 再填 | 再交 | 马上 | 立刻 | 才能 | 仍然 | 仍 | "
            "依旧 | 目前 | 还有 | 还没 | 还剩 | 尚未 | 无法 | 请告诉 | 请提供 | "
            "请确认 | 批了"
        ),
    )
    doubts: Phrases = phrases(
        en=(
            "why | which | who | how | what | explain | i need to know | hm no | "
            "wrong | check again"
        ),
        zh=("为什么 | 怎么 | 哪 | 吗 | 是不是 | 会不会 | 不可能 | 再看看 | 不对"),
    )


class TopicRule(PolicyModel):
    """The new prompt is about something else.

    Attributes:
        enabled: Switch of this boundary.
        least_cosine: Below this cosine between prompt and task the topic has changed, in [-1, 1].
        least_terms: A prompt with fewer terms says too little to tell.
        references: Words that refer back to the running task; one of them, and it goes on.

    Source:
        `least_cosine`: with the local embedder, task = the user's words so far; of 200 follow-ups
        in recorded airline support none fired, of 200 unrelated one-line requests put in their
        place 11.5 %. At 0.05 it is 0.5 % and 15.5 %, at 0.10 1 % and 27 %.
    """

    enabled: bool = True
    least_cosine: float = Field(default=0.03, ge=-1.0, le=1.0)
    least_terms: int = Field(default=6, ge=1)
    references: Phrases = phrases(
        en=(
            "it | its | that | this | these | those | them | they | same | above | again | "
            "also | too | instead | previous | earlier | before | the other | another | "
            "one more | back to | continue"
        ),
        zh=(
            "这个 | 那个 | 这些 | 那些 | 它 | 上面 | 刚才 | 刚刚 | 之前 | 前面 | 继续 | 也 | "
            "还有 | 再 | 同样 | 然后 | 接着"
        ),
    )


class IdleRule(PolicyModel):
    """Nothing happened for a while.

    Attributes:
        enabled: Switch of this boundary.
        after_minutes: Minutes without a step after which the task is over, above 0.
    """

    enabled: bool = True
    after_minutes: float = Field(default=30.0, gt=0.0)


class ClosedRule(PolicyModel):
    """The session is closed, or the caller says that the task is over.

    Attributes:
        enabled: Switch of this boundary; off, an open task waits for its session to go on.
    """

    enabled: bool = True


class RecoveredRule(PolicyModel):
    """A process died with the task open; it is sealed at the next start.

    Attributes:
        enabled: Switch of this boundary; off, an open task waits for its session to go on.
    """

    enabled: bool = True


class OutcomeWords(PolicyModel):
    """How the user's last words tell success from failure. Displeased words win.

    Attributes:
        pleased: Words of success.
        displeased: Words of failure.
    """

    pleased: Phrases = phrases(
        en=(
            "thanks | thank you | thx | perfect | great | excellent | awesome | works | "
            "solved | fixed it | exactly what | well done | looks good"
        ),
        zh=("谢谢 | 多谢 | 感谢 | 完美 | 太好了 | 很好 | 可以了 | 好了 | 解决了 | 搞定 | 没问题"),
    )
    displeased: Phrases = phrases(
        en=(
            "wrong | incorrect | not right | not what i | doesn't work | does not work | "
            "didn't work | did not work | not working | still broken | still fails | "
            "still failing | useless | give up | never mind | nevermind | forget it | "
            "no use | unacceptable | disappointed | frustrated"
        ),
        zh=(
            "不对 | 不行 | 错了 | 有误 | 没用 | 不是我要的 | 还是失败 | 失败了 | 算了 | 放弃 | 失望"
        ),
    )


class BoundariesPolicy(PolicyModel):
    """When a task ends; each rule has its own switch.

    Attributes:
        done: The user says so.
        quiet: Only talk after the work.
        topic: The new prompt is about something else.
        idle: Nothing happened for a while.
        closed: The session is closed.
        recovered: A dead process left it open.
        outcome: How the user's last words are read.
    """

    done: DoneRule = DoneRule()
    quiet: QuietRule = QuietRule()
    topic: TopicRule = TopicRule()
    idle: IdleRule = IdleRule()
    closed: ClosedRule = ClosedRule()
    recovered: RecoveredRule = RecoveredRule()
    outcome: OutcomeWords = OutcomeWords()
