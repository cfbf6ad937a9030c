"""Kinds of secrets that were written before the rules of redaction, to test the rules. Some rules were added later."""

from random import Random
from typing import Final

from scripts.benchmarks import secret_values as s
from scripts.benchmarks.known_places import Place, pem
from scripts.benchmarks.secret_values import Value


def _jwt(random: Random) -> str:
    head, body = s.encoded('{"alg":"RS256"}'), s.encoded(f'{{"sub":"{s.some(random, 10)}"}}')
    return f"{head.rstrip('=')}.{body.rstrip('=')}.{s.some(random, 43, s.URL)}"


UNSEEN: Final[dict[str, tuple[Value, Place]]] = {
    # --- settings files ---
    "dotenv with spaces around the sign": (s.without("#"), "SESSION_PASSPHRASE = {}\n"),
    "dotenv in a diff": (s.without("#"), "@@ -1 +1 @@\n-LDAP_BIND_PW=old\n+LDAP_BIND_PW={}\n"),
    "XML element": (s.without("<>&"), "<server>\n  <id>x</id>\n  <password>{}</password>\n</server>"),
    "XML attribute": (s.without("<>&"), '<add key="ServiceSecret" value="{}" />'),
    "connection string in JSON": (
        s.without(";'\"{}=\\"),
        '{{"ConnectionStrings": {{"Main": "Data Source=db;User ID=sa;Pwd={};MultipleActiveResultSets=true"}}}}',
    ),
    "name and value in YAML": (s.without("\\"), '  env:\n  - name: SMTP_PASSWORD\n    value: "{}"\n'),
    "name and value in JSON": (s.password, lambda key: f'[{{"name": "APP_SECRET", "value": "{s.in_json(key)}"}}]'),
    "secret of Kubernetes": (
        lambda r: s.encoded(s.password(r)),
        "kind: Secret\ndata:\n  redis-password: {}\n",
    ),
    "tfvars": (s.without("$%"), 'region         = "eu"\nmaster_password = "{}"\n'),
    "WPA supplicant": (s.password, 'network={{\n  ssid="home"\n  psk="{}"\n}}\n'),
    "WireGuard": (lambda r: s.some(r, 43, s.BASE64) + "=", "[Interface]\nPrivateKey = {}\nAddress = 10.0.0.2/32\n"),
    "redis.conf": (s.without("\"'#"), "bind 127.0.0.1\nrequirepass {}\n"),
    "ldap.conf": (s.without("#"), "binddn cn=admin\nbindpw {}\n"),
    "git credentials": (s.key("", 30), "https://ada:{}@git.example.com\n"),
    "s3cfg": (s.key("", 40, s.BASE64), "access_key = X\nsecret_key = {}\n"),
    "gradle.properties": (s.without("\\"), "signing.keyPassword={}\n"),
    "msmtprc": (s.without("#"), "account default\nuser ada\npassword {}\n"),
    "rclone": (s.key("", 40, s.URL), "[remote]\ntype = sftp\npass = {}\n"),
    "NetworkManager": (s.without(";"), "[wifi-security]\nkey-mgmt=wpa-psk\npsk={}\n"),
    "composer auth": (s.key("", 40, s.HEX), '{{"github-oauth": {{"github.com": "{}"}}}}'),
    "Netscape cookies": (s.key("", 40), ".example.com\tTRUE\t/\tTRUE\t1999999999\tsessionid\t{}\n"),
    "cloud service account": pem("PRIVATE KEY", ends="\\n"),
    "encrypted EC key": pem("ENCRYPTED " + "PRIVATE KEY"),
    "indented key in YAML": pem("EC " + "PRIVATE KEY", indent="    "),
    "OpenPGP key": pem("PGP " + "PRIVATE KEY BLOCK"),
    "SSH2 key": pem(" SSH2 ENCRYPTED " + "PRIVATE KEY "),
    # --- languages ---
    "Kotlin": (s.without("$"), 'private val dbPassword: String = "{}"'),
    "Swift": (s.key("", 32), 'let apiKey: String = "{}"'),
    "Ruby, symbol": (s.password, "config = {{ :password => '{}', :port => 1 }}"),
    "Perl": (s.password, "my $password = '{}';"),
    "Lua": (s.without("[]"), "local token = [[{}]]"),
    "C macro": (s.without("\\"), '#define WIFI_PASSWORD "{}"'),
    "C pointer": (s.without("\\"), 'const char *mqtt_password = "{}";'),
    "Go struct": (s.without("\\"), '&Config{{User: "ada", Passwd: "{}"}}'),
    "Rust builder": (s.without("\\"), 'Config::new().user("ada").password("{}").build()'),
    "Java setter": (s.without("\\"), 'dataSource.setPassword("{}");'),
    "Elixir": (s.without("\\#"), 'config :app, App.Repo, password: "{}"'),
    "R": (s.key("", 30), 'Sys.setenv(SERVICE_API_KEY = "{}")'),
    "Python dictionary": (s.without("\\"), "{{'user': 'ada', 'passwd': '{}'}}"),
    "Python environment": (s.without("\\"), 'os.environ["DB_PASSWORD"] = "{}"'),
    "SQL user": (s.password, "CREATE USER ada IDENTIFIED BY '{}';"),
    "SQL role": (s.password, "ALTER ROLE ada WITH LOGIN PASSWORD '{}';"),
    "Groovy": (s.without("$\\"), "storePassword '{}'"),
    "TypeScript class": (s.without("\\"), 'private readonly clientSecret: string = "{}";'),
    # --- command lines ---
    "docker login": (s.key("", 20), "docker login -u ada -p {} registry.example.com"),
    "openssl": (s.key("", 20), "openssl rsa -in k.pem -passin pass:{} -out x"),
    "gpg": (s.without("\\"), "gpg --batch --passphrase '{}' -d x.gpg"),
    "sqlcmd": (s.without("\\"), "sqlcmd -S db -U sa -P '{}' -Q 'select 1'"),
    "mongosh": (s.without("\\"), "mongosh --host db -u ada --password '{}'"),
    "helm": (s.key("", 24), "helm upgrade x y --set auth.rootPassword={} --wait"),
    "kubectl": (s.without("\\"), "kubectl create secret generic x --from-literal=password='{}'"),
    "aws configure": (s.key("", 40, s.BASE64), "aws configure set aws_secret_access_key {}"),
    "standard input of docker": (s.without("\\"), "echo '{}' | docker login --username ada --password-stdin"),
    "wget": (s.without("\\"), 'wget --user=ada --http-password="{}" https://example.com/x'),
    "setx": (s.key("", 24), "setx SERVICE_TOKEN {} /M"),
    "smbclient": (s.key("", 16), "smbclient //nas/share -U ada%{}"),
    "ldapsearch": (s.without("\\"), "ldapsearch -x -D cn=admin -w '{}' -b dc=x"),
    # --- addresses, headers ---
    "MongoDB": (s.key("", 16), "mongodb+srv://ada:{}@cluster0.example.net/app"),
    "Redis without a user": (s.key("", 20), "redis://:{}@cache:6379/0"),
    "AMQP": (s.key("", 14), "amqp://ada:{}@mq:5672/%2f"),
    "signature of Azure": (lambda r: s.in_percent(s.some(r, 43, s.BASE64) + "="), "https://x.blob.core.windows.net/c?sv=1&sig={}"),
    "Teams webhook": (
        s.key("", 32, s.HEX),
        "https://x.webhook.office.com/webhookb2/7c1f0a52-9d0e-4b7b-8f52-1f4f5a0d9b11@7c1f0a52-9d0e-4b7b-8f52-1f4f5a0d9b11"
        "/IncomingWebhook/{}/7c1f0a52-9d0e-4b7b-8f52-1f4f5a0d9b11",
    ),
    "GitLab header": (s.key("", 20, s.URL), "curl --header 'PRIVATE-TOKEN: {}' https://git.example.com/x"),
    "Okta": (s.key("00", 40, s.URL), "Authorization: SSWS {}"),
    "header in Python": (s.key("", 40), "headers = {{'X-Auth-Token': '{}'}}"),
    "web token in an address": (_jwt, "https://example.com/callback#id_token={}"),
    "form": (s.password, lambda key: f"grant_type=password&username=ada&password={s.in_percent(key)}&scope=x"),
    # --- known shapes ---
    "Google OAuth": (s.key("GOCSPX-", 28, s.URL), "the secret of the client: {}"),
    "Figma": (s.key("figd_", 40, s.URL), "use {} for it"),
    "Grafana": (lambda r: f"glsa_{s.some(r, 32)}_{s.some(r, 8, s.HEX)}", "`{}`"),
    "Shopify": (s.key("shpat_", 32, s.HEX), "the app has {}"),
    "RubyGems": (s.key("rubygems_", 48, s.HEX), "- {}"),
    "Postman": (lambda r: f"PMAK-{s.some(r, 24, s.HEX)}-{s.some(r, 34, s.HEX)}", "take {}, please"),
    "HubSpot": (lambda r: f"pat-na1-{s.uuid(r)}", "({})"),
    "Doppler": (s.key("dp.pt.", 43), "run it with {}"),
    "Terraform Cloud": (lambda r: f"{s.some(r, 14)}.atlasv1.{s.some(r, 67)}", "credentials {}"),
    "Atlassian": (lambda r: f"ATATT3xFfGF0{s.some(r, 180, s.URL)}", "{}"),
    "Pulumi": (s.key("pul-", 40, s.HEX), "pulumi login {}"),
    "Netlify": (s.key("nfp_", 36), '"{}"'),
    "Airtable": (lambda r: f"pat{s.some(r, 14)}.{s.some(r, 64, s.HEX)}", "base {}"),
    "Fly": (s.key("fo1_", 43, s.URL), "fly tokens: {}"),
    "CircleCI": (lambda r: f"CCIPAT_{s.some(r, 22)}_{s.some(r, 40, s.HEX)}", "[{}]"),
    "Dynatrace": (lambda r: f"dt0c01.{s.some(r, 24, s.UPPER)}.{s.some(r, 64, s.UPPER)}", "it is {}"),
    "crates.io": (s.key("cio", 32), 'token = "{}"'),
    # --- ways to show a value ---
    "hexadecimal entities": (s.key("", 24), lambda key: f"&lt;apiKey&gt;{s.with_hex_entities(key)}&lt;/apiKey&gt;"),
    "hexadecimal escapes": (s.without("\\"), lambda key: f'secret = "{s.with_hex_escapes(key)}"'),
    "joiners and soft hyphens": (s.key("glpat-", 20), lambda key: f"the key {s.with_joiners(key)} is mine"),
    "letters of mathematics": (s.key("npm_", 36), lambda key: f"use {s.in_bold_letters(key)}"),
    "true colors": (s.without("#"), lambda key: f"DB_PASSWORD={s.with_true_colors(key)}\n"),
    "a colored name": (s.without("#"), "\x1b[36mDB_PASSWORD\x1b[0m=\x1b[32m{}\x1b[0m\n"),
    "all in percent signs": (s.password, lambda key: f"https://example.com/x?access_token={s.all_in_percent(key)}"),
    "escaped twice": (
        s.without("\\"),
        lambda key: '{"a": "{\\"password\\": \\"' + s.with_unicode_escapes(key).replace("\\u", "\\\\u") + '\\"}"}',
    ),
    "basic header in a command": (lambda r: s.encoded("ada:" + s.password(r)), 'curl -H "Authorization: Basic {}" x'),
    "htpasswd of bcrypt": (lambda r: f"$2y$10${s.some(r, 53, s.ALNUM + './')}", "ada:{}\n"),
    "output of grep": (s.without("#"), "config/prod.env:12:STRIPE_SECRET={}\n"),
    "a line of a log": (s.without("\\"), 'time=12:00 level=debug msg="login" user=ada password="{}"'),
    "parameters of libpq": (s.without("\\'"), "host=db user=ada password='{}' dbname=app"),
    "table of Markdown": (s.key("", 20), "| user | ada |\n| password | `{}` |\n"),
    "prose": (s.without(".,;:?!"), "The password of the database is {}"),
}  # fmt: skip
