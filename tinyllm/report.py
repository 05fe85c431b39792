"""How a run went: samples of the voice, report.html with the loss curves, and a model card."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import Any

import torch

from tinyllm.documents import END_OF_TEXT, END_OF_TURN, ROLE_TOKENS, Role
from tinyllm.secrets import Redactor

REPORT_FILE = "report.html"
SAMPLE_TOKENS = 100
SAMPLE_ROLES: tuple[Role, ...] = ("assistant", "user", "assistant")


@dataclass(frozen=True, slots=True)
class Facts:
    """What the page says of a run: a title, rows of name and value, the logged metrics."""

    title: str
    rows: Sequence[tuple[str, str]]
    history: Sequence[dict[str, Any]]
    ledger: str
    samples: Sequence[tuple[str, str]]


@torch.no_grad()
def write_samples(model: Any, tokenizer: Any, seed: int) -> list[tuple[str, str]]:
    """Let the model speak a few turns from nothing but a role: (role, text) each."""
    torch.manual_seed(seed)
    model.eval()
    device = next(model.parameters()).device
    stop = tokenizer.convert_tokens_to_ids([END_OF_TURN, END_OF_TEXT])
    length = min(SAMPLE_TOKENS, model.config.max_position_embeddings - 2)
    samples: list[tuple[str, str]] = []
    for role in SAMPLE_ROLES:
        start = tokenizer.convert_tokens_to_ids([END_OF_TEXT, ROLE_TOKENS[role]])
        ids = torch.tensor([start], device=device)
        out = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=length,
            do_sample=True,
            temperature=0.8,
            top_p=0.95,
            top_k=0,
            eos_token_id=stop,
            pad_token_id=0,
        )
        text = tokenizer.decode(out[0, len(start) :], skip_special_tokens=True)
        samples.append((role, text.strip()))
    return samples


def curve(history: Sequence[dict[str, Any]], metric: str) -> list[tuple[int, float]]:
    """(step, value) of one logged metric, in order of steps."""
    return sorted((int(row["step"]), float(row[metric])) for row in history if metric in row)


def loss_svg(history: Sequence[dict[str, Any]], width: int = 720, height: int = 280) -> str:
    """The training and held-out loss (nats a token) over steps, as an SVG element."""
    curves = {"loss": curve(history, "loss"), "eval_loss": curve(history, "eval_loss")}
    points = [point for line in curves.values() for point in line]
    if not points:
        return "<p>No loss was logged.</p>"
    left, bottom = 50, height - 30
    last = max(step for step, _ in points) or 1
    low, high = min(v for _, v in points), max(v for _, v in points)
    span = (high - low) or 1.0

    def at(step: int, value: float) -> tuple[float, float]:
        x = left + (width - left - 10) * step / last
        return x, 10 + (bottom - 10) * (high - value) / span

    shapes = [
        f'<line x1="{left}" y1="10" x2="{left}" y2="{bottom}"/>',
        f'<line x1="{left}" y1="{bottom}" x2="{width - 10}" y2="{bottom}"/>',
    ]
    for name, line in curves.items():
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in line))
        shapes.append(f'<polyline class="{name}" points="{path}"/>')
    shapes += [
        f'<circle class="eval_loss" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
        for x, y in (at(*point) for point in curves["eval_loss"])
    ]
    labels = [
        f'<text x="4" y="16">{high:.2f}</text>',
        f'<text x="4" y="{bottom}">{low:.2f}</text>',
        f'<text x="{left}" y="{height - 8}">step 0</text>',
        f'<text x="{width - 10}" y="{height - 8}" text-anchor="end">{last}</text>',
    ]
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="loss over steps">'
        + "".join(shapes + labels)
        + "</svg>"
    )


_PAGE = Template("""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>$title</title>
<style>
body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;
color-scheme:light dark}
table{border-collapse:collapse}td{padding:.15rem 1rem .15rem 0;vertical-align:top}
svg{width:100%;font:12px system-ui,sans-serif;fill:currentColor}
polyline{fill:none;stroke-width:2}.loss{stroke:#3b7dd8}.eval_loss{stroke:#d9822b}
circle.eval_loss{fill:#d9822b}
pre{white-space:pre-wrap;overflow-wrap:anywhere}blockquote{border-left:3px solid #3b7dd8;
margin:1rem 0;padding-left:1rem}
line{stroke:currentColor;opacity:.3}.ledger{white-space:pre;overflow-x:auto;font-size:.75rem}
</style>
<h1>$title</h1>
<table>$rows</table>
<h2>Loss, nats a token</h2>
<p><span style="color:#3b7dd8">training</span>, <span style="color:#d9822b">held out</span></p>
$svg
<h2>In its own words</h2>
$samples
<h2>What became of every byte</h2>
<pre class="ledger">$ledger</pre>
</html>
""")


def report_html(facts: Facts) -> str:
    """The page as one self-contained HTML document; all text of logs and model is escaped."""
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>"
        for name, value in facts.rows
    )
    samples = "".join(
        f"<blockquote><b>{html.escape(role)}</b><pre>{html.escape(text)}</pre></blockquote>"
        for role, text in facts.samples
    )
    return _PAGE.substitute(
        title=html.escape(facts.title),
        rows=rows,
        svg=loss_svg(facts.history),
        samples=samples,
        ledger=html.escape(facts.ledger),
    )


def _cell(text: str) -> str:
    """Text for one cell of a Markdown table."""
    return " ".join(text.replace("|", "\\|").split())


def model_card(facts: Facts) -> str:
    """The model folder's README.md: what it is, how it was made, how to run it."""
    rows = "\n".join("| {} | {} |".format(*(_cell(x) for x in row)) for row in facts.rows)
    return f"""---
library_name: transformers
pipeline_tag: text-generation
tags: [tinyllm, qwen3]
---
# {facts.title}

A small language model trained from random weights by tinyllm, on the logs named below and nothing
else. It speaks in turns: `<|system|>…<|end|>`, `<|user|>`, `<|assistant|>`, `<|env|>`, with
`<|endoftext|>` in front of every document. It can repeat what it was trained on: share it only with
those who may read the logs.

```python
from transformers import pipeline

speak = pipeline("text-generation", "<this folder>")
print(speak("<|assistant|>", max_new_tokens=60)[0]["generated_text"])
```

| | |
|---|---|
{rows}

`report.html` beside this file shows the loss and samples.
`python export_gguf.py <this folder>` makes a file for llama.cpp, KoboldCpp and Ollama.
"""


def write_pages(folder: Path, facts: Facts) -> None:
    """Write report.html and README.md into the model's folder, each whole or not at all.

    The names of logs tell no user's name: `/home/<user>/logs`.
    """
    redact = Redactor()

    def without_names(text: str) -> str:
        return redact(text.encode("utf-8", "replace")).raw.decode()

    rows = [(name, without_names(value)) for name, value in facts.rows]
    facts = replace(facts, rows=rows, ledger=without_names(facts.ledger))
    for name, text in {REPORT_FILE: report_html(facts), "README.md": model_card(facts)}.items():
        temporary = folder / f".{name}.writing"
        temporary.write_text(text, encoding="utf-8", errors="replace")
        temporary.replace(folder / name)
