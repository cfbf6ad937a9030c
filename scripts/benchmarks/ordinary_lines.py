"""Lines without secrets that look like secrets: code, logs, lock files, hashes, ids, and prose about passwords."""

from collections.abc import Iterator
from random import Random
from typing import Final

from scripts.benchmarks import secret_values as s

_WORDS: Final = (
    "user", "session", "client", "server", "config", "request", "response", "storage", "driver", "account",
    "payment", "order", "invoice", "message", "channel", "worker", "queue", "cache", "index", "parser",
    "token", "password", "secret", "cookie", "header", "handler", "manager", "factory", "builder",
    "service",
)  # fmt: skip

_FORMS: Final = r"""
def test_{w}_is_refused_without_{x}(client: Client, {w}: str) -> None:
    def __init__(self, {w}: str, password: str | None = None, token: str = "") -> None:
        self.password = password or self._{w}.get_password()
    password = input("Password: ")
    password = getpass.getpass(f"Password of {{{w}}}: ")
    token = await self._{w}.refresh_token(session.access_token, timeout={n})
    api_key = os.environ.get("{W}_API_KEY", "")
    secret_key=os.environ["{W}_SECRET_KEY"],
    client = {C}Client(api_key=settings.{w}_api_key, secret=settings.{w}_secret)
    assert response.json()["access_token"] == token_of({w})
    raise AuthenticationError(f"password of {{user.name}} is wrong: {{error}}")
    password: Mapped[str] = mapped_column(String({n}), nullable=False)
    password = serializers.CharField(write_only=True, min_length=8, max_length={n})
    if token.type == TokenType.{W} and token.value != expected_{w}_token:
    const token = req.headers.authorization?.split(' ')[1];
    const {{ password, {w}Token }} = req.body;
    const [password, setPassword] = useState('');
    const secret = process.env.{W}_SECRET!;
    const apiKey = config.get<string>('{w}.apiKey');
    secretKey: process.env.{W}_SECRET_KEY ?? '',
    accessToken: string | undefined;
    password: z.string().min(8).max({n}),
    password: Joi.string().pattern(/^[a-zA-Z0-9]{{3,30}}$/).required(),
    passwordHash: varchar('password_hash', {{ length: {n} }}).notNull(),
    <label for="password">{C} password</label>
    <input type="password" name="password" id="{w}-password" autocomplete="current-password" required>
    <TextField label="Password" type="password" value={{password}} onChange={{e => setPassword(e.target.value)}} />
    token, err := jwt.Parse(tokenString, func(token *jwt.Token) (interface{{}}, error) {{
    password := os.Getenv("{W}_PASSWORD")
    Password string `json:"password" validate:"required,min=8"`
    Token    string `json:"{w}_token,omitempty"`
    if err := bcrypt.CompareHashAndPassword({w}.PasswordHash, []byte(password)); err != nil {{
    let password = rpassword::prompt_password("Password: ")?;
    let token: Token = lexer.next_token().ok_or(Error::UnexpectedEnd)?;
    pub secret: Option<SecretString>,
    private final PasswordEncoder passwordEncoder;
    String token = request.getHeader("Authorization").substring(7);
    public void setPassword(String password) {{ this.password = passwordEncoder.encode(password); }}
    @Value("${{{w}.secret}}") private String secret;
    password: ${{{{ secrets.{W}_PASSWORD }}}}
    GITHUB_TOKEN: ${{{{ secrets.GITHUB_TOKEN }}}}
    token: ${{{{ steps.{w}.outputs.token }}}}
  - name: {W}_PASSWORD
          valueFrom: {{ secretKeyRef: {{ name: {w}-secrets, key: password }} }}
      secretKeyRef:
        key: {w}-password
    secretName: {w}-tls-secret
POSTGRES_PASSWORD: ${{POSTGRES_PASSWORD:?not set}}
{W}_PASSWORD_FILE=/run/secrets/{w}_password
DB_PASSWORD=${{DB_PASSWORD:-}}
API_KEY=<your api key>
{W}_TOKEN=your-{w}-token-here
SECRET_KEY=change-me-in-production
PASSWORD=********
password = "xxxxxxxxxxxx"
export {W}_TOKEN=$(pass show {w}/token)
export PASSWORD="$(cat /run/secrets/{w})"
set -gx EDITOR /usr/bin/vim
ENV PATH /opt/{w}/bin:$PATH
ENV {W}_SECRET_NAME {w}-secret
mysql -u root -p app < {w}.sql
mysql --user=root --password app -e "show tables"
psql -h localhost -U {w} -c "select count(*) from {w}s"
curl -u "$USER:$PASSWORD" https://example.com/{w}
curl -H "Authorization: Bearer $TOKEN" https://api.example.com/v1/{w}s/{n}
docker run -p {n}:80 -e {W}_PASSWORD -d registry.example.com/{w}:1.{n}
ssh -p 22 -i ~/.ssh/id_ed25519 {w}@host.example.com
git commit -m "Hash the password of a {w} before it is stored"
The password of a {w} must have at least 8 characters, one digit and one letter.
Your password is incorrect. Please try again, or reset it at https://example.com/reset?from={w}
The token is invalid: expected a string, but found number {n} at position {n}
I will add a password field to the {w} form, then hash it with argon2id.
We should store the API key in the keychain, not in {w}.json, since tokens expire after {n} days.
The secret of good code is a short {w}: read it twice.
Passwort: mindestens 8 Zeichen, davon eine Ziffer
Mot de passe : au moins {n} caractères
Contraseña: debe tener al menos 8 caracteres
パスワード: 8文字以上で入力してください
密码：至少8个字符，包含字母和数字
Пароль: не менее 8 символов
"auth.password.label": "Password",
"auth.password.tooShort": "The password is too short: at least {{count}} characters.",
"forgotPassword": "Forgot your password?",
"resetPassword": "Passwort zurücksetzen",
"passwordConfirmation": "Confirmación de contraseña",
"tokenExpired": "The {w} token has expired, please sign in again",
  "password": "パスワード",
msgid "Password: %s"
msgstr "Mot de passe : %s"
{{"type":"tool_use","id":"toolu_01{a24}","name":"Read","input":{{"path":"src/{w}.py"}}}}
{{"usage":{{"input_tokens":{n},"output_tokens":{n},"cache_read_input_tokens":{n}}},"stop_reason":"end_turn"}}
{{"id":"msg_01{a24}","type":"message","role":"assistant"}}
{{"id":"call_{a24}","type":"function","function":{{"name":"read_{w}"}}}}
{{"id":"chatcmpl-{a24}","object":"chat.completion"}}
"max_tokens": {n}, "total_tokens": {n}, "token_count": {n}
"stop_token": "<|endoftext|>", "pad_token": "[PAD]", "unk_token": "[UNK]"
commit {h40}
index {h7}..{h7} 100644
Merge: {h7} {h7}
{h64}  {w}-1.{n}.0.tar.gz
sha256:{h64}
  "integrity": "sha512-{b86}==",
    resolved "https://registry.yarnpkg.com/{w}/-/{w}-1.{n}.0.tgz#{h40}"
    integrity sha512-{b86}==
checksum = "{h64}"
{w} = {{ version = "1.{n}", features = ["serde"] }}
github.com/example/{w} v1.{n}.0 h1:{b43}=
    --hash=sha256:{h64} \
{w}@1.{n}.0:
"{u}": {{"name": "{w}", "parentUuid": "{u}"}}
session_id={u} request_id={u}
2026-03-{d} 12:{d}:{d},{n} INFO {w}.auth: user {n} signed in, session {u}
2026-03-{d}T12:{d}:{d}Z WARN auth failed: bad password for user "{w}" from 10.0.{d}.{d} port {n}
Mar {d} 12:{d}:{d} host sshd[{n}]: Failed password for invalid user {w} from 10.0.{d}.{d} port {n} ssh2
Mar {d} 12:{d}:{d} host sshd[{n}]: Accepted publickey for {w}: ED25519 SHA256:{b43}
level=info msg="token refreshed" user={w} expires_in={n} token_type=bearer
[{d}/{d}] Authentication: token_type=Bearer, scope=read:{w}, expires_in=3600
  File "/home/ada/{w}/auth/password.py", line {n}, in check_password
    at {C}Service.verifyToken (/srv/{w}/src/auth/token.service.ts:{n}:{d})
java.lang.IllegalArgumentException: Password must not be null: {w}
thread 'main' panicked at src/{w}/token.rs:{n}:{d}: unexpected token `{w}`
SyntaxError: Unexpected token '<', "<!DOCTYPE "... is not valid JSON
E   AssertionError: assert 'password' == '{w}'
-    password: str = Field(..., min_length={d})
+    password: SecretStr = Field(min_length={n}, repr=False)
+  const token = useSelector(select{C}Token);
@@ -{n},{d} +{n},{d} @@ def hash_password(password: str) -> str:
| password | the password of the {w} | required |
| `token` | string | The token of `$/progress` notifications. |
- **secret**: name of the secret, e.g. `{w}-credentials`
- [x] rotate the secrets of the {w} service (see docs/secrets.md)
## Passwords and {w}s
--password-file FILE   read the password from a file
  --token TOKEN        the token of the {w} (default: $GITHUB_TOKEN)
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} {w}@host
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A{b43}{b20}
<script src="https://cdn.example.com/{w}.js" integrity="sha384-{b64}" crossorigin="anonymous"></script>
<img src="data:image/png;base64,iVBORw0KGgo{b43}{b64}">
<a href="https://example.com/{w}?page={n}&amp;sort=name&amp;key=name#token-{n}">tokens</a>
https://docs.example.com/{w}/authentication/api-keys#{w}-token
https://github.com/example/{w}/blob/{h40}/src/auth/password.ts#L{n}-L{n}
git clone https://{w}@github.com/example/{w}.git
postgres://{w}:password@localhost:5432/{w}
redis://localhost:6379/{d}
CREATE TABLE {w}s (id serial, password varchar({n}) NOT NULL, token_hash bytea);
SELECT {w}, password_hash FROM users WHERE token = $1 AND secret IS NOT NULL;
ALTER TABLE {w}s ADD COLUMN api_key text;
CREATE USER {w} WITH PASSWORD '<password>';
GRANT SELECT ON {w}s TO reader IDENTIFIED BY 'password';
keyboard: us; keymap: de-latin1; monkey: bar{n}
bypass: true, compass: north, trespass={n}, encompass=whole{n}
author: Ada Lovelace, authority: {w}-{n}.example.com
pattern: ^{w}-[0-9]+$ path=/usr/share/{w}/{n} patch=v1.{n}
primary key: {w}_id, foreign key: {w}_order_id, sort key: created_at
key: "{w}-{n}", cacheKey: `{w}:${{id}}`, keyCode={n}
for key, value in {w}.items(): print(key, value, sep=": ")
<key>CFBundleShortVersionString</key><string>1.{n}.0</string>
passed: {n}, failed: {d}, skipped: {d}, xpassed: 0
tests pass: {n}/{n}; pass={n} fail=0 in {n} ms
pass: int = {n}  # the pass of the compiler over the {w}
PASS {w}/auth.test.ts ({n} ms)
\u001b[32mPASS\u001b[0m tests/{w}.test.ts
token = tokens[index + {d}]; secret = secrets[0]; pwd = path.resolve('.')
PWD=/home/ada/{w}
OLDPWD=/home/ada/{w}/src
cd "$PWD/{w}" && pwd
color: #{h7}; --{w}-token: var(--color-{w}-{n});
.password-{w} {{ width: {n}px; }}
tokens: {{ {w}: 'rgba(0, 0, {d}, 0.{n})' }}
auth: {{ type: 'oauth2', flow: 'implicit' }}
auth=required; auth_mode = {w}_{d}; authMethod: "publickey"
credentials: 'same-origin', mode: 'cors', cookie: accepted
Cookie: the browser sends {w} cookies only over https
Set-Cookie: theme=dark; Path=/; Max-Age={n}; SameSite=Lax
content-security-policy: script-src 'nonce-{b20}' 'self'
etag: W/"{h40}"
x-request-id: {u}
x-amz-request-id: {U16}
AWS_REGION=eu-central-1 AWS_PROFILE={w}-production
arn:aws:iam::{n}{n}:role/{w}-production
ami-0{h16} subnet-0{h16} sg-0{h16} vpc-0{h16}
docker pull registry.example.com/{w}@sha256:{h64}
pod/{w}-7d9c{h7}-x2x{d} 1/1 Running 0 {n}m
node_modules/.pnpm/{w}@1.{n}.0_{h40}/node_modules/{w}
assets/{w}-{a8}.js {n} kB │ gzip: {n} kB
a = [0x{h16}, 0x{h16}, 0x{h7}]
"version_hash": "{h40}", "content_hash": "{h64}"
"thinkingSignature": null, "token_type": "bearer", "grant_type": "password"
grant_type=client_credentials&scope={w}
The key {w}_{n} is not in the table; use key={w} or token=none.
He said that the password was "too short" and that the {w} had {n} of them.
What is the secret? A {w}, I think: nobody knows (see page {n}).
""".strip("\n").split("\n")  # fmt: skip


def ordinary(seed: int, count: int) -> Iterator[str]:
    """Yield lines of every form in turn, each time with other words, numbers and hashes."""
    random = Random(seed)
    for place in range(count):
        word = random.choice(_WORDS)
        yield _FORMS[place % len(_FORMS)].format(
            w=word, W=word.upper(), C=word.title(), x=random.choice(_WORDS), n=random.randint(100, 65_000),
            d=random.randint(10, 28), u=s.uuid(random), a8=s.some(random, 8), a24=s.some(random, 24),
            h7=s.some(random, 7, s.HEX), h16=s.some(random, 16, s.HEX), h40=s.some(random, 40, s.HEX),
            h64=s.some(random, 64, s.HEX), b20=s.some(random, 20, s.BASE64), b43=s.some(random, 43, s.BASE64),
            b64=s.some(random, 64, s.BASE64), b86=s.some(random, 86, s.BASE64), U16=s.some(random, 16, s.UPPER),
        )  # fmt: skip
