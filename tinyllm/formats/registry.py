"""The formats, in the order in which a record is tried. A new one is a module and a line here."""
# What is imported, and in which order, is all there is to this module.
# ruff: noqa: F401, I001, PLR0402

import tinyllm.formats.preassembled as preassembled
import tinyllm.formats.harness_session as harness_session
import tinyllm.formats.openai_chat as openai_chat
import tinyllm.formats.sharegpt as sharegpt
import tinyllm.formats.harness_episode as harness_episode
import tinyllm.formats.harness_step as harness_step
import tinyllm.formats.claude_code as claude_code
import tinyllm.formats.flat_message as flat_message
import tinyllm.formats.plain_text as plain_text
