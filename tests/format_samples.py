"""Small records of every format, one at least of each, by the format that claims them."""

from typing import Any

SAMPLES: dict[str, list[dict[str, Any]]] = {
    "aider": [{"text": "# aider chat started at 2025-04-05\n\n#### u  \n\na\n\n> o  \n"}],
    "alpaca": [
        {
            "instruction": "i",
            "input": "n",
            "output": ["a", "b"],
            "history": [["q", "r"]],
            "system": "s",
        }
    ],
    "api_log": [
        {
            "request": {
                "method": "POST",
                "url": "/",
                "body": {"system": "s", "messages": [{"role": "user", "content": "u"}]},
            },
            "response": {
                "status": 200,
                "body": {"choices": [{"message": {"content": "a"}}, {"text": "b"}]},
            },
        },
        {
            "custom_id": "c",
            "params": {"messages": [{"role": "user", "content": "u"}]},
            "result": {"message": {"content": [{"type": "text", "text": "a"}]}},
        },
        {
            "observations": [
                {
                    "traceId": "t",
                    "input": [{"role": "user", "content": "u"}],
                    "output": {"content": "a"},
                }
            ]
        },
    ],
    "bare_message": [
        {"role": "user", "content": "u", "timestamp": "2025-04-05T09:00:01Z", "session_id": "s"}
    ],
    "character_card": [
        {
            "spec": "chara_card_v2",
            "first_mes": "f",
            "data": {
                "name": "Wren",
                "description": "{{char}} d",
                "first_mes": "f",
                "alternate_greetings": ["g"],
                "mes_example": "<START>\n{{user}}: u\n{{char}}: a",
                "character_book": {"entries": [{"content": "l"}]},
            },
        }
    ],
    "chatgpt_export": [
        {
            "current_node": "b",
            "mapping": {
                "r": {"message": None, "parent": None, "children": ["a"]},
                "a": {
                    "parent": "r",
                    "message": {
                        "author": {"role": "user"},
                        "content": {
                            "content_type": "multimodal_text",
                            "parts": ["u", {"content_type": "image_asset_pointer"}],
                        },
                        "metadata": {"is_visually_hidden_from_conversation": False},
                    },
                },
                "b": {
                    "parent": "a",
                    "message": {
                        "author": {"role": "assistant"},
                        "recipient": "python",
                        "create_time": 1.5,
                        "content": {"content_type": "code", "text": "1+1"},
                    },
                },
                "c": {
                    "parent": "a",
                    "message": {
                        "author": {"role": "assistant"},
                        "content": {"content_type": "thoughts", "thoughts": [{"content": "t"}]},
                    },
                },
            },
        },
        {
            "current_node": "b",
            "mapping": {
                "a": {
                    "parent": None,
                    "message": {
                        "author": {"role": "user"},
                        "content": {"parts": ["u", {"content_type": "image_asset_pointer"}]},
                    },
                },
                "b": {
                    "parent": "a",
                    "message": {
                        "author": {"role": "assistant"},
                        "recipient": "python",
                        "content": {"content_type": "code", "text": "1"},
                    },
                },
            },
        },
    ],
    "claude_ai_export": [
        {
            "uuid": "c",
            "chat_messages": [
                {
                    "uuid": "m",
                    "parent_message_uuid": "r",
                    "sender": "human",
                    "text": "u",
                    "content": [],
                    "attachments": [{"extracted_content": "e"}],
                },
                {
                    "uuid": "n",
                    "parent_message_uuid": "m",
                    "sender": "assistant",
                    "text": "a",
                    "content": [
                        {"type": "thinking", "thinking": "t"},
                        {
                            "type": "tool_use",
                            "name": "f",
                            "input": {},
                            "display_content": {"text": "x"},
                        },
                        {"type": "tool_result", "content": [{"type": "text", "text": "r"}]},
                        {"type": "text", "text": "a"},
                    ],
                },
            ],
        }
    ],
    "claude_code": [
        {
            "type": "assistant",
            "uuid": "u",
            "sessionId": "s",
            "timestamp": "2025-04-05T09:00:00Z",
            "origin": {"kind": "human"},
            "message": {
                "id": "m",
                "model": "x",
                "content": [
                    {"type": "tool_use", "name": "f", "input": {}},
                    {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image"}]},
                ],
            },
            "toolUseResult": {"stdout": "a"},
        },
        {
            "type": "user",
            "sessionId": "s",
            "message": {"content": "a<system-reminder>b</system-reminder>c"},
        },
        {
            "type": "queue-operation",
            "operation": "enqueue",
            "content": "/compact u",
            "sessionId": "s",
            "timestamp": "t",
        },
    ],
    "cline": [
        {
            "role": "user",
            "content": [
                {
                    "type": "text",
                    "text": "<task>\na\n</task><environment_details>b</environment_details>",
                }
            ],
        },
        {"ts": 1, "type": "ask", "ask": "tool", "text": '{"tool": "readFile", "content": "c"}'},
    ],
    "codex": [
        {
            "timestamp": "2026-01-01T00:00:00Z",
            "type": "session_meta",
            "payload": {"id": "s", "base_instructions": {"text": "b"}, "instructions": "i"},
        },
        {
            "timestamp": "t",
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "user",
                "id": "m",
                "content": [
                    {"type": "input_text", "text": "<environment_context>e</environment_context>"},
                    {
                        "type": "input_text",
                        "text": "# Context from my IDE setup:\n\n## My request for Codex:\nu",
                    },
                ],
            },
        },
        {
            "timestamp": "t",
            "type": "response_item",
            "payload": {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "r"}],
                "content": None,
                "encrypted_content": "x",
            },
        },
        {
            "timestamp": "t",
            "type": "response_item",
            "payload": {
                "type": "mcp_call",
                "name": "f",
                "arguments": "{}",
                "output": "o",
                "call_id": "c",
            },
        },
        {
            "timestamp": "t",
            "type": "event_msg",
            "payload": {
                "type": "item_completed",
                "item": {"type": "Reasoning", "summary_text": ["r"], "raw_content": []},
            },
        },
        {
            "timestamp": "t",
            "type": "event_msg",
            "payload": {"type": "user_message", "message": "u"},
        },
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": {"content": "o", "success": True},
        },
        {"id": "s", "timestamp": "t", "instructions": "i", "git": None},
    ],
    "copilot": [
        {
            "type": "user.message",
            "id": "e",
            "timestamp": "t",
            "parentId": None,
            "data": {"content": "u", "transformedContent": "u"},
        },
        {
            "type": "assistant.message",
            "id": "e",
            "timestamp": "t",
            "parentId": None,
            "data": {
                "content": "a",
                "reasoningText": "r",
                "toolRequests": [{"name": "f", "arguments": {}}],
                "parentToolCallId": "p",
            },
        },
        {
            "type": "tool.execution_complete",
            "id": "e",
            "timestamp": "t",
            "data": {"result": {"content": "o", "detailedContent": "o"}, "error": {"message": "e"}},
        },
        {
            "requests": [
                {
                    "message": {"text": "u"},
                    "response": [
                        {"value": "a"},
                        {"kind": "thinking", "value": ["t"]},
                        {
                            "kind": "inlineReference",
                            "inlineReference": {"location": {"uri": {"path": "/a/b"}}},
                        },
                        {
                            "kind": "toolInvocationSerialized",
                            "toolId": "f",
                            "resultDetails": {"input": "{}", "output": [{"value": "o"}]},
                        },
                    ],
                    "result": {
                        "metadata": {
                            "toolCallRounds": [
                                {
                                    "response": "a",
                                    "thinking": {"text": "t"},
                                    "toolCalls": [{"id": "c", "name": "f", "arguments": "{}"}],
                                }
                            ],
                            "toolCallResults": {"c": {"content": [{"value": "o"}]}},
                        }
                    },
                }
            ],
            "sessionId": "s",
        },
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "a"}]},
    ],
    "cursor": [
        {
            "role": "user",
            "message": {
                "content": [
                    {
                        "type": "text",
                        "text": "<timestamp>t</timestamp><user_query>\nq\n</user_query>",
                    }
                ]
            },
        },
        {"tabs": [{"bubbles": [{"type": "user", "text": "u"}, {"type": "ai", "rawText": "a"}]}]},
    ],
    "discord": [
        {
            "guild": {"id": "1"},
            "channel": {"id": "2"},
            "messages": [
                {
                    "id": "3",
                    "type": "Default",
                    "timestamp": "2024-05-01T10:00:00.123+00:00",
                    "content": "",
                    "author": {"name": "b", "nickname": "Bot", "isBot": True},
                    "embeds": [{"title": "t", "fields": [{"name": "n", "value": "v"}]}],
                    "forwardedMessage": {"content": "f"},
                }
            ],
        }
    ],
    "flat_message": [{"direction": "in", "from": "Bram", "text": "Wind?", "ts": 1.0, "chat_id": 7}],
    "gemini_cli": [
        {
            "sessionId": "s",
            "projectHash": "h",
            "messages": [
                {"id": "1", "type": "user", "content": [{"text": "u"}]},
                {
                    "type": "gemini",
                    "content": "a",
                    "thoughts": [{"subject": "s", "description": "d"}],
                    "toolCalls": [
                        {
                            "name": "f",
                            "args": {},
                            "result": [{"functionResponse": {"response": {"output": "o"}}}],
                            "resultDisplay": "o",
                        }
                    ],
                },
            ],
        },
        {
            "id": "1",
            "timestamp": "t",
            "type": "gemini",
            "content": "a",
            "toolCalls": [{"name": "f", "args": {}, "result": None}],
        },
        {"$set": {"messages": [{"id": "1", "type": "user", "content": "u"}]}},
        {
            "contents": [
                {"role": "user", "parts": [{"text": "u"}, {"inlineData": {"data": "x"}}]},
                {
                    "role": "model",
                    "parts": [
                        {"text": "t", "thought": True},
                        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "x"},
                    ],
                },
            ],
            "systemInstruction": {"parts": [{"text": "s"}]},
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "f", "response": {"error": "e"}}}],
        },
    ],
    "grok": [
        {
            "type": "user",
            "content": [{"type": "text", "text": "<user_query>u</user_query>"}],
            "prompt_index": 0,
        },
        {
            "type": "reasoning",
            "id": "rs",
            "summary": [{"type": "summary_text", "text": "t"}],
            "encrypted_content": "x",
            "status": "completed",
        },
        {
            "type": "backend_tool_call",
            "kind": {"tool_type": "web_search", "action": {"query": "q"}},
        },
    ],
    "harness_episode": [
        {
            "scratchpad": "- storm",
            "turns": [{"reasoning": "r", "command": "c", "output": "o", "tool_result": "t"}],
        }
    ],
    "harness_session": [
        {"messages": [{"role": "user", "content": "[odalys @ Harbor]: hi"}, {"role": "system"}]}
    ],
    "harness_step": [
        {"scratchpad": "s", "reasoning": "r", "command": "c", "body": "b", "output": "o"}
    ],
    "kimi": [
        {
            "type": "context.append_message",
            "time": 1,
            "message": {
                "role": "user",
                "content": [{"type": "text", "text": "u"}],
                "toolCalls": [],
                "origin": {"kind": "user"},
            },
        },
        {
            "type": "context.append_loop_event",
            "time": 1,
            "event": {"type": "content.part", "part": {"type": "think", "think": "t"}},
        },
        {
            "timestamp": 1.0,
            "message": {
                "type": "ToolResult",
                "payload": {"return_value": {"output": [{"type": "text", "text": "o"}]}},
            },
        },
    ],
    "koboldai": [
        {
            "gamestarted": True,
            "prompt": "\n{{[INPUT]}}\nu\n{{[OUTPUT]}}\n",
            "memory": "m",
            "actions": ["a"],
            "actions_metadata": {"0": {"Alternative Text": [{"Text": "b"}]}},
            "worldinfo": [{"content": "w"}],
            "savedsettings": {
                "opmode": 4,
                "instruct_starttag": "x",
                "chatname": "U",
                "chatopponent": "A||$||B",
            },
        },
        {
            "gamestarted": True,
            "prompt": "p",
            "actions": {"0": {"Selected Text": "a", "Options": [{"text": "b"}]}},
        },
    ],
    "openai_chat": [
        {
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": [{"type": "text", "text": "u"}]},
                {
                    "role": "assistant",
                    "content": [{"type": "thinking", "thinking": "t", "signature": "x"}],
                    "reasoning_content": "r",
                    "tool_calls": [{"function": {"name": "f", "arguments": '{"a": 1}'}}],
                },
                {"role": "tool", "content": None},
            ],
            "system": "s",
        },
        {"messages": '[{"role": "user", "content": "u"}]'},
        {"messages_display": "user: u\nassistant: None\ntool: t"},
    ],
    "openhands": [
        {
            "timestamp": "t",
            "source": "agent",
            "message": "m",
            "action": "run",
            "args": {"command": "ls", "thought": "t"},
            "tool_call_metadata": {
                "tool_call_id": "c",
                "model_response": {
                    "choices": [
                        {
                            "message": {
                                "tool_calls": [
                                    {"id": "c", "function": {"name": "f", "arguments": "{}"}}
                                ]
                            }
                        }
                    ]
                },
            },
        }
    ],
    "pi": [
        {
            "type": "message",
            "timestamp": "t",
            "message": {
                "role": "assistant",
                "timestamp": 1,
                "details": {"d": "d"},
                "content": [
                    {"type": "thinking", "thinking": "t", "thinkingSignature": "s"},
                    {"type": "toolCall", "name": "f", "arguments": {"a": 1}},
                ],
            },
        }
    ],
    "plain_text": [{"text": "plain", "id": "1"}],
    "preassembled": [{"doc": "a finished document"}],
    "preference": [
        {"chosen": "\n\nHuman: u\n\nAssistant: a", "rejected": "b"},
        {"messages": [{"role": "user", "content": "u"}], "label": False},
    ],
    "prompt_completion": [
        {"prompt": [{"role": "user", "content": "u"}], "completion": "a", "reasoning": "r"}
    ],
    "qwen_code": [
        {
            "type": "user",
            "uuid": "u",
            "sessionId": "s",
            "provenance": "real_user",
            "message": {"role": "user", "parts": [{"text": "u"}]},
        },
        {
            "type": "system",
            "subtype": "slash_command",
            "uuid": "u",
            "sessionId": "s",
            "systemPayload": {"phase": "result", "outputHistoryItems": [{"text": "o"}]},
        },
    ],
    "responses": [
        {
            "responses_create_params": {
                "input": [{"role": "user", "content": "u"}],
                "instructions": "s",
            },
            "response": {
                "output": [
                    {
                        "type": "web_search_call",
                        "id": "w",
                        "status": "done",
                        "action": {"query": "q"},
                    }
                ]
            },
        },
        {
            "output": [
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "a"}],
                }
            ],
            "input": "u",
        },
    ],
    "sharegpt": [
        {
            "conversations": [
                {"from": "human", "value": "u"},
                {"from": "function_call", "value": "{}"},
            ]
        }
    ],
    "sillytavern": [
        {"user_name": "Odalys", "character_name": "Wren", "chat_metadata": {}},
        {
            "name": "Wren",
            "is_user": False,
            "is_system": False,
            "send_date": "May 1, 2024 10:00am",
            "mes": "a",
            "swipes": ["a", "b"],
            "extra": {"reasoning": "r"},
        },
    ],
    "swe_agent": [
        {
            "history": [
                {"role": "user", "content": "u", "agent": "a"},
                {"role": "assistant", "content": "c", "thought": "t"},
            ],
            "trajectory": [{"action": "a", "observation": "o", "response": "r"}],
        }
    ],
    "telegram": [
        {
            "name": "Bram",
            "type": "personal_chat",
            "id": 7,
            "messages": [
                {
                    "id": 1,
                    "type": "message",
                    "date": "2024-05-01T10:00:00",
                    "date_unixtime": "1714557600",
                    "from": "Bram",
                    "from_id": "user7",
                    "forwarded_from": "Teo",
                    "text": ["a", {"type": "bold", "text": "b"}],
                    "text_entities": [{"type": "plain", "text": "a"}],
                }
            ],
        },
        {
            "chats": {
                "list": [
                    {
                        "name": None,
                        "type": "bot_chat",
                        "id": 8,
                        "messages": [
                            {
                                "id": 1,
                                "type": "message",
                                "date": "2024-05-01T10:00:00",
                                "from": None,
                                "from_id": "user8",
                                "text": "a",
                            }
                        ],
                    }
                ]
            }
        },
    ],
    "whatsapp": [{"text": "01/05/24, 10:00 - Bram: a\nb\n01/05/24, 10:01 - Teo: c"}],
}
