"""What counts as a secret in an export, and what stays."""

import pytest
from hypothesis import given, strategies as st

from sessiond.hub.redacting import Redactor

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


def test_what_makes_an_entry_an_entry_and_images_stay() -> None:
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
