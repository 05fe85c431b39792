"""The formats, in the order in which a record is tried. A new one is a module and a line here."""
# What is imported, and in which order, is all there is to this module.
# ruff: noqa: F401, I001, PLR0402

import tinyllm.formats.preassembled as preassembled
import tinyllm.formats.qwen_code as qwen_code
import tinyllm.formats.claude_code as claude_code
import tinyllm.formats.preference as preference
import tinyllm.formats.pi as pi
import tinyllm.formats.openhands as openhands
import tinyllm.formats.swe_agent as swe_agent
import tinyllm.formats.cline as cline
import tinyllm.formats.cursor as cursor
import tinyllm.formats.chatgpt_export as chatgpt_export
import tinyllm.formats.claude_ai_export as claude_ai_export
import tinyllm.formats.telegram as telegram
import tinyllm.formats.discord as discord
import tinyllm.formats.sillytavern as sillytavern
import tinyllm.formats.character_card as character_card
import tinyllm.formats.koboldai as koboldai
import tinyllm.formats.harness_session as harness_session
import tinyllm.formats.openai_chat as openai_chat
import tinyllm.formats.sharegpt as sharegpt
import tinyllm.formats.api_log as api_log
import tinyllm.formats.responses as responses
import tinyllm.formats.harness_episode as harness_episode
import tinyllm.formats.harness_step as harness_step
import tinyllm.formats.alpaca as alpaca
import tinyllm.formats.prompt_completion as prompt_completion
import tinyllm.formats.grok as grok
import tinyllm.formats.codex as codex
import tinyllm.formats.gemini_cli as gemini_cli
import tinyllm.formats.copilot as copilot
import tinyllm.formats.kimi as kimi
import tinyllm.formats.flat_message as flat_message
import tinyllm.formats.whatsapp as whatsapp
import tinyllm.formats.aider as aider
import tinyllm.formats.bare_message as bare_message
import tinyllm.formats.plain_text as plain_text
