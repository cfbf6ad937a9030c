"""Random secrets as transcripts have them: keys of providers, and values that only their place identifies."""

import base64
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

import msgspec
from scripts.benchmarks.known_places import Place
from scripts.benchmarks.secret_values import Value

_ALNUM: Final = string.ascii_letters + string.digits
_URL: Final = _ALNUM + "-_"
_BASE64: Final = _ALNUM + "+/"
_HEX: Final = "0123456789abcdef"
_BECH32: Final = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"


@dataclass(frozen=True)
class Planted:
    """A secret, the text that has it, and its sort."""

    sort: str
    secret: str
    text: str


def placed(kinds: Mapping[str, tuple[Value, Place]], seed: int, rounds: int) -> Iterator[Planted]:
    """Yield secrets of these kinds, each in its place, `rounds` times with other characters."""
    random = Random(seed)
    for _ in range(rounds):
        for sort, (make, around) in kinds.items():
            secret = make(random)
            yield Planted(sort, secret, around(secret) if callable(around) else around.format(secret))


def _key(prefix: str, length: int, letters: str = _ALNUM) -> Callable[[Random], str]:
    return lambda random: prefix + _some(random, length, letters)


def _some(random: Random, length: int, letters: str = _ALNUM) -> str:
    return "".join(random.choices(letters, k=length))


def _base64(data: str) -> str:
    return base64.b64encode(data.encode()).decode()


def _jwt(random: Random) -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": _some(random, 10), "iat": 1_700_000_000})
    encoded = (base64.urlsafe_b64encode(msgspec.json.encode(part)).decode().rstrip("=") for part in parts)
    return f"{'.'.join(encoded)}.{_some(random, 43, _URL)}"


SHAPED: Final[dict[str, Callable[[Random], str]]] = {
    "age": _key("AGE-SECRET-KEY-1", 58, _BECH32),
    "Anthropic": lambda random: f"sk-ant-api03-{_some(random, 93, _URL)}AA",
    "AWS key id": _key("AKIA", 16, string.ascii_uppercase + "234567"),
    "Databricks": _key("dapi", 32, _HEX),
    "DigitalOcean": _key("dop_v1_", 64, _HEX),
    "Docker": _key("dckr_pat_", 27, _URL),
    "GitHub": _key("ghp_", 36),
    "GitHub, fine-grained": lambda random: f"github_pat_{_some(random, 22)}_{_some(random, 59)}",
    "GitLab": _key("glpat-", 20, _URL),
    "Google": _key("AIza", 35, _URL),
    "Groq": _key("gsk_", 52),
    "Hugging Face": _key("hf_", 34, string.ascii_letters),
    "JSON Web Token": _jwt,
    "Linear": _key("lin_api_", 40),
    "Notion": lambda random: f"ntn_{_some(random, 11, string.digits)}{_some(random, 35)}",
    "npm": _key("npm_", 36),
    "OpenAI": lambda random: f"sk-proj-{_some(random, 74, _URL)}T3BlbkFJ{_some(random, 74, _URL)}",
    "OpenRouter": _key("sk-or-v1-", 64, _HEX),
    "Perplexity": _key("pplx-", 48),
    "PyPI": _key("pypi-AgEIcHlwaS5vcmc", 70, _URL),
    "Replicate": _key("r8_", 37),
    "SendGrid": lambda random: f"SG.{_some(random, 22, _URL)}.{_some(random, 43, _URL)}",
    "Sentry": lambda random: f"sntrys_{_base64('(iat:1700000000.1)').rstrip('=')}_{_some(random, 43, _BASE64)}",
    "Slack": lambda random: f"xoxb-{_some(random, 12, string.digits)}-{_some(random, 24)}",
    "Stripe": _key("sk_live_", 24),
    "Supabase": _key("sbp_", 40, _HEX),
    "Telegram": lambda random: f"{_some(random, 10, string.digits)}:AA{_some(random, 33, _URL)}",
    "Vault": _key("hvs.", 90, _URL),
    "xAI": _key("xai-", 80),
}  # fmt: skip
"""Keys that are known by their shape, at any place."""

AROUND: Final = (
    "{}", "the key is {}, take it", "It is {}.", "({})", "<{}>", "`{}`", '{{"k": "{}"}}', '\\"{}\\"', "**{}**",
    "'{}'", "- {}\n- more", "| {} |", "export KEY={}\n",
)  # fmt: skip
"""Texts around a key."""

PLACED: Final[dict[str, tuple[Callable[[Random], str], str]]] = {
    "bearer header": (_key("", 40), "curl -H 'Authorization: Bearer {}' https://api.example.org/x"),
    "basic header": (lambda random: _base64(f"ada:{_some(random, 14)}"), "Authorization: Basic {}"),
    "header in JSON": (_key("", 40), '{{"headers": {{"Authorization": "Bearer {}"}}}}'),
    "cookie header": (_key("", 32), "Cookie: theme=dark; sessionid={}; lang=en"),
    "Set-Cookie header": (_key("", 32), "set-cookie: sid={}; Path=/; HttpOnly; SameSite=Lax"),
    "X-Api-Key header": (_key("", 32), "x-api-key: {}"),
    "Cloudflare header": (_key("", 37, _HEX), "X-Auth-Key: {}"),
    "password in .env": (_key("", 16), "DB_HOST=db\nDB_PASSWORD={}\n"),
    "quoted key in .env": (_key("", 20), 'SECRET_KEY="{}"\n'),
    "exported token": (_key("", 32), "export MY_SERVICE_TOKEN={}\n"),
    "Cloudflare token": (_key("", 40, _URL), "CLOUDFLARE_API_TOKEN={}\n"),
    "AWS secret": (_key("", 40, _BASE64), "aws_secret_access_key = {}\n"),
    "AWS secret in the environment": (_key("", 40, _BASE64), "export AWS_SECRET_ACCESS_KEY={}\n"),
    "AWS session token": (_key("", 200, _BASE64), "AWS_SESSION_TOKEN={}==\n"),
    "Azure storage key": (_key("", 86, _BASE64), "AccountName=x;AccountKey={}==;EndpointSuffix=core.windows.net"),
    "Vault token of before": (_key("s.", 24), "VAULT_TOKEN={}\n"),
    "password in code": (_key("", 12), "password = '{}'"),
    "password in JSON": (_key("", 12), '{{"user": "ada", "password": "{}"}}'),
    "password in JSON in JSON": (_key("", 12), '"{{\\"password\\": \\"{}\\"}}"'),
    "password in YAML": (lambda random: _some(random, 11) + "7", "database:\n  user: ada\n  password: {}\n"),
    "password of an option": (lambda random: _some(random, 15) + "7", "mysqldump --password={} app"),
    "short option of mysql": (lambda random: _some(random, 11) + "7", "mysql -u root -p{} app"),
    "netrc": (lambda random: _some(random, 15) + "7", "machine api.example.com login ada password {}\n"),
    "netrc on lines": (lambda random: _some(random, 15) + "7", "machine api.example.com\n  login ada\n  password {}\n"),
    "password of an address": (_key("", 12), "postgres://ada:{}@db.example.org:5432/app"),
    "token of a query": (_key("", 32), "https://api.example.com/v1/x?access_token={}&page=2"),
    "curl -u": (lambda random: _some(random, 15) + "7", "curl -u ada:{} https://example.com"),
    "sshpass": (lambda random: _some(random, 13) + "7", "sshpass -p {} ssh host"),
    "docker run": (lambda random: _some(random, 17) + "7", "docker run -e POSTGRES_PASSWORD={} postgres"),
    "Docker's config": (
        lambda random: _base64(f"ada:{_some(random, 20)}"),
        '{{"auths": {{"index.docker.io": {{"auth": "{}"}}}}}}',
    ),
    "npmrc": (_key("", 36), "//registry.example.org/:_authToken={}\n"),
    "Twilio": (_key("", 32, _HEX), "TWILIO_AUTH_TOKEN={}\n"),
    "Mistral": (_key("", 32), "MISTRAL_API_KEY={}\n"),
    "DeepSeek": (_key("sk-", 32, _HEX), "DEEPSEEK_API_KEY={}\n"),
}  # fmt: skip
"""Secrets that are known by their place: the form of each, and the text around it."""


def planted(seed: int, rounds: int) -> Iterator[Planted]:
    """Yield secrets of every sort, each key in every surrounding, `rounds` times with other characters."""
    random = Random(seed)
    for _ in range(rounds):
        for sort, make in SHAPED.items():
            for around in AROUND:
                secret = make(random)
                yield Planted(sort, secret, around.format(secret))
        for sort, (make, around) in PLACED.items():
            secret = make(random)
            yield Planted(sort, secret, around.format(secret))
