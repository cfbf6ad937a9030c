"""A later set of secrets in texts, and of ordinary lines, whose author did not see the rules or another set.

Everything is random; no value is a real credential.
"""

from __future__ import annotations

import base64
import json  # noqa: TID251 - what other programs write
import random
import re
import string
from collections.abc import Callable

Made = tuple[str, list[str]]
KINDS: dict[str, Callable[[random.Random], Made]] = {}

LOW, UP, DIG = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM = LOW + UP + DIG
HEX = "0123456789abcdef"
WORDS = [
    "amber",
    "anchor",
    "badger",
    "basil",
    "canyon",
    "cedar",
    "cobalt",
    "copper",
    "dapple",
    "ember",
    "falcon",
    "fennel",
    "garnet",
    "glacier",
    "harbor",
    "hazel",
    "iris",
    "juniper",
    "kestrel",
    "lantern",
    "maple",
    "meadow",
    "nettle",
    "otter",
    "pebble",
    "pepper",
    "quartz",
    "raven",
    "saffron",
    "sparrow",
    "thistle",
    "timber",
    "tundra",
    "velvet",
    "walnut",
    "willow",
    "winter",
    "yarrow",
    "zephyr",
]
USERS = [
    "alice",
    "bkim",
    "carlos",
    "deploy",
    "etl_user",
    "grafana",
    "ingest",
    "jenkins",
    "kafka-admin",
    "mwolf",
    "ops",
    "reporting",
    "svc_batch",
    "webapp",
]
HOSTS = [
    "db-1.internal",
    "pg.prod.lan",
    "10.3.14.22",
    "cache.acme.io",
    "mail.example.org",
    "queue01",
    "warehouse.corp.net",
    "172.18.0.5",
]
DBS = ["orders", "billing", "inventory", "analytics", "crm", "ledger", "shop", "events"]


def kind(make: Callable[[random.Random], Made]) -> Callable[[random.Random], Made]:
    def checked(rng: random.Random) -> Made:
        text, secrets = make(rng)
        assert secrets, make.__name__
        assert 1 <= len(text.split("\n")) <= 8, make.__name__
        for s in secrets:
            assert len(s) >= 6, (make.__name__, s)
            assert s in text, (make.__name__, s)
        # A short secret cut at a punctuation mark is a leak too: its last long run counts as well.
        for s in list(secrets):
            runs = [r for r in re.findall("[A-Za-z0-9]{6,}", s) if r != s]
            if len(s) <= 24 and runs and any(c in s for c in "!#%^*~+?"):
                secrets.append(runs[-1])
                assert text.count(runs[-1]) == 1, (make.__name__, s)
        return text, secrets

    KINDS[make.__name__] = checked
    return checked


def s(rng: random.Random, chars: str, n: int) -> str:
    return "".join(rng.choice(chars) for _ in range(n))


def h(rng: random.Random, n: int) -> str:
    return s(rng, HEX, n)


def an(rng: random.Random, n: int) -> str:
    """Letters and digits, at least one of each."""
    return rng.choice(UP) + s(rng, ALNUM, n - 3) + rng.choice(DIG) + rng.choice(LOW)


def b64(rng: random.Random, n: int) -> str:
    return base64.b64encode(rng.randbytes(n)).decode()


def b64u(rng: random.Random, n: int) -> str:
    return base64.urlsafe_b64encode(rng.randbytes(n)).decode().rstrip("=")


def pw(rng: random.Random) -> str:
    """Passwords without characters that need quoting anywhere."""
    a, b = rng.sample(WORDS, 2)
    makers: list[Callable[[], str]] = [
        lambda: a.title() + b.title() + s(rng, DIG, 2),
        lambda: a + "-" + b + "-" + s(rng, DIG, 4),
        lambda: a + s(rng, DIG, 4),
        lambda: a.title() + "_" + s(rng, DIG, 3) + b,
        lambda: an(rng, rng.randint(12, 24)),
        lambda: h(rng, 32),
        lambda: s(rng, LOW, 11) + s(rng, DIG, 1),
        lambda: a.replace("a", "4").replace("e", "3").title() + "." + an(rng, 5),
        lambda: an(rng, 6) + "-" + an(rng, 6) + "-" + an(rng, 6),
    ]
    return rng.choice(makers)()


def hard(rng: random.Random) -> str:
    """Passwords with punctuation that is allowed in single quotes."""
    a, b = rng.sample(WORDS, 2)
    makers: list[Callable[[], str]] = [
        lambda: a.title() + rng.choice("!#%^*+") + s(rng, DIG, 3) + b,
        lambda: an(rng, 5) + rng.choice("!%*^~") + an(rng, 5) + rng.choice("?+=") + s(rng, LOW, 2),
        lambda: a.title() + s(rng, DIG, 4) + "!",
        lambda: rng.choice("!%^*") + an(rng, 9) + "#" + an(rng, 4),
    ]
    return rng.choice(makers)()


def who(rng: random.Random) -> tuple[str, str, str]:
    return rng.choice(USERS), rng.choice(HOSTS), rng.choice(DBS)


def jwt(rng: random.Random) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = json.dumps({"sub": str(rng.randint(1000, 99999)), "exp": rng.randint(1700000000, 1900000000)})
    return f"{head}.{base64.urlsafe_b64encode(body.encode()).decode().rstrip('=')}.{b64u(rng, 32)}"


@kind
def env_dump(rng: random.Random) -> Made:
    a, b, c = pw(rng), an(rng, 40), h(rng, 64)
    return (
        f"$ env | sort\nHOME=/home/node\nLANG=C.UTF-8\nMYSQL_PWD={a}\nPATH=/usr/local/bin:/usr/bin\nSESSION_SECRET={c}\nTWILIO_AUTH_TOKEN={b}\nUSER=node",
        [a, b, c],
    )


@kind
def postgres_url(rng: random.Random) -> Made:
    u, ho, d = who(rng)
    p = pw(rng)
    return f"DATABASE_URL=postgresql+asyncpg://{u}:{p}@{ho}:5432/{d}?ssl=require", [p]


@kind
def redis_url_no_user(rng: random.Random) -> Made:
    p = pw(rng)
    return f"celery: broker=redis://:{p}@{rng.choice(HOSTS)}:6379/0 concurrency=4", [p]


@kind
def amqp_in_trace(rng: random.Random) -> Made:
    u, ho, _ = who(rng)
    p = pw(rng)
    return (
        f"Traceback (most recent call last):\n  File \"/app/worker.py\", line 31, in connect\n    conn = kombu.Connection('amqps://{u}:{p}@{ho}:5671/%2F')\nConnectionRefusedError: [Errno 111] Connection refused",
        [p],
    )


@kind
def mongo_srv(rng: random.Random) -> Made:
    u, _, d = who(rng)
    p = pw(rng)
    return (
        f'  uri: "mongodb+srv://{u}:{p}@cluster0.{s(rng, LOW + DIG, 5)}.mongodb.net/{d}?retryWrites=true&w=majority"',
        [p],
    )


@kind
def jdbc_query(rng: random.Random) -> Made:
    u, ho, d = who(rng)
    p = pw(rng)
    return f"spring.datasource.url=jdbc:mysql://{ho}:3306/{d}?user={u}&password={p}&useSSL=true", [p]


@kind
def mssql_string(rng: random.Random) -> Made:
    u, ho, d = who(rng)
    p = hard(rng)
    return f'"Default": "Server=tcp:{ho},1433;Initial Catalog={d};User ID={u};Password={p};Encrypt=True;"', [
        p
    ]


@kind
def libpq_dsn(rng: random.Random) -> Made:
    u, ho, d = who(rng)
    p = pw(rng)
    return (
        f'db, err := sql.Open("postgres", "host={ho} port=5432 user={u} password={p} dbname={d} sslmode=disable")',
        [p],
    )


@kind
def azure_storage(rng: random.Random) -> Made:
    k = b64(rng, 64)
    return (
        f"AZURE_STORAGE_CONNECTION_STRING='DefaultEndpointsProtocol=https;AccountName=acme{rng.choice(DBS)};AccountKey={k};EndpointSuffix=core.windows.net'",
        [k],
    )


@kind
def service_bus(rng: random.Random) -> Made:
    k = b64(rng, 32)
    return (
        f"Endpoint=sb://acme-{rng.choice(DBS)}.servicebus.windows.net/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey={k}",
        [k],
    )


@kind
def azure_sas(rng: random.Random) -> Made:
    k = s(rng, ALNUM, 41) + "%2B" + an(rng, 3) + "%3D"
    return (
        f"azcopy copy ./dist 'https://acmeweb.blob.core.windows.net/site?sv=2022-11-02&ss=b&srt=co&sp=rwdl&se=2027-01-01T00:00:00Z&sig={k}'",
        [k],
    )


@kind
def aws_credentials_file(rng: random.Random) -> Made:
    i, k = "AKIA" + s(rng, UP + "234567", 16), s(rng, ALNUM + "+/", 39) + "x"
    return (
        f"$ cat ~/.aws/credentials\n[{rng.choice(['default', 'prod', 'staging'])}]\naws_access_key_id = {i}\naws_secret_access_key = {k}\nregion = eu-west-1",
        [k],
    )


@kind
def aws_sts_json(rng: random.Random) -> Made:
    k, t = s(rng, ALNUM + "+/", 40), "IQoJb3JpZ2luX2Vj" + b64(rng, 150)
    return json.dumps(
        {
            "Credentials": {
                "AccessKeyId": "ASIA" + s(rng, UP, 16),
                "SecretAccessKey": k,
                "SessionToken": t,
                "Expiration": "2026-11-28T22:00:00Z",
            }
        }
    ), [k, t]


@kind
def s3_presigned(rng: random.Random) -> Made:
    g = h(rng, 64)
    return (
        f"GET https://acme-{rng.choice(DBS)}.s3.amazonaws.com/r.csv?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20261128T120000Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host&X-Amz-Signature={g}",
        [g],
    )


@kind
def github_tokens(rng: random.Random) -> Made:
    t = rng.choice(
        [
            "ghp_" + an(rng, 36),
            "gho_" + an(rng, 36),
            "ghs_" + an(rng, 36),
            f"github_pat_{an(rng, 22)}_{an(rng, 59)}",
        ]
    )
    return (
        f"$ git remote -v\norigin\thttps://x-access-token:{t}@github.com/acme/{rng.choice(DBS)}.git (fetch)",
        [t],
    )


@kind
def gitlab_curl(rng: random.Random) -> Made:
    t = "glpat-" + an(rng, 20)
    return (
        f'curl -sS --header "PRIVATE-TOKEN: {t}" https://gitlab.example.com/api/v4/projects/{rng.randint(10, 999)}/pipelines',
        [t],
    )


@kind
def slack_things(rng: random.Random) -> Made:
    t = f"xoxb-{s(rng, DIG, 12)}-{s(rng, DIG, 13)}-{an(rng, 24)}"
    w = an(rng, 24)
    return (
        f"bot_token: {t}\nwebhook: https://hooks.slack.com/services/T{s(rng, UP + DIG, 10)}/B{s(rng, UP + DIG, 10)}/{w}",
        [t, w],
    )


@kind
def discord_webhook(rng: random.Random) -> Made:
    t = b64u(rng, 51)
    return f'const hook = "https://discord.com/api/webhooks/{s(rng, "123456789", 18)}/{t}";', [t]


@kind
def telegram_bot(rng: random.Random) -> Made:
    t = "AA" + b64u(rng, 25)[:33]
    return (
        f'httpx INFO HTTP Request: POST https://api.telegram.org/bot{s(rng, "123456789", 10)}:{t}/getUpdates "HTTP/1.1 200 OK"',
        [t],
    )


@kind
def llm_keys(rng: random.Random) -> Made:
    t = rng.choice(
        [
            "sk-ant-api03-" + b64u(rng, 70),
            "sk-proj-" + b64u(rng, 60),
            "gsk_" + an(rng, 52),
            "hf_" + s(rng, LOW + UP, 34),
            "r8_" + an(rng, 37),
            "sk-or-v1-" + h(rng, 64),
            "pplx-" + an(rng, 48),
        ]
    )
    return f'client = make_client("{t}", timeout=30)', [t]


@kind
def stripe_code(rng: random.Random) -> Made:
    t, w = rng.choice(["sk_live_", "rk_live_", "sk_test_"]) + an(rng, 24), "whsec_" + an(rng, 32)
    return f"Stripe.api_key = '{t}'\nevent = Stripe::Webhook.construct_event(payload, sig, '{w}')", [t, w]


@kind
def small_providers(rng: random.Random) -> Made:
    t = rng.choice(
        [
            f"SG.{b64u(rng, 16)}.{b64u(rng, 32)}",
            "key-" + h(rng, 32),
            "dop_v1_" + h(rng, 64),
            "shpat_" + h(rng, 32),
            "npm_" + an(rng, 36),
            "pypi-AgEIcHlwaS5vcmc" + b64u(rng, 90),
            "lin_api_" + an(rng, 40),
            "figd_" + b64u(rng, 30),
            "NRAK-" + s(rng, UP + DIG, 27),
            "dckr_pat_" + b64u(rng, 20),
            "glsa_" + an(rng, 32) + "_" + h(rng, 8),
            "hvs." + b64u(rng, 70),
            "tskey-auth-" + an(rng, 12) + "-" + an(rng, 32),
            "re_" + an(rng, 8) + "_" + an(rng, 24),
        ]
    )
    return f"> found in the old wiki page: `{t}` (API key, still active)", [t]


@kind
def google_api(rng: random.Random) -> Made:
    t = "AIza" + b64u(rng, 27)[:35]
    c = "GOCSPX-" + b64u(rng, 21)
    return (
        f'<script src="https://maps.googleapis.com/maps/api/js?key={t}&callback=init"></script>\n"client_secret": "{c}",',
        [t, c],
    )


@kind
def pem_ec(rng: random.Random) -> Made:
    lines = [b64(rng, 48), b64(rng, 48), b64(rng, 29)]
    name = rng.choice(
        ["EC PRIVATE KEY", "PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY"]
    )
    return f"-----BEGIN {name}-----\n" + "\n".join(lines) + f"\n-----END {name}-----", lines


@kind
def pem_in_json(rng: random.Random) -> Made:
    a, b = b64(rng, 48), b64(rng, 48)
    return json.dumps(
        {
            "type": "service_account",
            "private_key_id": h(rng, 40),
            "private_key": f"-----BEGIN PRIVATE KEY-----\n{a}\n{b}\n-----END PRIVATE KEY-----\n",
            "client_email": "ci@acme.iam.gserviceaccount.com",
        },
        indent=2,
    ), [a, b]


@kind
def wireguard(rng: random.Random) -> Made:
    k, p = b64(rng, 32), b64(rng, 32)
    return (
        f"[Interface]\nAddress = 10.8.0.2/24\nPrivateKey = {k}\n\n[Peer]\nPresharedKey = {p}\nEndpoint = vpn.acme.io:51820",
        [k, p],
    )


@kind
def age_key(rng: random.Random) -> Made:
    k = "AGE-SECRET-KEY-1" + s(rng, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)
    return (
        f"# created: 2026-04-0{rng.randint(1, 9)}T09:12:44Z\n# public key: age1{s(rng, LOW + DIG, 58)}\n{k}",
        [k],
    )


@kind
def http_bearer(rng: random.Random) -> Made:
    t = rng.choice([jwt(rng), an(rng, 44), h(rng, 40), b64u(rng, 33)])
    return (
        f"> GET /v2/{rng.choice(DBS)} HTTP/1.1\n> Host: api.acme.io\n> Authorization: Bearer {t}\n> Accept: */*",
        [t],
    )


@kind
def http_basic(rng: random.Random) -> Made:
    t = base64.b64encode(f"{rng.choice(USERS)}:{pw(rng)}".encode()).decode()
    return f"xhr.setRequestHeader('Authorization', 'Basic {t}');", [t]


@kind
def cookie_header(rng: random.Random) -> Made:
    a, b = s(rng, LOW + DIG, 32), h(rng, 64)
    return (
        f"curl 'https://admin.acme.io/api/me' -H 'Cookie: theme=dark; sessionid={a}; csrftoken={b}; lang=en'",
        [a, b],
    )


@kind
def set_cookie(rng: random.Random) -> Made:
    n, v = rng.choice(
        [
            ("connect.sid", "s%3A" + b64u(rng, 24) + "." + an(rng, 40)),
            ("PHPSESSID", s(rng, LOW + DIG, 26)),
            ("JSESSIONID", s(rng, "ABCDEF" + DIG, 32)),
            ("refresh_token", jwt(rng)),
            ("_app_session", b64u(rng, 80)),
        ]
    )
    return f"< HTTP/2 200\n< set-cookie: {n}={v}; Path=/; HttpOnly; Secure; SameSite=Lax", [v]


@kind
def api_key_header(rng: random.Random) -> Made:
    t = rng.choice([h(rng, 32), an(rng, 30), b64u(rng, 24)])
    n = rng.choice(
        ["X-API-Key", "x-auth-token", "Api-Key", "X-Vault-Token", "DD-API-KEY", "Ocp-Apim-Subscription-Key"]
    )
    return f"headers: {{ 'Content-Type': 'application/json', '{n}': '{t}' }},", [t]


@kind
def json_in_json(rng: random.Random) -> Made:
    p, t = pw(rng), an(rng, 36)
    inner = json.dumps({"user": rng.choice(USERS), "password": p, "refreshToken": t})
    return json.dumps({"level": "debug", "msg": "login request", "body": inner}), [p, t]


@kind
def json_thrice(rng: random.Random) -> Made:
    p = pw(rng)
    inner = json.dumps({"command": "create-user", "client_secret": p})
    return json.dumps({"type": "tool_use", "input": json.dumps({"body": inner})}), [p]


@kind
def shell_history(rng: random.Random) -> Made:
    u, ho, d = who(rng)
    p, q = hard(rng), pw(rng)
    return (
        f"  501  cd ~/src/{d}\n  502  PGPASSWORD='{p}' psql -h {ho} -U {u} {d}\n  503  sshpass -p {q} ssh {u}@{ho}\n  504  git pull --rebase",
        [p, q],
    )


@kind
def mysql_short(rng: random.Random) -> Made:
    u, ho, d = who(rng)
    p = pw(rng)
    return f"mysqldump -h {ho} -u{u} -p{p} --single-transaction {d} | gzip > /backup/{d}.sql.gz", [p]


@kind
def curl_user(rng: random.Random) -> Made:
    u, ho, _ = who(rng)
    p = pw(rng)
    return f"curl -k -u {u}:{p} -X PUT https://{ho}:9200/_cluster/settings -d @settings.json", [p]


@kind
def cli_flags(rng: random.Random) -> Made:
    u, ho, _ = who(rng)
    p = pw(rng)
    return rng.choice(
        [
            f"docker login registry.acme.io --username {u} --password {p}",
            f"redis-cli -h {ho} -a {p} INFO",
            f"az login --service-principal -u http://{u} --password {p} --tenant acme.io",
            f"helm install app ./chart --set auth.rootPassword={p}",
            f"ldapsearch -x -H ldap://{ho} -D cn=admin,dc=acme -w {p} uid={u}",
            f"openssl pkcs12 -export -in c.pem -inkey k.pem -out c.p12 -passout pass:{p}",
        ]
    ), [p]


@kind
def kubectl_literal(rng: random.Random) -> Made:
    p, t = pw(rng), an(rng, 32)
    return (
        f"kubectl -n prod create secret generic {rng.choice(DBS)}-creds \\\n  --from-literal=username=app \\\n  --from-literal=password={p} \\\n  --from-literal=api-token={t}",
        [p, t],
    )


@kind
def k8s_secret_yaml(rng: random.Random) -> Made:
    a, b = base64.b64encode(pw(rng).encode()).decode(), b64(rng, 32)
    return (
        f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: {rng.choice(DBS)}\ndata:\n  db-password: {a}\n  signing-key: {b}",
        [a, b],
    )


@kind
def compose_env(rng: random.Random) -> Made:
    a, b = pw(rng), hard(rng)
    return (
        f"  db:\n    image: mariadb:11\n    environment:\n      - MARIADB_ROOT_PASSWORD={a}\n      - MARIADB_USER=app\n      MINIO_SECRET_KEY: '{b}'",
        [a, b],
    )


@kind
def docker_config(rng: random.Random) -> Made:
    t = base64.b64encode(f"{rng.choice(USERS)}:{pw(rng)}".encode()).decode()
    return '{\n\t"auths": {\n\t\t"ghcr.io": {\n\t\t\t"auth": "' + t + '"\n\t\t}\n\t}\n}', [t]


@kind
def npmrc(rng: random.Random) -> Made:
    t, u = an(rng, 36), b64(rng, 15)
    return (
        f"@acme:registry=https://npm.acme.io/\n//npm.acme.io/:_authToken={t}\n//nexus.acme.io/repository/npm/:_auth={u}\nalways-auth=true",
        [t, u],
    )


@kind
def netrc_and_pgpass(rng: random.Random) -> Made:
    u, ho, d = who(rng)
    p, q = pw(rng), pw(rng)
    return f"$ cat ~/.netrc ~/.pgpass\nmachine git.acme.io login {u} password {p}\n{ho}:5432:{d}:{u}:{q}", [
        p,
        q,
    ]


@kind
def git_credentials(rng: random.Random) -> Made:
    p = pw(rng)
    return (
        f"fatal: unable to access 'https://{rng.choice(USERS)}:{p}@bitbucket.org/acme/{rng.choice(DBS)}.git/': Could not resolve host: bitbucket.org",
        [p],
    )


@kind
def diff_rotate(rng: random.Random) -> Made:
    a, b = pw(rng), hard(rng)
    return (
        f"--- a/config/settings.py\n+++ b/config/settings.py\n@@ -12,3 +12,3 @@\n DB_USER = 'app'\n-DB_PASSWORD = '{a}'\n+DB_PASSWORD = '{b}'\n DB_PORT = 5432",
        [a, b],
    )


@kind
def django_secret(rng: random.Random) -> Made:
    k = "django-insecure-" + s(rng, LOW + DIG + "!@#$%^&*(-_=+)", 50)
    return f"settings.py:23:SECRET_KEY = '{k}'", [k]


@kind
def markdown_table(rng: random.Random) -> Made:
    a, b = pw(rng), hard(rng)
    return (
        f"| Environment | User | Password |\n|---|---|---|\n| staging | {rng.choice(USERS)} | {a} |\n| prod | admin | `{b}` |",
        [a, b],
    )


@kind
def prose_password(rng: random.Random) -> Made:
    p = rng.choice([pw(rng), hard(rng)])
    u, ho, _ = who(rng)
    return rng.choice(
        [
            f"The password for {u} on {ho} is {p} and please do not commit it.",
            f'log in as {u} with password "{p}", then run the migration',
            f"Das Passwort lautet {p} (Benutzer {u}).",
            f"i changed the root password to {p} yesterday",
            f"Use these credentials: {u} / {p} to sign in to {ho}",
        ]
    ), [p]


@kind
def terraform_vars(rng: random.Random) -> Made:
    a, b = hard(rng), an(rng, 40)
    return (
        f'resource "aws_db_instance" "main" {{\n  username        = "app"\n  master_password = "{a}"\n}}\nvariable "cloudflare_api_token" {{ default = "{b}" }}',
        [a, b],
    )


@kind
def java_properties(rng: random.Random) -> Made:
    a, b, c = pw(rng), pw(rng), b64(rng, 48)
    return (
        f"server.ssl.key-store-password={a}\nspring.mail.password: {b}\njwt.secret={c}\nserver.port=8443",
        [a, b, c],
    )


@kind
def jaas(rng: random.Random) -> Made:
    p = pw(rng)
    return (
        f'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="{rng.choice(USERS)}" password="{p}";',
        [p],
    )


@kind
def sql_create_user(rng: random.Random) -> Made:
    u, _, d = who(rng)
    p = hard(rng)
    return rng.choice(
        [
            f"CREATE USER '{u}'@'%' IDENTIFIED BY '{p}';\nGRANT ALL ON {d}.* TO '{u}'@'%';",
            f"ALTER ROLE {u} WITH LOGIN PASSWORD '{p}';",
            f"CREATE LOGIN {u} WITH PASSWORD = N'{p}', CHECK_POLICY = OFF;",
        ]
    ), [p]


@kind
def shadow_hash(rng: random.Random) -> Made:
    salt, v = s(rng, ALNUM + "./", 16), s(rng, ALNUM + "./", 86)
    y = s(rng, ALNUM + "./", 53)
    return f"root:$6${salt}${v}:19801:0:99999:7:::\n{rng.choice(USERS)}:$2y$12${y}", [v, y]


@kind
def argon_and_pbkdf(rng: random.Random) -> Made:
    a, b = b64(rng, 32).rstrip("="), b64(rng, 32)
    return (
        f" id |  username  | password_hash\n----+------------+---------------\n  1 | mwolf      | $argon2id$v=19$m=65536,t=3,p=4${b64u(rng, 16).replace('-', 'a').replace('_', 'b')}${a}\n  2 | carlos     | pbkdf2_sha256$600000${an(rng, 22)}${b}",
        [a, b],
    )


@kind
def code_calls(rng: random.Random) -> Made:
    u, ho, d = who(rng)
    p = pw(rng)
    return rng.choice(
        [
            f"conn = pymysql.connect(host='{ho}', user='{u}', passwd='{p}', db='{d}')",
            f'auth := smtp.PlainAuth("", "{u}@acme.io", "{p}", "{ho}")',
            f"$pdo = new PDO('mysql:host={ho};dbname={d}', '{u}', '{p}');",
            f'DriverManager.getConnection("jdbc:postgresql://{ho}/{d}", "{u}", "{p}");',
            f'var cred = new NetworkCredential("{u}", "{p}");',
            f"r = requests.get(url, auth=('{u}', '{p}'), timeout=5)",
            f"define('DB_PASSWORD', '{p}');",
            f'ConvertTo-SecureString "{p}" -AsPlainText -Force',
        ]
    ), [p]


@kind
def form_and_query(rng: random.Random) -> Made:
    p, c = pw(rng), an(rng, 40)
    return (
        f"POST /oauth/token 200 31ms\ngrant_type=password&client_id=web&client_secret={c}&username={rng.choice(USERS)}&password={p}&scope=read",
        [c, p],
    )


@kind
def oauth_response(rng: random.Random) -> Made:
    a, r, i = b64u(rng, 40), b64u(rng, 40), jwt(rng)
    return (
        f'{{"access_token":"{a}","token_type":"Bearer","expires_in":3600,"refresh_token":"{r}","id_token":"{i}"}}',
        [a, r, i],
    )


@kind
def sentry_totp_link(rng: random.Random) -> Made:
    t, m = s(rng, UP + "234567", 32), b64u(rng, 32)
    return (
        f"otpauth://totp/Acme:{rng.choice(USERS)}@acme.io?secret={t}&issuer=Acme\nReset your password: https://app.acme.io/reset-password?token={m}",
        [t, m],
    )


@kind
def wifi_and_smtp(rng: random.Random) -> Made:
    a, b = pw(rng), hard(rng)
    return (
        f'network={{\n  ssid="office-5g"\n  psk="{a}"\n}}\nEMAIL_HOST_USER=robot@acme.io\nEMAIL_HOST_PASSWORD="{b}"',
        [a, b],
    )


# Ordinary lines: (rng) -> line. {w} {W} word, {n} number, {h7} {h40} {h64} hexadecimal, {u} UUID, {b} base64 of a digest.
ORDINARY: list[str] = r"""
def reset_password(self, user: User, token: str) -> None:
    password: str = Field(min_length={n2}, repr=False)
password = os.environ["{U}_PASSWORD"]
token = request.headers.get("X-{W}-Token")
    secret_key = settings.{U}_SECRET_KEY
api_key = config["{w}"]["api_key"]
if not check_password_hash(user.password_hash, password):
    self.token_count += len(tokens[{n}:])
parser.add_argument("--password", default=None, help="password of the {w} user")
password = getpass.getpass("Password for {w}: ")
for token in tokenizer.encode(text, add_special_tokens=False):
assert response.json()["token"] is not None
class {W}TokenSerializer(serializers.ModelSerializer):
secrets.token_urlsafe({n2})
from .auth import verify_password, create_access_token, {w}_required
PASSWORD_RESET_TIMEOUT = {n}
raise InvalidTokenError(f"token for {{{w}_id}} has expired")
    "password": forms.CharField(widget=forms.PasswordInput),
cached = {w}_cache.get(cache_key, default_key)
const token = await getAccessToken({{ scope: '{w}' }});
const apiKey = process.env.{U}_API_KEY ?? '';
  password: z.string().min({n2}, 'Password is too short'),
export interface {W}Credentials {{ username: string; password: string; token?: string }}
<input type="password" name="password" id="{w}-password" autocomplete="current-password" />
  const [password, setPassword] = useState('');
  @Column({{ type: 'varchar', select: false }}) passwordHash: string;
headers: {{ Authorization: `Bearer ${{token}}` }},
if (req.cookies.sessionid !== {w}.sessionId) return res.status(401).end();
type TokenKind = 'access' | 'refresh' | '{w}';
jwt.verify(token, process.env.JWT_SECRET, (err, decoded) => {{
await page.fill('#password', user.password);
import {{ TokenStore, {W}SecretProvider }} from '../secrets/{w}';
  key={{item.id}} label="{W}" secret={{isSecret}}
localStorage.removeItem('{w}_token');
password := os.Getenv("{U}_PASSWORD")
func (s *{W}Store) RotateSecret(ctx context.Context, key string) (Token, error) {{
	Password string `json:"password,omitempty" yaml:"password"`
token, err := jwt.ParseWithClaims(raw, &{W}Claims{{}}, keyFunc)
return nil, fmt.Errorf("secret %q not found in %s", name, {w}.Namespace)
flag.StringVar(&token, "token", "", "API token of {w}")
let token = std::env::var("{U}_TOKEN").expect("{U}_TOKEN must be set");
pub struct {W}Secret<'a> {{ key: &'a str, token: Option<Token> }}
    Token::Ident(name) if name == "{w}" => self.parse_{w}(),
fn password_matches(password: &SecretString, hash: &PasswordHash<'_>) -> bool {{
    let key = map.keys().nth({n2}).cloned().unwrap_or_default();
private final PasswordEncoder passwordEncoder;
String password = System.getenv("{U}_PASSWORD");
@Value("${{{w}.datasource.password}}") private String password;
public void setAccessToken(final String accessToken) {{ this.accessToken = accessToken; }}
assertThrows(BadCredentialsException.class, () -> service.login("{w}", password));
var secret = builder.Configuration["{W}:ClientSecret"];
public async Task<Token> GetTokenAsync(CancellationToken cancellationToken = default)
[DataType(DataType.Password)] public string Password {{ get; set; }} = string.Empty;
options.Password.RequiredLength = {n2};
$password = $_POST['password'] ?? null;
'password' => ['required', 'string', 'min:{n2}', 'confirmed'],
'secret' => env('{U}_SECRET'),
protected $hidden = ['password', 'remember_token'];
$token = $request->bearerToken();
validates :password, presence: true, length: {{ minimum: {n2} }}
params.require(:user).permit(:email, :password, :password_confirmation)
config.secret_key_base = ENV.fetch("SECRET_KEY_BASE")
has_secure_token :{w}_token
val token: String = prefs.getString("{w}_token", null) ?: return
data class {W}Request(val username: String, val password: String)
val apiKey by lazy {{ BuildConfig.{U}_API_KEY }}
guard let token = keychain.string(forKey: "{w}Token") else {{ return }}
SecureField("Password", text: $password).textContentType(.password)
struct {W}Token: Codable {{ let accessToken: String; let expiresIn: Int }}
ALTER TABLE users ADD COLUMN password_hash text NOT NULL;
SELECT id, token, expires_at FROM {w}_tokens WHERE user_id = $1 AND revoked = false;
CREATE UNIQUE INDEX idx_{w}_api_key ON {w} (api_key);
PRIMARY KEY (id), KEY `token_idx` (`token`), FOREIGN KEY (secret_id) REFERENCES secrets (id)
UPDATE accounts SET password = :password WHERE id = :id;
.password-field__{w} {{ color: var(--token-color-{w}); padding: {n2}px; }}
input[type="password"]:focus + .{w} {{ outline: 2px solid #{h6}; }}
<label for="password">{{{{ t('auth.{w}.password') }}}}</label>
<a href="/password/reset?lang=en">Forgot your password?</a>
export {U}_TOKEN="$(cat /run/secrets/{w}_token)"
read -rsp "Password: " PASSWORD; echo
: "${{DB_PASSWORD:?must be set}}"
curl -H "Authorization: Bearer $TOKEN" https://api.{w}.io/v1/items
if [ -z "$API_KEY" ]; then echo "API_KEY is not set" >&2; exit 1; fi
gh secret list --repo acme/{w}
vault kv get -field=password secret/{w}/db
kubectl get secret {w}-creds -o jsonpath='{{.data.password}}' | base64 -d
ssh-keygen -t ed25519 -f ~/.ssh/id_{w} -C "{w}@example.com"
          token: ${{{{ secrets.{U}_TOKEN }}}}
    valueFrom: {{ secretKeyRef: {{ name: {w}-creds, key: password }} }}
  password: "{{{{ vault_{w}_password }}}}"
      secretName: {w}-tls
  POSTGRES_PASSWORD: ${{POSTGRES_PASSWORD}}
password_file = "/run/secrets/{w}_password"
token_env = "{U}_TOKEN"
max_tokens = {n}
key = "{w}"
checksum = "{h64}"
  resolved "https://registry.yarnpkg.com/{w}/-/{w}-1.{n2}.0.tgz#{h40}"
      "integrity": "sha512-{b64}",
github.com/acme/{w} v1.{n2}.3 h1:{b}
    --hash=sha256:{h64}
Digest: sha256:{h64}
commit {h40}
index {h7}..{h7} 100644
{h7} fix({w}): rotate refresh token before expiry (#{n})
   {h7}..{h7}  main -> main
Merge branch 'feature/password-reset-{w}' into main
{h40}	refs/heads/{w}/token-cache
{h64}  dist/{w}-{n2}.tar.gz
request_id={u} status=200 path=/{w}/tokens duration={n}ms
"id": "{u}", "name": "{w}",
trace_id={h32} span_id={h16} msg="{w} done"
etag: "{h32}"
SHA256:{bu} {w}@laptop (ED25519)
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{k} {w}@example.com
-----BEGIN CERTIFICATE-----
-----END PUBLIC KEY-----
        Serial Number: {n}{n} ({w} CA)
src/{w}/password.test.ts:{n2}:7 - error TS2322: Type 'string' is not assignable to type 'Token'.
tests/test_{w}.py::test_password_is_hashed PASSED                        [ {n2}%]
--- FAIL: Test{W}TokenExpired (0.{n2}s)
test {w}::tests::parses_secret_token ... ok
  ✓ rejects a wrong password ({n} ms)
Tests run: {n2}, Failures: 0, Errors: 0, Skipped: 1 -- in com.acme.{W}PasswordTest
PASS src/auth/{w}Token.spec.ts
E       AssertionError: assert 'token' in {{'{w}': {n}}}
  1) {W} login with invalid password shows an error
ok {n2} - secret is not logged by {w}
2026-11-28T10:{n2}:04Z INFO  {w}: access token refreshed, expires in {n}s
[warn] password for user "{w}" will expire in {n2} days
sshd[{n}]: Accepted publickey for {w} from 10.0.0.{n2} port {n} ssh2
FATAL:  password authentication failed for user "{w}"
fatal: Authentication failed for 'https://github.com/acme/{w}.git/'
{{"level":"info","msg":"token validated","user":"{w}","ttl":{n}}}
usage: input_tokens={n} output_tokens={n} cache_read={n}
"usage": {{"prompt_tokens": {n}, "completion_tokens": {n}, "total_tokens": {n}}}
The model read {n} tokens and wrote {n2} tokens.
https://docs.{w}.io/guides/api-keys#rotating-secrets
https://github.com/acme/{w}/blob/{h40}/src/token.rs#L{n2}
postgresql://localhost:5432/{w}?sslmode=disable
git clone git@github.com:acme/{w}.git
https://example.com/{w}?page={n2}&sort=token_asc&key=name
Passwords must contain at least {n2} characters, one digit and one symbol.
The token is stored in the {w} cookie and never written to disk.
Ask your administrator for a new API key if the old secret was revoked.
I moved the password check into {w}.py so that the token is only read once.
"auth.password.placeholder": "Enter your password",
"forgot_password": "Passwort vergessen?",
msgid "Your password has been changed."
  invalid_token: "Le jeton n'est plus valide"
- `--token-file PATH`: file with the token (default: `~/.{w}/token`)
  --password-stdin     Take the password from stdin
| `apiKey` | `string` | required | The API key of your {w} project |
| password | varchar(255) | NO | | NULL | |
# TODO: password and token should come from the {w} vault
// Secret: holds the key name, not the value
drwx------ 2 {w} {w} 4096 Nov {n2} 10:14 secrets
M  src/{w}/token_bucket.go
+    const {{ password, ...rest }} = user;
-  token: Optional[str] = None
@@ -{n2},7 +{n2},9 @@ def validate_token(token):
src/{w}.py:{n2}:    password = form.cleaned_data["password"]
npm warn deprecated {w}-token@1.{n2}.0: use @{w}/token instead
Collecting {w}-secrets==2.{n2}.1
CONTAINER {h12}   {w}:latest   "docker-entrypoint.s…"   Up {n2} minutes
arn:aws:secretsmanager:eu-west-1:123456789012:secret:{w}/db-password
export AWS_PROFILE={w} AWS_REGION=eu-central-1
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
password=<your-{w}-password>
API_KEY=
"client_secret": "********",
token: [REDACTED]
NEXT_PUBLIC_{U}_URL=https://{w}.example.com
Key("{w}").on_press(lambda key: self.handle_key(key))
sort_key = lambda row: (row["{w}"], row["token"])
""".strip("\n").split("\n")


def ordinary(rng: random.Random) -> str:
    shape = rng.choice(ORDINARY)
    word = rng.choice(WORDS)
    fields = {
        "w": word,
        "W": word.title(),
        "U": word.upper(),
        "n2": str(rng.randint(8, 59)),
        "u": f"{h(rng, 8)}-{h(rng, 4)}-4{h(rng, 3)}-a{h(rng, 3)}-{h(rng, 12)}",
        "b": b64(rng, 32),
        "b64": b64(rng, 64),
        "bu": b64(rng, 32).rstrip("="),
        "k": b64(rng, 33)[:43],
        **{f"h{n}": h(rng, n) for n in (6, 7, 12, 16, 32, 40, 64)},
        "n": str(rng.randint(100, 99999)),
    }
    return shape.format(**fields)


assert len(KINDS) == 60, len(KINDS)
assert len(ORDINARY) >= 100
