"""Examples of messages that end a task and of such that do not, under `done` in the policy."""

from pydantic import Field

from agentkit.policy.model import PolicyModel
from agentkit.policy.phrases import Phrases, phrases


class MeaningRule(PolicyModel):
    """What the phrases of `done` leave open, told by meaning.

    Attributes:
        enabled: Switch of this judge; off, the phrases decide alone.
        least_margin: Margin on the side of `closing` from which a message ends a task, in [-2, 2];
            the examples themselves lie near 1 and -1.
        most_terms: A message with more terms is left to the phrases, at least 1.
        awaits: Words in the answer before it that await something of the user.
        closing: Messages that end a task; English and Chinese are learned from together.
        going_on: Messages that do not.

    Source:
        `least_margin`: 442 cases of `done` by three writers, in sight when the examples were
        written: precision 75 of 78 and recall 0.68 in English, 70 of 72 and 0.64 in Chinese; at
        0.0 85 of 93 and 0.77, 81 of 85 and 0.74. On cases that nobody looked at it is less sure:
        0.87 and 0.72, 0.87 and 0.56 (evals/baselines/boundaries.json).
    """

    enabled: bool = True
    least_margin: float = Field(default=0.15, ge=-2.0, le=2.0)
    most_terms: int = Field(default=50, ge=1)
    awaits: Phrases = phrases(
        en=(
            "shall i | should i | ready for | ready to | ready when | send | "
            "tell me | give me | let me know | please | i will | i'll | once you | "
            "so far | upload | paste | go ahead | what's | i'd"
        ),
        zh=(
            "请 | 发我 | 发给我 | 发来 | 等你 | 等您 | 您看 | 吗 | 我就 | 我会 | "
            "我打算 | 建议 | 方案 | 目前 | 还差 | 还没 | 还在 | 进行到 | 要不要 | "
            "是否 | 确认 | 尚未 | 贴"
        ),
    )
    closing: Phrases = phrases(
        en=(
            "lovely, that's me sorted, thank you | "
            "that's exactly the thing, cheers | perfect, I have all I need now | "
            "ok that clears it up, thanks a bunch | "
            "nothing further, have a good weekend | cool, we can leave it at that | "
            "brilliant work, thank you so much | "
            "yep, it opens on my phone too, ty | it runs again, thanks! | "
            "tested it here, all green. we're good | "
            "alright, I'll handle the rest on my own | "
            "great, I can carry on from there myself | "
            "forget about it, the client cancelled | "
            "don't bother, I found it in my bag | "
            "never mind, a colleague fixed it already | "
            "let's drop it, it isn't worth the effort | no, that'll do | "
            "no thanks, I have enough | nope, I'm good | "
            "no need, I already booked one | got it, bye | "
            "see you tomorrow, thanks for everything | good night, I'm off to bed | "
            "logging off now, great job today | ok, closing this one | "
            "you may close the ticket | please mark this as done | "
            "consider this resolved | that answers it | understood, thank you | "
            "ah ok, makes sense. thanks | good to know, cheers | "
            "wow, beautiful! my mum will love it | haha nice one, made my evening | "
            "this is great, just what I hoped for | "
            "sent it to the boss and she approved it | "
            "merged and deployed, thank you | printed and signed. done and dusted | "
            "just submitted it, you saved me | "
            "I'm happy with this version, let's keep it as it is | "
            "looks right to me, I'll go with that | fine by me, end of story | "
            "that wraps it up for this month | finished for today, thanks | "
            "case closed, well done | job done | "
            "ok sold, I'll take the blue one then | "
            "pity, but ok. we'll stay at home then | "
            "doesn't matter any more, the meeting is off | "
            "enough for now, I have to run | right, on my way to the shop. thx | "
            "much obliged, all received in good order | "
            "many thanks, it arrived and fits | "
            "the error is gone. you're a genius | it's working, finally! | "
            "solved! it was the cable | that was quick, thank you very much | "
            "okay I get it now | ta, all clear | "
            "I'll call them myself then, thanks for the number | "
            "wonderful, that's it from my end | "
            "this solves my problem, bye for now | off we go then, see you | "
            "spot on | cheers mate | great, I'll try it out for a while | "
            "passed on to my colleague, so it's off our plates | "
            "they can hear us now, problem gone | all right, I'm sorted then | "
            "that's a wrap | no further action needed from you | "
            "it meets our needs, thank you for the summary | "
            "I've seen enough, we can stop here | not worth it, drop it | "
            "good, that's the end of that | I'll sleep on it, good night | "
            "phew, glad that's over. thank you | "
            "my brother took care of it meanwhile | works like a charm | "
            "fits perfectly, you're a star"
        ),
        zh=(
            "好的，非常感谢，就到这里 | 谢谢啦，我清楚了 | 谢谢，帮大忙了 | "
            "辛苦啦，没其他事了 | 多谢多谢，拜 | 感谢，资料已收到，没有别的问题 | "
            "明白了，谢谢老师 | 懂了懂了 | 哦原来如此，知道了 | 嗯嗯，收到 | "
            "行，那就这么定了，我去订票 | 好嘞，我自己接着改就行 | "
            "剩下的我来处理，你不用管了 | 后面的我自己搞定 | 不用了，已经够了 | "
            "不需要了，同事已经帮我弄好了 | 不用找了，在包里翻到了 | 算了，不做了 | "
            "算啦，客户取消了，不用再弄 | 这事先放下吧，不折腾了 | "
            "太贵了，不买了，就这样吧 | 试了一下，正常了 | 能打开了，谢谢！ | "
            "不报错了，太感谢了 | 跑通了，搞定收工 | 问题解决了，你真厉害 | "
            "亲测有效，赞 | 果然好了 | 哇，太好看了，我很喜欢 | 哈哈哈写得真好 | "
            "完美，正是我想要的 | 很满意，就用这一版 | "
            "老板已经通过了，这个可以结束了 | 已经提交了，多谢帮忙 | "
            "已发给客户，对方没意见 | 已合并，上线完成 | 这个单子关掉吧 | "
            "可以结单了 | 这件事就算完结了 | 今天就到这吧，我下班了 | "
            "先这样，明天见 | 晚安，我去睡了 | 回头见，谢谢 | 好，我出门了，再聊 | "
            "这样就可以了，不用再改 | 够用了，谢谢 | 挺好的，就这样 | "
            "没什么要补充的了 | 没有了，都齐了 | 全部核对完毕，没有问题，感谢支持 | "
            "搞完了，收工 | OK，完事 | ok 谢谢 | thx，没事了 | 可惜了，那就不去了 | "
            "好吧，那我自己打电话问他们 | 有答案了，心里踏实了 | 謝謝，這樣就夠了 | "
            "收到，麻煩你了，再見 | 打印出来了，效果不错，谢谢你 | "
            "差异核完了，盘点算做完了 | 结案吧，观察半小时没再出问题 | "
            "确认无误，定稿 | 那我收拾东西去了，回见 | 交给我吧，你可以歇着了 | "
            "我替家里人说声谢谢 | 看这个表就能定了 | 还是留着旧的吧，不换了 | "
            "那就选它了，哈哈 | 资料齐了，帮了大忙 | "
            "上线的事我跟同事说，你这边就结束了 | 好使，牛 | 拿去交了，下次见 | "
            "活儿干完啦，已入库 | 我妈看了很高兴 | 完工，辛苦 | 心里有数了 | "
            "就到这一步吧，后面不做了 | 已经约好了，谢谢提醒 | 满分，收下了"
        ),
    )
    going_on: Phrases = phrases(
        en=(
            "thanks! now do the same for march | "
            "great, and add the phone numbers as well | "
            "perfect, now send it to anna | thank you, but the total looks wrong | "
            "thanks, although I meant the other one | "
            "ty but it's still not sorted | good, only the title is too long | "
            "nice. make it a bit shorter | very good, one name is missing though | "
            "almost, the second column is off by one | "
            "not quite, the last line should go | no, that's not what I asked for | "
            "we're not finished, two files are left | "
            "don't close it yet, I want to check | hold on, the date is wrong | "
            "wait, I'll look that up and tell you | "
            "give me a minute, I'll come back to you | ok go ahead | yes do that | "
            "sounds good, go for it | fine, book it | "
            "that works for me, reserve the table | agreed, proceed | "
            "take the cheaper one | looks good, continue with the next part | "
            "carry on | ok, next | done, I put the files in the folder | "
            "I've finished my part, your turn | that's done, I restarted it | "
            "all uploaded, you can start | installed it, what do I type now | "
            "it's tom and sara, that's all | no, nothing else, just the two names | "
            "two adults and one child, thanks | my number is 4471, thank you | "
            "by friday would be great, thanks in advance | "
            "can you find me a flight, many thanks | "
            "end the mail with thanks and goodbye | "
            "write: that's it for today, see you all | "
            "the sign on the door says we are closed, bye | "
            "the customer wrote that everything is fine now, answer him | "
            "when everything works, archive the folder | "
            "if the test passes we can call it done | "
            "once that's finished tell me | "
            "peter says he's done with it, so assign someone else | "
            "the first job is finished, what about the second | "
            "great, thanks a lot, now it is all broken | "
            "wonderful, it deleted my list. bring it back | "
            "well done, really, the wrong person got it | still the same error | "
            "it works on the laptop but fails on the phone | "
            "stop searching and sort what you have | "
            "forget the hotel, look for a flat instead | "
            "never mind the colours, fix the font first | "
            "leave that out and go on with page two | "
            "no thanks, skip that, what comes after | "
            "to finish, give me a short summary | last thing: put it into bold | "
            "one more change and we're there | so is it finished | "
            "how did you do that | I'd like to see the numbers too | "
            "by the way, where is the office | the logo is too small | "
            "happy with all of it, you may publish | "
            "great choice of words, just the colours are awful | "
            "good, but one about salary is missing | "
            "don't archive this yet, my boss wants a look | "
            "hold on, this isn't over, there's an appeal | "
            "nearly there, only group them by folder | fire away | "
            "nobody is online, that's fine | "
            "he said it's all over already, look it up | "
            "fantastic, just what nobody needs | "
            "super, exactly the wrong file, undo it | enjoying this, tell me more | "
            "under 300, cheers for helping | "
            "ok that was the last piece, put it together | "
            "let me ring her and I'll report back | there, it is blinking now | "
            "got it. different thing: when is lunch | "
            "it would be nice to have the prices too | "
            "nothing has changed on my screen | all of them apart from the filter"
        ),
        zh=(
            "谢谢，再把三月的也做一下 | 好的，顺便加上电话号码 | 很好，发给小王吧 | "
            "谢谢，但是总数好像不对 | 辛苦了，不过我要的是另一个 | "
            "感谢，可是还是打不开 | 不错，就是标题太长了 | 挺好，改短一点 | "
            "可以，第二段再改改 | 前面没问题，最后一行删掉 | 差一点，日期错了 | "
            "不对，我说的不是这个 | 还没完，还有两个文件 | 还没好，还是报错 | "
            "先别关，我再看看 | 别急着结束，数据还缺一块 | 等一下，我查查再告诉你 | "
            "稍等，我问下领导 | 可以，开始吧 | 好，就这么办 | 行，执行吧 | "
            "没问题，继续 | 同意，按这个方案来 | 确认 | 嗯，删了吧 | 要便宜的那个 | "
            "就选第二个吧 | 好的，下一步 | 接着来 | "
            "我这边弄好了，文件放文件夹里了 | 我的部分写完了，该你了 | "
            "重启过了，驱动也装好了 | 都传上去了，你看看 | "
            "内存够了，搞定了，可以开始跑 | 张三和李四，就这些 | "
            "没有别的，就两个名字，谢谢 | 两大一小，谢谢 | 电话是 4471，麻烦你了 | "
            "周五之前就行，先谢谢了 | 帮我查下航班，多谢 | 邮件结尾写上谢谢，再见 | "
            "加一句：今天就到这里，大家辛苦了 | 客户：好了好了，别说了，就这样 | "
            "用户回复说问题解决了，你帮我回一下 | 文案里的「完美收官」换个词 | "
            "等都跑完了再归档 | 要是测试通过就算完成 | 弄完了告诉我一声 | "
            "老李说他不做了，换个人吧 | 第一个好了，第二个呢 | 好了没有，我着急用 | "
            "弄完了吗 | 真厉害，把我的表全删了 | 太好了，又发错人了，赶紧撤回 | "
            "电脑上好了，手机上还不行 | 别找了，先按价格排一下 | "
            "酒店算了，看看民宿 | 颜色先不管，先改字体 | 这个不用了，做下一页 | "
            "最后再给我一个总结 | 还差一个小改动 | 怎么做到的 | 能不能再大一点 | "
            "这个图太小了，换一张 | 感冒昨天好了，就是还咳嗽 | "
            "謝謝，可以再加一欄嗎 | 手机号脱了就完事了，还差邮箱 | "
            "内存加好了，可以继续了 | 结束语原文是您的问题已解决，再见 | "
            "我拍给你，先谢谢啦 | 靠你了，提前谢谢 | 没毛病，就这么干 | "
            "照着填就行，都在图里 | 一二没毛病，三和五重复了 | 行，提交 | "
            "并没有解决，还是响 | 没弄完吧，下面还有 | 节奏还行，音乐太吵，重来 | "
            "折线就行 | 要表头，逗号分隔 | 同意，发正式通知吧 | "
            "这俩行了，剩下的接着对 | 昨天不还是好的吗，奇怪 | 里面有几张是去年的 | "
            "投诉那个关掉，退款盯紧点 | 驱动装完了，重启也重启过了"
        ),
    )
