"""The Modelfile with which Ollama runs a GGUF file."""

from tinyllm.documents import END_OF_TURN, ROLE_TOKENS
from tinyllm.tokenization import CHAT_TEMPLATE

MODELFILE = "Modelfile"
HEADER = "# Written by tinyllm's export_gguf.py."

# CHAT_TEMPLATE in Go's template language, without its `<|endoftext|>`: Ollama adds that by
# `tokenizer.ggml.add_bos_token`. Roles: https://docs.ollama.com/template
GO_TEMPLATE = (
    '{{- range .Messages }}{{ if eq .Role "tool" }}'
    + ROLE_TOKENS["env"]
    + "{{ else }}<|{{ .Role }}|>{{ end }}{{ .Content }}"
    + END_OF_TURN
    + "{{ end }}"
    + ROLE_TOKENS["assistant"]
)


def modelfile(gguf_name: str, context_length: int, chat_template: str | None) -> str:
    """The text of a Modelfile that lies beside the GGUF file.

    gguf_name       file name of the GGUF
    context_length  tokens the model was trained on at once; Ollama would take 4,096
    chat_template   the model's own; TEMPLATE is left out unless it is this project's
    """
    lines = [HEADER, f"FROM ./{gguf_name}"]
    if chat_template == CHAT_TEMPLATE:
        lines.append(f'TEMPLATE """{GO_TEMPLATE}"""')
    lines.append(f'PARAMETER stop "{END_OF_TURN}"')
    lines.append(f"PARAMETER num_ctx {context_length}")
    return "\n".join(lines) + "\n"
