"""Chats of people: Telegram, Discord and WhatsApp exports."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tinyllm.documents import Turn
from tinyllm.formats import discord, recognise, telegram, whatsapp
from tinyllm.formats.parsed import Parsed

# --- Telegram -----------------------------------------------------------------------------------


def telegram_message(number: int, sender: str | None, text: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "type": "message",
        "date": "2024-05-01T12:00:00",
        "date_unixtime": str(1714557600 + number),
        "from": sender,
        "from_id": "user1",
        "text": text,
        **more,
    }


def telegram_parsed(*messages: dict[str, Any], **chat: Any) -> list[Parsed]:
    record = {"name": "Teo", "type": "personal_chat", "id": 7, "messages": list(messages), **chat}
    assert recognise(record) is telegram
    parsed = telegram.parse(record)
    assert parsed is not None
    return parsed


def only_turn(parsed: list[Parsed]) -> Turn:
    [message] = parsed
    [turn] = message.turns
    return turn


def test_each_telegram_message_is_a_persons_with_its_own_time():
    first, second = telegram_parsed(
        telegram_message(1, "Bram", "Wind?"), telegram_message(2, "Teo", "North")
    )
    assert first.turns == (Turn("user", "Wind?", "Bram"),)
    assert second.turns == (Turn("user", "North", "Teo"),)
    assert (first.time, second.time) == (1714557601, 1714557602)
    assert first.thread == second.thread == "7"


def test_an_old_telegram_export_has_the_date_alone():
    message = telegram_message(1, "Bram", "Wind?")
    del message["date_unixtime"]
    [parsed] = telegram_parsed(message)
    assert parsed.time == datetime(2024, 5, 1, 12, tzinfo=UTC).timestamp()


def test_a_telegram_export_may_have_the_seconds_alone():
    message = telegram_message(1, "Bram", "Wind?")
    del message["date"]
    [parsed] = telegram_parsed(message)
    assert parsed.time == 1714557601


def test_a_telegram_text_in_styled_parts_is_one_text_and_its_copy_is_noise():
    parts = ["Gale ", {"type": "bold", "text": "warning"}, "!"]
    entities = [{"type": "plain", "text": "Gale "}, {"type": "bold", "text": "warning"}]
    [parsed] = telegram_parsed(telegram_message(1, "Bram", parts, text_entities=entities))
    assert parsed.turns[0].text == "Gale warning!"
    assert parsed.noise == len("Gale warning")


def test_service_lines_and_media_without_words_say_nothing():
    parsed = telegram_parsed(
        telegram_message(1, "Bram", "", photo="photos/1.jpg"),
        {**telegram_message(2, None, "Bram pinned a message"), "type": "service"},
    )
    assert parsed == []


def test_a_deleted_account_keeps_its_id_as_name():
    assert only_turn(telegram_parsed(telegram_message(1, None, "Wind?"))).speaker == "user1"


@pytest.mark.parametrize(
    "origin", [{"forwarded_from": "Weather"}, {"forwarded_from": None}, {"via_bot": "@gif"}]
)
def test_what_others_wrote_is_nobodys_words_here(origin: dict[str, Any]):
    turn = only_turn(telegram_parsed(telegram_message(1, "Bram", "Gale warning", **origin)))
    assert turn == Turn("env", "Gale warning", "")


def test_who_forwards_an_own_message_said_it():
    message = telegram_message(1, "Bram", "Gale warning", forwarded_from="Bram")
    assert only_turn(telegram_parsed(message)).role == "user"


def test_the_other_side_of_a_chat_with_a_bot_is_an_assistant():
    bot = telegram_message(1, "Tides", "High water 06:10", from_id="user7")
    human = telegram_message(2, "Bram", "/tides", from_id="user1")
    parsed = telegram_parsed(human, bot, type="bot_chat")
    assert [message.turns[0].role for message in parsed] == ["user", "assistant"]


def test_an_accounts_export_has_a_thread_for_each_chat():
    chats = [
        {"name": name, "type": "personal_chat", "id": number, "messages": [message]}
        for number, (name, message) in enumerate(
            [("Teo", telegram_message(1, "Teo", "a")), (None, telegram_message(1, "Teo", "a"))]
        )
    ]
    record = {"about": "…", "chats": {"list": chats[:1]}, "left_chats": {"list": chats[1:]}}
    assert recognise(record) is telegram
    first, second = telegram.parse(record) or []
    assert first.thread != second.thread
    assert first.identity != second.identity


def test_the_same_telegram_message_in_a_later_export_is_recognised():
    first, second = telegram_message(1, "Bram", "a"), telegram_message(2, "Bram", "a")
    early, late = telegram_parsed(first), telegram_parsed(first, second)
    assert early[0].identity == late[0].identity != late[1].identity


@pytest.mark.parametrize(
    "messages",
    [
        [{"type": "message", "message": {"role": "user"}}],
        [{"role": "user", "content": "a"}],
        ["a"],
        [],
        None,
    ],
)
def test_other_messages_are_no_telegram_export(messages: Any):
    assert not telegram.recognise({"messages": messages})


@pytest.mark.parametrize("text", [3, [3], [{"type": "bold"}]])
def test_a_telegram_text_of_another_shape_is_unknown(text: Any):
    record = {"id": 7, "messages": [telegram_message(1, "Bram", text)]}
    assert telegram.parse(record) is None


# --- Discord ------------------------------------------------------------------------------------


def discord_parsed(*messages: dict[str, Any]) -> list[Parsed]:
    record = {
        "guild": {"id": "1", "name": "Harbour"},
        "channel": {"id": "2", "name": "weather"},
        "messages": list(messages),
    }
    assert recognise(record) is discord
    parsed = discord.parse(record)
    assert parsed is not None
    return parsed


def discord_message(text: str, *, is_bot: bool = False, **more: Any) -> dict[str, Any]:
    return {
        "id": "10",
        "type": "Default",
        "timestamp": "2024-05-01T12:00:00.5+02:00",
        "content": text,
        "author": {"id": "5", "name": "bram_h", "nickname": "Bram", "isBot": is_bot},
        **more,
    }


def test_people_on_discord_are_users_under_the_name_that_is_shown():
    [parsed] = discord_parsed(discord_message("Wind?"))
    assert parsed.turns == (Turn("user", "Wind?", "Bram"),)
    assert parsed.time == datetime(2024, 5, 1, 10, 0, 0, 500000, tzinfo=UTC).timestamp()


def test_without_a_nickname_the_account_names_the_speaker():
    message = discord_message("Wind?")
    message["author"]["nickname"] = None
    assert only_turn(discord_parsed(message)).speaker == "bram_h"


def test_a_bot_on_discord_is_an_assistant_and_may_speak_in_boxes():
    box = {"title": "Forecast", "fields": [{"name": "Wind", "value": "N 7"}]}
    turn = only_turn(discord_parsed(discord_message("", is_bot=True, embeds=[box])))
    assert turn == Turn("assistant", "Forecast\n\nWind\nN 7", "Bram")


def test_the_preview_of_a_persons_link_is_not_speech():
    message = discord_message("https://a.example", embeds=[{"title": "Forecast"}])
    assert only_turn(discord_parsed(message)).text == "https://a.example"


@pytest.mark.parametrize("kind", ["GuildMemberJoin", "ChannelPinnedMessage", "Call", "7", 7])
def test_notices_on_discord_say_nothing(kind: Any):
    assert discord_parsed(discord_message("Joined the server.", type=kind)) == []


@pytest.mark.parametrize("kind", ["Reply", "20"])
def test_replies_and_answers_to_commands_are_speech(kind: str):
    assert only_turn(discord_parsed(discord_message("N 7", type=kind))).text == "N 7"


def test_a_message_forwarded_on_discord_is_the_environments():
    [parsed] = discord_parsed(discord_message("", forwardedMessage={"content": "Gale warning"}))
    assert parsed.turns == (Turn("env", "Gale warning"),)


def test_a_discord_message_without_an_author_is_an_unknown_shape():
    assert discord.parse({"channel": {"id": "2"}, "messages": [{"content": "a"}]}) is None


# --- WhatsApp -----------------------------------------------------------------------------------


def whatsapp_parsed(text: str) -> list[Parsed]:
    record = {"text": text}
    assert recognise(record) is whatsapp
    parsed = whatsapp.parse(record)
    assert parsed is not None
    return parsed


def said(text: str) -> list[tuple[str, str]]:
    return [
        (turn.speaker, turn.text) for message in whatsapp_parsed(text) for turn in message.turns
    ]


def moment(text: str) -> datetime:
    """The time of the first message of a chat."""
    time = whatsapp_parsed(text)[0].time
    assert time is not None
    return datetime.fromtimestamp(time, UTC).replace(tzinfo=None)


@pytest.mark.parametrize(
    "header",
    [
        "31/12/2023, 22:05 - ",
        "31/12/23, 22:05 - ",
        "31/12/2023 22:05 - ",
        "12/31/23, 10:05\u202fPM - ",
        "12/31/23, 10:05 PM - ",
        "31/12/23, 10:05 pm - ",
        "31/12/23, 10:05 p. m. - ",
        "31.12.23, 22:05 - ",
        "31-12-2023 22:05 - ",
        "2023-12-31 22:05 - ",
        "2023/12/31 22:05 - ",
        "2023/12/31 下午10:05 - ",
        "31.12.2023 klo 22.05 - ",
        "2023. 12. 31. 22:05 - ",
        "2023. 12. 31. 오후 10:05 - ",
        "[2023. 12. 31. 오후 10:05:00] ",
        "\u200f31\u200f/12\u200f/2023، 10:05 م - ",
        "31.12.23 г., 22:05 ч. - ",
        "31/12/23, 10:05 μ.μ. - ",
        "\u200e[31/12/2023, 22:05:00] ",
        "[31.12.23, 22:05:00] ",
        "[12/31/23, 10:05:00\u202fPM] ",
        "[31-12-2023 22:05:00] ",
        "[2023-12-31, 22:05:00] ",
        "31/12/23 22:05:00: ",
    ],
)
def test_the_styles_of_dates_that_phones_write(header: str):
    chat = f"{header}Bram: Wind?\n{header}Teo: North"
    assert said(chat) == [("Bram", "Wind?"), ("Teo", "North")]
    assert moment(chat) == datetime(2023, 12, 31, 22, 5)


def test_one_date_tells_the_order_for_the_whole_file():
    chat = "{}/{}/24, 10:00 - Bram: a\n{}/{}/24, 10:00 - Bram: b"
    assert moment(chat.format(1, 2, 13, 2)) == datetime(2024, 2, 1, 10)
    assert moment(chat.format(1, 2, 1, 13)) == datetime(2024, 1, 2, 10)


def test_where_no_day_tells_the_order_messages_follow_in_time():
    day_first = "2/1/24, 10:00 - Bram: a\n1/2/24, 10:00 - Bram: b"
    month_first = "1/2/24, 10:00 - Bram: a\n2/1/24, 10:00 - Bram: b\n2/2/24, 10:00 - Bram: c"
    assert moment(day_first) == datetime(2024, 1, 2, 10)
    assert moment(month_first + "\n1/3/24, 09:00 - Bram: d") == datetime(2024, 2, 1, 10)


@pytest.mark.parametrize(("half", "month"), [("PM", 1), ("pm", 2)])
def test_where_nothing_tells_the_order_an_american_clock_does(half: str, month: int):
    assert moment(f"1/2/24, 1:00 {half} - Bram: a").month == month


def test_midnight_and_noon_on_a_clock_of_twelve_hours():
    chat = "1/31/24, 12:05 AM - Bram: a\n1/31/24, 12:05 PM - Bram: b"
    first, second = (message.time for message in whatsapp_parsed(chat))
    assert first is not None
    assert second is not None
    assert second - first == 12 * 3600


def test_a_day_that_no_calendar_has_leaves_the_message_without_a_time():
    [first, _] = whatsapp_parsed("31/02/24, 10:00 - Bram: a\n01/03/24, 10:00 - Bram: b")
    assert first.time is None


def test_a_message_goes_on_until_the_next_header():
    chat = "01/05/24, 10:00 - Bram: one\r\n\r\ntwo: 2\r\n01/05/24, 10:01 - Teo: three\r\n"
    assert said(chat) == [("Bram", "one\n\ntwo: 2"), ("Teo", "three")]


def test_a_pasted_header_of_another_style_is_part_of_the_message():
    chat = "01/05/24, 10:00 - Bram: see:\n[01/05/24, 09:00:00] Teo: a\n01/05/24, 10:01 - Teo: b"
    assert said(chat)[0] == ("Bram", "see:\n[01/05/24, 09:00:00] Teo: a")


@pytest.mark.parametrize(
    "notice",
    [
        "Messages and calls are end-to-end encrypted. Learn more.",
        "Bram added Teo",
        'Bram changed the group name from "Boats" to "Boats: 2024"',
        "Bram changed the description to: bring oars",
        "Odalys: \u200eOdalys created this group",
    ],
)
def test_what_the_program_says_is_not_speech(notice: str):
    chat = f"01/05/24, 10:00 - {notice}\n01/05/24, 10:01 - Bram: hi"
    assert said(chat) == [("Bram", "hi")]


def test_a_person_whose_name_begins_with_anothers_keeps_a_single_message():
    chat = "01/05/24, 10:00 - Bram: hi\n01/05/24, 10:01 - Bram Haan: hello"
    assert said(chat)[1] == ("Bram Haan", "hello")


@pytest.mark.parametrize(
    "stand_in",
    [
        "<Media omitted>",
        "<Médias omis>",
        "<省略多媒体文件>",
        "\u200eimage omitted",
        "sticker omitted",
        "\u200e<attached: 00000012-PHOTO.jpg>",
        "IMG-20240501-WA0001.jpg (file attached)",
        "harbour map.pdf (file attached)",
        "\u200eSprachanruf, 3 Min.",
        "This message was deleted",
        "",
    ],
)
def test_what_stands_for_media_is_not_speech(stand_in: str):
    chat = f"01/05/24, 10:00 - Bram: {stand_in}\n01/05/24, 10:01 - Teo: nice"
    assert said(chat) == [("Teo", "nice")]


@pytest.mark.parametrize(
    "message",
    [
        "\u200eIMG-1-WA1.jpg (file attached)\nthe quay",
        "<Media omitted>\nthe quay",
        "the quay \u200e<attached: 0001-PHOTO.jpg>",
        "the quay \u200e<This message was edited>",
        "the quay <This message was edited>",
        "the \u2068quay\u2069",
    ],
)
def test_the_words_beside_a_picture_or_mark_stay(message: str):
    assert said(f"01/05/24, 10:00 - Bram: {message}") == [("Bram", "the quay")]


@pytest.mark.parametrize("words", ["see <b>", "a < b > c", "notes.txt (mine)", "<3"])
def test_words_that_look_a_little_like_a_stand_in_stay(words: str):
    assert said(f"01/05/24, 10:00 - Bram: {words}") == [("Bram", words)]


@pytest.mark.parametrize("name", ["~\u202fBram", "\u202a+31 6 1234\u202c", "Bram 🚤"])
def test_a_name_loses_the_programs_marks(name: str):
    clean = name.replace("~\u202f", "").strip("\u202a\u202c")
    assert said(f"01/05/24, 10:00 - {name}: hi") == [(clean, "hi")]


@pytest.mark.parametrize(
    "text",
    [
        "[2024-05-01 10:00:00] worker: started\n[2024-05-01 10:00:01] worker: done",
        "2024-05-01 10:00:00 - server: started\n2024-05-01 10:00:01 - server: done",
        "[01/05/2024, 10:00:00] ERROR: no route\n[01/05/2024, 10:00:01] INFO: retry",
        "01/05/24, 10:00 - went out\n02/05/24, 11:00 - came back",
        "Notes of 01/05/24, 10:00 - Bram: hi",
        "01/05/24\nBram: hi",
        "",
    ],
)
def test_other_text_is_no_chat(text: str):
    known = recognise({"text": text})
    assert known is not None
    assert known is not whatsapp


def test_a_record_of_more_than_a_text_is_no_whole_file():
    assert not whatsapp.recognise({"text": "01/05/24, 10:00 - Bram: hi", "id": 1})


@pytest.mark.parametrize(
    "words",
    [
        "Diese Nachricht wurde gelöscht.",
        "Se eliminó este mensaje.",
        "Ce message a été supprimé",
        "Mensagem apagada",
        "Данное сообщение удалено",
        "Verpasster Sprachanruf",
        "此消息已被删除。",
    ],
)
def test_deleted_messages_and_missed_calls_say_nothing_in_any_language(words: str):
    assert said(f"01/05/24, 10:00 - Bram: {words}\n01/05/24, 10:01 - Teo: hi") == [("Teo", "hi")]


@pytest.mark.parametrize(
    "mark",
    [
        "<This message was edited>",
        "<Diese Nachricht wurde bearbeitet.>",
        "<Se editó este mensaje.>",
        "<Mensagem editada>",
        "<Сообщение изменено>",
    ],
)
def test_the_mark_of_an_edited_message_goes_in_any_language(mark: str):
    chat = f"01/05/24, 10:00 - Bram: aye {mark}\n01/05/24, 10:01 - Teo: hi"
    assert said(chat)[0] == ("Bram", "aye")


def test_angle_brackets_that_end_a_message_stay():
    chat = "01/05/24, 10:00 - Bram: see vector<unsigned int>\n01/05/24, 10:01 - Teo: hi"
    assert said(chat)[0] == ("Bram", "see vector<unsigned int>")
