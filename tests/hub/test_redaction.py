"""Secrets are replaced in an export, and everything else is kept."""

import itertools
import os
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, strategies as st
from scripts.benchmarks.generated_secrets import Planted, placed, planted
from scripts.benchmarks.known_places import KNOWN
from scripts.benchmarks.ordinary_lines import ordinary
from scripts.benchmarks.secret_values import leaks
from scripts.benchmarks.unseen_places import UNSEEN

from sessiond.hub.redaction.provider_keys import ProviderKeys
from sessiond.hub.redaction.redactor import Redactor
from sessiond.hub.redaction.scanning_process import CACHE_VARIABLE
from sessiond.hub.redaction.shown_text import shown_text
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
    return {secret.sort for secret in secrets if leaks(secret.secret, redactor.text(secret.text, None))}


def test_no_generated_secret_of_any_sort_is_exported() -> None:
    assert sorts_that_leak(Redactor(KEYS), list(planted(seed=1, rounds=3))) == set()


def test_without_kingfisher_common_keys_and_all_that_stands_beside_a_name_is_found() -> None:
    leaking = sorts_that_leak(Redactor(), list(planted(seed=2, rounds=3)))
    assert leaking <= {
        "DigitalOcean", "Databricks", "Groq", "Linear", "Notion", "Perplexity", "PyPI", "Replicate", "Supabase",
        "Vault token of before", "xAI", "AWS secret", "AWS secret in the environment", "Cloudflare token",
    }  # fmt: skip


def test_the_text_around_a_secret_is_kept() -> None:
    for secret in planted(seed=3, rounds=1):
        before, after = secret.text.split(secret.secret)
        redacted = Redactor(KEYS).text(secret.text, None)
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
    assert {n for span in merged for n in range(span.start, span.end)} == {
        n for span in spans for n in range(span.start, span.end)
    }
    assert all(a.end <= b.start for a, b in itertools.pairwise(merged))


@given(st.text(max_size=300))
def test_no_text_makes_the_search_fail(text: str) -> None:
    Redactor(KEYS).text(f"password={text} Authorization: {text}", None)


@given(st.integers(0, 40_000), st.sampled_from(["x ", "password: ", "a,b=c;", "eyJ"]))
def test_a_secret_is_found_wherever_it_is_in_a_long_line(place: int, around: str) -> None:
    secret = SECRETS["GitHub Token"]
    before = (around * place)[:place] + " "
    assert secret not in Redactor().text(f"{before}{secret} {around * 10_000}", None)


@pytest.mark.parametrize("before", ["", " ", "=", "token-", "token_"])
def test_a_web_token_is_found_also_behind_a_dash_or_an_underscore(before: str) -> None:
    token = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "c2lnbmF0dXJlLW9mLXRoaXM"
    assert Redactor().text(before + token, None) == f"{before}[redacted: JSON Web Token]"


@pytest.mark.parametrize(
    ("kinds", "least"), [(KNOWN, 0.98), (UNSEEN, 0.95)], ids=["known places", "unseen places"]
)
def test_secrets_in_settings_code_and_commands_are_found_in_all_but_a_few_places(
    kinds: dict[str, Any], least: float
) -> None:
    redactor, secrets = Redactor(KEYS), list(placed(kinds, seed=4, rounds=6))
    missed = [secret.sort for secret in secrets if leaks(secret.secret, redactor.text(secret.text, None))]
    assert 1 - len(missed) / len(secrets) >= least, Counter(missed)


def test_of_a_thousand_ordinary_lines_at_most_five_lose_something() -> None:
    redactor = Redactor(KEYS)
    changed = [(text, clean) for text in ordinary(6, 1_000) if (clean := redactor.text(text, None)) != text]
    assert len(changed) <= 5, changed


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("DB_PASS=a[b$x|4)q\nX=1", "DB_PASS=[redacted: Password]\nX=1"),
        ('{"password": "a\\"b{4}c<d", "n": 1}', '{"password": "[redacted: Password]", "n": 1}'),
        ("password: |\n  aB3$kk[9\nuser: ada", "password: |\n  [redacted: Password]\nuser: ada"),
        (
            "key \x1b[31msk_live_abcdefghijkl\x1b[1mmnopqrstuvwx\x1b[0m!",
            "key \x1b[31m[redacted: Stripe Access Key]\x1b[0m!",
        ),
        ("\uff47\uff48\uff50\uff3f" + "\uff41" * 20 + "1" * 16 + " \u65e5", "[redacted: GitHub Token] \u65e5"),
        ("{&quot;password&quot;:&quot;a&amp;b3c$d&quot;}", "{&quot;password&quot;:&quot;[redacted: Password]&quot;}"),
        ("Server=db;Password=x)y{1}|z;Encrypt=True", "Server=db;Password=[redacted: Password];Encrypt=True"),
        ("ada:$2y$10$" + "aB3./" * 10 + "abc", "ada:[redacted: Password Hash]"),
        ("docker run -e DB_PASSWORD=[redacted: Password] x", "docker run -e DB_PASSWORD=[redacted: Password] x"),
    ],
)  # fmt: skip
def test_exactly_the_secret_is_replaced_in_the_way_it_is_written(text: str, clean: str) -> None:
    assert Redactor().text(text, None) == clean


def test_a_redacted_text_has_nothing_more_to_redact() -> None:
    redactor = Redactor(KEYS)
    for secret in placed(KNOWN | UNSEEN, seed=8, rounds=1):
        clean = redactor.text(secret.text, None)
        assert redactor.text(clean, None) == clean


SHOWN = st.lists(
    st.sampled_from(
        [
            "a",
            "B",
            "7",
            " ",
            "&amp;",
            "&#65;",
            "\\u0041",
            "%41",
            "\u200b",
            "\uff21",
            "\x1b[31m",
            "\\n",
            "日",
            "&",
            "%",
        ]
    ),
    max_size=40,
)


@given(SHOWN)
def test_each_part_of_a_shown_text_has_its_place_in_the_written_one(parts: list[str]) -> None:
    text = "".join(parts)
    seen = shown_text(text)
    if seen is None:
        return
    for start, end in itertools.combinations(range(len(seen.text) + 1), 2):
        first, last = seen.original(start, end)
        again = shown_text(text[first:last])
        assert (text[first:last] if again is None else again.text) == seen.text[start:end]


def test_a_secret_of_a_name_and_a_value_in_two_fields_is_found() -> None:
    env = [{"name": "SMTP_PASSWORD", "value": "q8)r$m0"}, {"name": "MODE", "value": "q8)r$m0"}]
    assert Redactor().value(env, None) == [
        {"name": "SMTP_PASSWORD", "value": "[redacted: Password]"},
        {"name": "MODE", "value": "q8)r$m0"},
    ]


A, B = "R7kLm2Qx9vTb", "p4Wz8sNc3YhJ"


@pytest.mark.parametrize(
    "text",
    [
        f"| System | Password |\n|---|---|\n| mail | `{A}` |\n| shop | {B} |\n",
        f'name,url,password,note\nmail,https://a.example,{A},\nshop,https://b.example,"{B}",old\n',
        f" id | api_token\n----+------\n  1 | {A}\n  2 | {B}\n",
        f"│ Key         │ Value        │\n├─────────────┼──────────────┤\n│ DB_PASSWORD │ {A} │\n",
        f"app.jwt.secret={A}\\\n    {B}\napp.ttl=3600\n",
        f'token = """\\\n  {A}\\\n  {B}"""\n',
        f"<property name='db.connection.password'>{A}{B}</property>",
        f"enable password 0 {A}\nusername ada privilege 15 secret 0 {B}\n",
        f'ConvertTo-SecureString "{A}" -AsPlainText -Force',
        f"requests.get(url, auth=('ada', '{A}{B}'))",
        f"curl --url https://a.example \\\n  --user \\\n  'ada:{A}{B}'\n",
        f"Le mot de passe est {A}",
        f"비밀번호: {A}",
        f"password: {A}.{B}",
        f'ADMIN_PASSWORD="{A} {B}"\n',
        f"Password for the user elastic:\n  {A}{B}\n",
        f'{{"github-oauth": {{"github.com": "{A}{B}"}}}}',
        f'{{"kty": "EC", "x": "public", "d": "{A}{B}{A}"}}',
        f"-----BEGIN OpenVPN Static key V1-----\n{A}\n{B}\n-----END OpenVPN Static key V1-----\n",
        f"ALTER USER ada PASSWORD '{A}''{B}';",
    ],
)
def test_secrets_are_found_in_tables_continued_lines_and_the_words_of_other_languages(text: str) -> None:
    clean = Redactor(KEYS).text(text, None)
    assert A not in clean
    assert B not in clean


@pytest.mark.parametrize(
    "text",
    [
        ".user-password::placeholder{color:#5218d9;padding:8px 26px}",
        "arn:aws:secretsmanager:eu-west-1:593068252258:secret:worker/db-8rjRHT",
        "POSTGRES_PASSWORD: ${DB_PASSWORD:?required}",
        "It is not an absolute path: {path!r:.80}",
        "Write two paths: /home/ada/work=/Users/ada/work (here, then there).",
        "密码：至少8个字符，包含字母和数字",
        "name,token,price\nmail,none,12\n",
        "def login(user, password, retries):\n    first, second2, third = parse(user)\n",
    ],
)
def test_selectors_names_of_secrets_and_sentences_stay(text: str) -> None:
    assert Redactor(KEYS).text(text, None) == text


P, Q = "Velvet_indigo57", "glacier1973!"
HEX = "9f86d081884c7d659a2feaa0c55ad015"
B64 = "0emaIO99tWQe4zdiWz4GmQOT3SzE3ue70ihKOIHnoaY="


W, W2 = "quartz.falcon.velvet81", "Dolphin281.garnet"
MARKED = {
    "words with a number and points": rf"""
  db_password: "«{W}»"
admin_password = "«{W2}»"
ansible_ssh_pass=«{W}» ansible_port=22
docker login -u deploy -p «{W}» registry.example
db:5432:notify:app:«{W2}»
"Server=tcp:db.example,1433;User ID=sa;Password=«{W2}»;Encrypt=True;"
The password for user ada is: «{W2}»
snmp-server community «Jasper5571» RO
setx SERVICE_TOKEN «{HEX}»
DB_PASSWORD=«correct-horse-battery-staple»
POST https://api.telegram.org/bot«4571196673:AAurq_0RYl_VObuvBOilFK3_xv1bR-sDPIw3C»/sendMessage 200
crypto isakmp key «{P}» address 203.0.113.203
"password": "«velvet_garnet_quartz_falcon»"
A temporary password is generated for root@localhost: «{P}»
Recovery codes: «gb776-22cfa ieyrs-jr552»\n
====== Data ======\nKey         Value\n---         -----\npassword    «{Q}»\nusername    app
 id |                                                               api_token\n----+----\n  3 | «{HEX}»\n
""",
    "printed by a command": rf"""
$ echo Z2xhY2llcg== | base64 --decode\n«{Q}»\n$ ls
$ kubectl get secret db -o jsonpath='{{.data.password}}' | base64 -d\n«{Q}$» ls
$ vault kv get -field=password secret/db\n«{P}»\n
ada@box:~$ pass show mail/ada\n«{Q}»\nada@box:~$ ls
$ op read op://dev/db/password\n«{P}»\n
$ aws secretsmanager get-secret-value \\n  --secret-id db \\n  --query SecretString --output text\n«{Q}»\n
$ gcloud secrets versions access latest --secret=db\n«{P}»\n
$ security find-generic-password -s db -w\n«{Q}»\n
$ echo $DB_PASSWORD\n«{P}»\n
$ kubectl exec db-0 -- printenv POSTGRES_PASSWORD\n«{P}»\n
$ terraform output -raw db_password\n«{P}»\n
$ openssl rand -hex 16\n«{HEX}»\n
$ pwgen -s 16 2\n«q8Jr0mZ2vN4tYb6x»\n«A8Jr0mZ2vN4tYb6y»\n
$ pwgen 12 3\n«uquie2Eegh1h Ohn4ieV5aex7 eiR0oosh9aeK»\n
""",
    "in an object that says so": rf"""
{{"type": "random_password", "name": "x", "instances": [{{"attributes": {{"length": 20, "result": "«{Q}»"}}}}]}}
{{"value": "«{P}»", "name": "DB_PASS"}}
{{"name": "DB_PASS", "type": "string", "value": "«{P}»"}}
[{{"Key": "DbPassword", "Value": "«{Q}»"}}]
{{"outputs": {{"db_password": {{"sensitive": true, "value": "«{P}»"}}}}}}
env:\n  - value: «{P}»\n    name: DB_PASSWORD\n  - name: MODE
""",
    "changed": rf"""
~ password = "«{Q}»" -> "«{P}»"
  password: «{Q}» => «{P}»
~ db_password = (sensitive value) -> "«{P}»"
password: null -> «{P}»
""",
    "given to a command": rf"""
nmcli dev wifi connect media password «{P}»
wpa_passphrase Home «{P}»
net use Z: \\srv\x /user:ada «{P}»
net use Z: \\srv\x «{P}» /user:ada
net user bob «{P}» /add
htpasswd -bc /etc/f ada «{P}»
htpasswd -c -b f ada '«{Q}»'
echo 'root:«{P}»' | sudo chpasswd
sudo chpasswd <<EOF\nroot:«{P}»\nEOF
CREATE USER ada IDENTIFIED BY «{P}»;
CREATE USER 'a'@'%' IDENTIFIED WITH mysql_native_password BY '«{Q}»';
SET PASSWORD FOR 'a'@'b' = '«{P}»';
requirepass «{Q}»\n
redis-cli -h db AUTH «{P}»
ACL SETUSER bob on >«{P}» ~*
rabbitmqctl add_user bob «{P}»
mc alias set my https://x.example AKEY7 «{P}»
openssl rsa -in a.key -passin pass:«{P}» -out b
7z x a.7z -p«{P}»
xfreerdp /u:bob /p:«{P}» /v:host
mosquitto_pub -h x -u bob -P «{P}» -t a
lftp -u bob,«{P}» ftp.example
""",
    "a hash of a password": rf"""
(1, 'ada', 'pbkdf2_sha256$«600000$Bo0BKDs0alSK${B64}»', True)
pbkdf2:sha256:260000$«abcDEF12${HEX}{HEX}»
scrypt:32768:8:1$«abcDEF12${HEX}{HEX}»
ada:{{SSHA}}«{B64}»
SCRAM-SHA-256$«4096:c2FsdHNhbHQ=${B64}:{B64}»
Administrator:500:«aad3b435b51404eeaad3b435b51404ee:{HEX}»:::
""",
    "given to a call": rf"""
server.login("ada@x.example", "«{Q}»")
client.login(\n    "ada",\n    "«{P}»",\n)
psycopg.connect("host", "ada", "«{P}»")
mysqli_connect($host, "ada", "«{P}»", "db");
DriverManager.getConnection(url, "ada", "«{P}»")
new Credentials("ada", "«{P}»")
Credentials.basic("ada", "«{Q}»")
smtp.PlainAuth("", "ada", "«{Q}»", host)
.basic_auth("ada", Some("«{Q}»"))
new NetworkCredential("ada", "«{P}»")
User.objects.create_user("ada", "ada@x.example", "«{P}»")
auth: ['ada', '«{P}»']
""",
    "told in a sentence": rf"""
Das Passwort für den Server ist «{P}».
le mot de passe de la base est «{P}»
la contraseña del servidor es «{Q}»
Пароль от сервера: «{P}»
密码是«{P}»
パスワードは «{P}» です
비밀번호는 «{P}» 입니다
the root password for db1 is «kestrel1999»
use «{P}» as password
use «kestrel1999» as the password
nimm «{P}» als Passwort
password is now «{P}»
creds: ada / «{P}»
log in with ada / «{P}»
you can log in as ada with the password «{P}»
Password (temporary): «{P}»
""",
}
"""Texts by the place of their secrets, which stand between `«` and `»`. A new line is written as `\\n`."""


@pytest.mark.parametrize(
    "line", [text for lines in MARKED.values() for text in lines.strip("\n").split("\n")]
)
def test_exactly_the_secret_is_replaced_in_each_place(line: str) -> None:
    written = line.replace("\\n", "\n")
    expected = re.sub("«.*?»", "…", written)
    clean = Redactor().text(re.sub("[«»]", "", written), None)
    assert re.sub(r"\[redacted: [^\]]*\]", "…", clean) == expected


@pytest.mark.parametrize("width", [32, 40, 51, 80])
@pytest.mark.parametrize("before", ["export GITHUB_TOKEN=", "Authorization: Bearer ", "the key "])
def test_a_token_that_a_terminal_broke_into_lines_is_replaced_as_a_whole(width: int, before: str) -> None:
    token = (
        "github_pat_" + "EMnhr8blEMdebq8jCWk50n_pPo6IQbdZCFvjPed3QMd5dOo93zXXqYaFqZ7gJjfxUuOH2Pm2IRN4ZNYnJG"
    )
    line = before + token
    text = "\n".join(line[at : at + width] for at in range(0, len(line), width))
    clean = Redactor(KEYS).text(f"{text}\n$ ls\nnotes-2.txt\n", None)
    assert re.sub(r"\[redacted: [^\]]*\]", "…", clean) == f"{before}…\n$ ls\nnotes-2.txt\n"


def test_a_value_of_base64_ends_with_its_line() -> None:
    text = f"APP_KEY=base64:{B64}\nRAILS_MASTER_KEY={HEX}\n[Peer]\nPresharedKey = {B64}\nAllowedIPs = 0.0.0.0/0\n"
    assert Redactor().text(text, None) == (
        "APP_KEY=[redacted: Secret]\nRAILS_MASTER_KEY=[redacted: Secret]\n"
        "[Peer]\nPresharedKey = [redacted: Secret]\nAllowedIPs = 0.0.0.0/0\n"
    )


def test_the_quote_before_a_user_and_a_password_stays() -> None:
    assert Redactor(KEYS).text(f"curl --user 'bob:{P}' https://x.example", None) == (
        "curl --user '[redacted: curl-auth-user]' https://x.example"
    )


def test_a_value_is_found_by_the_other_members_of_its_object() -> None:
    members = [
        {"key": "DB_PASS", "Value": Q},
        {"type": "random_password", "result": Q},
        {"key": "MODE", "value": Q},
    ]
    assert [Q in str(Redactor().value(member, None)) for member in members] == [False, False, True]


@pytest.mark.parametrize(
    "text",
    [
        "let secret_key = SecretKey::from_slice(&bytes[..16])?;",
        "password = config2.password; token = base64.b64encode(x); secret = sha256.digest",
        "--- PASS: TestTokenBucket/velvet_511 (0.24s)\nPASS: tests/parser_12.sh",
        "let token = parse_token(&request)?;",
        "    SUBMIT_V2_PASSWORD,\n    SUBMIT_V2_CODE,\n    base64Decode,\n",
        "$password = $request->input('password_kettle'); $token = $_POST['token_2']; $key = $this::make2();",
        'password: "reset-password-form"; pass = "user_form_field"; passwd=$(read-it)',
        "token = cursor->token->text2;",
        "password = self.store.read(key)[0]",
        "def login(password: str, retries: int) -> Session2: ...",
        "for key -> value2 in pairs: token -> position_1",
        "$ git log --format=%h | base64 -d\nada@box:~$ ls\n",
        "echo $TOKEN | base64 -d\nkubectl apply -f app2.yaml\n",
        'button.connect("clicked", "on_click2")',
        'ftp.login("anonymous", "-anonymous@")',
        "$ gcloud functions describe --secret=db\nhandler2",
        "The password is stored with sha256. The key is user_id2.",
        "Use bcrypt2 as password hash.",
        "url = 'https://x.example/{sha}/some/long/path/of/a/file'",
        "~ db_password = (sensitive value)",
    ],
)
def test_code_and_sentences_about_secrets_stay(text: str) -> None:
    assert Redactor(KEYS).text(text, None) == text
