"""The table of vendors' keys: a head of three bytes, what the rest looks like, a test of it.

The shapes are those that the vendors' own pages and the tables of gitleaks and detect-secrets
give, with some play in length, as vendors lengthen their keys without notice.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tinyllm.secrets.checks import is_bech32, is_mixed, is_random, is_varied

HEAD = 3

_WORD = rb"[A-Za-z0-9_-]"
_ALNUM = rb"[A-Za-z0-9]"
_HEX = rb"[0-9a-f]"
_BASE32 = rb"[A-Z2-7]"


@dataclass(frozen=True, slots=True)
class Rule:
    """A shape of key.

    vendor   whose key it is
    kind     one of KINDS
    pattern  matches the key from its first byte to its last
    check    whether bytes of that shape are a key
    """

    vendor: str
    kind: str
    pattern: re.Pattern[bytes]
    check: Callable[[bytes], bool]


def _is_prefixed_key(text: bytes) -> bool:
    """For prefixes that words can have too (`sk-`, `key-`): some part of it must be random."""
    return any(len(part) >= 12 and is_random(part) for part in re.split(rb"[_-]", text))


# vendor, first bytes as they stand, the rest as a pattern
_VARIED: tuple[tuple[str, bytes, bytes], ...] = (
    ("Anthropic", b"sk-ant-", _WORD + rb"{20,}"),
    ("OpenAI", b"sk-proj-", _WORD + rb"{20,}"),
    ("OpenAI", b"sk-svcacct-", _WORD + rb"{20,}"),
    ("OpenAI", b"sk-admin-", _WORD + rb"{20,}"),
    ("OpenRouter", b"sk-or-v1-", _ALNUM + rb"{32,}"),
    ("Langfuse", b"sk-lf-", _WORD + rb"{30,}"),
    ("GitHub", b"ghp_", _ALNUM + rb"{30,}"),
    ("GitHub", b"gho_", _ALNUM + rb"{30,}"),
    ("GitHub", b"ghu_", _ALNUM + rb"{30,}"),
    ("GitHub", b"ghs_", _WORD + rb"{30,}"),
    ("GitHub", b"ghr_", _ALNUM + rb"{30,}"),
    ("GitHub", b"github_pat_", rb"[A-Za-z0-9_]{36,}"),
    ("GitLab", b"glpat-", rb"[A-Za-z0-9_.-]{18,}"),
    ("GitLab", b"gldt-", rb"[A-Za-z0-9_.-]{18,}"),
    ("GitLab", b"glrt-", rb"[A-Za-z0-9_.-]{18,}"),
    ("GitLab", b"glptt-", _ALNUM + rb"{30,}"),
    ("GitLab", b"glcbt-", rb"[A-Za-z0-9_.-]{18,}"),
    ("Bitbucket", b"ATBB", _ALNUM + rb"{28,}"),
    ("Atlassian", b"ATATT3", rb"[A-Za-z0-9_=-]{50,}"),
    ("Google API", b"AIza", _WORD + rb"{30,45}"),
    ("Google OAuth", b"GOCSPX-", _WORD + rb"{24,}"),
    ("Slack", b"xox", rb"[abceoprs](?:\.xox[bp])?-(?:[0-9]+-)?" + _WORD + rb"{10,}"),
    ("Slack", b"xapp-", rb"[0-9]-[A-Z0-9]+-[0-9]+-[A-Za-z0-9]{20,}"),
    ("Stripe", b"sk_live_", _ALNUM + rb"{16,}"),
    ("Stripe", b"sk_test_", _ALNUM + rb"{16,}"),
    ("Stripe", b"rk_live_", _ALNUM + rb"{16,}"),
    ("Stripe", b"rk_test_", _ALNUM + rb"{16,}"),
    ("Stripe", b"pk_live_", _ALNUM + rb"{16,}"),
    ("Stripe", b"whsec_", rb"[A-Za-z0-9+/=]{24,}"),
    ("npm", b"npm_", _ALNUM + rb"{30,}"),
    ("PyPI", b"pypi-", _WORD + rb"{40,}"),
    ("RubyGems", b"rubygems_", _HEX + rb"{40,}"),
    ("Clojars", b"CLOJARS_", _ALNUM + rb"{50,}"),
    ("Docker Hub", b"dckr_pat_", _WORD + rb"{20,}"),
    ("Docker Hub", b"dckr_oat_", _WORD + rb"{20,}"),
    ("Hugging Face", b"hf_", _ALNUM + rb"{30,}"),
    ("Hugging Face", b"api_org_", _ALNUM + rb"{30,}"),
    ("Groq", b"gsk_", _ALNUM + rb"{40,}"),
    ("xAI", b"xai-", _ALNUM + rb"{40,}"),
    ("Replicate", b"r8_", _ALNUM + rb"{30,}"),
    ("Perplexity", b"pplx-", _ALNUM + rb"{40,}"),
    ("Fireworks", b"fw_", _ALNUM + rb"{20,}"),
    ("Cerebras", b"csk-", _ALNUM + rb"{40,}"),
    ("Together", b"tgp_v1_", _WORD + rb"{40,}"),
    ("NVIDIA", b"nvapi-", _WORD + rb"{50,}"),
    ("Tavily", b"tvly-", _WORD + rb"{24,}"),
    ("Pinecone", b"pcsk_", rb"[A-Za-z0-9_]{40,}"),
    ("LangSmith", b"lsv2_", rb"(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    ("Weights & Biases", b"wandb_v1_", _WORD + rb"{40,}"),
    ("Jina", b"jina_", _WORD + rb"{40,}"),
    ("Firecrawl", b"fc-", _HEX + rb"{32}"),
    ("E2B", b"e2b_", _HEX + rb"{40}"),
    ("Voyage", b"pa-", _WORD + rb"{43}"),
    ("ElevenLabs", b"sk_", _HEX + rb"{40,}"),
    ("DigitalOcean", b"dop_v1_", _HEX + rb"{60,}"),
    ("DigitalOcean", b"doo_v1_", _HEX + rb"{60,}"),
    ("DigitalOcean", b"dor_v1_", _HEX + rb"{60,}"),
    ("Heroku", b"HRKU-", _WORD + rb"{30,}"),
    ("Shopify", b"shpat_", rb"[0-9a-fA-F]{32}"),
    ("Shopify", b"shpca_", rb"[0-9a-fA-F]{32}"),
    ("Shopify", b"shppa_", rb"[0-9a-fA-F]{32}"),
    ("Shopify", b"shpss_", rb"[0-9a-fA-F]{32}"),
    ("Square", b"sq0atp-", _WORD + rb"{22,}"),
    ("Square", b"sq0csp-", _WORD + rb"{40,}"),
    ("Square", b"EAAA", _WORD + rb"{60,64}(?![A-Za-z0-9_-])"),
    ("Databricks", b"dapi", rb"[0-9a-f]{32}(?:-[0-9])?(?![0-9A-Za-z])"),
    ("Notion", b"ntn_", _ALNUM + rb"{40,}"),
    ("Notion", b"secret_", _ALNUM + rb"{43}(?![0-9A-Za-z])"),
    ("Linear", b"lin_api_", _ALNUM + rb"{40}"),
    ("Linear", b"lin_oauth_", _HEX + rb"{60,}"),
    ("Supabase", b"sbp_", _HEX + rb"{40}"),
    ("Supabase", b"sb_secret_", _WORD + rb"{20,}"),
    ("Vercel", b"vcp_", _ALNUM + rb"{24,}"),
    ("Vercel", b"vercel_blob_rw_", rb"[A-Za-z0-9_]{30,}"),
    ("Netlify", b"nfp_", _ALNUM + rb"{36,}"),
    ("Render", b"rnd_", _ALNUM + rb"{28,}"),
    ("Fly.io", b"fm2_", rb"[A-Za-z0-9+/=_-]{60,}"),
    ("Fly.io", b"fo1_", _WORD + rb"{43}"),
    ("PlanetScale", b"pscale_", rb"(?:tkn|pw|oauth)_[A-Za-z0-9=_.-]{32,}"),
    ("Neon", b"napi_", _ALNUM + rb"{40,}"),
    ("Postman", b"PMAK-", rb"[0-9a-f]{24}-[0-9a-f]{34}"),
    ("New Relic", b"NRAK-", rb"[A-Z0-9]{27}"),
    ("Grafana", b"glsa_", rb"[A-Za-z0-9]{32}_[0-9a-fA-F]{8}"),
    ("Grafana", b"glc_", rb"[A-Za-z0-9+/=]{32,}"),
    ("Sentry", b"sntryu_", _HEX + rb"{60,}"),
    ("Sentry", b"sntrys_", rb"[A-Za-z0-9+/=_]{60,}"),
    ("PostHog", b"phx_", _ALNUM + rb"{40,}"),
    ("Pulumi", b"pul-", _HEX + rb"{40}"),
    ("Figma", b"figd_", _WORD + rb"{40,}"),
    ("Telnyx", b"KEY0", rb"[A-Za-z0-9_]{50,}"),
    ("Brevo", b"xkeysib-", rb"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    ("Twilio", b"SK", rb"[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("Twilio", b"AC", rb"[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("Airtable", b"pat", rb"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("Alibaba", b"LTAI", _ALNUM + rb"{16,24}(?![0-9A-Za-z])"),
    ("Tencent", b"AKID", _ALNUM + rb"{32}(?![0-9A-Za-z])"),
    ("Facebook", b"EAA", rb"[A-Za-z0-9]{100,}"),
    ("1Password", b"ops_eyJ", rb"[A-Za-z0-9+/=_-]{100,}"),
    ("Sourcegraph", b"sgp_", rb"(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}"),
    ("Doppler", b"dp.st.", rb"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    ("Discord bot", b"mfa.", _WORD + rb"{60,}"),
    ("Mapbox", b"sk.eyJ", _WORD + rb"{20,}\." + _WORD + rb"{16,}"),
    ("PEM in base64", b"LS0tLS1CRUdJTi", rb"[A-Za-z0-9+/]{24,}={0,2}"),  # of kubeconfig files
    ("Cloudflare", b"cfut_", _WORD + rb"{40,}"),
    ("Cloudflare", b"cfat_", _WORD + rb"{40,}"),
    ("Buildkite", b"bkua_", _HEX + rb"{40}"),
    ("Resend", b"re_", rb"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    ("Adafruit", b"aio_", _ALNUM + rb"{28}"),
    ("Tailscale", b"tskey-", rb"(?:[a-z]+-)?[A-Za-z0-9-]{16,}"),
)
# The same, where the head alone proves too little.
_RANDOM: tuple[tuple[str, bytes, bytes], ...] = (
    ("OpenAI and others", b"sk-", _WORD + rb"{20,}"),
    ("Mailgun", b"key-", _ALNUM + rb"{32}(?![0-9A-Za-z])"),
    ("Modal", b"ak-", _ALNUM + rb"{22}(?![0-9A-Za-z])"),
)


# The same, where the head alone proves enough.
_MIXED: tuple[tuple[str, bytes, bytes], ...] = (
    ("AWS", b"AKIA", rb"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("AWS", b"ASIA", rb"[A-Z0-9]{16}(?![A-Za-z0-9])"),
)


def _rules() -> Iterable[tuple[bytes, Rule]]:
    for rows, check in (
        (_VARIED, is_varied),
        (_MIXED, is_mixed),
        (_RANDOM, _is_prefixed_key),
    ):
        for vendor, head, rest in rows:
            yield head, Rule(vendor, "key", re.compile(re.escape(head) + rest), check)
    part = _WORD + rb"{4,}"
    token = re.compile(rb"eyJ" + part + rb"\.eyJ" + part + rb"(?:\." + _WORD + rb"*){0,3}")
    yield b"eyJ", Rule("JSON web token", "jwt", token, is_varied)
    age = re.compile(rb"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{40,}")
    yield b"AGE", Rule("age", "key", age, is_varied)
    for head in (b"bc1", b"tb1", b"ltc1", b"addr1", b"cosmos1", b"nsec1"):
        pattern = re.compile(head + rb"[02-9ac-hj-np-z]{20,120}(?![0-9A-Za-z])")
        yield head, Rule("bech32", "wallet", pattern, is_bech32)
    upper = re.compile(rb"BC1[02-9AC-HJ-NP-Z]{20,90}(?![0-9A-Za-z])")
    yield b"BC1", Rule("bech32", "wallet", upper, is_bech32)


def _by_head() -> Mapping[bytes, tuple[Rule, ...]]:
    """Rules by their first bytes; a head of two bytes stands under each third that may follow."""
    table: dict[bytes, list[Rule]] = {}
    for head, rule in _rules():
        heads = [head[:HEAD]]
        if len(head) < HEAD:
            heads = [head + bytes((third,)) for third in b"0123456789abcdef"]
        for key in heads:
            table.setdefault(key, []).append(rule)
    return MappingProxyType({head: tuple(rules) for head, rules in table.items()})


RULES: Mapping[bytes, tuple[Rule, ...]] = _by_head()
# The head of a key that `+`, `/`, `=` or `.` may part before it is long enough to be noticed, and
# what of it stands before such a byte.
_BREAKING = re.compile(rb"\[[^\]]*[.+/=][^\]]*\]|\\\.")
BROKEN = re.compile(
    rb"(?<![A-Za-z0-9_-])(?:"
    + b"|".join(
        re.escape(head[: head.rfind(b".") + 1] or head)
        for _, head, rest in _VARIED
        if b"." in head or _BREAKING.search(rest)
    )
    + rb")[A-Za-z0-9+/=_.-]*\Z"
)
VENDORS: tuple[str, ...] = tuple(
    sorted({rule.vendor for rules in RULES.values() for rule in rules})
)

# Keys whose random part follows a dot, a slash or a colon: the last three bytes before that part,
# and what stands there from the key's start on.
PARTS: Mapping[bytes, tuple[re.Pattern[bytes], ...]] = MappingProxyType(
    {
        b"SG.": (re.compile(rb"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),),
        b"29.": (re.compile(rb"ya29\.[A-Za-z0-9_-]{20,}"),),
        b"vs.": (re.compile(rb"hvs\.[A-Za-z0-9_-]{24,}"),),
        b"vb.": (re.compile(rb"hvb\.[A-Za-z0-9_-]{24,}"),),
        b"pt.": (re.compile(rb"dp\.pt\.[A-Za-z0-9]{40,44}"),),
        b"ct.": (re.compile(rb"dp\.ct\.[A-Za-z0-9]{40,44}"),),
        b"sl.": (re.compile(rb"sl\.[A-Za-z0-9_-]{100,}"),),
        b"TY.": (re.compile(rb"SFMyNTY\.[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{20,})?"),),  # Phoenix
        b"1//": (re.compile(rb"1//0[A-Za-z0-9_-]{30,}"),),
        b"v1.": (re.compile(rb"atlasv1\.[A-Za-z0-9_=-]{60,}"),),
    }
)
