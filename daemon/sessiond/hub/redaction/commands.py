"""The forms of commands, statements and calls with a password that has no name."""

from typing import Final

_QUOTED: Final = r"(?P<quote>[\"'])(?P<quoted>[^\r\n]{4,200}?)(?P=quote)"
_VALUE: Final = rf"(?:{_QUOTED}|(?P<value>[^\s\"'`]{{4,200}}+))"
_ARGUMENT: Final = r"(?P<a>[\"'])(?P<quoted>[^\"'\r\n]{4,200}+)(?P=a)"
_TEXT: Final = r"[rbfu@$]?[\"'][^\"'\r\n]{0,200}+[\"']\s{0,8}+,\s{0,20}+"
_MAIL: Final = r"(?:[\"'][\w.+-]{1,60}+@[\w-]{1,60}+\.[\w.-]{1,60}+[\"']\s{0,8}+,\s{0,20}+)?"

COMMANDS: Final = (
    (
        "Password", 4, ("freerdp", "rdesktop", "mstsc"),
        rf"(?:freerdp|rdesktop|mstsc)[^\r\n|;&]{{0,200}}?\s(?:/p:|-p\s)\s{{0,4}}+{_VALUE}",
    ),
    (
        "Password", 6, ("nmcli",),
        rf"nmcli\b[^\r\n|;&]{{0,200}}?\s(?:password|[\w.-]{{0,40}}(?:psk|wep-key\d|secrets))\s{{1,4}}+{_VALUE}",
    ),
    (
        "SNMP Community", 8, ("community",),
        r"community\ (?P<value>(?!public|private)[^\s\"'`:;,.]{8,64}+)"
        r"(?=\s{1,4}+(?:ro|rw|version|\d)\b|[ ]{0,4}+[\r\n]|$)",
    ),
    (
        "Secret", 6, ("setx",),
        rf"setx\s{{1,4}}+[a-z_]{{0,40}}(?:pass|secret|token|key)[a-z_]{{0,20}}+\s{{1,4}}+{_VALUE}",
    ),
    (
        "Secret", 6, ("value\n---", "value\r\n---"),
        r"(?:^|(?<=[\r\n]))(?:[a-z_-]{0,30}(?:pass|secret|token|credential|api_?key)[a-z_-]{0,20}+)[ \t]{2,40}+"
        r"(?P<value>\S{6,400}+)(?=[ \t]{0,8}+(?:[\r\n]|$))",
    ),
    ("Telegram Bot Token", 20, ("/bot",), r"/bot(?P<value>\d{6,12}:[a-z0-9_-]{20,60}+)"),
    ("Secret", 8, ("isakmp key",), rf"isakmp\ key\s{{1,4}}+(?:[06]\s{{1,4}}+)?{_VALUE}"),
    ("Password", 6, ("temporary password",), rf"temporary\ password[^\r\n]{{1,80}}?\S@\S{{1,60}}?:\s{_VALUE}"),
    (
        "Recovery Codes", 8, ("codes:",),
        r"(?:recovery|backup|scratch)\ codes:[ ]{1,4}+"
        r"(?P<value>(?=[a-z-]{0,16}\d)[a-z0-9]{4,12}(?:-[a-z0-9]{4,12}){0,3}+"
        r"(?:[, ]{1,3}+(?=[a-z-]{0,16}\d)[a-z0-9]{4,12}(?:-[a-z0-9]{4,12}){0,3}+){1,24}+)",
    ),
    ("Password", 4, ("net use",), rf"net\ use\b[^\r\n]{{0,200}}?/user:\S{{1,100}}+\s{{1,4}}+{_VALUE}"),
    ("Password", 4, ("net use",), rf"net\ use\s(?:[^\s/]\S{{0,200}}+\s{{1,4}}+){{1,2}}?{_VALUE}\s{{1,4}}+/user:"),
    ("Password", 4, ("net user",), rf"net\ user\s{{1,4}}+[^\s/]\S{{0,60}}+\s{{1,4}}+{_VALUE}"),
    (
        "Password", 4, ("identified",),
        rf"identified\s{{1,4}}+(?:(?:with|via)\s{{1,4}}+[^\s;]{{1,60}}+\s{{1,4}}+)?(?:by|as"
        rf"|using)\s{{1,4}}+(?:password\s{{1,4}}+)?"
        rf"(?:{_QUOTED}|(?P<value>[^\s\"'`;,]{{4,200}}+))",
    ),
    ("Password", 4, ("redis-cli",), rf"redis-cli\b[^\r\n|;&]{{0,200}}?\sauth\s{{1,4}}+{_VALUE}"),
    ("Password", 4, ("setuser",), r"setuser\s{1,4}+[^\r\n]{1,200}?\s>(?P<value>[^\s\"'`]{4,200}+)"),
    ("Password", 4, ("rabbitmqctl",), rf"(?:add_user|change_password"
    rf"|authenticate_user)\s{{1,4}}+\S{{1,80}}+\s{{1,4}}+{_VALUE}"),
    (
        "Secret", 8, ("mc alias set", "mc config host add"),
        rf"mc\ (?:alias\ set|config\ host\ add)\s{{1,4}}+\S{{1,80}}+\s{{1,4}}+\S{{1,200}}+\s{{1,4}}+\S{{1,200}}+"
        rf"\s{{1,4}}+{_VALUE}",
    ),
    (
        "Password", 4, ("expect",),
        r"expect\s[^\r\n]{0,80}?pass[^\r\n]{0,80}+\r?\n\s{0,40}+send\s{1,4}+(?:--\s{1,4}+)?"
        r"[\"'](?P<value>[^\\\"'\s]{4,200}+)",
    ),
    (
        "Password", 6,
        ("login(", "signin(", "sign_in(", "authenticate(", "auth(", "credential", "authentication", "_user("),
        r"(?:log_?in|sign_?in|authenticate|auth|credentials?|authentication(?:token)?"
        r"|(?:create|add)_(?:super)?user)(?:\.\w{1,20}+)?"
        rf"\(\s{{0,20}}+{_TEXT}{_MAIL}(?:some\()?{_ARGUMENT}",
    ),
    (
        "Password", 6, ("connect", "plainauth"),
        rf"(?:connect\w{{0,20}}+|plainauth)\(\s{{0,20}}+(?:{_TEXT}"
        rf"|[\w.$&>-]{{1,80}}+\s{{0,4}}+,\s{{0,20}}+){_TEXT}{_ARGUMENT}",
    ),
    (
        "Password", 8, ("login", "cred", "account", "log in", "sign in"),
        r"\b(?:logins?|creds?|credentials?|account|log\ in|sign\ in)"
        r"(?::|\ (?:is|are|=|with|as|using))\ [\w.@+-]{2,60}+\ ?/\ ?"
        r"(?P<value>(?=[^\s\d]{0,80}\d)[^\s\"'`/]{8,80}+)(?=[\s,;]|$)",
    ),
    (
        "Password", 8,
        (
            " as pass", " as the pass", " as a pass", " as your pass", " als pass", " als kennwort", " comme mot",
            " como contra",
        ),
        r"(?:(?<=[\s\"'`(])|^)(?P<value>(?=[^\s\d]{0,80}\d)[^\s\"'`]{6,80}+)[\"'`]?\ (?:as|als|comme|como"
        r"|come)\ (?:\w{1,12}\ ){0,3}?"
        r"(?:passw|pwd|kennwort|contrase|mot\ de|senha|wachtw)(?![\w]{0,8}[ -](?:hash|field|name|len))",
    ),
)  # fmt: skip
"""For each form: the kind of secret, its minimum length in characters, its hints, and its expression."""

OPTIONS: Final = (
    (
        "Password", 4, ("mosquitto_", "ipmitool", "winrm", "unzip", "zip "),
        rf"\b(?:mosquitto_(?:pub|sub|rr)|ipmitool|evil-winrm|(?:un)?zip)\s[^\r\n|;&]{{0,200}}?-p\s{{1,4}}+{_VALUE}",
    ),
    ("Secret", 16, ("codecov",), r"codecov\b[^\r\n|;&]{0,200}?\s-t\s{1,4}+(?P<value>[^\s\"']{16,200}+)"),
    (
        "Password", 4, ("mysql", "mariadb"),
        rf"(?:mysql|mariadb)[a-z-]{{0,20}}+\b[^\r\n|;&]{{0,200}}?\s-p{_VALUE}",
    ),
    (
        "Password", 4, (" login",),
        rf" login\b[^\r\n|;&]{{0,200}}?\s-p\s{{1,20}}+{_VALUE}",
    ),
    (
        "Password", 4, ("redis-cli",),
        rf"redis-cli\b[^\r\n|;&]{{0,200}}?\s-a\s{{1,20}}+{_VALUE}",
    ),
    ("Password", 4, ("sqlcmd", "bcp "), rf"\b(?:sqlcmd|bcp)\b[^\r\n|;&]{{0,200}}?\s-p\s{{0,4}}+{_VALUE}"),
    ("Password", 4, ("ldap",), rf"\bldap[a-z]{{3,12}}+\s[^\r\n|;&]{{0,200}}?\s-w\s{{0,4}}+{_VALUE}"),
    ("Password", 4, ("mongo",), rf"\bmongo[a-z]{{0,12}}+\s[^\r\n|;&]{{0,200}}?\s-p\s{{1,4}}+{_VALUE}"),
    ("Password", 4, ("7z", "rar "), r"\b(?:7za?|rar)\s[^\r\n|;&]{0,200}?\s-h?p(?P<value>[^\s\"'`]{4,200}+)"),
    ("Password", 4, ("lftp",), r"lftp\b[^\r\n|;&]{0,200}?\s-u\s{0,4}+[^\s,]{1,80}+,(?P<value>[^\s\"'`]{4,200}+)"),
    ("Password", 4, ("http",), r"\bhttps?\s[^\r\n|;&]{0,200}?(?:-a"
    r"|--auth)[ =]{1,4}+[\w.@-]{1,80}+:(?P<value>[^\s\"'`]{4,200}+)"),
)  # fmt: skip
"""Forms with an option, which are only searched in a text with an option."""

PASSWORDS: Final = (
    ("Password", 6, ("wpa_passphrase",), rf"wpa_passphrase\s{{1,4}}+(?:[\"'][^\"'\r\n]{{1,40}}+[\"']"
    rf"|\S{{1,40}}+)\s{{1,4}}+{_VALUE}"),
    (
        "Password", 4, ("htpasswd", "mosquitto_passwd"),
        r"(?:htpasswd|mosquitto_passwd)\s(?:-\w{1,8}+\s{1,4}+){0,4}?-\w{0,6}b\w{0,6}+\s{1,4}+(?:-\w{1,8}+\s{1,4}+"
        r"){0,4}+"
        rf"(?:[^\s\"']{{1,200}}+\s{{1,4}}+){{1,2}}?{_VALUE}(?=\s{{0,4}}(?:[\r\n|<>;&)`]|$))",
    ),
    (
        "Password", 4, ("chpasswd",),
        r"(?:echo|printf)\s{1,4}+(?:-\w{1,3}+\s{1,4}+)?(?P<quote>[\"']?)[\w.$-]{1,64}+:(?P<value>[^\s\"'`|\\]{4,200}+)"
        r"[^\r\n|]{0,20}+\|[^\r\n|]{0,80}?chpasswd",
    ),
    ("Password", 4, ("chpasswd",), r"chpasswd\b[^\r\n<]{0,80}+<<<?[^\r\n:]{0,100}+(?:\r?\n[\w.-]{1,64}+)?"
    r":(?P<value>[^\s\"'`\\]{4,200}+)"),
    ("Password", 4, ("passwd",), rf"(?:echo|printf)\s{{1,4}}+(?:-\w{{1,3}}+\s{{1,4}}+)?{_VALUE}\s{{0,4}}+"
    rf"\|(?:[^\r\n|]{{0,80}}?[\s/])?passwd\b"),
    ("Password", 4, ("set password",), rf"set\ password\b[^\r\n=;]{{0,100}}+=\s{{0,4}}+{_QUOTED}"),
    (
        "Password", 4, ("requirepass", "masterauth"),
        rf"(?:requirepass|masterauth)[ \t]{{1,40}}+{_VALUE}(?=[\r\n]|$)",
    ),
    ("Password", 4, (" pass:",), r"\ pass:(?P<value>[^\s\"'`]{4,200}+)"),
)  # fmt: skip
"""Forms whose words contain `pass`, and which are only searched in a text with it."""

HASHES: Final = (
    (
        "Password Hash", 20, ("$",),
        r"\$(?:(?<=sha256\$)|(?<=sha-256\$)|(?<=sha512\$)|(?<=sha1\$)|(?<=md5\$)|(?<=bcrypt\$)|(?<=argon2\$)"
        r"|(?<=scrypt\$)|(?<=:\d\$)"
        r"|(?<=:\d{4}\$)|(?<=:\d{5}\$)|(?<=:\d{6}\$)|(?<=:\d{7}\$))(?P<value>[./a-z0-9$=,+:]{20,400}+)",
    ),
    ("Password Hash", 20, ("$",), r"\$(?:krb5\w{2,12}|dcc2|nt)\$(?P<value>[^\s\"']{20,4096}+)"),
    (
        "Password Hash", 16, ("{",),
        r"\{(?:s?sha(?:256|384|512)?|smd5|md5|crypt|pbkdf2[a-z0-9-]{0,20}|argon2)\}(?P<value>[./a-z0-9$=,+]{16,400}+)",
    ),
    ("Password Hash", 32, ("::",), r":(?P<value>[0-9a-f]{32}:[0-9a-f]{32}):::"),
    (
        "Password Hash", 32, ("::",),
        r"::[\w.-]{0,60}+:(?P<value>[0-9a-f]{16}:[0-9a-f]{32}:[0-9a-f]{20,2000}+"
        r"|[0-9a-f]{48}:[0-9a-f]{48}:[0-9a-f]{16})",
    ),
)  # fmt: skip
"""The forms of hashes of passwords, as frameworks and dumps of databases write them."""
