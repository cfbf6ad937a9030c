"""Secrets are replaced in an export, and everything else is kept."""

import itertools
import os

import pytest
from hypothesis import given, strategies as st
from scripts.benchmarks.generated_secrets import Planted, leaks, planted

from sessiond.hub.redaction.provider_keys import CACHE_VARIABLE, ProviderKeys
from sessiond.hub.redaction.redactor import Redactor
from sessiond.hub.redaction.spans import Span, without_overlaps

KEYS = ProviderKeys(os.environ[CACHE_VARIABLE])

SECRETS = {
    "AWS Access Key": "AKIA" + "IOSFODNN7EXAMPLE",
    "GitHub Token": "ghp_" + "abcdefghijklmnopqrstuvwxyzABCDEF0123",
    "Anthropic API Key": "sk-ant-api03-" + "a1B2" * 10,
    "OpenAI API Key": "sk-proj-" + "a1B2c3D4" * 5,
    "Google API Key": "AIza" + "a1B2c" * 7,
    "Slack Token": "xoxb-" + "123456789012-1234567890123-abcdefghijkl",
    "Stripe Access Key": "sk_live_" + "abcdefghijklmnopqrstuvwx",
}


@pytest.mark.parametrize(("kind", "secret"), SECRETS.items())
def test_keys_of_known_shapes_are_replaced_by_their_kind(kind: str, secret: str) -> None:
    redactor = Redactor()
    text = redactor.text(f"before {secret} after", "e1")
    assert text == f"before [redacted: {kind}] after"
    assert redactor.found == {("e1", kind): 1}


def test_a_short_secret_that_repeats_is_replaced_and_counted_in_each_entry() -> None:
    redactor, secret = Redactor(), SECRETS["AWS Access Key"]
    assert [redactor.text(secret, entry) for entry in ("e1", "e2")] == ["[redacted: AWS Access Key]"] * 2
    assert redactor.found == {("e1", "AWS Access Key"): 1, ("e2", "AWS Access Key"): 1}


@pytest.mark.parametrize(
    "behind", [",", ";", ")", ".", ". ", ":", ": ", "*", "!", "\\", "|", "]", "}", ">", "?", "&"]
)
def test_a_key_is_found_whatever_punctuation_follows_it(behind: str) -> None:
    secret = "dapi" + "0a1b2c3d" * 4
    assert secret not in Redactor(KEYS).text(f"the key {secret}{behind}\nand more", None)


def test_of_a_private_key_nothing_stays() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"
    assert Redactor().text(f"a\n{key}\nb", None) == "a\n[redacted: Private Key]\nb"
    assert Redactor().text(key[:-40], None) == "[redacted: Private Key]"


def test_of_an_address_only_the_password_goes() -> None:
    assert Redactor().text("see https://ada:s3cret@example.com/x", None) == (
        "see https://ada:[redacted: Basic Auth Credentials]@example.com/x"
    )


def test_hashes_ids_and_prose_stay() -> None:
    text = "password: ask Ada. 3f786850e387550fdab836ed7e6dc881de23001b 7c1f0a52-9d0e-4b7b-8f52-1f4f5a0d9b11 10.0.0.1"
    assert Redactor().text(text, None) == text


def test_the_fields_of_every_entry_and_images_stay() -> None:
    secret = SECRETS["AWS Access Key"]
    entry = {
        "type": "custom",
        "id": secret,
        "parentId": secret,
        "data": {"type": "image", "data": secret, "name": [secret]},
    }
    redacted = Redactor().entry(entry)
    assert (redacted["id"], redacted["parentId"], redacted["data"]["data"]) == (secret, secret, secret)
    assert redacted["data"]["name"] == ["[redacted: AWS Access Key]"]


@given(st.integers(0, 40_000), st.booleans())
def test_a_secret_is_found_wherever_it_stands_in_a_long_text(place: int, in_lines: bool) -> None:
    secret = SECRETS["AWS Access Key"]
    filler = "some words\n" if in_lines else "some words "
    text = (filler * 4_000)[:place] + f" {secret} " + (filler * 4_000)[place:]
    redacted = Redactor().text(text, None)
    assert secret not in redacted
    assert redacted == text.replace(secret, "[redacted: AWS Access Key]")


def sorts_that_leak(redactor: Redactor, secrets: list[Planted]) -> set[str]:
    return {it.sort for it in secrets if leaks(it.secret, redactor.text(it.text, None))}


def test_no_generated_secret_of_any_sort_is_exported() -> None:
    assert sorts_that_leak(Redactor(KEYS), list(planted(seed=1, rounds=3))) == set()


def test_without_kingfisher_common_keys_and_all_that_stands_beside_a_name_is_found() -> None:
    leaking = sorts_that_leak(Redactor(), list(planted(seed=2, rounds=3)))
    assert leaking <= {
        "DigitalOcean", "Databricks", "Groq", "Linear", "Notion", "Perplexity", "PyPI", "Replicate", "Supabase",
        "Vault token of before", "xAI", "AWS secret", "AWS secret in the environment", "Cloudflare token",
    }  # fmt: skip


def test_the_text_around_a_secret_is_kept() -> None:
    for it in planted(seed=3, rounds=1):
        before, after = it.text.split(it.secret)
        redacted = Redactor(KEYS).text(it.text, None)
        assert redacted.startswith(before[: -len("ada:")])
        assert redacted.endswith(after.lstrip("="))


@pytest.mark.parametrize(
    "text",
    [
        "The token count is 1234567, password: ask Ada, and the secret is to write tests.",
        "def login(user: str, password: str, token: str | None = None) -> Session: ...",
        "client = Client(api_key=os.environ['API_KEY'], token=settings.AUTH_TOKEN, secret=get_secret('x'))",
        'curl -H "Authorization: Bearer $TOKEN" -H "X-Api-Key: ${API_KEY}" https://example.com',
        '{"usage": {"input_tokens": 12345, "output_tokens": 678}, "max_tokens": 4096, "stop_token": "end_of_turn"}',
        "password = <your password>\nAPI_KEY=your-api-key-here\nSECRET=changeme\nTOKEN=xxxxxxxxxxxx\n",
        "password_field = form.password; token_type: bearer; authorization: required; cookie: accepted",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b, id 7c1f0a52-9d0e-4b7b-8f52-1f4f5a0d9b11",
        "<input type='password' name='password' placeholder='Password' autocomplete='current-password'>",
        "https://example.com/?page=2&sort=name#token and git@github.com:ada/x.git, postgres://localhost:5432/app",
        "PASSWORD_FILE=/run/secrets/db TOKEN_URL=https://example.com/oauth/token AUTH_MODE=disabled",
        "const { accessToken, refreshToken } = await auth.refreshSession(currentSession.accessToken)",
        "The keyword author: Ada Lovelace; compat: version 2; path: /home/ada/secret-garden/readme.md",
    ],
)
def test_code_prose_and_examples_are_kept(text: str) -> None:
    assert Redactor(KEYS).text(text, None) == text


def test_fields_and_keys_of_objects_are_redacted_as_texts_are() -> None:
    secret = SECRETS["AWS Access Key"]
    redactor = Redactor()
    arguments = {"password": "hunter2", "token": "abc", secret: 1, "nested": {"api_key": "q8Jr0mZ2vN4tYb6x"}}
    assert redactor.entry({"id": "e1", "arguments": arguments}) == {
        "id": "e1",
        "arguments": {
            "password": "[redacted: Password]",
            "token": "abc",
            "[redacted: AWS Access Key]": 1,
            "nested": {"api_key": "[redacted: Secret]"},
        },
    }
    assert redactor.found == {("e1", "Password"): 1, ("e1", "AWS Access Key"): 1, ("e1", "Secret"): 1}


def test_two_keys_of_an_object_that_are_secrets_stay_two() -> None:
    keys = ["AKIA" + letter * 16 for letter in "BC"]
    assert list(Redactor().value(dict.fromkeys(keys, 0), None)) == [
        "[redacted: AWS Access Key]",
        "[redacted: AWS Access Key]+",
    ]


@given(
    st.lists(
        st.builds(
            lambda start, size, kind: Span(start, start + size, kind),
            st.integers(0, 50),
            st.integers(1, 20),
            st.sampled_from("abc"),
        )
    )
)
def test_spans_that_overlap_become_one_and_cover_the_same_characters(spans: list[Span]) -> None:
    merged = without_overlaps(spans)
    assert {n for it in merged for n in range(it.start, it.end)} == {
        n for it in spans for n in range(it.start, it.end)
    }
    assert all(a.end <= b.start for a, b in itertools.pairwise(merged))


@given(st.text(max_size=300))
def test_no_text_makes_the_search_fail(text: str) -> None:
    Redactor(KEYS).text(f"password={text} Authorization: {text}", None)
