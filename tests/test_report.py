from dataclasses import replace
from pathlib import Path

from tinyllm.report import Facts, curve, loss_svg, model_card, report_html, write_pages

HISTORY = [
    {"step": 20, "loss": 4.0},
    {"step": 10, "loss": 6.0},
    {"step": 20, "eval_loss": 5.0, "eval_bits_per_byte": 2.0},
]
FACTS = Facts(
    title="nano & co",
    rows=[("size", "<nano>")],
    history=HISTORY,
    ledger="kept <b>",
    samples=[("assistant", "<script>alert(1)</script>")],
)


def test_a_curve_is_in_order_of_steps():
    assert curve(HISTORY, "loss") == [(10, 6.0), (20, 4.0)]


def test_the_plot_has_a_line_for_training_and_a_point_for_each_held_out_score():
    svg = loss_svg(HISTORY)
    assert svg.count("<polyline") == 2
    assert svg.count("<circle") == 1


def test_a_run_without_a_logged_loss_still_gets_a_page():
    assert "No loss was logged" in loss_svg([])


def test_a_flat_curve_does_not_divide_by_zero():
    assert "polyline" in loss_svg([{"step": 0, "loss": 1.0}])


def test_text_of_logs_and_model_is_escaped():
    page = report_html(FACTS)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "kept &lt;b&gt;" in page


def test_pages_are_written_whole(tmp_path: Path):
    write_pages(tmp_path, FACTS)
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "README.md"}
    assert "| size | <nano> |" in (tmp_path / "README.md").read_text()


def test_the_card_s_table_holds_whatever_a_path_is_called():
    facts = replace(FACTS, rows=[("data", "a|b\nc")])
    assert "| data | a\\|b c |" in model_card(facts)


def test_no_page_names_the_owner_of_a_home_folder(tmp_path: Path):
    logs = "/home/" + "odalys" + "/logs"
    write_pages(tmp_path, replace(FACTS, rows=[("data", f"['{logs}']")], ledger=f"below {logs}/"))
    for name in ("report.html", "README.md"):
        page = (tmp_path / name).read_text()
        assert "odalys" not in page
        assert "user" in page
