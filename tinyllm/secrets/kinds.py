"""What a secret is, which kinds there are, and what stands for each."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret stands: bytes `start` to `end` of the UTF-8 text; `kind` is one of KINDS."""

    kind: str
    start: int
    end: int


PLACEHOLDERS: Mapping[str, bytes] = MappingProxyType(
    {
        "key": b"<key>",  # of a vendor whose keys have a known shape
        "token": b"<key>",  # random text whose label says what it is: `api_key=`, `Bearer`
        "jwt": b"<key>",
        "pem": b"<key>",
        "password": b"<key>",
        "seed": b"<seed phrase>",
        "wallet": b"<wallet>",
        "card": b"<card>",
        "iban": b"<iban>",
        "email": b"<email>",
        "phone": b"<phone>",
        "ip": b"<ip>",
        "path": b"<user>",  # the name in a home path
        "user": b"<user>",  # the same name elsewhere: `NAME@host`, columns of `ls -l`
    }
)
KINDS: tuple[str, ...] = tuple(PLACEHOLDERS)

GROUPS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "emails": frozenset({"email"}),
        "phones": frozenset({"phone"}),
        "ips": frozenset({"ip"}),
        "paths": frozenset({"path", "user"}),
        "keys": frozenset({"key", "token", "jwt", "pem", "password"}),
        "wallets": frozenset({"wallet", "seed"}),
        "banking": frozenset({"card", "iban"}),
    }
)

# Accounts that machines and images have: they name no person.
SYSTEM_NAMES = frozenset(
    b"root user users username runner runneradmin ubuntu debian fedora centos alpine arch node app "
    b"admin administrator vagrant docker git www www-data nobody daemon sync bin sys mail ftp "
    b"postgres mysql redis nginx jenkins circleci travis github gitpod codespace codespaces vscode "
    b"jovyan colab kaggle sagemaker ec2-user azureuser opc pi wheel staff games man shared public "
    b"default guest all me you your-name yourname your_name your-username your_username "
    b"yourusername name "
    b"builder build buildbot ci test tester testuser worker workspace workdir linuxbrew "
    b"container sandbox openhands swe-agent agent dev developer deploy deployer service systemd "
    b"messagebus tty disk adm users.noreply wwwrun apache http host hosts local lib data "
    b"example foo bar xxx xxxx".split()
)
