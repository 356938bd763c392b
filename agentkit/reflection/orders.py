"""Text that gives orders to an agent: harmless from the user, not out of a tool or the web."""

import re

# Nobody but an attacker writes these into a memory.
_HOSTILE = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|above|earlier|all|"
    r"your|system|safety|these|those)\b.{0,20}\b(?:instructions?|rules?|prompts?|guidelines?|"
    r"directives?|policy|policies|messages?)\b|"
    r"\b(?:new|updated|hidden|secret|real) (?:system )?(?:instructions?|directives?|prompt)\b|"
    r"\byou are (?:now|henceforth) (?:an?|the|in \w+ mode|called|acting|my|free)\b|"
    r"\byou (?:must|should|will) (?:now|from now on|henceforth)\b|\bfrom now on,? you\b|"
    r"\b(?:do not|don['’]t|never) (?:tell|inform|mention|reveal|alert|notify|warn|show)\b.{0,30}"
    r"\b(?:user|anyone|owner|human|them|operator)\b|"
    r"\bwithout (?:telling|asking|informing) the (?:user|owner|human)\b|"
    r"\b(?:send|post|upload|forward|exfiltrate|transmit|leak)\b.{0,60}"
    r"(?:https?://|\b(?:passwords?|credentials?|secrets?|api keys?|chat history)\b)|"
    r"\bcurl\b.{0,80}\|\s*(?:ba|z)?sh\b|\brm -rf\b|"
    r"\b(?:attention|note to|message (?:for|to)|instructions? (?:for|to)) (?:the )?"
    r"(?:ai|assistant|agent|model|llm)s?\b|"
    r"\b(?:ai|assistant|agent|model|llm)s? (?:reading|processing) this\b|"
    r"\b(?:remember|memori[sz]e|store|save) (?:this|that|the following)\b.{0,40}"
    r"\b(?:forever|permanently|all users|every user)\b|"
    r"<\s*/?\s*(?:system|assistant|instructions?|user|memor(?:y|ies)|assistant_thinking|pyai:\w+)\b|"
    r"^\s*(?:system|assistant)\s*:|"
    r"忽略(?:之前|以上|上面|前面|先前|所有|你的|一切).{0,12}(?:指令|指示|规则|提示|要求|设定|内容)|"
    r"无视.{0,10}(?:指令|规则|要求)|(?:新的|真正的|隐藏)(?:系统)?(?:指令|指示|提示词)|"
    r"(?:不要|别|不得|切勿)(?:告诉|通知|提醒|告知).{0,6}(?:用户|任何人|主人|他人)|"
    r"你(?:现在|从现在起|今后)(?:是|必须|要|应该)|从现在起[,，]?你|"
    r"(?:把|将).{0,30}(?:密码|密钥|令牌|聊天记录|凭证).{0,10}(?:发送|转发|上传|发)(?:到|给|至)|"
    r"(?:发送|转发|上传)(?:到|给|至).{0,10}https?://|"
    r"(?:正在阅读|读到)(?:这|此|本).{0,8}(?:助手|模型|智能体)|致(?:AI|助手|智能体)",
    re.IGNORECASE | re.MULTILINE,
)
# Good advice may read like this too, so it counts only where nobody vouches for the text.
_BIDDING = re.compile(
    r"\b(?:always|must|immediately) (?:run|execute|call|invoke|download|install|open|visit|"
    r"transfer|pay|approve|send|delete)\b|"
    r"\b(?:act|behave|pretend|respond) as (?:if|though|an?|the)\b|\bsystem prompt\b|"
    r"\b(?:send|forward|email|post)\b.{0,40}\S+@\S+|"
    r"(?:必须|立即|马上|始终)(?:执行|运行|调用|下载|安装|访问|转账|付款|批准|删除)|系统提示词",
    re.IGNORECASE,
)


def gives_orders(text: str, *, vouched: bool) -> bool:
    """Whether a text reads like an order to the agent that will be shown it.

    Args:
        text: Content and cues of a lesson that the user did not say.
        vouched: Whether a critic or the agent wrote it, and not a tool or a web page: advice
            such as "always run the tests" is then no order.
    """
    if _HOSTILE.search(text) is not None:
        return True
    return not vouched and _BIDDING.search(text) is not None
