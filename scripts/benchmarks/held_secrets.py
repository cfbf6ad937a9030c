"""A set of secrets in texts, and of ordinary lines, whose author did not see the rules or another set.

Everything here is random and made up.  ``KINDS`` maps a kind to a function
that returns ``(text, secrets)``; none of the strings in ``secrets`` may survive
redaction.  Where a password holds awkward characters the secrets are its
chunks, so that a redactor that stops half way is detected.  ``ordinary``
returns one line that must come out unchanged.  The module knows no redactor.
"""

from __future__ import annotations

import base64
import html
import json  # noqa: TID251 - what other programs write
import random
import zlib
from collections.abc import Callable
from urllib.parse import quote

Sample = tuple[str, list[str]]
Kind = Callable[[random.Random], Sample]

KINDS: dict[str, Kind] = {}
HARD: set[str] = set()
AMBIGUOUS: dict[str, str] = {}

LOWER = "abcdefghijklmnopqrstuvwxyz"
UPPER = LOWER.upper()
DIGITS = "0123456789"
B62 = DIGITS + UPPER + LOWER
ALNUM = LOWER + UPPER + DIGITS
B64 = UPPER + LOWER + DIGITS + "+/"
B64U = UPPER + LOWER + DIGITS + "-_"
HEX = "0123456789abcdef"
B32 = UPPER + "234567"
ESC = "\x1b"
ZWSP = "\u200b"


def kind(*, hard: bool = False, ambiguous: str = "") -> Callable[[Kind], Kind]:
    """Register a generator under its own name (less the leading ``k_``)."""

    def register(fn: Kind) -> Kind:
        name = fn.__name__.removeprefix("k_")
        if name in KINDS:
            raise ValueError(f"kind twice: {name}")
        KINDS[name] = fn
        if hard:
            HARD.add(name)
        if ambiguous:
            AMBIGUOUS[name] = ambiguous
        return fn

    return register


# ---------------------------------------------------------------- building


def pick(r: random.Random, alphabet: str, n: int) -> str:
    return "".join(r.choice(alphabet) for _ in range(n))


def mixed(r: random.Random, alphabet: str, n: int) -> str:
    """Like pick, but with at least one letter and one digit."""
    if n < 2:
        raise ValueError("too short for a letter and a digit")
    while True:
        out = pick(r, alphabet, n)
        if any(c.isalpha() for c in out) and any(c.isdigit() for c in out):
            return out


def hexs(r: random.Random, n: int) -> str:
    return mixed(r, HEX, n)


def b62(r: random.Random, n: int) -> str:
    return mixed(r, B62, n)


def b64u(r: random.Random, n: int) -> str:
    """n url-safe characters that neither begin nor end with - or _."""
    return pick(r, ALNUM, 1) + mixed(r, B64U, n - 2) + pick(r, ALNUM, 1)


def b64raw(r: random.Random, nbytes: int) -> str:
    return base64.b64encode(r.randbytes(nbytes)).decode()


def enc64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def enc64u(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def uuid4(r: random.Random) -> str:
    h = pick(r, HEX, 32)
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{r.choice('89ab')}{h[17:20]}-{h[20:]}"


def lines(*parts: str) -> str:
    return "\n".join(parts)


def wrap(text: str, width: int) -> list[str]:
    return [text[i : i + width] for i in range(0, len(text), width)]


def long_parts(parts: list[str], least: int = 8) -> list[str]:
    return [p for p in parts if len(p) >= least]


NOUNS = [
    "harbor",
    "falcon",
    "granite",
    "willow",
    "copper",
    "meadow",
    "lantern",
    "quartz",
    "ember",
    "juniper",
    "summit",
    "raven",
    "cobalt",
    "maple",
    "orchid",
    "tundra",
    "pepper",
    "saturn",
    "walnut",
    "breeze",
]
SERVICES = [
    "billing",
    "orders",
    "ledger",
    "catalog",
    "ingest",
    "mailer",
    "gateway",
    "search",
    "reports",
    "inventory",
    "crawler",
    "scheduler",
]
PEOPLE = [
    "mira",
    "jonas",
    "priya",
    "tomasz",
    "elena",
    "kofi",
    "ingrid",
    "hassan",
    "yuki",
    "diego",
    "amelie",
    "piotr",
    "svc_app",
    "deploy",
    "readonly",
]
TLDS = ["internal", "corp.lan", "prod.svc", "io", "dev", "cloud", "net"]


def user(r: random.Random) -> str:
    return r.choice(PEOPLE) + r.choice(["", "", str(r.randint(1, 99))])


def service(r: random.Random) -> str:
    return r.choice(SERVICES)


def host(r: random.Random) -> str:
    return f"{service(r)}-{r.randint(1, 40)}.{r.choice(NOUNS)}.{r.choice(TLDS)}"


def ip(r: random.Random) -> str:
    return f"10.{r.randint(0, 255)}.{r.randint(0, 255)}.{r.randint(1, 254)}"


def stamp(r: random.Random) -> str:
    return (
        f"2026-{r.randint(1, 12):02}-{r.randint(1, 28):02}T"
        f"{r.randint(0, 23):02}:{r.randint(0, 59):02}:{r.randint(0, 59):02}.{r.randint(0, 999):03}Z"
    )


def chunk(r: random.Random, n: int = 0) -> str:
    """Letters and digits, starting with a letter: a piece of a password."""
    n = n or r.randint(6, 8)
    while True:
        out = r.choice(LOWER + UPPER) + pick(r, ALNUM, n - 1)
        if any(c.isdigit() for c in out) and any(c.isupper() for c in out) and any(c.islower() for c in out):
            return out


def human(r: random.Random) -> str:
    """A password as people choose it."""
    noun = r.choice(NOUNS)
    leet = noun.replace("a", "4").replace("e", "3").replace("o", "0")
    return r.choice(
        [
            f"{noun.capitalize()}{r.randint(1000, 99999)}{r.choice('!*%?')}",
            f"{leet}-{r.choice(NOUNS)}-{r.randint(100, 9999)}",
            f"{leet.capitalize()}_{r.randint(1000, 9999)}!",
            f"{r.choice(NOUNS)}{r.choice(NOUNS).capitalize()}{r.randint(100, 9999)}!!",
        ]
    )


def strong(r: random.Random, n: int = 0) -> str:
    """A password as a generator makes it, without awkward characters."""
    n = n or r.randint(14, 28)
    return r.choice(LOWER + UPPER) + mixed(r, ALNUM + "!*+.-_", n - 2) + pick(r, ALNUM, 1)


def hard(r: random.Random, seps: list[str], n: int = 3) -> tuple[str, list[str]]:
    """A password of n chunks with awkward characters between them, and the chunks."""
    chunks = [chunk(r) for _ in range(n)]
    out = chunks[0]
    for piece in chunks[1:]:
        out += r.choice(seps) + piece
    return out, chunks


def crc62(body: str) -> str:
    """The six base-62 digits of CRC32 that GitHub and npm put at the end."""
    value = zlib.crc32(body.encode())
    out = ""
    for _ in range(6):
        value, digit = divmod(value, 62)
        out = B62[digit] + out
    return out


def gh_core(r: random.Random) -> str:
    body = b62(r, 30)
    return body + crc62(body)


def jwt(r: random.Random, alg: str = "") -> tuple[str, str]:
    """A JSON web token and its signature."""
    alg = alg or r.choice(["HS256", "RS256", "ES256"])
    head = enc64u(json.dumps({"alg": alg, "typ": "JWT"}, separators=(",", ":")))
    claims = {
        "iss": f"https://{host(r)}/",
        "sub": uuid4(r),
        "iat": r.randint(1_760_000_000, 1_790_000_000),
        "scope": r.choice(["openid profile", "read write", "admin"]),
    }
    body = enc64u(json.dumps(claims, separators=(",", ":")))
    sig = b64u(r, {"HS256": 43, "ES256": 86, "RS256": 342}[alg])
    return f"{head}.{body}.{sig}", sig


def pem_lines(r: random.Random, lead: str, total: int, width: int = 64) -> list[str]:
    body = lead + pick(r, B64, total - len(lead) - 2) + "=="
    return wrap(body, width)


def rsa_pem(r: random.Random) -> tuple[list[str], list[str]]:
    """All lines of an RSA key, and the lines that are key material."""
    label, lead = r.choice(
        [
            ("RSA PRIVATE KEY", "MIIEpAIBAAKCAQEA"),
            ("PRIVATE KEY", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"),
            ("EC PRIVATE KEY", "MHcCAQEEI"),
        ]
    )
    body = pem_lines(r, lead, 164 if label.startswith("EC") else r.choice([612, 820]))
    return [f"-----BEGIN {label}-----", *body, f"-----END {label}-----"], long_parts(body)


def openssh_pem(r: random.Random) -> tuple[list[str], list[str]]:
    body = pem_lines(r, "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW", 384, 70)
    return ["-----BEGIN OPENSSH PRIVATE KEY-----", *body, "-----END OPENSSH PRIVATE KEY-----"], long_parts(
        body[1:]
    )


# ---------------------------------------------------------------- code hosts


@kind()
def k_github_classic_pat(r: random.Random) -> Sample:
    core = gh_core(r)
    tok = r.choice(["ghp_", "gho_", "ghs_", "ghu_"]) + core
    return r.choice(
        [
            lines("$ cat .env", "NODE_ENV=production", f"GITHUB_TOKEN={tok}", "PORT=8080"),
            lines("$ gh auth token", tok),
            lines("      - name: release", "        env:", f"          GH_TOKEN: {tok}"),
            f"remote: Invalid username or token {tok} for 'https://github.com/{user(r)}/{service(r)}.git/'",
        ]
    ), [core]


@kind()
def k_github_fine_grained_pat(r: random.Random) -> Sample:
    a, b = b62(r, 22), b62(r, 59)
    return lines(
        "curl -sS -H 'Accept: application/vnd.github+json' \\",
        f'  -H "Authorization: Bearer github_pat_{a}_{b}" \\',
        f"  https://api.github.com/repos/{user(r)}/{service(r)}/actions/runs",
    ), [a, b]


@kind()
def k_git_remote_url_token(r: random.Random) -> Sample:
    core = gh_core(r)
    u = r.choice(
        [f"x-access-token:ghs_{core}", f"ghp_{core}", f"{user(r)}:ghp_{core}", f"ghp_{core}:x-oauth-basic"]
    )
    url = f"https://{u}@github.com/{r.choice(NOUNS)}/{service(r)}.git"
    return r.choice(
        [
            lines("$ git remote -v", f"origin\t{url} (fetch)", f"origin\t{url} (push)"),
            f"fatal: unable to access '{url}/': The requested URL returned error: 403",
            lines('[remote "origin"]', f"\turl = {url}", "\tfetch = +refs/heads/*:refs/remotes/origin/*"),
        ]
    ), [core]


@kind()
def k_gitlab_token(r: random.Random) -> Sample:
    core = r.choice([b64u(r, 20), b64u(r, 27) + ".01.1" + pick(r, LOWER + DIGITS, 9)])
    prefix = r.choice(["glpat-", "glrt-", "gldt-", "glptt-"])
    return r.choice(
        [
            f'curl --header "PRIVATE-TOKEN: {prefix}{core}" "https://git.{host(r)}/api/v4/projects/{r.randint(10, 999)}/jobs"',
            lines(
                "[[runners]]",
                f'  name = "{service(r)}"',
                f'  url = "https://git.{host(r)}/"',
                f'  token = "{prefix}{core}"',
                '  executor = "docker"',
            ),
        ]
    ), [core]


@kind()
def k_bitbucket_app_password(r: random.Random) -> Sample:
    core = mixed(r, ALNUM, 32)
    return lines(
        f"$ git clone https://{user(r)}:ATBB{core}@bitbucket.org/{r.choice(NOUNS)}/{service(r)}.git",
        f"Cloning into '{service(r)}'...",
    ), [core]


@kind()
def k_atlassian_api_token(r: random.Random) -> Sample:
    core = b64u(r, 178)
    tail = pick(r, "0123456789ABCDEF", 8)
    return lines(
        f"export JIRA_EMAIL={user(r)}@{r.choice(NOUNS)}.io",
        f"export JIRA_API_TOKEN=ATATT3xFfGF0{core}={tail}",
        "jira issue list -s'In Progress'",
    ), [core]


@kind()
def k_gitea_token_header(r: random.Random) -> Sample:
    core = hexs(r, 40)
    return lines(
        f"$ curl -X POST https://git.{host(r)}/api/v1/repos/migrate -H 'Authorization: token {core}' -d @repo.json",
        '{"message":"repository already exists"}',
    ), [core]


# ---------------------------------------------------------------- registries


@kind()
def k_npmrc(r: random.Random) -> Sample:
    core = gh_core(r)
    pwd = enc64(strong(r, 17))
    return r.choice(
        [
            (
                lines("$ cat ~/.npmrc", f"//registry.npmjs.org/:_authToken=npm_{core}", "save-exact=true"),
                [core],
            ),
            (
                lines(
                    "$ cat .npmrc",
                    f"@{r.choice(NOUNS)}:registry=https://npm.{host(r)}/",
                    f"//npm.{host(r)}/:username={user(r)}",
                    f"//npm.{host(r)}/:_password={pwd}",
                    "always-auth=true",
                ),
                [pwd],
            ),
            (
                lines(
                    "registry=https://registry.npmjs.org",
                    f'_auth = "{pwd}"',
                    f"email = {user(r)}@mail.{r.choice(NOUNS)}.io",
                ),
                [pwd],
            ),
        ]
    )


@kind()
def k_pypirc(r: random.Random) -> Sample:
    core = b64u(r, r.randint(140, 170))
    return lines(
        "[distutils]",
        "index-servers = pypi",
        "",
        "[pypi]",
        "username = __token__",
        f"password = pypi-AgEIcHlwaS5vcmc{core}",
    ), [core]


@kind()
def k_cargo_credentials(r: random.Random) -> Sample:
    core = mixed(r, ALNUM, 32)
    return r.choice(
        [
            lines("$ cat ~/.cargo/credentials.toml", "[registry]", f'token = "cio{core}"'),
            lines(f"$ cargo login cio{core}", "       Login token for `crates-io` saved"),
        ]
    ), [core]


@kind()
def k_rubygems_credentials(r: random.Random) -> Sample:
    core = hexs(r, 48)
    return lines("$ cat ~/.gem/credentials", "---", f":rubygems_api_key: rubygems_{core}"), [core]


@kind()
def k_nuget_config(r: random.Random) -> Sample:
    pwd = strong(r, 20)
    key = "oy2" + pick(r, LOWER + DIGITS, 43)
    return lines(
        "<configuration>",
        "  <packageSourceCredentials>",
        f"    <{r.choice(NOUNS)}>",
        f'      <add key="Username" value="{user(r)}" />',
        f'      <add key="ClearTextPassword" value="{pwd}" />',
        "  </packageSourceCredentials>",
        "</configuration>",
        f"$ dotnet nuget push *.nupkg -k {key} -s https://api.nuget.org/v3/index.json",
    ), [pwd, key]


@kind()
def k_composer_auth_json(r: random.Random) -> Sample:
    core, pwd = gh_core(r), strong(r)
    return json.dumps(
        {
            "github-oauth": {"github.com": f"ghp_{core}"},
            "http-basic": {f"repo.{host(r)}": {"username": user(r), "password": pwd}},
        },
        indent=4,
    ), [core, pwd]


@kind(hard=True)
def k_maven_settings_entities(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["&", "<", ">", '"', "'"])
    return lines(
        "  <servers>",
        "    <server>",
        f"      <id>{service(r)}-releases</id>",
        f"      <username>{user(r)}</username>",
        f"      <password>{html.escape(raw)}</password>",
        "    </server>",
        "  </servers>",
    ), chunks


@kind()
def k_gradle_properties(r: random.Random) -> Sample:
    a, b, c = strong(r), human(r), pick(r, "0123456789ABCDEF", 8)
    return lines(
        "org.gradle.jvmargs=-Xmx4g",
        f"ossrhUsername={user(r)}",
        f"ossrhPassword={a}",
        f"signing.keyId={c}",
        f"signing.password={b}",
        "signing.secretKeyRingFile=/home/ci/.gnupg/secring.gpg",
    ), [a, b]


@kind()
def k_docker_config_json(r: random.Random) -> Sample:
    auth = enc64(f"{user(r)}:{strong(r)}")
    return lines(
        "$ cat ~/.docker/config.json",
        "{",
        '\t"auths": {',
        f'\t\t"registry.{host(r)}": {{',
        f'\t\t\t"auth": "{auth}"',
        "\t\t}",
        "\t},",
        '\t"currentContext": "desktop-linux"',
        "}",
    ), [auth]


@kind()
def k_docker_login_cli(r: random.Random) -> Sample:
    core = b64u(r, 27)
    p = human(r)
    return r.choice(
        [
            (f"  482  docker login -u {user(r)} -p dckr_pat_{core} docker.io", [core]),
            (f"+ docker login --username {user(r)} --password {p} registry.{host(r)}", [p]),
            (
                lines(
                    f"$ echo {p} | docker login registry.{host(r)} -u {user(r)} --password-stdin",
                    "Login Succeeded",
                ),
                [p],
            ),
        ]
    )


@kind()
def k_pip_conf_index_url(r: random.Random) -> Sample:
    p = strong(r).replace("+", "x")
    u = f"https://{user(r)}:{p}@pypi.{host(r)}/simple"
    return r.choice(
        [
            lines("[global]", f"extra-index-url = {u}"),
            lines(
                f"$ pip install -i {u} {service(r)}",
                f"Looking in indexes: https://{user(r)}:****@pypi.local/simple",
            ),
            lines("[[tool.poetry.source]]", f'name = "{service(r)}"', f'url = "{u}/"'),
        ]
    ), [p]


@kind()
def k_netrc(r: random.Random) -> Sample:
    a, b = strong(r), human(r)
    return r.choice(
        [
            lines(
                "$ cat ~/.netrc",
                f"machine git.{host(r)} login {user(r)} password {a}",
                f"machine ftp.{host(r)}",
                f"  login {user(r)}",
                f"  password {b}",
            ),
            lines(
                f"machine api.{host(r)}",
                f"\tlogin {user(r)}",
                "\taccount main",
                f"\tpassword {a}",
                f"default login anonymous password {b}",
            ),
        ]
    ), [a, b]


@kind(hard=True)
def k_git_credentials_urlencoded(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["@", ":", "/", "#", "%", " "])
    return lines(
        "$ cat ~/.git-credentials",
        f"https://{user(r)}%40{r.choice(NOUNS)}.io:{quote(raw, safe='')}@git.{host(r)}",
    ), chunks


@kind()
def k_artifactory_key(r: random.Random) -> Sample:
    core = mixed(r, ALNUM, 69)
    ref = mixed(r, ALNUM, 51)
    return r.choice(
        [
            (
                f"curl -H 'X-JFrog-Art-Api: AKCp{core}' -T build/{service(r)}.jar https://{r.choice(NOUNS)}.jfrog.io/artifactory/libs-release/",
                [core],
            ),
            (
                f"jf rt ping --url=https://{r.choice(NOUNS)}.jfrog.io/artifactory --access-token=cmVmdGtuOjAx{ref}",
                [ref],
            ),
        ]
    )


# ---------------------------------------------------------------- AI providers


@kind()
def k_openai_key(r: random.Random) -> Sample:
    a, b = b64u(r, 74), b64u(r, 74)
    tok = f"sk-{r.choice(['proj', 'svcacct', 'admin'])}-{a}T3BlbkFJ{b}"
    return r.choice(
        [
            f"OPENAI_API_KEY={tok}",
            f'client = OpenAI(api_key="{tok}")',
            f"openai.AuthenticationError: Error code: 401 - {{'error': {{'message': 'Incorrect API key provided: {tok}.'}}}}",
        ]
    ), [a, b]


@kind()
def k_anthropic_key(r: random.Random) -> Sample:
    core = b64u(r, 93)
    return r.choice(
        [
            lines(
                "curl https://api.anthropic.com/v1/messages \\",
                f'     --header "x-api-key: sk-ant-api03-{core}AA" \\',
                '     --header "anthropic-version: 2023-06-01"',
            ),
            f"export ANTHROPIC_API_KEY='sk-ant-api03-{core}AA'",
            f'{{"claudeAiOauth":{{"accessToken":"sk-ant-oat01-{core}AA","expiresAt":{r.randint(10**12, 2 * 10**12)}}}}}',
        ]
    ), [core]


@kind()
def k_huggingface_token(r: random.Random) -> Sample:
    core = pick(r, LOWER + UPPER, 34)
    return r.choice(
        [
            f"huggingface-cli login --token hf_{core} --add-to-git-credential",
            f"tok = AutoTokenizer.from_pretrained('org/model', token='hf_{core}')",
            lines("$ cat ~/.cache/huggingface/token", f"hf_{core}"),
        ]
    ), [core]


@kind()
def k_small_ai_prefixed(r: random.Random) -> Sample:
    name, prefix, core = r.choice(
        [
            ("GROQ_API_KEY", "gsk_", b62(r, 52)),
            ("XAI_API_KEY", "xai-", b62(r, 80)),
            ("PERPLEXITY_API_KEY", "pplx-", b62(r, 48)),
            ("REPLICATE_API_TOKEN", "r8_", b62(r, 37)),
            ("OPENROUTER_API_KEY", "sk-or-v1-", hexs(r, 64)),
            ("NVIDIA_API_KEY", "nvapi-", b64u(r, 64)),
            ("DEEPSEEK_API_KEY", "sk-", hexs(r, 32)),
            ("FIREWORKS_API_KEY", "fw_", b62(r, 24)),
        ]
    )
    return r.choice(
        [
            f"{name}={prefix}{core}",
            f"ENV {name}={prefix}{core}",
            f"-e {name}={prefix}{core} \\",
            f'setx {name} "{prefix}{core}"',
            f"Authorization: Bearer {prefix}{core}",
        ]
    ), [core]


@kind()
def k_small_ai_bare(r: random.Random) -> Sample:
    name, core = r.choice(
        [
            ("MISTRAL_API_KEY", mixed(r, ALNUM, 32)),
            ("COHERE_API_KEY", mixed(r, ALNUM, 40)),
            ("TOGETHER_API_KEY", hexs(r, 64)),
            ("AZURE_OPENAI_API_KEY", hexs(r, 32)),
            ("ASSEMBLYAI_API_KEY", hexs(r, 32)),
            ("DEEPGRAM_API_KEY", hexs(r, 40)),
            ("WANDB_API_KEY", hexs(r, 40)),
            ("STABILITY_API_KEY", mixed(r, ALNUM, 48)),
        ]
    )
    return r.choice(
        [
            f"{name}={core}",
            f'export {name}="{core}"',
            f"os.environ['{name}'] = '{core}'",
            f"$env:{name} = '{core}'",
            f'process.env.{name} = "{core}";',
        ]
    ), [core]


@kind()
def k_google_api_key(r: random.Random) -> Sample:
    core = b64u(r, 33)
    return r.choice(
        [
            f"GET https://generativelanguage.googleapis.com/v1beta/models?key=AIzaSy{core} 200 OK",
            f'const firebaseConfig = {{ apiKey: "AIzaSy{core}", projectId: "{service(r)}" }};',
            f"GOOGLE_API_KEY=AIzaSy{core}",
        ]
    ), [core]


@kind()
def k_llm_observability(r: random.Random) -> Sample:
    a, b = hexs(r, 32), hexs(r, 10)
    u = uuid4(r)
    return lines(
        f"LANGCHAIN_API_KEY=lsv2_{r.choice(['pt', 'sk'])}_{a}_{b}",
        f"LANGFUSE_SECRET_KEY=sk-lf-{u}",
        f"LANGFUSE_HOST=https://{host(r)}",
    ), [a, u]


@kind()
def k_elevenlabs_header(r: random.Random) -> Sample:
    core = hexs(r, 48)
    return (
        f"curl -X POST https://api.elevenlabs.io/v1/text-to-speech/{b62(r, 20)} -H 'xi-api-key: sk_{core}' -d '{{\"text\":\"hello\"}}' -o out.mp3",
        [core],
    )


# ---------------------------------------------------------------- clouds


@kind()
def k_aws_credentials_file(r: random.Random) -> Sample:
    sec = pick(r, ALNUM, 1) + mixed(r, B64, 38) + pick(r, ALNUM, 1)
    tok = mixed(r, B64, 340)
    out = [
        "$ cat ~/.aws/credentials",
        "[default]",
        f"aws_access_key_id = AKIA{pick(r, B32, 16)}",
        f"aws_secret_access_key = {sec}",
    ]
    if r.random() < 0.5:
        out.append(f"aws_session_token = IQoJb3JpZ2luX2VjE{tok}==")
        return lines(*out), [sec, tok]
    return lines(*out), [sec]


@kind()
def k_aws_sts_json(r: random.Random) -> Sample:
    sec = pick(r, ALNUM, 1) + mixed(r, B64, 38) + pick(r, ALNUM, 1)
    tok = mixed(r, B64, 420)
    return lines(
        f"$ aws sts assume-role --role-arn arn:aws:iam::{pick(r, DIGITS, 12)}:role/{service(r)} --role-session-name x",
        json.dumps(
            {
                "Credentials": {
                    "AccessKeyId": "ASIA" + pick(r, B32, 16),
                    "SecretAccessKey": sec,
                    "SessionToken": f"FwoGZXIvYXdzE{tok}=",
                    "Expiration": stamp(r),
                }
            },
            indent=4,
        ),
    ), [sec, tok]


@kind()
def k_aws_table_output(r: random.Random) -> Sample:
    sec = pick(r, ALNUM, 1) + mixed(r, B64, 38) + pick(r, ALNUM, 1)
    return lines(
        "--------------------------------------------------------------------",
        "|                          CreateAccessKey                         |",
        "+------------------+-----------------------------------------------+",
        f"|  AccessKeyId     |  AKIA{pick(r, B32, 16)}                         |",
        f"|  SecretAccessKey |  {sec}     |",
        "|  Status          |  Active                                       |",
    ), [sec]


@kind(hard=True)
def k_gcp_service_account_json(r: random.Random) -> Sample:
    _, body = rsa_pem(r)
    pem = "-----BEGIN PRIVATE KEY-----\\n" + "\\n".join(body) + "\\n-----END PRIVATE KEY-----\\n"
    return lines(
        "{",
        '  "type": "service_account",',
        f'  "project_id": "{service(r)}-{r.randint(100, 999)}",',
        f'  "private_key_id": "{hexs(r, 40)}",',
        f'  "private_key": "{pem}",',
        f'  "client_email": "{service(r)}@proj.iam.gserviceaccount.com"',
        "}",
    ), body


@kind()
def k_google_oauth(r: random.Random) -> Sample:
    a, b, c = b64u(r, 180), b64u(r, 28), b64u(r, 98)
    return json.dumps(
        {
            "access_token": f"ya29.a0A{a}",
            "client_id": f"{pick(r, DIGITS, 12)}-{pick(r, LOWER + DIGITS, 32)}.apps.googleusercontent.com",
            "client_secret": f"GOCSPX-{b}",
            "refresh_token": f"1//0{c}",
            "token_type": "Bearer",
        },
        indent=r.choice([None, 2]),
    ), [a, b, c]


@kind()
def k_azure_storage_connection(r: random.Random) -> Sample:
    key = b64raw(r, 64)
    return (
        f'AZURE_STORAGE_CONNECTION_STRING="DefaultEndpointsProtocol=https;AccountName={service(r)}{r.randint(1, 99)};AccountKey={key};EndpointSuffix=core.windows.net"',
        [key[:-2]],
    )


@kind(hard=True)
def k_azure_sas_url(r: random.Random) -> Sample:
    sig = quote(b64raw(r, 32), safe="")
    core = sig.removesuffix("%3D")
    amp = r.choice(["&", "&amp;", "\\u0026"])
    q = amp.join(["sv=2024-11-04", "ss=b", "srt=co", "sp=rl", "se=2027-01-01T00:00:00Z", f"sig={sig}"])
    return (
        f"azcopy copy 'https://{service(r)}{r.randint(1, 99)}.blob.core.windows.net/backup/db.bak?{q}' .",
        [core],
    )


@kind()
def k_azure_ad_client_secret(r: random.Random) -> Sample:
    core = pick(r, ALNUM, 3) + r.choice(DIGITS) + "Q~" + b64u(r, 34)
    return r.choice(
        [
            lines(f"ARM_TENANT_ID={uuid4(r)}", f"ARM_CLIENT_ID={uuid4(r)}", f"ARM_CLIENT_SECRET={core}"),
            lines(
                "$ az ad sp create-for-rbac",
                "{",
                f'  "appId": "{uuid4(r)}",',
                f'  "password": "{core}",',
                f'  "tenant": "{uuid4(r)}"',
                "}",
            ),
            f"az login --service-principal -u {uuid4(r)} -p {core} --tenant {uuid4(r)}",
        ]
    ), [core]


@kind()
def k_azure_servicebus(r: random.Random) -> Sample:
    key = b64raw(r, 32)
    return (
        f"  ServiceBus: Endpoint=sb://{service(r)}.servicebus.windows.net/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey={key};EntityPath=jobs",
        [key[:-1]],
    )


@kind()
def k_digitalocean_token(r: random.Random) -> Sample:
    core = hexs(r, 64)
    return r.choice(
        [
            f"doctl auth init -t dop_v1_{core}",
            lines('provider "digitalocean" {', f'  token = "dop_v1_{core}"', "}"),
        ]
    ), [core]


@kind()
def k_small_clouds(r: random.Random) -> Sample:
    name, core = r.choice(
        [
            ("HCLOUD_TOKEN", mixed(r, ALNUM, 64)),
            ("SCW_SECRET_KEY", uuid4(r)),
            ("LINODE_TOKEN", hexs(r, 64)),
            ("VULTR_API_KEY", mixed(r, UPPER + DIGITS, 36)),
            ("OVH_APPLICATION_SECRET", mixed(r, ALNUM, 32)),
            ("EXOSCALE_API_SECRET", b64u(r, 43)),
            ("UPCLOUD_PASSWORD", strong(r)),
            ("CIVO_TOKEN", mixed(r, ALNUM, 50)),
            ("RAILWAY_TOKEN", uuid4(r)),
        ]
    )
    low = name.lower()
    return r.choice(
        [f"export {name}={core}", f'{low} = "{core}"', f"  {low}: {core}", f"{name}: '{core}'"]
    ), [core]


@kind()
def k_cloudflare(r: random.Random) -> Sample:
    a, b = b64u(r, 40), hexs(r, 37)
    return r.choice(
        [
            (
                f'curl -X GET https://api.cloudflare.com/client/v4/user/tokens/verify -H "Authorization: Bearer {a}"',
                [a],
            ),
            (lines(f"X-Auth-Email: {user(r)}@{r.choice(NOUNS)}.io", f"X-Auth-Key: {b}"), [b]),
            (lines("# Cloudflare API token used by Certbot", f"dns_cloudflare_api_token = {a}"), [a]),
        ]
    )


@kind()
def k_cloudflared_tunnel_token(r: random.Random) -> Sample:
    tok = enc64(json.dumps({"a": hexs(r, 32), "t": uuid4(r), "s": b64raw(r, 32)}, separators=(",", ":")))
    return f"docker run cloudflare/cloudflared:latest tunnel --no-autoupdate run --token {tok}", [
        tok[60:].rstrip("=")
    ]


@kind()
def k_hosting_prefixed(r: random.Random) -> Sample:
    prefix, core, name = r.choice(
        [
            ("HRKU-AA", b64u(r, 58), "HEROKU_API_KEY"),
            ("nfp_", mixed(r, ALNUM, 36), "NETLIFY_AUTH_TOKEN"),
            ("rnd_", mixed(r, ALNUM, 28), "RENDER_API_KEY"),
            ("FlyV1 fm2_", mixed(r, B64, 200), "FLY_API_TOKEN"),
            ("", mixed(r, ALNUM, 24), "VERCEL_TOKEN"),
            ("sbp_", hexs(r, 40), "SUPABASE_ACCESS_TOKEN"),
            ("sb_secret_", b64u(r, 31), "SUPABASE_SECRET_KEY"),
        ]
    )
    return r.choice(
        [
            f'{name}="{prefix}{core}"',
            f'    {name}: "{prefix}{core}"',
            f'fly secrets set {name}="{prefix}{core}"',
        ]
    ), [core]


@kind()
def k_s3_presigned_url(r: random.Random) -> Sample:
    sig = hexs(r, 64)
    return (
        f"https://{service(r)}.s3.eu-central-1.amazonaws.com/exports/{uuid4(r)}.csv?X-Amz-Algorithm=AWS4-HMAC-SHA256"
        f"&X-Amz-Credential=ASIA{pick(r, B32, 16)}%2F20261101%2Feu-central-1%2Fs3%2Faws4_request&X-Amz-Date=20261101T101010Z"
        f"&X-Amz-Expires=3600&X-Amz-SignedHeaders=host&X-Amz-Signature={sig}"
    ), [sig]


@kind()
def k_signed_url_other(r: random.Random) -> Sample:
    a = hexs(r, 512)
    b = pick(r, ALNUM + "~-_", 342)
    c = b64u(r, 27)
    return r.choice(
        [
            (
                f"Location: https://storage.googleapis.com/{service(r)}/a.zip?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Expires=900&X-Goog-Signature={a}",
                [a],
            ),
            (
                f"wget 'https://d{pick(r, LOWER + DIGITS, 13)}.cloudfront.net/v.mp4?Expires=1790000000&Signature={b}__&Key-Pair-Id=K{pick(r, UPPER + DIGITS, 13)}'",
                [b],
            ),
            (f"GET /media/{r.randint(100, 999)}.jpg?expires=1790000000&token={c} HTTP/1.1", [c]),
        ]
    )


@kind()
def k_asian_clouds(r: random.Random) -> Sample:
    a = mixed(r, ALNUM, 30)
    b = mixed(r, ALNUM, 32)
    c = b64u(r, 35)
    return r.choice(
        [
            (
                lines(
                    f"ALIBABA_CLOUD_ACCESS_KEY_ID=LTAI5t{mixed(r, ALNUM, 18)}",
                    f"ALIBABA_CLOUD_ACCESS_KEY_SECRET={a}",
                ),
                [a],
            ),
            (
                json.dumps(
                    {"secretId": "AKID" + mixed(r, ALNUM, 32), "secretKey": b, "region": "ap-guangzhou"}
                ),
                [b],
            ),
            (f"yc config set token y0_AgAAAA{c}", [c]),
        ]
    )


@kind()
def k_rclone_conf(r: random.Random) -> Sample:
    a, b = b64u(r, 31), b64u(r, 40)
    return lines(
        "$ rclone config show",
        "[b2]",
        "type = b2",
        f"account = 00{hexs(r, 23)}",
        f"key = K00{a}",
        "",
        "[vault]",
        "type = crypt",
        "remote = b2:backup",
        f"password = {b}",
    ), [a, b]


@kind()
def k_ibm_oracle_cloud(r: random.Random) -> Sample:
    a, p = b64u(r, 44), human(r)
    return r.choice(
        [
            (f"ibmcloud login --apikey {a} -r eu-de", [a]),
            (
                lines(
                    "[DEFAULT]",
                    f"user=ocid1.user.oc1..{pick(r, LOWER + DIGITS, 60)}",
                    f"fingerprint={':'.join(pick(r, HEX, 2) for _ in range(16))}",
                    "key_file=~/.oci/key.pem",
                    f"pass_phrase={p}",
                ),
                [p],
            ),
        ]
    )


# ---------------------------------------------------------------- infrastructure


@kind()
def k_terraform_tfvars(r: random.Random) -> Sample:
    a, b = strong(r), human(r)
    return lines(
        "$ cat prod.tfvars",
        'region         = "eu-west-1"',
        f'db_username    = "{user(r)}"',
        f'db_password    = "{a}"',
        f'admin_password = "{b}"',
        "instance_count = 3",
    ), [a, b]


@kind()
def k_terraform_state(r: random.Random) -> Sample:
    p = strong(r)
    return lines(
        '          "attributes": {',
        '            "allocated_storage": 100,',
        f'            "id": "{service(r)}-db",',
        f'            "master_password": "{p}",',
        '            "port": 5432,',
        '            "sensitive_attributes": [[{"type": "get_attr", "value": "password"}]]',
    ), [p]


@kind()
def k_terraform_cloud_token(r: random.Random) -> Sample:
    a, b = mixed(r, ALNUM, 14), mixed(r, ALNUM, 67)
    return lines('credentials "app.terraform.io" {', f'  token = "{a}.atlasv1.{b}"', "}"), [b]


@kind()
def k_vault_token(r: random.Random) -> Sample:
    root, unseal, sid = b64u(r, 24), [b64raw(r, 33) for _ in range(3)], b64u(r, 90)
    return r.choice(
        [
            (
                lines(
                    "$ vault operator init",
                    *(f"Unseal Key {i + 1}: {k}" for i, k in enumerate(unseal)),
                    "",
                    f"Initial Root Token: hvs.{root}",
                    "",
                    "Vault initialized with 5 key shares and a key threshold of 3.",
                ),
                [root, *unseal],
            ),
            (f"export VAULT_ADDR=https://{host(r)}:8200 VAULT_TOKEN=hvs.CAESI{sid}", [sid]),
            (f"curl -H 'X-Vault-Token: hvb.{sid}' https://{host(r)}:8200/v1/secret/data/{service(r)}", [sid]),
        ]
    )


@kind()
def k_vault_kv_get_table(r: random.Random) -> Sample:
    a, b = strong(r), human(r)
    return lines(
        f"$ vault kv get secret/{service(r)}",
        "====== Data ======",
        "Key         Value",
        "---         -----",
        f"api_token   {a}",
        f"password    {b}",
        f"username    {user(r)}",
    ), [a, b]


@kind()
def k_consul_nomad_token(r: random.Random) -> Sample:
    u = uuid4(r)
    return r.choice(
        [
            lines(
                "$ consul acl bootstrap",
                f"AccessorID:       {uuid4(r)}",
                f"SecretID:         {u}",
                "Description:      Bootstrap Token (Global Management)",
            ),
            f"export NOMAD_TOKEN={u}",
            f"curl -H 'X-Consul-Token: {u}' http://127.0.0.1:8500/v1/kv/{service(r)}",
        ]
    ), [u]


@kind()
def k_secret_managers(r: random.Random) -> Sample:
    prefix, core = r.choice(
        [
            ("dp.pt.", b62(r, 43)),
            ("dp.st.prd.", b62(r, 43)),
            ("ops_eyJzaWduSW5BZGRyZXNzIjoi", b64u(r, 300)),
            ("pul-", hexs(r, 40)),
            ("st." + hexs(r, 24) + "." + hexs(r, 32) + ".", hexs(r, 32)),
        ]
    )
    return r.choice(
        [
            f"SERVICE_TOKEN={prefix}{core}",
            f"--token={prefix}{core}",
            f"Using token {prefix}{core} from environment",
        ]
    ), [core]


@kind()
def k_age_sops_key(r: random.Random) -> Sample:
    core = pick(r, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)
    return lines(
        "$ cat ~/.config/sops/age/keys.txt",
        f"# created: {stamp(r)}",
        f"# public key: age1{pick(r, 'qpzry9x8gf2tvdw0s3jn54khce6mua7l', 58)}",
        f"AGE-SECRET-KEY-1{core}",
    ), [core]


@kind()
def k_kubeconfig_raw(r: random.Random) -> Sample:
    key = enc64("-----BEGIN RSA PRIVATE KEY-----\nMIIEpA").rstrip("=") + mixed(r, ALNUM, 700)
    cert = enc64("-----BEGIN CERTIFICATE-----\nMIID").rstrip("=") + mixed(r, ALNUM, 300)
    return lines(
        "$ kubectl config view --raw",
        "apiVersion: v1",
        "clusters:",
        "- cluster:",
        f"    certificate-authority-data: {cert}",
        f"    server: https://{ip(r)}:6443",
        "  name: prod",
        "users:",
        "- name: admin",
        "  user:",
        f"    client-certificate-data: {cert}",
        f"    client-key-data: {key}",
    ), [key[60:]]


@kind()
def k_kube_bearer_token(r: random.Random) -> Sample:
    tok, sig = jwt(r, "RS256")
    return r.choice(
        [
            lines("users:", "- name: ci", "  user:", f"    token: {tok}"),
            lines(
                f"$ kubectl describe secret {service(r)}-token",
                "Data",
                "====",
                "ca.crt:     1107 bytes",
                "namespace:  7 bytes",
                f"token:      {tok}",
            ),
            f"kubectl --server=https://{ip(r)}:6443 --token={tok} get pods",
        ]
    ), [sig]


@kind(hard=True)
def k_kube_secret_base64(r: random.Random) -> Sample:
    a, b = enc64(strong(r) + "\n"), enc64(strong(r, 25))
    return lines(
        "apiVersion: v1",
        "kind: Secret",
        "metadata:",
        f"  name: {service(r)}-db",
        "type: Opaque",
        "data:",
        f"  username: {enc64(user(r))}",
        f"  password: {a}",
        f"  api-key: {b}",
    ), [a.rstrip("="), b.rstrip("=")]


@kind(hard=True)
def k_kube_dockerconfigjson(r: random.Random) -> Sample:
    pwd = strong(r)
    inner = json.dumps(
        {
            "auths": {
                f"registry.{host(r)}": {
                    "username": user(r),
                    "password": pwd,
                    "auth": enc64(user(r) + ":" + pwd),
                }
            }
        }
    )
    blob = enc64(inner)
    return lines(
        "kind: Secret", "type: kubernetes.io/dockerconfigjson", "data:", f"  .dockerconfigjson: {blob}"
    ), [blob[-60:].rstrip("=")]


@kind()
def k_kube_stringdata(r: random.Random) -> Sample:
    a, b = strong(r), hexs(r, 48)
    return lines(
        "stringData:", f'  POSTGRES_PASSWORD: "{a}"', f"  SESSION_SECRET: {b}", "  LOG_LEVEL: info"
    ), [a, b]


@kind(hard=True)
def k_yaml_env_name_value_pairs(r: random.Random) -> Sample:
    p, q = strong(r), strong(r)
    return lines(
        "        env:",
        "        - name: DB_HOST",
        f"          value: {host(r)}",
        "        - name: DB_PASSWORD",
        f"          value: {p}",
        "        - name: JWT_SECRET",
        f'          value: "{q}"',
    ), [p, q]


@kind()
def k_ansible_inventory(r: random.Random) -> Sample:
    a, b = human(r), strong(r)
    return lines(
        "[web]", f"{host(r)} ansible_user={user(r)} ansible_ssh_pass={a} ansible_become_password='{b}'"
    ), [a, b]


@kind()
def k_compose_environment(r: random.Random) -> Sample:
    a, b = strong(r), human(r)
    return lines(
        "services:",
        "  db:",
        "    image: mariadb:11",
        "    environment:",
        f"      - MYSQL_ROOT_PASSWORD={a}",
        f"      - MYSQL_USER={user(r)}",
        f"      MYSQL_PASSWORD: {b}",
    ), [a, b]


@kind(hard=True)
def k_docker_inspect_env(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["$", "\\", '"', "&"])
    key = mixed(r, ALNUM, 40)
    env = [
        "PATH=/usr/local/sbin:/usr/local/bin",
        f"RABBITMQ_DEFAULT_PASS={raw}",
        f"APP_SECRET={key}",
        "TZ=UTC",
    ]
    return lines(f"$ docker inspect {service(r)} --format '{{{{json .Config.Env}}}}'", json.dumps(env)), [
        *chunks,
        key,
    ]


@kind()
def k_ps_and_systemd(r: random.Random) -> Sample:
    a = strong(r)
    return r.choice(
        [
            lines(
                "USER   PID %CPU %MEM COMMAND",
                f"root  {r.randint(100, 9999)}  0.3  1.2 /usr/bin/{service(r)} --db-user {user(r)} --db-password {a} --port 9000",
            ),
            lines(
                f"$ systemctl show {service(r)} -p Environment", f"Environment=LANG=C API_TOKEN={a} WORKERS=4"
            ),
            lines("[Service]", f'Environment="SMTP_PASSWORD={a}"', "ExecStart=/opt/app/run"),
        ]
    ), [a]


# ---------------------------------------------------------------- payment and commerce


@kind()
def k_stripe(r: random.Random) -> Sample:
    a, b = b62(r, r.choice([24, 99])), mixed(r, ALNUM, 32)
    mode = r.choice(["sk_live_", "rk_live_", "sk_test_"])
    return r.choice(
        [
            lines(f"STRIPE_SECRET_KEY={mode}{a}", f"STRIPE_WEBHOOK_SECRET=whsec_{b}"),
            lines(
                f"$ curl https://api.stripe.com/v1/charges -u {mode}{a}:",
                "$ stripe listen",
                f"> Ready! Your webhook signing secret is whsec_{b} (^C to quit)",
            ),
        ]
    ), [a, b]


@kind()
def k_payment_other(r: random.Random) -> Sample:
    text, core = r.choice(
        [
            ("BRAINTREE=access_token$production$" + pick(r, LOWER + DIGITS, 16) + "${}", hexs(r, 32)),
            ("mollie.setApiKey('live_{}')", mixed(r, ALNUM, 30)),
            ("SQUARE_ACCESS_TOKEN=EAAA{}", b64u(r, 60)),
            ("square_secret: sq0csp-{}", b64u(r, 43)),
            ("RAZORPAY_KEY_SECRET={}", mixed(r, ALNUM, 24)),
            ("PADDLE_API_KEY=pdl_live_apikey_01" + pick(r, LOWER + DIGITS, 24) + "_{}", b62(r, 22)),
            ("paypal.client_secret = E{}", b64u(r, 79)),
            ("curl -H 'X-API-Key: AQE{}' https://checkout-test.adyen.com/v71/payments", mixed(r, B64, 120)),
            ('"flutterwave": "FLWSECK-{}-X"', hexs(r, 32)),
        ]
    )
    return text.format(core), [core]


@kind()
def k_shopify(r: random.Random) -> Sample:
    core = hexs(r, 32)
    return (
        f"curl -H 'X-Shopify-Access-Token: {r.choice(['shpat_', 'shpca_', 'shpss_'])}{core}' https://{r.choice(NOUNS)}.myshopify.com/admin/api/2026-04/shop.json",
        [core],
    )


# ---------------------------------------------------------------- CI


@kind()
def k_ci_tokens(r: random.Random) -> Sample:
    text, core = r.choice(
        [
            (
                "curl -H 'Circle-Token: CCIPAT_" + b62(r, 22) + "_{}' https://circleci.com/api/v2/me",
                hexs(r, 40),
            ),
            ("BUILDKITE_API_TOKEN=bkua_{}", hexs(r, 40)),
            ("CODECOV_TOKEN: {}", uuid4(r)),
            ("./codecov -t {}", uuid4(r)),
            ("mvn sonar:sonar -Dsonar.token=squ_{}", hexs(r, 40)),
            ("mvn verify -Dsonar.login={}", hexs(r, 40)),
            ("SNYK_TOKEN={}", uuid4(r)),
            ('drone_token = "{}"', mixed(r, ALNUM, 32)),
            ("travis login --pro --github-token ghp_{}", gh_core(r)),
        ]
    )
    return text.format(core), [core]


@kind()
def k_jenkins_curl(r: random.Random) -> Sample:
    core = "11" + hexs(r, 32)
    return r.choice(
        [
            f"curl -X POST --user {user(r)}:{core} https://ci.{host(r)}/job/{service(r)}/build",
            f"java -jar jenkins-cli.jar -s https://ci.{host(r)} -auth {user(r)}:{core} list-jobs",
        ]
    ), [core]


# ---------------------------------------------------------------- chat and phone


@kind()
def k_slack_token(r: random.Random) -> Sample:
    core = b62(r, 24)
    ids = f"{pick(r, DIGITS[1:], 12)}-{pick(r, DIGITS[1:], 13)}"
    x = hexs(r, 64)
    return r.choice(
        [
            (f"SLACK_BOT_TOKEN=xoxb-{ids}-{core}", [core]),
            (
                f"slack_sdk.errors.SlackApiError: token xoxp-{ids}-{pick(r, DIGITS[1:], 13)}-{x[:32]}: not_allowed",
                [x[:32]],
            ),
            (f"SLACK_APP_TOKEN: xapp-1-A0{pick(r, UPPER + DIGITS, 9)}-{pick(r, DIGITS[1:], 13)}-{x}", [x]),
        ]
    )


@kind()
def k_chat_webhooks(r: random.Random) -> Sample:
    a, b, c = b62(r, 24), b64u(r, 68), hexs(r, 32)
    return r.choice(
        [
            (
                f'curl -X POST -d \'{{"text":"done"}}\' https://hooks.slack.com/services/T0{pick(r, UPPER + DIGITS, 9)}/B0{pick(r, UPPER + DIGITS, 9)}/{a}',
                [a],
            ),
            (f"DISCORD_WEBHOOK=https://discord.com/api/webhooks/{pick(r, DIGITS[1:], 18)}/{b}", [b]),
            (
                f"teams_url: https://{r.choice(NOUNS)}.webhook.office.com/webhookb2/{uuid4(r)}@{uuid4(r)}/IncomingWebhook/{c}/{uuid4(r)}",
                [c],
            ),
            (f"https://oapi.dingtalk.com/robot/send?access_token={c}{c[::-1]}", [c + c[::-1]]),
        ]
    )


@kind()
def k_discord_bot_token(r: random.Random) -> Sample:
    ident = enc64(pick(r, DIGITS[1:], 18)).rstrip("=")
    sig = b64u(r, 38)
    return r.choice(
        [
            f"client.login('{ident}.G{b64u(r, 5)}.{sig}');",
            f"Authorization: Bot {ident}.G{b64u(r, 5)}.{sig}",
            f"DISCORD_TOKEN={ident}.G{b64u(r, 5)}.{sig}",
        ]
    ), [sig]


@kind()
def k_telegram_bot(r: random.Random) -> Sample:
    core = "AA" + b64u(r, 33)
    num = pick(r, DIGITS[1:], 10)
    return r.choice(
        [
            f'httpx - INFO - HTTP Request: POST https://api.telegram.org/bot{num}:{core}/getUpdates "HTTP/1.1 200 OK"',
            f"TELEGRAM_BOT_TOKEN={num}:{core}",
            f"bot = telebot.TeleBot('{num}:{core}')",
        ]
    ), [core]


@kind()
def k_twilio(r: random.Random) -> Sample:
    core = hexs(r, 32)
    sid = "AC" + hexs(r, 32)
    return r.choice(
        [
            lines(f"TWILIO_ACCOUNT_SID={sid}", f"TWILIO_AUTH_TOKEN={core}"),
            f"curl -u '{sid}:{core}' https://api.twilio.com/2010-04-01/Accounts/{sid}/Messages.json",
            f"client = Client('{sid}', auth_token='{core}')",
        ]
    ), [core]


@kind()
def k_matrix_mattermost(r: random.Random) -> Sample:
    a, b = pick(r, LOWER + UPPER, 20), pick(r, LOWER + DIGITS, 26)
    return r.choice(
        [
            (f"access_token: syt_{enc64(user(r)).rstrip('=')}_{a}_{b62(r, 6)}", [a]),
            (f"curl -H 'Authorization: Bearer {b}' https://chat.{host(r)}/api/v4/users/me", [b]),
            (f"mmctl auth login https://chat.{host(r)} --name prod --access-token {b}", [b]),
        ]
    )


# ---------------------------------------------------------------- monitoring, mail, search, office


@kind()
def k_monitoring(r: random.Random) -> Sample:
    text, core = r.choice(
        [
            ("DD_API_KEY={}", hexs(r, 32)),
            ("  DD-APPLICATION-KEY: {}", hexs(r, 40)),
            ("datadog.appKey: '{}'", hexs(r, 40)),
            ("NEW_RELIC_API_KEY=NRAK-{}", mixed(r, UPPER + DIGITS, 27)),
            ("license_key: eu01xx{}NRAL", hexs(r, 30)),
            ("GRAFANA_TOKEN=glsa_{}_" + hexs(r, 8), mixed(r, ALNUM, 32)),
            ("basic_auth password: glc_{}", mixed(r, B64, 100)),
            ("sentry-cli --auth-token sntryu_{} releases list", hexs(r, 64)),
            ("auth.token=sntrys_eyJpYXQiOjE3{}", b64u(r, 160)),
            ("Authorization: Token token={}", b64u(r, 20)),
            ("x-honeycomb-team: {}", mixed(r, ALNUM, 22)),
            ("Authorization: Splunk {}", uuid4(r)),
            ("Authorization: GenieKey {}", uuid4(r)),
            ("Authorization: Api-Token dt0c01." + mixed(r, B32, 24) + ".{}", mixed(r, B32, 64)),
        ]
    )
    return text.format(core), [core]


@kind()
def k_sentry_legacy_dsn(r: random.Random) -> Sample:
    core = hexs(r, 32)
    return f"SENTRY_DSN=https://{hexs(r, 32)}:{core}@sentry.{host(r)}/{r.randint(1, 90)}", [core]


@kind()
def k_mail_providers(r: random.Random) -> Sample:
    text, core = r.choice(
        [
            ("SENDGRID_API_KEY=SG." + b64u(r, 22) + ".{}", b64u(r, 43)),
            ("curl -s --user 'api:key-{}' https://api.mailgun.net/v3/domains", hexs(r, 32)),
            (
                "curl -s --user 'api:{}-"
                + hexs(r, 8)
                + "-"
                + hexs(r, 8)
                + "' https://api.eu.mailgun.net/v3/domains",
                hexs(r, 32),
            ),
            ("MAILCHIMP_KEY={}-us" + str(r.randint(1, 21)), hexs(r, 32)),
            ("X-Postmark-Server-Token: {}", uuid4(r)),
            ("const resend = new Resend('re_{}');", b62(r, 8) + "_" + b62(r, 24)),
            ("api-key: xkeysib-{}-" + mixed(r, ALNUM, 16), hexs(r, 64)),
            ("AWS_SES_SMTP_PASSWORD=B{}", mixed(r, ALNUM, 43)),
        ]
    )
    return text.format(core), [core]


@kind()
def k_smtp_config(r: random.Random) -> Sample:
    p = human(r)
    app = " ".join(pick(r, LOWER, 4) for _ in range(4))
    return r.choice(
        [
            (
                lines(
                    "[mail]",
                    f"smtp_host = smtp.{host(r)}",
                    "smtp_port = 587",
                    f"smtp_user = {user(r)}",
                    f"smtp_pass = {p}",
                ),
                [p],
            ),
            (
                lines(
                    "  $mail->Host = 'smtp.gmail.com';",
                    f"  $mail->Username = '{user(r)}@gmail.com';",
                    f"  $mail->Password = '{app}';",
                ),
                [app, app[10:]],
            ),
            (f"server.login('{user(r)}@{r.choice(NOUNS)}.io', '{p}')", [p]),
            (
                f"smtps://{user(r)}:{p.replace('%', 'x').replace('?', 'y')}@smtp.{host(r)}:465",
                [p.replace("%", "x").replace("?", "y")],
            ),
        ]
    )


@kind()
def k_search_engines(r: random.Random) -> Sample:
    a, p = hexs(r, 32), strong(r, 20)
    es = enc64(b64u(r, 20) + ":" + b64u(r, 22))
    return r.choice(
        [
            (f"algoliasearch('{pick(r, UPPER + DIGITS, 10)}', '{a}')  // admin api key", [a]),
            (f"curl -H 'X-Algolia-API-Key: {a}' https://x-dsn.algolia.net/1/indexes", [a]),
            (f"Authorization: ApiKey {es}", [es.rstrip("=")]),
            (f"curl -k -u elastic:{p} https://{host(r)}:9200/_cat/indices", [p]),
            (f"meilisearch --master-key={p} --env production", [p]),
            (
                lines(
                    "Password for the elastic user (reset with `bin/elasticsearch-reset-password -u elastic`):",
                    f"  {p}",
                ),
                [p],
            ),
        ]
    )


@kind()
def k_office_saas(r: random.Random) -> Sample:
    text, core = r.choice(
        [
            ("NOTION_TOKEN=ntn_{}", mixed(r, ALNUM, 46)),
            ("notion = Client(auth='secret_{}')", mixed(r, ALNUM, 43)),
            ("Authorization: Bearer pat" + mixed(r, ALNUM, 14) + ".{}", hexs(r, 64)),
            ("LINEAR_API_KEY=lin_api_{}", mixed(r, ALNUM, 40)),
            ("X-Figma-Token: figd_{}", b64u(r, 40)),
            ("X-Api-Key: PMAK-" + hexs(r, 24) + "-{}", hexs(r, 34)),
            (
                "asana_token: 2/" + pick(r, DIGITS[1:], 16) + "/" + pick(r, DIGITS[1:], 16) + ":{}",
                hexs(r, 32),
            ),
            ("dbx = dropbox.Dropbox('sl.{}')", b64u(r, 136)),
            ("MAPBOX_SECRET=sk.eyJ1Ijoi" + mixed(r, ALNUM, 40) + ".{}", b64u(r, 22)),
            ("LD_SDK_KEY=sdk-{}", uuid4(r)),
            ("HUBSPOT_TOKEN=pat-eu1-{}", uuid4(r)),
            ("CONTENTFUL_MANAGEMENT_TOKEN=CFPAT-{}", b64u(r, 43)),
            ("clickup: pk_" + pick(r, DIGITS[1:], 8) + "_{}", mixed(r, UPPER + DIGITS, 32)),
        ]
    )
    return text.format(core), [core]


@kind()
def k_identity_providers(r: random.Random) -> Sample:
    text, core = r.choice(
        [
            ("Authorization: SSWS 00{}", b64u(r, 40)),
            ("OKTA_API_TOKEN=00{}", b64u(r, 40)),
            ("AUTH0_CLIENT_SECRET={}", b64u(r, 64)),
            ("CLERK_SECRET_KEY=sk_live_{}", mixed(r, ALNUM, 42)),
            ('"KEYCLOAK_CLIENT_SECRET": "{}"', mixed(r, ALNUM, 32)),
            ("  clientSecret: {}", mixed(r, ALNUM, 40)),
            (
                "curl -d 'grant_type=client_credentials&client_id=app&client_secret={}' https://id.local/token",
                mixed(r, ALNUM, 32),
            ),
            ("consumer_secret={}", mixed(r, ALNUM, 50)),
            ("TWITTER_BEARER_TOKEN=AAAAAAAAAAAAAAAAAAAAA{}", mixed(r, ALNUM + "%", 80)),
            ("fb_access_token: EAAG{}ZD", mixed(r, ALNUM, 150)),
            ("FCM_SERVER_KEY=AAAA" + b64u(r, 7) + ":APA91b{}", b64u(r, 134)),
        ]
    )
    return text.format(core), [core]


@kind()
def k_data_platforms(r: random.Random) -> Sample:
    text, core = r.choice(
        [
            ("DATABRICKS_TOKEN=dapi{}", hexs(r, 32)),
            ("pscale connect --service-token pscale_tkn_{}", b64u(r, 43)),
            (
                "postgresql://neondb_owner:npg_{}@ep-cool-dawn-123456.eu-central-1.aws.neon.tech/neondb",
                mixed(r, ALNUM, 12),
            ),
            ("NEON_API_KEY=napi_{}", pick(r, LOWER + DIGITS, 64)),
            ("influx auth: INFLUX_TOKEN={}==", b64u(r, 86)),
            ("snowsql -a acct -u loader --password={}", strong(r)),
            ("UPSTASH_REDIS_REST_TOKEN=A{}", mixed(r, ALNUM, 59)),
            ("ASTRA_DB_APPLICATION_TOKEN=AstraCS:" + mixed(r, ALNUM, 24) + ":{}", hexs(r, 64)),
            (
                'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="k" password="{}";',
                mixed(r, B64, 64),
            ),
        ]
    )
    return text.format(core), [core]


@kind()
def k_network_tools(r: random.Random) -> Sample:
    text, core = r.choice(
        [
            ("tailscale up --authkey tskey-auth-k" + mixed(r, ALNUM, 16) + "-{}", mixed(r, ALNUM, 32)),
            ("ngrok config add-authtoken 2{}", mixed(r, ALNUM, 26) + "_" + mixed(r, ALNUM, 21)),
            ("zerotier_central_token: {}", mixed(r, ALNUM, 32)),
            ('frps auth.token = "{}"', mixed(r, ALNUM, 24)),
            ("k3s agent --server https://m1:6443 --token K10" + hexs(r, 64) + "::server:{}", hexs(r, 32)),
            (
                "kubeadm join 10.0.0.4:6443 --token "
                + pick(r, LOWER + DIGITS, 6)
                + ".{} --discovery-token-ca-cert-hash sha256:"
                + hexs(r, 64),
                mixed(r, LOWER + DIGITS, 16),
            ),
            (
                "docker swarm join --token SWMTKN-1-" + pick(r, LOWER + DIGITS, 50) + "-{} 10.0.0.4:2377",
                pick(r, LOWER + DIGITS, 25),
            ),
        ]
    )
    return text.format(core), [core]


# ---------------------------------------------------------------- databases


@kind()
def k_database_url_plain(r: random.Random) -> Sample:
    p = chunk(r) + chunk(r)
    scheme = r.choice(
        ["postgres", "postgresql+asyncpg", "mysql", "mysql2", "mariadb+pymysql", "clickhouse", "cockroachdb"]
    )
    url = f"{scheme}://{user(r)}:{p}@{host(r)}:5432/{service(r)}?sslmode=require"
    return r.choice(
        [
            f"DATABASE_URL={url}",
            f"sqlalchemy.exc.OperationalError: could not connect using {url}",
            f"engine = create_engine('{url}')",
            lines("datasource db {", '  provider = "postgresql"', f'  url      = "{url}"', "}"),
        ]
    ), [p]


@kind(hard=True)
def k_database_url_odd_chars(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["@", "#", "/", "?", "$", "|", "!", "^", "&", "[", "]", "%"])
    url = f"postgres://{user(r)}:{raw}@{host(r)}:5432/{service(r)}"
    return r.choice(
        [
            f"DATABASE_URL='{url}'",
            f'DATABASE_URL="{url}"',
            f"ValueError: invalid literal for int() with base 10 while parsing {url}",
            f"psql '{url}' -c 'select 1'",
        ]
    ), chunks


@kind(hard=True)
def k_database_url_encoded(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["@", ":", "/", "#", "?", " ", "%"])
    return (
        f"DB_DSN=mysql://{user(r)}:{quote(raw, safe='')}@{host(r)}:3306/{service(r)}?charset=utf8mb4",
        chunks,
    )


@kind()
def k_mongodb_srv(r: random.Random) -> Sample:
    p = strong(r).replace("+", "p")
    url = f"mongodb+srv://{user(r)}:{p}@cluster0.{pick(r, LOWER + DIGITS, 5)}.mongodb.net/{service(r)}?retryWrites=true&w=majority"
    return r.choice(
        [f"MONGO_URI={url}", f'mongosh "{url}"', f"MongoServerError: bad auth at Connection ({url})"]
    ), [p]


@kind()
def k_mongodb_replica_set(r: random.Random) -> Sample:
    p = chunk(r) + chunk(r)
    return (
        f"spring.data.mongodb.uri=mongodb://{user(r)}:{p}@{ip(r)}:27017,{ip(r)}:27017,{ip(r)}:27018/admin?replicaSet=rs0",
        [p],
    )


@kind()
def k_redis_amqp_url(r: random.Random) -> Sample:
    p = chunk(r) + chunk(r)
    return r.choice(
        [
            f"REDIS_URL=redis://:{p}@{host(r)}:6379/0",
            f"CELERY_BROKER_URL=amqp://{user(r)}:{p}@{host(r)}:5672//",
            f"redis-cli -h {host(r)} -a {p} ping",
            f"rediss://default:{p}@{host(r)}:6380",
            f"nats://{user(r)}:{p}@{host(r)}:4222",
            f"requirepass {p}",
            f"127.0.0.1:6379> AUTH {user(r)} {p}",
            f"ldap bind: ldaps://cn={user(r)}:{p}@{host(r)}",
            f"lftp ftp://{user(r)}:{p}@{host(r)}/upload",
        ]
    ), [p]


@kind()
def k_jdbc(r: random.Random) -> Sample:
    p = chunk(r) + chunk(r)
    return r.choice(
        [
            f"jdbc:postgresql://{host(r)}:5432/{service(r)}?user={user(r)}&password={p}&ssl=true",
            f"jdbc:oracle:thin:{user(r)}/{p}@//{host(r)}:1521/ORCLPDB1",
            f"jdbc:sqlserver://{host(r)}:1433;databaseName={service(r)};user=sa;password={p};encrypt=true",
            f"java.sql.SQLException: Access denied [jdbc:mysql://{host(r)}/{service(r)}?user={user(r)}&password={p}]",
            f"sqlplus {user(r)}/{p}@{host(r)}:1521/XE @migrate.sql",
        ]
    ), [p]


@kind(hard=True)
def k_odbc_braces(r: random.Random) -> Sample:
    raw, chunks = hard(r, [";", "}}", "=", "{", " "])
    return (
        f"conn = pyodbc.connect('Driver={{ODBC Driver 18 for SQL Server}};Server={host(r)},1433;Database={service(r)};Uid={user(r)};Pwd={{{raw}}};Encrypt=yes')",
        chunks,
    )


@kind(hard=True)
def k_ado_net_quotes(r: random.Random) -> Sample:
    raw, chunks = hard(r, [";", "'", "=", ","])
    return r.choice(
        [
            f'Server={host(r)};Initial Catalog={service(r)};User ID=sa;Password="{raw}";TrustServerCertificate=True',
            f'  "ConnectionStrings": {{ "Main": {json.dumps(f"Data Source={host(r)};User Id={user(r)};Password={chr(34)}{raw}{chr(34)};")} }}',
        ]
    ), chunks


@kind(hard=True)
def k_web_config_xml(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["&", '"', "<", "'"])
    mk = pick(r, "0123456789ABCDEF", 64)
    return lines(
        "<connectionStrings>",
        f'  <add name="Db" connectionString="Server={host(r)};User Id={user(r)};Password={html.escape(raw)};MultipleActiveResultSets=true" />',
        "</connectionStrings>",
        f'<machineKey validationKey="{mk}{mk[::-1]}" decryptionKey="{mk[::-1]}" validation="SHA1" decryption="AES" />',
    ), [*chunks, mk[::-1]]


@kind(hard=True)
def k_pgpass(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["\\:", "\\\\", "#"])
    return lines("$ cat ~/.pgpass", f"{host(r)}:5432:*:{user(r)}:{raw}"), chunks


@kind(hard=True)
def k_my_cnf(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["#", " ", ";", "$"])
    return lines("[client]", f"user={user(r)}", f'password="{raw}"', f"host={host(r)}"), chunks


@kind(hard=True)
def k_mysql_cli_glued(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["#", "$", "!", "&"], 2)
    p = human(r).replace("!", "7").replace("*", "8").replace("?", "9")
    return r.choice(
        [
            (f"mysqldump -h {host(r)} -u root -p'{raw}' {service(r)} > dump.sql", chunks),
            (f"$ mysql -u{user(r)} -p{p} -e 'show processlist'", [p]),
            (f"mariadb --user=root --password='{raw}' < init.sql", chunks),
        ]
    )


@kind(hard=True)
def k_shell_env_prefix(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["$", "|", "#", " ", '"', ")", "`"])
    name = r.choice(["PGPASSWORD", "MYSQL_PWD", "RESTIC_PASSWORD", "SSHPASS", "BORG_PASSPHRASE"])
    return r.choice(
        [
            f"{name}='{raw}' ./run-backup.sh --host {host(r)}",
            f"$ export {name}='{raw}'; make deploy",
            f"  211  {name}='{raw}' pg_dump -U {user(r)} app",
        ]
    ), chunks


@kind(hard=True)
def k_sql_statements(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["''", "$", ";", "#"])
    return r.choice(
        [
            f"ALTER USER {user(r)} WITH ENCRYPTED PASSWORD '{raw}';",
            f"CREATE USER '{user(r)}'@'%' IDENTIFIED BY '{raw}';",
            f"CREATE LOGIN {user(r)} WITH PASSWORD = N'{raw}', CHECK_POLICY = ON",
            f"GRANT ALL ON app.* TO {user(r)} IDENTIFIED BY '{raw}' WITH GRANT OPTION;",
            f"LOG:  statement: CREATE ROLE {user(r)} LOGIN PASSWORD '{raw}'",
        ]
    ), chunks


@kind(ambiguous="the value's column name is the only mark that it is a token")
def k_sql_result_table(r: random.Random) -> Sample:
    rows = [(n, user(r), hexs(r, 40)) for n in range(1, 4)]
    return lines(
        "app=# select id, name, api_token from users limit 3;",
        " id |   name   |                api_token",
        "----+----------+------------------------------------------",
        *(f" {n:>2} | {u:<8} | {t}" for n, u, t in rows),
        "(3 rows)",
    ), [t for _, _, t in rows]


# ---------------------------------------------------------------- frameworks


@kind(hard=True)
def k_wp_config_php(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["\\'", "$", "|", "#", "&"])
    salts = [hard(r, ["$", "|", "#", "{", "}", " ", "<", ";"], 6) for _ in range(2)]
    return lines(
        f"define( 'DB_NAME', '{service(r)}' );",
        f"define( 'DB_PASSWORD', '{raw}' );",
        f"define('AUTH_KEY',         '{salts[0][0]}');",
        f"define('SECURE_AUTH_SALT', '{salts[1][0]}');",
        "$table_prefix = 'wp_';",
    ), [*chunks, *salts[0][1], *salts[1][1]]


@kind(hard=True)
def k_django_settings(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["#", "(", ")", "&", "$", "^", "%", "@", "="], 6)
    p = strong(r)
    return lines(
        f"SECRET_KEY = 'django-insecure-{raw}'",
        "DEBUG = True",
        "DATABASES = {",
        f"    'default': {{'ENGINE': 'django.db.backends.mysql', 'USER': '{user(r)}', 'PASSWORD': '{p}', 'HOST': '{ip(r)}'}},",
        "}",
    ), [*chunks, p]


@kind()
def k_rails_secrets(r: random.Random) -> Sample:
    a, b, c = hexs(r, 128), hexs(r, 32), strong(r)
    return lines(
        "production:",
        f"  secret_key_base: {a}",
        f"  username: {user(r)}",
        f"  password: {c}",
        "$ cat config/master.key",
        b,
    ), [a, b, c]


@kind()
def k_laravel_env(r: random.Random) -> Sample:
    a, p, q = b64raw(r, 32), strong(r), human(r)
    return lines(
        "APP_NAME=Shop",
        f"APP_KEY=base64:{a}",
        "DB_CONNECTION=mysql",
        f"DB_PASSWORD={p}",
        f'MAIL_PASSWORD="{q}"',
        "QUEUE_CONNECTION=redis",
    ), [a[:-1], p, q]


@kind(hard=True)
def k_java_properties_escapes(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["\\=", "\\:", "\\#", "\\u0021", "\\\\"])
    q = human(r)
    return lines(
        "spring.datasource.username=" + user(r),
        "spring.datasource.password=" + raw,
        f"server.ssl.key-store-password: {q}",
        "server.port=8443",
    ), [*chunks, q]


@kind(hard=True)
def k_properties_continuation(r: random.Random) -> Sample:
    parts = [mixed(r, ALNUM, 24) for _ in range(3)]
    return lines(
        "# signing",
        "app.jwt.secret=" + parts[0] + "\\",
        "    " + parts[1] + "\\",
        "    " + parts[2],
        "app.jwt.ttl=3600",
    ), parts


@kind()
def k_spring_yaml(r: random.Random) -> Sample:
    p, q = strong(r), strong(r)
    return lines(
        "spring:",
        "  datasource:",
        f"    url: jdbc:mysql://{host(r)}/app",
        f"    username: {user(r)}",
        f"    password: {p}",
        "  security:",
        "    oauth2:",
        "      client:",
        "        registration:",
        f"          okta: {{client-id: abc, client-secret: '{q}'}}",
    ), [p, q]


@kind(hard=True)
def k_dotnet_appsettings_unicode(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["\\u0026", "\\u002B", "\\u003C", "\\\\", '\\"', "\\/"])
    return lines(
        "{",
        '  "Jwt": {',
        f'    "Issuer": "{host(r)}",',
        f'    "SigningKey": "{raw}"',
        "  },",
        '  "AllowedHosts": "*"',
        "}",
    ), chunks


@kind(hard=True)
def k_json_key_unicode_escape(r: random.Random) -> Sample:
    p = strong(r)
    key = r.choice(["pass\\u0077ord", "\\u0070assword", "client\\u005fsecret", "api\\u005Fkey"])
    return f'{{"user": "{user(r)}", "{key}": "{p}", "remember": true}}', [p]


@kind()
def k_tomcat_users_xml(r: random.Random) -> Sample:
    p, q = human(r), strong(r)
    return lines(
        "<tomcat-users>",
        '  <role rolename="manager-gui"/>',
        f'  <user username="{user(r)}" password="{p}" roles="manager-gui"/>',
        "</tomcat-users>",
        f'<property name="hibernate.connection.password">{q}</property>',
    ), [p, q]


@kind()
def k_php_ruby_js_config(r: random.Random) -> Sample:
    p, q = strong(r), mixed(r, ALNUM, 40)
    return r.choice(
        [
            lines(
                "return [",
                f"    'username' => '{user(r)}',",
                f"    'password' => '{p}',",
                f"    'api_key'  => \"{q}\",",
                "];",
            ),
            lines(
                "Fog.configure do |c|",
                f"  c.secret = '{q}'",
                f"  c.db = {{ :user => 'x', :password => '{p}' }}",
                "end",
            ),
            lines(
                "module.exports = {",
                f"  jwtSecret: '{q}',",
                f"  db: {{ user: '{user(r)}', password: '{p}' }},",
                "};",
            ),
            lines(f'private static final String API_SECRET = "{q}";', f'    config.setPassword("{p}");'),
        ]
    ), [p, q]


@kind(hard=True)
def k_yaml_folded_block(r: random.Random) -> Sample:
    parts = [mixed(r, ALNUM, r.randint(28, 40)) for _ in range(3)]
    style = r.choice([">-", "|", "|-", ">"])
    return lines(
        "auth:",
        f"  {r.choice(['client_secret', 'api_token', 'signing_key'])}: {style}",
        *("    " + p for p in parts),
        "  timeout: 30",
    ), parts


@kind(hard=True)
def k_toml_multiline(r: random.Random) -> Sample:
    parts = [mixed(r, ALNUM, 30) for _ in range(2)]
    raw, chunks = hard(r, ["#", "\\\\", " ", "="])
    return lines(
        "[auth]",
        'token = """\\',
        f"  {parts[0]}\\",
        f'  {parts[1]}"""',
        f"admin_password = '{raw}'".replace("\\\\", "\\"),
        "enabled = true",
    ), [*parts, *chunks]


@kind(hard=True)
def k_dotenv_quoted_hash(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["#", " ", "$", "=", "'", "|"])
    raw2, chunks2 = hard(r, ["#", "$", "="])
    return lines(
        f'ADMIN_PASSWORD="{raw}"  # rotated in May', f"export ROOT_PASSWORD={raw2}", "APP_ENV=production"
    ), chunks + chunks2


@kind(hard=True)
def k_ini_crlf(r: random.Random) -> Sample:
    p, q = strong(r), human(r)
    return "\r\n".join(
        [
            "[ftp]",
            f"host={host(r)}",
            f"user={user(r)}",
            f"password={p}",
            "",
            "[proxy]",
            f"pass = {q}",
            "port=3128",
            "",
        ]
    ), [p, q]


# ---------------------------------------------------------------- keys


@kind()
def k_rsa_private_key(r: random.Random) -> Sample:
    block, body = rsa_pem(r)
    return lines("$ cat server.key", *block[:14] if len(block) > 16 else block), [
        b for b in body if b in block[:14] or len(block) <= 16
    ]


@kind()
def k_openssh_private_key(r: random.Random) -> Sample:
    block, body = openssh_pem(r)
    return lines("$ cat ~/.ssh/id_ed25519", *block), body


@kind(hard=True)
def k_pem_in_env_escaped(r: random.Random) -> Sample:
    block, body = rsa_pem(r)
    sep = r.choice(["\\n", "\\\\n", "\\r\\n"])
    return f'APNS_KEY="{sep.join(block)}{sep}"', body


@kind(hard=True)
def k_pem_in_yaml_indented(r: random.Random) -> Sample:
    block, body = openssh_pem(r)
    return lines("ssh:", "  deploy_key: |", *("      " + b for b in block), "  port: 22"), body


@kind(hard=True)
def k_pem_with_line_numbers(r: random.Random) -> Sample:
    block, body = openssh_pem(r)
    fmt = r.choice(["{:>6}\t{}", "{:>5}→{}", "{}: {}", "{:>4} | {}"])
    return lines(*(fmt.format(n, b) for n, b in enumerate(block, 1))), body


@kind(hard=True)
def k_pem_in_diff(r: random.Random) -> Sample:
    block, body = openssh_pem(r)
    sign = r.choice("+-")
    return lines(
        "diff --git a/deploy.key b/deploy.key",
        f"index {hexs(r, 7)}..{hexs(r, 7)} 100600",
        f"@@ -1,{len(block)} +0,0 @@",
        *(sign + b for b in block),
    ), body


@kind(hard=True)
def k_pem_truncated(r: random.Random) -> Sample:
    block, body = openssh_pem(r)
    keep = block[: r.randint(4, 5)]
    return lines("$ head -c 300 id_ed25519", *keep, "[output truncated]"), [b for b in body if b in keep]


@kind()
def k_putty_ppk(r: random.Random) -> Sample:
    priv = wrap(pick(r, B64, 48 * 2) + pick(r, B64, 14) + "==", 64)
    return lines(
        "PuTTY-User-Key-File-3: ssh-ed25519",
        "Encryption: none",
        f"Comment: {user(r)}@laptop",
        "Public-Lines: 2",
        *wrap("AAAAC3NzaC1lZDI1NTE5AAAAI" + pick(r, B64, 43), 64),
        f"Private-Lines: {len(priv)}",
        *priv,
        f"Private-MAC: {hexs(r, 64)}",
    ), long_parts(priv)


@kind()
def k_pgp_private_key(r: random.Random) -> Sample:
    body = [pick(r, B64, 64) for _ in range(8)]
    return lines(
        "-----BEGIN PGP PRIVATE KEY BLOCK-----",
        "Version: GnuPG v2",
        "",
        *body,
        "=" + pick(r, B64, 4),
        "-----END PGP PRIVATE KEY BLOCK-----",
    ), body


@kind()
def k_jwk_private(r: random.Random) -> Sample:
    d = b64u(r, 43)
    k = b64u(r, 43)
    return r.choice(
        [
            (
                json.dumps(
                    {"kty": "EC", "crv": "P-256", "x": b64u(r, 43), "y": b64u(r, 43), "d": d, "kid": uuid4(r)}
                ),
                [d],
            ),
            (json.dumps({"keys": [{"kty": "oct", "alg": "HS256", "k": k}]}), [k]),
        ]
    )


@kind()
def k_wireguard_conf(r: random.Random) -> Sample:
    a, b = b64raw(r, 32), b64raw(r, 32)
    return lines(
        "[Interface]",
        f"PrivateKey = {a}",
        f"Address = {ip(r)}/24",
        "",
        "[Peer]",
        f"PublicKey = {b64raw(r, 32)}",
        f"PresharedKey = {b}",
        f"Endpoint = {host(r)}:51820",
    ), [a[:-1], b[:-1]]


@kind()
def k_openvpn_static_key(r: random.Random) -> Sample:
    body = [hexs(r, 32) for _ in range(9)]
    return lines(
        "<tls-auth>",
        "#",
        "# 2048 bit OpenVPN static key",
        "#",
        "-----BEGIN OpenVPN Static key V1-----",
        *body,
        "-----END OpenVPN Static key V1-----",
    ), body


@kind()
def k_wifi_and_ipsec(r: random.Random) -> Sample:
    p = human(r)
    return r.choice(
        [
            lines(
                "network={", f'    ssid="{r.choice(NOUNS)}-5G"', f'    psk="{p}"', "    key_mgmt=WPA-PSK", "}"
            ),
            f"nmcli dev wifi connect {r.choice(NOUNS)} password '{p}'",
            lines(
                "      wifis:",
                "        wlan0:",
                "          access-points:",
                f'            "{r.choice(NOUNS)}":',
                f'              password: "{p}"',
            ),
            lines("    Security key           : Present", f"    Key Content            : {p}"),
            f'{ip(r)} %any : PSK "{p}"',
            lines("[wifi-security]", "key-mgmt=wpa-psk", f"psk={p}"),
            f"WIFI:T:WPA;S:{r.choice(NOUNS)};P:{p};;",
        ]
    ), [p]


@kind()
def k_shadow_htpasswd(r: random.Random) -> Sample:
    a = pick(r, ALNUM + "./", 86)
    b = pick(r, ALNUM + "./", 22)
    c = pick(r, ALNUM + "./", 53)
    d = pick(r, ALNUM + "./", 43)
    return r.choice(
        [
            (
                lines(
                    "$ sudo cat /etc/shadow",
                    f"root:$6$rounds=5000${pick(r, ALNUM, 16)}${a}:19700:0:99999:7:::",
                    f"{user(r)}:$y$j9T${pick(r, ALNUM, 22)}${d}:19701:0:99999:7:::",
                ),
                [a, d],
            ),
            (
                lines("$ cat .htpasswd", f"{user(r)}:$apr1${pick(r, ALNUM, 8)}${b}", f"{user(r)}:$2y$10${c}"),
                [b, c],
            ),
        ]
    )


@kind()
def k_otp_and_recovery(r: random.Random) -> Sample:
    s = pick(r, B32, 32)
    codes = [f"{pick(r, LOWER + DIGITS, 5)}-{pick(r, LOWER + DIGITS, 5)}" for _ in range(4)]
    return r.choice(
        [
            (f"otpauth://totp/{r.choice(NOUNS)}:{user(r)}?secret={s}&issuer={r.choice(NOUNS)}&digits=6", [s]),
            (f"oathtool --totp -b {s}", [s]),
            (lines("Your 2FA recovery codes (each works once):", *("  " + c for c in codes)), codes),
        ]
    )


BIP39 = [
    "abandon",
    "ability",
    "absent",
    "acoustic",
    "adapt",
    "admit",
    "afford",
    "airport",
    "album",
    "almost",
    "anchor",
    "angle",
    "april",
    "arctic",
    "arena",
    "armor",
    "aspect",
    "asthma",
    "august",
    "autumn",
    "awake",
    "bacon",
    "banana",
    "basket",
    "beauty",
    "bicycle",
    "blanket",
    "blossom",
    "bracket",
    "brisk",
    "bronze",
    "bubble",
    "cactus",
    "camera",
    "canyon",
    "carbon",
    "caution",
    "cement",
    "chapter",
    "cherry",
    "citizen",
    "clever",
    "clinic",
    "cluster",
    "coconut",
    "column",
    "copper",
    "coral",
    "cradle",
    "cricket",
    "crystal",
    "custom",
    "damage",
    "dawn",
    "debris",
    "decade",
    "define",
    "deposit",
    "desert",
    "device",
    "dinosaur",
    "domain",
    "drift",
    "eagle",
    "ecology",
    "elder",
    "element",
    "embark",
    "emerge",
    "enact",
    "engine",
    "erode",
    "essay",
    "evoke",
    "exhaust",
    "fabric",
    "fatal",
    "filter",
    "flavor",
    "fossil",
    "fragile",
    "galaxy",
    "garlic",
    "gauge",
    "giraffe",
    "glimpse",
    "gospel",
    "gravity",
    "harvest",
    "hazard",
    "hockey",
    "husband",
    "impulse",
    "inherit",
    "island",
    "jungle",
    "kidney",
    "lizard",
    "mammal",
    "nephew",
    "oxygen",
    "pelican",
    "quantum",
    "reunion",
    "saddle",
    "tornado",
    "umbrella",
    "velvet",
    "walnut",
    "zebra",
]


@kind()
def k_wallet(r: random.Random) -> Sample:
    words = r.sample(BIP39, r.choice([12, 24]))
    h = hexs(r, 64)
    return r.choice(
        [
            (f'MNEMONIC="{" ".join(words)}"', [" ".join(words[:4]), " ".join(words[-4:])]),
            (
                lines("Write down your seed phrase:", " ".join(words)),
                [" ".join(words[:4]), " ".join(words[-4:])],
            ),
            (f"DEPLOYER_PRIVATE_KEY=0x{h}", [h]),
            (f"cast send --rpc-url http://localhost:8545 --private-key 0x{h} 0x{hexs(r, 40)} 'mint()'", [h]),
        ]
    )


# ---------------------------------------------------------------- HTTP


@kind()
def k_basic_auth_header(r: random.Random) -> Sample:
    b = enc64(f"{user(r)}:{strong(r)}")
    return r.choice(
        [
            f"> Authorization: Basic {b}",
            f'curl -H "Authorization: Basic {b}" https://{host(r)}/api',
            f"headers = {{'Authorization': 'Basic {b}'}}",
            f'proxy_set_header Authorization "Basic {b}";',
            f"Proxy-Authorization: Basic {b}",
        ]
    ), [b.rstrip("=")]


@kind()
def k_curl_user(r: random.Random) -> Sample:
    p = strong(r)
    u = user(r)
    return r.choice(
        [
            f"curl -u {u}:{p} https://{host(r)}/v1/status",
            f"curl --user '{u}:{p}' -X PUT https://{host(r)}/",
            f"wget --user={u} --password={p} https://{host(r)}/a.tgz",
            f"http -a {u}:{p} GET {host(r)}/health",
            f"curl -x http://{u}:{p.replace('+', 'a')}@proxy.{host(r)}:3128 -u {u}:{p} https://x.dev",
            f"requests.get(url, auth=('{u}', '{p}'))",
        ]
    ), [p]


@kind()
def k_bearer_opaque(r: random.Random) -> Sample:
    t = b64u(r, r.randint(32, 64))
    return r.choice(
        [
            f"< authorization: Bearer {t}",
            f"-H 'Authorization: Bearer {t}'",
            f"config: {{ headers: {{ Authorization: 'Bearer {t}' }}, url: '/v2/me' }}",
            f'[debug] request headers authorization="bearer {t}" host={host(r)}',
            f"GET /events?access_token={t}&since=10 HTTP/1.1",
        ]
    ), [t]


@kind()
def k_cookies(r: random.Random) -> Sample:
    a, b = b64u(r, 64), hexs(r, 32)
    return r.choice(
        [
            (lines("HTTP/2 200", f"set-cookie: session={a}; Path=/; HttpOnly; Secure; SameSite=Lax"), [a]),
            (f"curl -b 'PHPSESSID={b}; theme=dark' https://{host(r)}/admin", [b]),
            (f"Cookie: _ga=GA1.1.{pick(r, DIGITS, 9)}; connect.sid=s%3A{a}; lang=en", [a]),
            (f"{host(r)}\tTRUE\t/\tTRUE\t1790000000\tsessionid\t{b}", [b]),
        ]
    )


@kind()
def k_jwt_in_log(r: random.Random) -> Sample:
    tok, sig = jwt(r)
    return r.choice(
        [
            f"{stamp(r)} DEBUG auth: verifying {tok}",
            f"id_token={tok}",
            f"localStorage.setItem('jwt', '{tok}')",
            f"SUPABASE_SERVICE_ROLE_KEY={tok}",
            f"ws://{host(r)}/socket?jwt={tok}",
        ]
    ), [sig]


@kind(hard=True)
def k_jwt_wrapped_terminal(r: random.Random) -> Sample:
    tok, sig = jwt(r, "ES256")
    width = r.choice([72, 76, 80])
    text = f"ACCESS_TOKEN={tok}"
    rows = wrap(text, width)
    parts = [sig[i : i + 12] for i in range(0, len(sig) - 12, 12)]
    body = "\n".join(rows)
    return body, [p for p in parts if p in body]


@kind()
def k_http_form_and_json_login(r: random.Random) -> Sample:
    p = strong(r).replace("+", "s")
    return r.choice(
        [
            lines(
                "POST /login HTTP/1.1",
                "Content-Type: application/x-www-form-urlencoded",
                "",
                f"username={user(r)}&password={p}&remember=1",
            ),
            f'curl -d \'{{"email":"{user(r)}@{r.choice(NOUNS)}.io","password":"{p}"}}\' https://{host(r)}/api/login',
            f'{stamp(r)} INFO params: {{"user"=>"{user(r)}", "password"=>"{p}"}}',
            f'127.0.0.1 - - "GET /login?user={user(r)}&pwd={p} HTTP/1.1" 302 -',
        ]
    ), [p]


@kind()
def k_webhook_hmac_secret(r: random.Random) -> Sample:
    p = hexs(r, 40)
    return r.choice(
        [
            f"gh webhook forward --repo=o/r --events=push --url=http://localhost:3000 --secret={p}",
            f"WEBHOOK_SECRET={p}",
            json.dumps({"config": {"url": f"https://{host(r)}/hook", "content_type": "json", "secret": p}}),
        ]
    ), [p]


# ---------------------------------------------------------------- traces and dumps


@kind(hard=True)
def k_python_repr_trace(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["'", "#", "$"])
    tok = mixed(r, ALNUM, 40)
    return lines(
        "Traceback (most recent call last):",
        f'  File "/app/{service(r)}/db.py", line {r.randint(10, 300)}, in connect',
        f"    return psycopg.connect(host='{host(r)}', user='{user(r)}', password={raw!r})",
        f"TypeError: Settings(db_user='x', api_token='{tok}', debug=False) is not callable",
    ), [*chunks, tok]


@kind()
def k_go_struct_dump(r: random.Random) -> Sample:
    p, q = strong(r), hexs(r, 32)
    return (
        f'panic: bad config: &main.Config{{Host:"{host(r)}", Port:5432, User:"{user(r)}", Password:"{p}", APIKey:"{q}", Timeout:30}}',
        [p, q],
    )


@kind(ambiguous="an unquoted struct dump; where the value ends is a guess")
def k_go_struct_plus_v(r: random.Random) -> Sample:
    p, q = chunk(r, 16), hexs(r, 32)
    return (
        f"loaded config {{Host:{host(r)} Port:5432 User:{user(r)} Password:{p} JWTSecret:{q} Debug:true}}",
        [p, q],
    )


@kind()
def k_axios_error_dump(r: random.Random) -> Sample:
    t = b64u(r, 48)
    return lines(
        "AxiosError: Request failed with status code 403",
        "  config: {",
        "    headers: Object [AxiosHeaders] {",
        "      Accept: 'application/json',",
        f"      'X-Api-Key': '{t}',",
        "      'User-Agent': 'axios/1.7.2'",
        "    },",
    ), [t]


@kind(hard=True)
def k_json_inside_json(r: random.Random) -> Sample:
    raw, chunks = hard(r, ['"', "\\", "/", "&"])
    tok = mixed(r, ALNUM, 40)
    inner = json.dumps({"user": user(r), "password": raw, "apiKey": tok})
    if r.random() < 0.4:
        inner = json.dumps({"payload": inner})
    return json.dumps({"level": "info", "msg": "request", "body": inner}), [*chunks, tok]


@kind(hard=True)
def k_har_name_value(r: random.Random) -> Sample:
    t, c = b64u(r, 40), hexs(r, 48)
    return json.dumps(
        {
            "headers": [{"name": "Host", "value": host(r)}, {"name": "x-auth-token", "value": t}],
            "postData": {"params": [{"name": "client_secret", "value": c}]},
        }
    ), [t, c]


@kind(hard=True)
def k_strace_tcpdump(r: random.Random) -> Sample:
    p, b = strong(r), enc64(f"{user(r)}:{strong(r)}")
    return r.choice(
        [
            (
                f'write(3, "POST /login HTTP/1.1\\r\\nHost: {host(r)}\\r\\nAuthorization: Basic {b}\\r\\n\\r\\n", 96) = 96',
                [b.rstrip("=")],
            ),
            (
                f'execve("/usr/bin/sshpass", ["sshpass", "-p", "{p}", "ssh", "{host(r)}"], 0x7ffd /* 24 vars */) = 0',
                [p],
            ),
            (
                lines(
                    "FTP control:",
                    f"USER {user(r)}",
                    "331 Password required",
                    f"PASS {p}",
                    "230 Login successful.",
                ),
                [p],
            ),
        ]
    )


@kind()
def k_shell_history_tools(r: random.Random) -> Sample:
    p = human(r)
    return r.choice(
        [
            f"  101  sshpass -p '{p}' scp a.tgz {user(r)}@{host(r)}:/tmp",
            f"echo '{p}' | sudo -S apt-get update",
            f"echo '{user(r)}:{p}' | sudo chpasswd",
            f"openssl pkcs12 -export -in a.pem -out a.p12 -passout pass:{p}",
            f"keytool -genkeypair -keystore k.jks -storepass {p} -keypass {p}",
            f"net use Z: \\\\{host(r)}\\share /user:{user(r)} {p}",
            f"zip -P '{p}' out.zip report.csv",
            f"gpg --batch --passphrase '{p}' -d dump.gpg",
            f"smbclient //nas/share -U '{user(r)}%{p}'",
            f"ldapsearch -x -D cn=admin,dc=corp -w '{p}' -b dc=corp",
            f"xfreerdp /u:{user(r)} /p:'{p}' /v:{ip(r)}",
        ]
    ), [p]


@kind(hard=True)
def k_powershell(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["`$", "#", "|", "&", " "])
    return r.choice(
        [
            f'$pw = ConvertTo-SecureString "{raw}" -AsPlainText -Force',
            f"$cred = New-Object PSCredential('{user(r)}', (ConvertTo-SecureString -String \"{raw}\" -AsPlainText -Force))",
            f'New-LocalUser -Name svc -Password (ConvertTo-SecureString "{raw}" -AsPlainText -Force)',
        ]
    ), chunks


@kind(hard=True)
def k_heredoc_env(r: random.Random) -> Sample:
    p, t = strong(r), mixed(r, ALNUM, 40)
    return lines("$ cat > .env <<'EOF'", f"> DB_PASS={p}", f"> API_SECRET_KEY={t}", "> DEBUG=0", "> EOF"), [
        p,
        t,
    ]


@kind(hard=True)
def k_curl_backslash_continued(r: random.Random) -> Sample:
    t, p = b64u(r, 40), strong(r)
    return lines(
        "curl --request POST \\",
        f"  --url https://{host(r)}/oauth/token \\",
        "  --header \\",
        f"  'X-Auth-Token: {t}' \\",
        "  --user \\",
        f"  '{user(r)}:{p}' \\",
        "  --data grant_type=password",
    ), [t, p]


@kind(hard=True)
def k_diff_env_change(r: random.Random) -> Sample:
    a, b, c = strong(r), strong(r), hexs(r, 40)
    return lines(
        "diff --git a/.env.production b/.env.production",
        "@@ -3,4 +3,4 @@ APP_ENV=production",
        " DB_HOST=localhost",
        f"-DB_PASSWORD={a}",
        f"+DB_PASSWORD={b}",
        f" MAIL_API_KEY={c}",
    ), [a, b, c]


@kind(hard=True)
def k_line_numbered_config(r: random.Random) -> Sample:
    a, b = strong(r), mixed(r, ALNUM, 32)
    fmt = r.choice(["{:>6}\t{}", "{:>5}→{}", "config/prod.yml:{}:{}", "{:>4} │ {}"])
    body = ["database:", f"  user: {user(r)}", f"  password: {a}", f'  secret_token: "{b}"']
    return lines(*(fmt.format(n, x) for n, x in enumerate(body, r.randint(1, 40)))), [a, b]


@kind(hard=True)
def k_ansi_colored(r: random.Random) -> Sample:
    p, t = strong(r, 20), mixed(r, ALNUM, 36)
    half = t[:14] + f"{ESC}[01;31m{ESC}[K" + t[14:26] + f"{ESC}[m{ESC}[K" + t[26:]
    return lines(
        f"{ESC}[36mDB_PASSWORD{ESC}[0m={ESC}[33m{p}{ESC}[0m",
        f"{ESC}[35m.env{ESC}[m{ESC}[36m:{ESC}[m{ESC}[32m7{ESC}[m{ESC}[36m:{ESC}[mSECRET_KEY={half}",
    ), [p, t[:14], t[14:26], t[26:]]


@kind(hard=True)
def k_ansi_split_label(r: random.Random) -> Sample:
    p = strong(r, 20)
    return f'{ESC}[1m"pass{ESC}[31mword{ESC}[0m"{ESC}[39m:{ESC}[0m {ESC}[32m"{p}"{ESC}[0m,', [p]


@kind(hard=True)
def k_zero_width(r: random.Random) -> Sample:
    z = r.choice([ZWSP, "\u200d", "\ufeff", "\u2060"])
    a, b = mixed(r, ALNUM, 12), mixed(r, ALNUM, 14)
    return r.choice([f"password:{z} {a}{z}{b}", f"API_KEY={z}{a}{z}{b}", f"pass{z}word = {a}{b}"]), [a, b]


@kind(hard=True)
def k_full_width(r: random.Random) -> Sample:
    p = strong(r, 18)
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in chunk(r, 12))
    return r.choice(
        [
            (f"密码：{p}", [p]),
            (f"ｐａｓｓｗｏｒｄ：{p}", [p]),
            (f"パスワード＝{p}", [p]),
            (f"password：{wide}", [wide]),
        ]
    )


@kind(hard=True)
def k_html_form_entities(r: random.Random) -> Sample:
    raw, chunks = hard(r, ["&", "<", '"', "'"])
    t = b64u(r, 43)
    return lines(
        f'<input type="password" name="pass" value="{html.escape(raw)}">',
        f'<input type="hidden" name="csrf_token" value="{t}">',
        f"<pre>DB_PASSWORD=&quot;{html.escape(raw)}&quot;</pre>",
    ), [*chunks, t]


@kind(hard=True)
def k_quoted_printable_mail(r: random.Random) -> Sample:
    a, b = mixed(r, ALNUM, 20), mixed(r, ALNUM, 18)
    return lines(
        "Content-Transfer-Encoding: quoted-printable",
        "",
        f"Hi {user(r)}, your new API key is below.",
        f"API_KEY=3D{a}=",
        f"{b}",
        "Keep it safe=21",
    ), [a, b]


@kind(hard=True)
def k_url_encoded_query(r: random.Random) -> Sample:
    t = mixed(r, ALNUM, 40)
    raw, chunks = hard(r, ["&", "=", "#", "+", "/"])
    return f"GET /callback?next=%2Fapp%3Fapi_key%3D{t}%26x%3D1&password={quote(raw, safe='')} HTTP/1.1", [
        t,
        *chunks,
    ]


@kind(hard=True)
def k_markdown_table(r: random.Random) -> Sample:
    rows = [(service(r), user(r), human(r)) for _ in range(3)]
    return lines(
        "| System | User | Password |", "|---|---|---|", *(f"| {s} | {u} | `{p}` |" for s, u, p in rows)
    ), [p for _, _, p in rows]


@kind(hard=True)
def k_box_table(r: random.Random) -> Sample:
    a, b = mixed(r, ALNUM, 30), human(r)
    return lines(
        "┌──────────────┬────────────────────────────────┐",
        "│ Key          │ Value                          │",
        "├──────────────┼────────────────────────────────┤",
        f"│ API_SECRET   │ {a} │",
        f"│ DB_PASSWORD  │ {b:<30} │",
        "└──────────────┴────────────────────────────────┘",
    ), [a, b]


@kind()
def k_csv_export(r: random.Random) -> Sample:
    a, b = strong(r), human(r)
    return lines(
        "name,url,username,password,note",
        f"{service(r)},https://{host(r)},{user(r)},{a},",
        f'{service(r)},https://{host(r)},{user(r)},"{b}",old',
    ), [a, b]


# ---------------------------------------------------------------- prose


@kind(ambiguous="prose; only the sentence says that the word is a password")
def k_prose_english(r: random.Random) -> Sample:
    p = human(r)
    return r.choice(
        [
            f"The password is {p}, please don't share it.",
            f'Use {user(r)} with password "{p}" to log in to {host(r)}.',
            f"> my db password is: {p}",
            f"I set the admin password to `{p}` for now.",
            f"login: {user(r)} / pw: {p}",
            f"ok the passphrase for the key is '{p}'",
            f"Your temporary password: {p}\nYou must change it at first login.",
            f"Generated random password for root: {p}",
            f"the root pw on {host(r)} is {p} btw",
        ]
    ), [p]


@kind(ambiguous="prose in other languages")
def k_prose_other_languages(r: random.Random) -> Sample:
    p = human(r)
    return r.choice(
        [
            f"Das Passwort lautet {p}.",
            f"Kennwort: {p}",
            f"Le mot de passe est {p}",
            f"Mot de passe : « {p} »",
            f"La contraseña es: {p}",
            f"A senha do banco é {p}",
            f"Hasło do bazy: {p}",
            f"Пароль: {p}",
            f"Wachtwoord = {p}",
            f"密码是 {p}",
            f"パスワードは「{p}」です",
            f"비밀번호: {p}",
            f"La password di root è {p}",
        ]
    ), [p]


@kind(ambiguous="prose with a random token instead of a password")
def k_prose_token(r: random.Random) -> Sample:
    t = mixed(r, ALNUM, r.choice([32, 40, 48]))
    return r.choice(
        [
            f"here's the api key: {t} - can you wire it in?",
            f"Use this token for the staging API: {t}",
            f"The client secret for the app is {t}.",
            f"New API key created. Copy it now, it is not shown again:\n\n    {t}\n",
        ]
    ), [t]


@kind(hard=True, ambiguous="a password of several words told in prose")
def k_prose_quoted_hard(r: random.Random) -> Sample:
    raw, chunks = hard(r, [" ", "#", "$", "|", ")", "]"])
    return r.choice(
        [
            f'the password is "{raw}" (with the quotes removed)',
            f"Set password to `{raw}` and restart.",
            f"password: '{raw}'",
        ]
    ), chunks


@kind(ambiguous="an answer to a prompt in a terminal; a real terminal would not echo it")
def k_expect_prompt(r: random.Random) -> Sample:
    p = human(r)
    return r.choice(
        [
            lines(f"spawn ssh {user(r)}@{host(r)}", 'expect "password:"', f'send "{p}\\r"', "interact"),
            lines("Enter host password for user 'root':", f"{p}"),
            lines(f"{host(r)} login: root", f"Password: {p}", "Last login: Mon Nov 2"),
        ]
    ), [p]


@kind(hard=True)
def k_network_device_config(r: random.Random) -> Sample:
    p, q = human(r), strong(r, 16)
    return lines(
        "hostname sw1",
        f"enable password 0 {p}",
        f"username admin privilege 15 secret 0 {q}",
        "snmp-server location rack4",
        "line vty 0 4",
    ), [p, q]


@kind()
def k_snmp_radius_ldap(r: random.Random) -> Sample:
    p = strong(r, 16)
    return r.choice(
        [
            lines("client ap1 {", f"  ipaddr = {ip(r)}", f"  secret = {p}", "}"),
            lines("ldap_default_bind_dn = cn=svc,dc=corp", f"ldap_default_authtok = {p}"),
            lines('rootdn "cn=admin,dc=corp"', f"rootpw {p}"),
            f'createUser monitor SHA "{p}" AES',
        ]
    ), [p]


@kind()
def k_generic_upper_env(r: random.Random) -> Sample:
    names = [
        "SECRET",
        "TOKEN",
        "API_KEY",
        "PASSWORD",
        "ENCRYPTION_KEY",
        "ACCESS_KEY",
        "SIGNING_SECRET",
        "PRIVATE_TOKEN",
        "PASSPHRASE",
        "AUTH_TOKEN",
    ]
    vals = [r.choice([hexs(r, 32), mixed(r, ALNUM, 40), b64raw(r, 24), strong(r)]) for _ in range(3)]
    picked = r.sample(names, 3)
    return lines(
        "$ env | sort",
        *(f"{service(r).upper()}_{n}={v}" for n, v in zip(picked, vals, strict=True)),
        "TERM=xterm-256color",
    ), [v.rstrip("=") for v in vals]


# ---------------------------------------------------------------- ordinary lines

PNG = "iVBORw0KGgoAAAANSUhEUgAA"
WORDS = [
    "user",
    "order",
    "invoice",
    "batch",
    "worker",
    "parser",
    "cache",
    "queue",
    "index",
    "filter",
    "report",
    "session",
    "config",
    "widget",
    "client",
    "server",
    "buffer",
    "node",
]


def w(r: random.Random) -> str:
    return r.choice(WORDS)


def ver(r: random.Random) -> str:
    return f"{r.randint(0, 19)}.{r.randint(0, 40)}.{r.randint(0, 20)}"


def path(r: random.Random) -> str:
    return f"{r.choice(['src', 'lib', 'packages/core', 'internal', 'app', 'tests'])}/{w(r)}/{w(r)}_{r.choice(['token', 'password', 'auth', 'util', 'secrets', 'model'])}.{r.choice(['ts', 'py', 'go', 'rs', 'java', 'rb'])}"


ORDINARY: list[Callable[[random.Random], str]] = [
    # code that mentions passwords and tokens
    lambda r: (
        f"  {r.choice(['password', 'token', 'secret', 'apiKey', 'accessToken'])}{r.choice(['', '?'])}: string{r.choice([';', ',', ' | null;', ' | undefined;'])}"
    ),
    lambda r: (
        f"if ({r.choice(['token', 'password', 'apiKey', 'secret'])} {r.choice(['===', '!==', '=='])} {r.choice(['null', 'undefined', 'other'])}) {{"
    ),
    lambda r: f'{w(r)}_key = os.environ["{w(r).upper()}_API_KEY"]',
    lambda r: (
        f"const {r.choice(['token', 'secret', 'password'])} = process.env.{w(r).upper()}_{r.choice(['TOKEN', 'SECRET', 'PASSWORD'])};"
    ),
    lambda r: f"secret = get_secret({r.choice(['name', 'self.name', 'ctx, name'])})",
    lambda r: f'password = getpass.getpass("{r.choice(["Password", "Passphrase", "New password"])}: ")',
    lambda r: (
        f"    def {r.choice(['check', 'hash', 'verify', 'reset'])}_password(self, password: str, rounds: int = {r.randint(8, 16)}) -> bool:"
    ),
    lambda r: (
        f"func ({w(r)[0]} *{w(r).capitalize()}) RefreshToken(ctx context.Context, token string) (string, error) {{"
    ),
    lambda r: f'\t\treturn fmt.Errorf("invalid token for {w(r)}: %w", err)',
    lambda r: f"let token = self.{w(r)}.next_token().ok_or(ParseError::Eof({r.randint(1, 99)}))?;",
    lambda r: f"    token: ${{{{ secrets.{w(r).upper()}_TOKEN }}}}",
    lambda r: f"      POSTGRES_PASSWORD: ${{{w(r).upper()}_DB_PASSWORD:?required}}",
    lambda r: f"  password = var.{w(r)}_password",
    lambda r: f"  secret_id = aws_secretsmanager_secret.{w(r)}.id",
    lambda r: (
        f'<input type="password" name="password" id="{w(r)}-password" autocomplete="current-password" required minlength="{r.randint(8, 14)}">'
    ),
    lambda r: f"      {{ name: 'password', type: 'password', label: t('{w(r)}.password'), required: true }},",
    lambda r: f'  "password": {{ "type": "string", "minLength": {r.randint(6, 20)}, "writeOnly": true }},',
    lambda r: f"const [password, setPassword] = useState<string>('');  // {w(r)} form",
    lambda r: f'assert response.json()["token"] is not None  # {w(r)}',
    lambda r: f"expect(screen.getByLabelText('Password')).toHaveLength({r.randint(1, 4)});",
    lambda r: f'@router.post("/{w(r)}/reset-password", response_model=Token)',
    lambda r: f"token_type_ids=torch.zeros(({r.randint(1, 64)}, {r.randint(16, 512)}), dtype=torch.long)",
    lambda r: (
        f"max_tokens={r.randint(1, 64) * 128}, temperature=0.{r.randint(0, 9)}, stop_token_ids=[{r.randint(2, 50000)}]"
    ),
    lambda r: f"tokens = tokenizer.encode({w(r)}_text)[:{r.randint(100, 9000)}]",
    lambda r: f"for token, lemma in zip({w(r)}.tokens, {w(r)}.lemmas):",
    lambda r: f"  csrfToken: req.csrfToken(), page: '{w(r)}',",
    lambda r: f"import {{ TokenService }} from '@/{w(r)}/token.service';",
    lambda r: (
        f"from cryptography.hazmat.primitives.asymmetric.{r.choice(['rsa', 'ec', 'ed25519'])} import {r.choice(['RSAPrivateKey', 'generate_private_key', 'Ed25519PrivateKey'])}"
    ),
    lambda r: (
        f"key = {r.choice(['Key', 'sort_key', 'lambda x: x.key', 'cache_key'])}({w(r)!r}, {r.randint(1, 99)})"
        if r.random() < 0.5
        else f"{w(r)}s.sort(key=lambda x: x.{w(r)}, reverse=True)"
    ),
    lambda r: f"Authorization: Bearer <your-token>  # see docs/{w(r)}.md",
    lambda r: f"API_KEY=<your-{w(r)}-api-key>",
    lambda r: (
        f'curl -H "Authorization: Bearer ${w(r).upper()}_TOKEN" https://api.{host(r)}/v{r.randint(1, 4)}/{w(r)}s'
    ),
    lambda r: f"mysql -u root -p{r.choice([' ', ' --host=db '])}{w(r)}s < schema.sql",
    lambda r: f"kubectl create secret generic {w(r)}-auth --from-file=./{w(r)}.txt",
    lambda r: f"  passwordHash   String   @db.VarChar({r.randint(60, 255)})",
    lambda r: f"ALTER TABLE {w(r)}s ADD COLUMN password_changed_at timestamptz DEFAULT now();",
    lambda r: (
        f"SELECT id, email, token_count FROM {w(r)}s WHERE created_at > now() - interval '{r.randint(1, 90)} days' ORDER BY id LIMIT {r.randint(1, 500)};"
    ),
    # prose
    lambda r: f"token count {r.randint(1, 99)},{r.randint(100, 999)} (cached {r.randint(100, 999)})",
    lambda r: f"The password field must contain at least {r.randint(8, 16)} characters and one digit.",
    lambda r: (
        f"Fixed a bug where the password reset mail for the {w(r)} page was sent {r.randint(2, 5)} times."
    ),
    lambda r: f"The token expires after {r.randint(5, 60)} minutes, so the {w(r)} must refresh it.",
    lambda r: f"You forgot to pass the secret to the {w(r)}; read it from the environment instead.",
    lambda r: f"## {r.randint(1, 12)}.{r.randint(1, 9)} Passwords, tokens and the {w(r)}",
    lambda r: (
        f"- [ ] rotate the API key of the {w(r)} service before {r.choice(['Friday', 'the release', 'October'])}"
    ),
    lambda r: f"Warning: no password was given for user {w(r)}{r.randint(1, 50)}; skipping",
    lambda r: f"Permission denied (publickey,password). Attempt {r.randint(1, 9)} of 10.",
    lambda r: f"[sudo] password for {user(r)}: ",
    lambda r: f"Das Passwort muss mindestens {r.randint(8, 20)} Zeichen lang sein und darf nicht leer sein.",
    lambda r: f"Le jeton a expiré il y a {r.randint(2, 59)} minutes ; veuillez vous reconnecter.",
    lambda r: f"La contraseña debe tener entre {r.randint(6, 9)} y {r.randint(20, 64)} caracteres.",
    lambda r: f"パスワードは{r.randint(8, 16)}文字以上で入力してください。",
    lambda r: f"Пароль должен содержать не менее {r.randint(6, 16)} символов.",
    lambda r: f"密码长度不能少于 {r.randint(6, 16)} 位",
    lambda r: (
        f'  "{w(r)}.password_hint": "{r.choice(["Passwort vergessen?", "Mot de passe oublié ?", "¿Olvidaste tu contraseña?", "Esqueceu a senha?", "Zapomniałeś hasła?", "Wachtwoord vergeten?"])}",'
    ),
    # hashes, ids, encodings
    lambda r: f"commit {pick(r, HEX, 40)}",
    lambda r: (
        f"{pick(r, HEX, 7)} {r.choice(['fix', 'feat', 'chore', 'docs'])}({w(r)}): {r.choice(['handle empty token', 'bump deps', 'rename password field', 'add cache'])} (#{r.randint(1, 9999)})"
    ),
    lambda r: f"index {pick(r, HEX, 7)}..{pick(r, HEX, 7)} 100644",
    lambda r: f"Merge: {pick(r, HEX, 9)} {pick(r, HEX, 9)}",
    lambda r: f"{pick(r, HEX, 64)}  dist/{w(r)}-{ver(r)}.tar.gz",
    lambda r: f'      "integrity": "sha512-{b64raw(r, 64)}",',
    lambda r: f"    --hash=sha256:{pick(r, HEX, 64)} \\",
    lambda r: f'checksum = "{pick(r, HEX, 64)}"',
    lambda r: f"github.com/{w(r)}/{w(r)} v{ver(r)} h1:{b64raw(r, 32)}",
    lambda r: f'  resolved "https://registry.yarnpkg.com/{w(r)}/-/{w(r)}-{ver(r)}.tgz#{pick(r, HEX, 40)}"',
    lambda r: f"FROM python:3.{r.randint(9, 14)}-slim@sha256:{pick(r, HEX, 64)}",
    lambda r: f"Digest: sha256:{pick(r, HEX, 64)}",
    lambda r: (
        f'{pick(r, HEX, 12)}   {w(r)}:{ver(r)}   "/entrypoint.sh"   {r.randint(2, 50)} minutes ago   Up   0.0.0.0:{r.randint(1024, 9999)}->80/tcp'
    ),
    lambda r: f'  "id": "{uuid4(r)}",',
    lambda r: (
        f"{stamp(r)} INFO  [{w(r)}] request_id={uuid4(r)} method=GET path=/v1/{w(r)}s status={r.choice([200, 201, 304, 404])} took={r.randint(1, 900)}ms"
    ),
    lambda r: (
        f'trace_id={pick(r, HEX, 32)} span_id={pick(r, HEX, 16)} msg="token refreshed" user_id={r.randint(1, 99999)}'
    ),
    lambda r: f"x-request-id: {pick(r, HEX, 32)}",
    lambda r: f'etag: W/"{pick(r, HEX, 32)}"',
    lambda r: f"traceparent: 00-{pick(r, HEX, 32)}-{pick(r, HEX, 16)}-01",
    lambda r: f'<img src="data:image/png;base64,{PNG}{pick(r, B64, r.randint(40, 160))}">',
    lambda r: f"url(data:font/woff2;base64,d09GMgABAAAAA{pick(r, B64, r.randint(40, 120))})",
    lambda r: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{pick(r, B64, 43)} {user(r)}@{w(r)}",
    lambda r: f"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{pick(r, B64, 180)} {user(r)}@{w(r)}",
    lambda r: (
        f"{host(r)} ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABB{pick(r, B64, 87)}="
    ),
    lambda r: f"256 SHA256:{pick(r, B64, 43)} {user(r)}@{w(r)} (ED25519)",
    lambda r: (
        f'cert = "-----BEGIN CERTIFICATE-----\\nMIID{pick(r, B64, 60)}\\n{pick(r, B64, 64)}\\n-----END CERTIFICATE-----"'
    ),
    lambda r: f"# public key: age1{pick(r, 'qpzry9x8gf2tvdw0s3jn54khce6mua7l', 58)}",
    lambda r: f"STRIPE_PUBLISHABLE_PRICE=price_1{mixed(r, ALNUM, 23)}",
    lambda r: f"arn:aws:secretsmanager:eu-west-1:{pick(r, DIGITS, 12)}:secret:{w(r)}/db-{pick(r, ALNUM, 6)}",
    lambda r: (
        f"{r.randint(0, 4095) * 16:08x}  {' '.join(pick(r, HEX, 2) for _ in range(8))}  {' '.join(pick(r, HEX, 2) for _ in range(8))}  |{pick(r, LOWER + '.', 16)}|"
    ),
    lambda r: (
        f"  {r.randint(0, 0xFFFF):x}:\t{' '.join(pick(r, HEX, 2) for _ in range(r.randint(2, 6)))}\tmov    %r{r.choice('abcd')}x,0x{r.randint(1, 255):x}(%rsp)"
    ),
    # urls, paths, builds, web
    lambda r: (
        f"https://{host(r)}/{w(r)}/search?q={w(r)}+{w(r)}&page={r.randint(1, 90)}&sort=-created&utm_source={w(r)}"
    ),
    lambda r: f"https://github.com/{w(r)}/{w(r)}/blob/{pick(r, HEX, 40)}/{path(r)}#L{r.randint(1, 900)}",
    lambda r: f"git clone git@github.com:{w(r)}/{w(r)}.git --branch v{ver(r)}",
    lambda r: f"{path(r)}:{r.randint(1, 900)}:{r.randint(1, 90)}: error: undefined name '{w(r)}_token'",
    lambda r: f" create mode 100644 {path(r)}",
    lambda r: (
        f'  File "/usr/lib/python3.11/site-packages/{w(r)}/{w(r)}.py", line {r.randint(1, 2000)}, in authenticate'
    ),
    lambda r: (
        f"    at {w(r).capitalize()}Token.verify (/srv/app/node_modules/{w(r)}/index.js:{r.randint(1, 900)}:{r.randint(1, 80)})"
    ),
    lambda r: (
        f'!function(e,t){{"object"==typeof exports?t(exports):t(e.{w(r)}={{}})}}(this,function(e){{var n={r.randint(1, 999)},r=n<<{r.randint(1, 9)};e.{w(r)}=r}});'
    ),
    lambda r: (
        f".{w(r)}-password::placeholder{{color:#{pick(r, HEX, 6)};padding:{r.randint(1, 30)}px {r.randint(1, 30)}px;transition:all .{r.randint(1, 9)}s}}"
    ),
    lambda r: (
        f"dist/assets/{w(r)}-{mixed(r, ALNUM, 8)}.js   {r.randint(1, 900)}.{r.randint(10, 99)} kB │ gzip: {r.randint(1, 300)}.{r.randint(10, 99)} kB"
    ),
    lambda r: f'{w(r)}=={ver(r)}; python_version >= "3.{r.randint(8, 13)}"',
    lambda r: f"+ {w(r)}-{w(r)} v{ver(r)} (was v{ver(r)})",
    lambda r: (
        f"{r.randint(1, 400)} passed, {r.randint(0, 9)} skipped, {r.randint(0, 30)} warnings in {r.randint(1, 99)}.{r.randint(10, 99)}s"
    ),
    lambda r: f"PASS {path(r)} ({r.randint(1, 30)}.{r.randint(1, 9)} s)",
    lambda r: (
        f"drwxr-xr-x  {r.randint(2, 30)} {user(r)} staff  {r.randint(64, 9000)} Nov {r.randint(1, 28)} {r.randint(10, 23)}:{r.randint(10, 59)} {w(r)}"
    ),
    lambda r: (
        f'{ip(r)} - - [{r.randint(10, 28)}/Nov/2026:10:{r.randint(10, 59)}:{r.randint(10, 59)} +0000] "GET /{w(r)}/{r.randint(1, 999)} HTTP/1.1" 200 {r.randint(100, 99999)}'
    ),
    lambda r: f"postgres://localhost:5432/{w(r)}_test",
    lambda r: f"redis://{w(r)}:6379/{r.randint(0, 15)}",
    lambda r: f"Usage: {w(r)} login [--username NAME] [--password-file PATH] [--timeout {r.randint(5, 60)}]",
    lambda r: f'  --token-file string     file with the token for the {w(r)} (default "/run/secrets/{w(r)}")',
    lambda r: f"secretKeyRef: {{name: {w(r)}-credentials, key: password}}",
    lambda r: f"POSTGRES_PASSWORD_FILE=/run/secrets/{w(r)}_db_password",
    lambda r: f'password: "{{{{ vault_{w(r)}_password }}}}"',
    lambda r: f"auth_token_ttl_seconds: {r.randint(60, 86400)}",
    lambda r: f"password_min_length = {r.randint(6, 32)}",
    lambda r: f"enable_password_auth: {r.choice(['true', 'false'])}",
    lambda r: f"PasswordAuthentication {r.choice(['no', 'yes'])}",
    lambda r: (
        f'{{"usage":{{"input_tokens":{r.randint(1, 99999)},"output_tokens":{r.randint(1, 9999)},"cache_read_input_tokens":{r.randint(0, 99999)}}}}}'
    ),
    lambda r: (
        f'msgstr "{r.choice(["Ungültiges Passwort", "Contraseña incorrecta", "Mot de passe incorrect", "Fel lösenord", "Geçersiz parola"])} ({w(r)})"'
    ),
    lambda r: f"package-lock.json | {r.randint(2, 900)} {'+' * r.randint(1, 20)}{'-' * r.randint(1, 20)}",
    lambda r: (
        f"M = [[{', '.join(str(r.randint(-9, 9)) for _ in range(6))}], [{', '.join(f'{r.random():.4f}' for _ in range(5))}]]"
    ),
    lambda r: f"| {w(r)} | {r.randint(1, 999)} | {r.random():.3f} | {r.choice(['yes', 'no'])} |",
    lambda r: f'export PATH="$HOME/.{w(r)}/bin:$PATH"  # added by {w(r)} installer {ver(r)}',
]


def ordinary(rng: random.Random) -> str:
    """One line that a redactor must leave as it is."""
    return rng.choice(ORDINARY)(rng)
