"""Secrets are masked, harmless text is left alone (SE-02)."""

import pytest

from agentkit.reflection.secrets import MASK, redact

FAKE_KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----"

# Put together here, so that no scanner takes this file for a leak.
PLANTED = {
    "assignment": ("export API_TOKEN=tok_9f8e7d6c5b4a3f2e1d0c", "tok_9f8e7d6c5b4a3f2e1d0c"),
    "prose": ("the password is correct-horse-9", "correct-horse-9"),
    "private key": (f"key:\n{FAKE_KEY}\nend", "MIIEvQIBADANBg"),
    "cut private key": ("-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBg", "MIIEvQIBADANBg"),
    "bearer": ("Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.e30.abc", "eyJhbGciOiJIUzI1NiJ9"),
    "cut bearer": ("Authorization: Bearer eyJhbGciOi...(fake)", "eyJhbGciOi"),
    "aws": ("id AKIA" + "Q3EGRN7XKVLZ2M5T", "AKIA" + "Q3EGRN7XKVLZ2M5T"),
    "openai": ("sk-proj-" + "a1B2c3D4e5F6g7H8i9", "a1B2c3D4e5F6g7H8i9"),
    "anthropic": ("sk-ant-" + "api03-a1B2c3D4e5F6g7", "a1B2c3D4e5F6g7"),
    "stripe": ("sk_live_" + "4eC39HqLyjWDarjtT1", "4eC39HqLyjWDarjtT1"),
    "github": ("ghp_" + "a1B2c3D4e5F6g7H8i9J0k1", "a1B2c3D4e5F6g7H8i9J0k1"),
    "gitlab": ("glpat-" + "a1B2c3D4e5F6g7H8i9", "a1B2c3D4e5F6g7H8i9"),
    "slack": ("xoxb-" + "1234567890-abcdef", "1234567890-abcdef"),
    "google": ("AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p", "SyA1b2C3d4E5f6G7h8I9"),
    "huggingface": ("hf_" + "a1B2c3D4e5F6g7H8i9J0k1", "a1B2c3D4e5F6g7H8i9J0k1"),
    "address": ("postgres://app:s3cret@db.internal/x", "s3cret"),
    "flag": ("mysql --password=Tr0ub4dor3 -u root", "Tr0ub4dor3"),
    "json": ('{"password": "p4ss w0rd", "user": "x"}', "p4ss w0rd"),
    "escaped json": ('{\\"client_secret\\": \\"abc123xyz\\"}', "abc123xyz"),
    "pin": ("pin: 4711", "4711"),
    "chinese is": ("数据库密码是 hunter2!x，别忘了", "hunter2!x"),
    "chinese colon": ("密码：Abc12345。请记住", "Abc12345"),
    "chinese changed": ("口令改成了 open-sesame-77", "open-sesame-77"),
    "chinese quoted": ("密码是“芝麻开门123”", "芝麻开门123"),
    "chinese token": ("访问令牌为 tk-93jdk20s", "tk-93jdk20s"),
}

HARMLESS = [
    "No API key is needed",
    "apiKey: process.env.API_KEY",
    "AKIAIOSFODNN7EXAMPLE",
    "api_key = os.environ['API_KEY']",
    "password: ${DB_PASSWORD}",
    "token=<your token>",
    "password: your_password",
    "the token is short",
    "The secret is out",
    "max_tokens=4096, input_tokens: 1500",
    "tokens: 512 tokens were used",
    "the passenger is John",
    "password: required",
    "密码不能为空",
    "密码是必填项",
    "忘记密码时请联系管理员",
    "Compare 3.14 with 2.71; see https://example.com/a:b@c",
    "def token(self) -> str:",
]


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_secret_is_masked_and_the_sense_is_kept(kind: str) -> None:
    text, secret = PLANTED[kind]
    result = redact(text)
    assert secret not in result.text
    assert MASK in result.text
    assert result.count == 1


@pytest.mark.parametrize("text", HARMLESS)
def test_a_harmless_text_is_unchanged(text: str) -> None:
    assert redact(text).text == text
    assert redact(text).count == 0


def test_all_secrets_of_a_text_are_masked() -> None:
    text = "\n".join(text for text, _ in PLANTED.values())
    masked = redact(text).text
    for _, secret in PLANTED.values():
        assert secret not in masked


def test_masking_twice_is_masking_once() -> None:
    for text, _ in PLANTED.values():
        once = redact(text)
        again = redact(once.text)
        assert (again.text, again.count) == (once.text, 0)


def test_the_words_around_a_secret_stay() -> None:
    assert redact("the password is correct-horse-9 for staging").text == (
        f"the password is {MASK} for staging"
    )
    assert redact('{"password": "p4ss w0rd"}').text == f'{{"password": "{MASK}"}}'
