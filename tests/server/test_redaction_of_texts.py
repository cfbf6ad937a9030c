"""`text/redact`: a client gets its texts back without secrets, in their order."""

import pytest

from support.daemons import Peer, Refused, Running

TOKEN = "ghp_Zx8Qw2Lm5Rt7Yv3Nk9Pb4Hs6Jd1Fg0Ca2Ue5"


@pytest.fixture
async def peer(memory: Running) -> Peer:
    return await memory.attach()


async def test_each_secret_is_replaced_by_its_kind(peer: Peer) -> None:
    found = await peer.call("text/redact", texts=["plain", f"the token is {TOKEN}.", ""])
    assert found["texts"] == ["plain", "the token is [redacted: GitHub Token].", ""]
    assert found["redactedCount"] == 1


async def test_a_private_key_without_its_end_is_redacted_to_the_end_of_the_text(peer: Peer) -> None:
    [text] = (await peer.call("text/redact", texts=["-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN"]))["texts"]
    assert "MIIEvQIBADAN" not in text


async def test_no_texts_are_no_texts(peer: Peer) -> None:
    assert (await peer.call("text/redact", texts=[]))["texts"] == []


async def test_texts_beyond_the_limits_are_refused(peer: Peer) -> None:
    with pytest.raises(Refused) as refused:
        await peer.call("text/redact", texts=["x" * 1_000_001])
    assert refused.value.kind == "invalidParams"
