"""Kinds of secrets that the rules of redaction were written for: half of what transcripts show of settings and code."""

from collections.abc import Callable
from random import Random
from typing import Final

from scripts.benchmarks import secret_values as s
from scripts.benchmarks.secret_values import Value

Place = str | Callable[[str], str]
"""The text around a secret, with `{}` in its place, or a function that returns the text."""

_B: Final = "-----"


def pem(title: str, *, indent: str = "", ends: str = "\n") -> tuple[Value, Place]:
    """Return the body of a private key, and the key around it."""

    def body(random: Random) -> str:
        return ends.join(indent + s.some(random, 64, s.BASE64) for _ in range(4))

    return body, f"{indent}{_B}BEGIN {title}{_B}{ends}{{}}{ends}{indent}{_B}END {title}{_B}"


def _literal_block(random: Random) -> str:
    return s.password(random, "!@#$%^*-_=+.")


KNOWN: Final[dict[str, tuple[Value, Place]]] = {
    "dotenv, name ends in PASS": (s.password, "SMTP_HOST=mail\nSMTP_PASS={}\nSMTP_PORT=25\n"),
    "dotenv, double quotes": (s.password, 'DB_PASSWORD="{}"\n'),
    "dotenv, single quotes": (s.password, "export ADMIN_PWD='{}'\n"),
    "JSON": (
        s.password,
        lambda key: f'{{"user": "ada", "password": "{s.in_json(key)}", "port": 5432}}',
    ),
    "JSON of one line in JSON": (s.without("\\"), '"{{\\"dbPassword\\":\\"{}\\",\\"n\\":1}}"'),
    "YAML, plain": (s.plain, "db:\n  user: ada\n  password: {}\n  port: 5432\n"),
    "YAML, single quotes": (s.password, "db:\n  password: '{}'\n"),
    "YAML, double quotes": (s.password, 'redis_password: "{}" # of the cache\n'),
    "YAML, literal block": (_literal_block, "stringData:\n  password: |\n    {}\n  user: ada\n"),
    "YAML, folded block": (_literal_block, "api_secret: >-\n  {}\nname: x\n"),
    "unicode escapes": (s.password, lambda key: f'{{"password": "{s.with_unicode_escapes(key)}"}}'),
    "decimal entities": (
        s.password,
        lambda key: f'<input name="password" value="{s.with_decimal_entities(key)}">',
    ),
    "zero width": (s.key("", 24), lambda key: f"API_TOKEN={s.with_zero_width(key)}\n"),
    "full width": (s.key("", 24), lambda key: f"API_TOKEN={s.in_full_width(key)}\n"),
    "full width, of a known shape": (s.key("ghp_", 36), lambda key: f"see {s.in_full_width(key)} here"),
    "colors": (s.key("", 24), lambda key: f"api_key: {s.with_colors(key)}\n"),
    "colors, of a known shape": (s.key("sk_live_", 24), lambda key: f"| {s.with_colors(key)} |"),
    "percent signs in an address": (
        s.password,
        lambda key: f"DATABASE_URL=postgres://ada:{s.in_percent(key)}@db/x",
    ),
    "mysql -p": (s.without("|;&<>()"), "mysql -h db -u root -p'{}' app"),
    "PGPASSWORD": (s.password, "PGPASSWORD='{}' psql -h db -U ada"),
    "redis-cli -a": (s.key("", 20), "redis-cli -h cache -a {} ping"),
    "curl -u": (s.without("|;&<>():"), "curl -s -u 'ada:{}' https://example.com/x"),
    ".NET": (s.without(";'\"{}="), "Server=db,1433;Database=x;User Id=sa;Password={};Encrypt=True"),
    "ODBC": (s.without("}{"), "Driver={{ODBC Driver 18}};Server=db;UID=sa;PWD={{{}}};"),
    "JDBC": (s.without("&;#"), "jdbc:mysql://db:3306/app?user=ada&password={}&useSSL=true"),
    "PowerShell": (s.without("$"), '$env:APP_SECRET = "{}"\n'),
    "fish": (s.password, "set -gx DEPLOY_TOKEN '{}'\n"),
    "Windows set": (s.without("&|<>^%"), "C:\\> set DB_PASSWORD={}\n"),
    "Dockerfile ENV": (s.key("", 24), "FROM x\nENV API_SECRET {}\nRUN y\n"),
    "Dockerfile ARG": (s.key("", 24), "ARG NPM_TOKEN={}\n"),
    "compose": (s.without("#:"), "    environment:\n      - MYSQL_ROOT_PASSWORD={}\n      - TZ=UTC\n"),
    "systemd": (s.password, 'Environment="APP_PASSWORD={}"\n'),
    "Ansible": (s.password, "ansible_become_pass: '{}'\n"),
    "properties": (s.without("\\"), "spring.datasource.password={}\nspring.datasource.username=ada\n"),
    "INI": (s.without(";#"), "[smtp]\nuser = ada\npassword = {}\n"),
    "TOML": (s.password, '[auth]\nclient_secret = "{}"\n'),
    "Java": (s.password, 'private static final String DB_PASSWORD = "{}";'),
    "Go": (s.password, 'dbPassword := "{}"'),
    "Rust": (s.password, 'let password: &str = "{}";'),
    "Python": (s.password, "client = connect(user='ada', password='{}', port=1)"),
    "JavaScript": (s.password, "const pool = new Pool({{ user: 'ada', password: '{}' }})"),
    "C#": (s.password, 'var apiSecret = @"{}";'),
    "PHP": (s.password, "define( 'DB_PASSWORD', '{}' );"),
    "Rails": (s.key("", 128, s.HEX), "production:\n  secret_key_base: {}\n"),
    "Django": (
        lambda r: "django-insecure-" + s.some(r, 50, s.LOWER + "!@#$%^&*(-_=+)"),
        "SECRET_KEY = '{}'\n",
    ),
    "htpasswd": (lambda r: f"$apr1${s.some(r, 8)}${s.some(r, 22)}", "ada:{}\n"),
    "shadow": (lambda r: f"$6${s.some(r, 16)}${s.some(r, 86)}", "ada:{}:19700:0:99999:7:::\n"),
    "kube config": (
        lambda r: s.encoded("-----BEGIN RSA" + s.some(r, 90)),
        "  user:\n    client-key-data: {}\n",
    ),
    "netrc": (s.key("", 16), "machine api.example.com login ada password {}\n"),
    "pgpass": (s.without(":\\"), "db.example.com:5432:app:ada:{}\n"),
    "docker config": (
        lambda r: s.encoded("ada:" + s.some(r, 20)),
        '{{"auths": {{"ghcr.io": {{"auth": "{}"}}}}}}',
    ),
    "pypirc": (s.without("%"), "[pypi]\nusername = ada\npassword = {}\n"),
    "Terraform": (s.password, 'variable "db_password" {{\n  type    = string\n  default = "{}"\n}}\n'),
    "RSA key": pem("RSA " + "PRIVATE KEY"),
    "OpenSSH key in JSON": pem("OPENSSH " + "PRIVATE KEY", ends="\\n"),
    "PuTTY key": (
        lambda r: "\n".join(s.some(r, 64, s.BASE64) for _ in range(3)),
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: x\nPublic-Lines: 1\nAAAA\n"
        "Private-Lines: 3\n{}\nPrivate-MAC: 00\n",
    ),
    "Discord": (lambda r: s.some(r, 68, s.URL), "https://discord.com/api/webhooks/112233445566778899/{}"),
    "Sentry DSN": (s.key("", 32, s.HEX), "https://{}@o1.ingest.sentry.io/42"),
    "Notion": (s.key("secret_", 43), "the integration {} works"),
    "Tailscale": (lambda r: f"tskey-auth-{s.some(r, 17)}-{s.some(r, 32)}", "tailscale up {}"),
    "New Relic": (s.key("NRAK-", 27, s.UPPER), "with {} it works"),
    "Mailgun": (s.key("key-", 32, s.HEX), "curl --user 'api:{}'"),
    "PlanetScale": (s.key("pscale_tkn_", 43, s.URL), "token {}."),
    "Tavily": (s.key("tvly-", 32), "({})"),
    "ngrok": (lambda r: f"2{s.some(r, 26)}_{s.some(r, 21)}", "ngrok config add-authtoken {}"),
}
