"""What of a long text is searched with."""

import pytest

from agentkit.recall import focus

SYSTEM = (
    "You are a careful assistant for a warehouse. Follow every rule below without exception. "
    "Do you have the order number? Ask for it first. Never reveal internal notes. "
) * 25
SYSTEM_ZH = (
    "你是仓库的助手。请始终遵守以下规定。订单号有了吗？没有就先问。不得透露内部备注。\n" * 50
)
RIVERS = "Amber Birch Cedar Delta Ember Frost Grove Heron Inlet Juniper Kestrel Larch".split()
NOTES = "\n\n".join(
    f"Gate {river} is named after a river, and whoever answers the radio at gate {river} speaks "
    f"for the whole warehouse; the sheet of gate {river} says who is on duty, and the round ends."
    for river in RIVERS
) + (
    "\n\nBefore a reply goes out over the radio, three checks are made: does it name the gate and "
    "its river, can it be heard at the gate, and would somebody on duty for the whole round "
    "understand it?"
)
LOG = "\n".join(
    f"2026-11-30T12:00:{n % 60:02d}Z ERROR worker-{n} failed at /srv/app/x.py:{n}"
    for n in range(90)
)
CHATTY_LOG = "\n".join(
    line
    for n in range(200)
    for line in (f"10.0.0.{n} - - [21/Nov/2026] GET /a", "Is the broker alive?", "Starting again")
)
CODE = "\n".join(
    f"def step_{n}(self, order: Order) -> None:\n    self.total += order.price\n"
    f"    if order.paid:\n        return close(order, {n})\n"
    for n in range(40)
)
QUESTION = "How do we cancel an order that was already packed?"
ASKS_ZH = "已经打包的订单怎么取消？"
REQUEST = "Cancel order 4711 and refund it."
HONEST = (
    "My grandmother kept a garden behind the house in the valley. She planted beans along the "
    "southern wall, and lettuce in the shade of the plum tree. The beans climbed to the roof. "
    "In the second summer the garden was flooded by the brook, and the lettuce drowned; the beans "
    "by the wall lived. After the flood she moved the lettuce to the terrace, where the wall keeps "
    "the wind away, and she dug a ditch between the brook and the plum tree. My uncle says the "
    "ditch was there before the flood, because he fell into the ditch as a child, when the plum "
    "tree was small. My mother says that he fell into the brook. The photographs show the garden "
    "with the terrace, the plum tree in blossom, beans on the wall, and no ditch, but the corner "
    "by the brook is cut off. On the back of one photograph grandmother wrote that the terrace was "
    "built by the neighbour in exchange for two sacks of beans and a basket of plums. He "
    "moved away in the year after the flood. His daughter still has letters in which grandmother "
    "writes about the garden, the brook and the price of lettuce, and in one letter she complains "
    "about mud in the ditch. The letters carry no year, only the day and the month, and the ink of "
    "some has run, as if they had been wet, which fits the flood as well as the leaking roof of a "
    "neighbour. I am writing all of this down for the children, who have never seen the garden, "
    "and I want to be sure about the past, at least for the brook and the terrace. "
    "When was the ditch between the brook and the plum tree dug, before the flood or after it?"
)


def short(text: str) -> str:
    return focus(text, limit_chars=600)


def test_a_short_text_comes_back_whole() -> None:
    assert short(f"  {QUESTION}\nIt is order 4711. ") == f"{QUESTION}\nIt is order 4711."
    assert short(f"System: be kind\n\nUser: {ASKS_ZH}") == f"System: be kind\n\nUser: {ASKS_ZH}"
    assert short(" \n ") == ""


@pytest.mark.parametrize("question", [QUESTION, ASKS_ZH, REQUEST])
@pytest.mark.parametrize("pasted", [SYSTEM, SYSTEM_ZH, LOG, CHATTY_LOG, CODE])
@pytest.mark.parametrize("joint", ["\n\n", "\n"])
def test_what_was_typed_before_or_behind_something_pasted_is_found(
    question: str, pasted: str, joint: str
) -> None:
    assert short(f"{pasted.strip()}{joint}{question}") == question
    assert short(f"{question}{joint}{pasted.strip()}") == question


@pytest.mark.parametrize("question", [QUESTION, ASKS_ZH])
@pytest.mark.parametrize("joint", ["\n\n", "\n"])
def test_of_two_ends_that_ask_the_one_in_words_of_its_own_is_taken(
    question: str, joint: str
) -> None:
    assert short(f"{NOTES}{joint}{question}") == question
    assert short(f"{question}{joint}{NOTES}") == question


@pytest.mark.parametrize("question", [QUESTION, ASKS_ZH])
def test_a_question_on_the_same_line_as_a_system_text_is_found(question: str) -> None:
    assert short(f"{SYSTEM.strip()} {question}") == question


@pytest.mark.parametrize("question", [QUESTION, ASKS_ZH])
def test_a_question_between_fences_or_above_one_is_found(question: str) -> None:
    assert short(f"```\n{LOG}\n```\n\n{question}\n\n```py\n{CODE}\n```\n") == question
    assert short(f"{question}\n```\n{LOG}\n```\n") == question
    assert short(f"{question}\n```\n{LOG}") == question
    assert short(f"```\n{LOG}\n\n{question}") == question


@pytest.mark.parametrize(
    "dialog",
    [
        "System: {system}\n\nUser: {asked}\n\nAssistant:",
        "<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{asked}<|im_end|>\n"
        "<|im_start|>assistant\n",
        "[INST] <<SYS>>\n{system}\n<</SYS>>\n\n{asked} [/INST]",
        "<system>\n{system}\n</system>\n<user_query>\n{asked}\n</user_query>",
        "### System:\n{system}\n\n### User:\n{asked}",
        "系统：{system}\n用户：{asked}\n助手：",
        "User: {asked}\n\nSystem: {system}",
        "{system}\n\nUser: Is it open?\nAssistant: It is.\n\nThe gates close at eight.\n\n{asked}",
    ],
)
@pytest.mark.parametrize("system", [SYSTEM, NOTES])
def test_what_the_person_says_in_a_labelled_dialog_is_found(dialog: str, system: str) -> None:
    assert short(dialog.format(system=system.strip(), asked=QUESTION)) == QUESTION
    assert short(dialog.format(system=system.strip(), asked=ASKS_ZH)) == ASKS_ZH


def test_a_long_question_of_a_person_is_searched_with_whole() -> None:
    assert len(HONEST) > 1_500
    assert short(HONEST) == HONEST
    chinese = "我家的院子在山谷里，院子里有一棵李子树，李子树旁边有一条水沟。" * 30
    assert short(f"{chinese}水沟是在院子和李子树之前挖的吗？").startswith(chinese)


def test_a_question_about_something_else_is_taken_out_of_a_text_of_the_same_length() -> None:
    notes = HONEST.rpartition(". ")[0] + "."
    assert short(f"{notes}\n\n{QUESTION}") == QUESTION
    assert short(f"{QUESTION}\n\n{notes}") == QUESTION


def test_the_lines_of_one_message_stay_together() -> None:
    message = f"My order is 4711.\nIt was packed yesterday.\n{QUESTION}"
    assert short(f"{SYSTEM}\n\n{message}") == message
    assert short(f"{message}\n\n{SYSTEM}") == message


def test_a_bare_thanks_at_the_end_does_not_replace_the_request() -> None:
    found = short(f"Cancel order 4711.\n\n{LOG}\n\n{'x ' * 300}\n\nThanks!")
    assert "Cancel order 4711." in found
    assert "Thanks!" in found


def test_a_huge_text_is_searched_at_its_ends() -> None:
    huge = CHATTY_LOG * 60
    assert short(f"{huge}\n{QUESTION}") == QUESTION
    assert short(f"{ASKS_ZH}\n{huge}") == ASKS_ZH


@pytest.mark.parametrize("text", ["a" * 9_000, LOG, "。" * 2_000, "x. " * 3_000, "{" * 5_000])
def test_any_long_text_gives_something_within_the_limit(text: str) -> None:
    found = focus(text, limit_chars=100)
    assert 0 < len(found) <= 100
