"""Secrets found, innocent strings changed, and MB/s: tinyllm's search beside others'.

    python -m benchmarks.secrets_recall --logs ../shared/logs

Plants secrets of every kind of `benchmarks.planted_secrets` in sentences, JSON, headers and env
files, and counts those of which 16 characters are still there after a detector has replaced what it
finds. So a detector that only points at a secret misses it: detect-secrets names a private key by
its first line, and a web token without its signature. Other detectors are measured where they are
installed; nothing in this project needs them:

    python3 -m venv /tmp/detectors
    /tmp/detectors/bin/pip install orjson detect-secrets scrubadub presidio-analyzer

The planted kinds were written along with tinyllm's rules: its recall on them is an upper bound.
"""

import argparse
import importlib.util
import json
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from benchmarks.planted_secrets import innocent, leaks, planted
from tinyllm.errors import EXIT_OK, Parser, run_command
from tinyllm.secrets import Redactor, find_secrets

Redact = Callable[[str], str]
# Fewer texts than ours are timed with detectors that take milliseconds for each.
SLOW_SHARE = 0.02


def ours() -> Redact:
    """tinyllm's placeholders."""
    redactor = Redactor()
    return lambda text: redactor(text.encode()).raw.decode()


def detect_secrets() -> Redact:
    """detect-secrets with its default plugins and filters, each text as a file, as it scans."""
    library = importlib.import_module("detect_secrets")
    settings = importlib.import_module("detect_secrets.settings")
    file = Path(tempfile.mkdtemp()) / "text.txt"

    def redact(text: str) -> str:
        file.write_text(text)
        found = library.SecretsCollection()
        with settings.default_settings():
            found.scan_file(str(file))
        values = {secret.secret_value for _, secret in found if secret.secret_value}
        for value in sorted(values, key=len, reverse=True):
            text = text.replace(value, "<secret>")
        return text

    return redact


def scrubadub() -> Redact:
    """scrubadub with its default detectors."""
    scrubber = importlib.import_module("scrubadub").Scrubber()
    return lambda text: str(scrubber.clean(text))


def presidio() -> Redact:
    """presidio's pattern recognisers, with a blank spaCy model: no names of people or places."""
    library = importlib.import_module("presidio_analyzer")
    engines = importlib.import_module("presidio_analyzer.nlp_engine")
    engine = engines.SpacyNlpEngine(models=[{"lang_code": "en", "model_name": "blank"}])
    engine.nlp = {"en": importlib.import_module("spacy").blank("en")}
    analyzer = library.AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])
    logging.getLogger("tldextract").setLevel(logging.CRITICAL)  # it asks the network for a list

    def redact(text: str) -> str:
        for found in sorted(analyzer.analyze(text, language="en"), key=lambda r: -r.start):
            text = text[: found.start] + "<secret>" + text[found.end :]
        return text

    return redact


DETECTORS: dict[str, tuple[str, Callable[[], Redact]]] = {
    "tinyllm": ("tinyllm", ours),
    "detect-secrets": ("detect_secrets", detect_secrets),
    "scrubadub": ("scrubadub", scrubadub),
    "presidio-analyzer": ("presidio_analyzer", presidio),
}


def strings(value: Any) -> Iterator[str]:
    """Every string inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for member in value.values() if isinstance(value, dict) else value:
            yield from strings(member)


def texts_of(folder: Path) -> list[str]:
    """Strings of 40 bytes or more in the JSON and JSONL files below a folder."""
    texts: list[str] = []
    for path in sorted(folder.rglob("*.json*")):
        raw = path.read_bytes()
        records = raw.split(b"\n") if path.suffix == ".jsonl" else [raw]
        for record in records:
            try:
                value = orjson.loads(record)
            except ValueError:  # broken lines are the reader's affair
                continue
            texts += [text for text in strings(value) if len(text) >= 40]
    return texts


def megabytes_a_second(redact: Redact, texts: Sequence[str]) -> float:
    """MB of UTF-8 in a second of processor time; the best of three rounds."""
    size = sum(len(text.encode()) for text in texts)
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        for text in texts:
            redact(text)
        best = min(best, time.process_time() - start)
    return size / best / 1e6


def measure(
    name: str, redact: Redact, args: argparse.Namespace, texts: list[str]
) -> dict[str, Any]:
    """Recall by kind, innocent strings changed by kind, MB/s."""
    total: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for kind, text, secret in planted(random.Random(args.seed), args.each):
        total[kind] += 1
        kept[kind] += leaks(secret, redact(text))
    strings_of = innocent(random.Random(args.seed), args.each)
    changed = Counter(kind for kind, text in strings_of if redact(text) != text)
    timed = texts
    if name != "tinyllm":
        timed = random.Random(args.seed).sample(texts, max(int(len(texts) * SLOW_SHARE), 1))
    return {
        "recall": 1 - kept.total() / total.total(),
        "recall by kind": {kind: 1 - kept[kind] / total[kind] for kind in total},
        "innocent": len(strings_of),
        "changed": changed.total(),
        "changed by kind": dict(changed),
        "MB/s": megabytes_a_second(redact, timed),
    }


def table(results: dict[str, dict[str, Any]]) -> str:
    """Recall by kind, a column a detector."""
    names = list(results)
    kinds = list(results[names[0]]["recall by kind"])
    rows = [["", *names]]
    rows += [[k, *(f"{results[n]['recall by kind'][k]:.0%}" for n in names)] for k in kinds]
    rows.append(["recall", *(f"{results[n]['recall']:.1%}" for n in names)])
    rows.append(
        ["innocent changed", *(f"{r['changed'] / r['innocent']:.1%}" for r in results.values())]
    )
    rows.append(["MB/s", *(f"{results[n]['MB/s']:.3g}" for n in names)])
    return "\n".join("  ".join(f"{cell:<20}" for cell in row).rstrip() for row in rows)


def found_in(texts: Sequence[str]) -> dict[str, int]:
    """Secrets that tinyllm finds in the texts, by kind."""
    found = Counter(secret.kind for text in texts for secret in find_secrets(text.encode()))
    return dict(found.most_common())


def command(argv: Sequence[str] | None) -> int:
    parser = Parser(prog="python -m benchmarks.secrets_recall", description=__doc__)
    parser.add_argument("--logs", type=Path, help="folder of JSON logs whose text is timed")
    parser.add_argument("--each", type=int, default=40, help="texts of each kind (40)")
    parser.add_argument("--seed", type=int, default=0, help="of what is planted (0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    texts = texts_of(args.logs) if args.logs else []
    texts = texts or [text for _, text in innocent(random.Random(args.seed), 200)]
    results: dict[str, dict[str, Any]] = {}
    for name, (module, make) in DETECTORS.items():
        if importlib.util.find_spec(module) is None:
            print(f"{name} is not installed: pip install {name}", file=sys.stderr)
            continue
        results[name] = measure(name, make(), args, texts)
    if args.json:
        print(json.dumps({**results, "found": found_in(texts)}, indent=1))
    else:
        print(table(results))
        print(f"found in {sum(map(len, texts)) / 1e6:.1f} MB of text: {found_in(texts)}")
    return EXIT_OK


def main(argv: Sequence[str] | None = None) -> int:
    return run_command(lambda: command(argv))


if __name__ == "__main__":
    raise SystemExit(main())
