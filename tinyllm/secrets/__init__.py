"""Secrets in text, and placeholders for them.

`find_secrets` tells where they are, `Redactor` replaces them. Found are: keys and tokens of known
vendors (VENDORS), random text that a label such as `api_key=` or `Bearer` introduces, passwords
after labels and in URLs, JSON web tokens, PEM blocks (also cut over several texts), seed phrases,
addresses and keys of wallets, payment cards, IBANs, e-mail addresses, phone numbers, public IP
addresses, and user names in home paths, prompts and file listings.

Left as they are: hashes, UUIDs, names in camelCase or with underscores, version numbers, private
and loopback addresses, addresses of programs (`noreply@`, `git@`), accounts that every machine
has (`/home/ubuntu`), and what only stands for a value (`<token>`, `$TOKEN`, `your-key-here`).
"""

from tinyllm.secrets.finding import find_secrets
from tinyllm.secrets.kinds import GROUPS, KINDS, PLACEHOLDERS, Secret
from tinyllm.secrets.redacting import Redacted, Redactor
from tinyllm.secrets.rules import VENDORS

__all__ = [
    "GROUPS",
    "KINDS",
    "PLACEHOLDERS",
    "VENDORS",
    "Redacted",
    "Redactor",
    "Secret",
    "find_secrets",
]
