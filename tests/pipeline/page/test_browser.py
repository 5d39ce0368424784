"""The page in a real browser, served and saved: what a person types, clicks and then sees."""

import re

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from accord.pipeline.page.server import Lesson, SavedPage

pytest.importorskip("selenium", reason="selenium is not installed")
pytestmark = pytest.mark.slow
PAIR = "La robe de sa mère est verte."
OTHER = "La robe de sa mère est vert."
BOTH = f"text={PAIR}&other={OTHER}&at=6"
VERDICT = {
    "en": re.compile(
        r"verte is ([\d.]+) times likelier than vert here, (?:mainly )?because of [^()]+ "
        r"\(([\d.]+) bits\)\."
    )
}
MINUS = str.maketrans("−", "-")


def number(text: str) -> float:
    return float(text.translate(MINUS).replace(",", ""))


def test_the_verdict_names_the_times_and_the_main_reason(page):
    page.open(f"#lang=en&{BOTH}")
    page.until(lambda: "because" in page.text("#verdict"))
    one, other = (float(page.bits(row)[6]) for row in (0, 1))
    times, bits = VERDICT["en"].search(page.text("#verdict")).groups()
    assert float(bits) == pytest.approx(other - one, abs=0.11)
    assert float(times) == pytest.approx(2 ** float(bits), rel=0.06)
    assert re.search(r"first sentence is [\d.,]+ times likelier than the", page.text("#verdict"))
    assert not page.one("#sum").get_attribute("open")  # the sum is folded


def test_a_clicked_word_is_explained_and_the_terms_sum_to_log_p_in_bits(page):
    page.open(f"#lang=en&text={PAIR}")
    page.click_word(6)
    page.until(lambda: page.all(".terms tr") and page.all("ul.from li"))
    assert page.one("#why-title").text == "Why “verte”?"
    page.unfold("#sum")
    cells = page.all("#cards .terms tbody td.number:not(.times)")
    *terms, total = (number(cell.text) for cell in cells)
    assert sum(terms) == pytest.approx(total, abs=0.005 * len(cells))
    assert -total == pytest.approx(float(page.bits()[6]), abs=0.06)  # as above the word: one unit
    assert "×" in page.text(".terms .times") or "÷" in page.text(".terms .times")
    assert "nats" not in page.one("main").get_attribute("textContent").split("Scores")[0]
    assert "vert, adjective, feminine" in page.one("ul.from").text
    assert "①" in page.one(".terms").text


def test_the_keyboard_alone_types_reads_explains_and_accepts(page):
    page.open("#lang=en&text=")
    keys = page.browser.switch_to.active_element
    keys.send_keys(Keys.TAB)
    assert page.browser.switch_to.active_element.get_attribute("id") == "text"
    page.browser.switch_to.active_element.send_keys("Les chats dort.")
    page.until(lambda: page.words() == ["Les", "chats", "dort", ".", "⏎"])
    page.browser.switch_to.active_element.send_keys(Keys.TAB)
    assert page.browser.switch_to.active_element.text.startswith("Les")
    for _ in range(2):
        page.browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    page.until(lambda: page.text("#why-title") == "Why “dort”?")
    assert page.browser.switch_to.active_element.text.startswith("dort")
    page.browser.switch_to.active_element.send_keys(Keys.HOME)
    page.until(lambda: page.text("#why-title") == "Why “Les”?")
    page.until(lambda: page.all("#suggested button"))
    for _ in range(10):
        if page.browser.switch_to.active_element.text == "Accept":
            break
        page.browser.switch_to.active_element.send_keys(Keys.TAB)
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    page.until(lambda: page.one("#text").get_attribute("value") != "Les chats dort.")
    assert page.browser.switch_to.active_element.get_attribute("id") == "text"


HOSTILE = [
    "<script>document.title='taken'</script> <img src=x onerror=\"document.title='taken'\">",
    "</script><b>gras</b> &amp; \"'` שלום \u202eabc\u202c عالم 👩‍👩‍👧 🇫🇷 é̂",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_text(page, text):
    page.put(text)
    written = "".join(text.split())
    page.until(lambda: "".join(page.words()[:-1]) == written)
    page.click_word(0)
    page.until(lambda: page.all(".terms tr"))
    assert page.browser.title == "Accord"
    assert not page.all("main img, main script, #rows .word b")


@pytest.mark.parametrize(("width", "scheme"), [(1300, "light"), (1300, "dark"), (400, "dark")])
def test_axe_finds_nothing(page, axe, width, scheme):
    page.look(width, scheme)
    page.open(f"#lang=fr&{BOTH}&others=zorglub&off=Number")
    page.until(lambda: len(page.all("#cards .card")) >= 4)
    page.until(lambda: page.all("#suggested .help, #suggested li"))
    for fold in ("#sum", "#legend details", "#about details", "#options details", ".fold"):
        page.unfold(fold)
    page.until(lambda: "How to cite" in page.text("#card"))
    page.browser.execute_script(axe)
    found = page.browser.execute_async_script("axe.run().then(arguments[0])")
    faults = {each["id"]: [node["html"] for node in each["nodes"]] for each in found["violations"]}
    assert faults == {}


def test_no_request_left_the_machine_and_no_script_failed(page):
    """Of all tests above, as far as the browser keeps its logs."""
    page.open(f"#lang=en&text={PAIR}&at=6")
    page.until(lambda: page.all(".terms tr"))
    page.check_its_logs()


pytest.importorskip("selenium", reason="selenium is not installed")


def test_a_saved_page_works_without_a_server(page, downloads):
    page.open("#lang=en&text=La robe de sa mère est verte.&at=6&off=Number")
    page.until(lambda: len(page.all("#cards .card")) == 2)
    shown = page.text("#cards")
    page.one("#save").click()
    saved = downloads / "accord.html"
    page.until(saved.exists)
    page.until(lambda: "Saved" in page.one("#status").text)
    alone = type(page)(page.browser, saved.as_uri()).open()
    alone.until(lambda: alone.all(".card") and alone.text("#cards") == shown)
    alone.click_word(1)
    alone.until(lambda: "robe" in alone.text("#why-title"))
    assert alone.one("#text").get_attribute("readonly")
    alone.check_its_logs()
    saved.unlink()


def test_a_page_to_give_away_has_every_view_without_a_server(page, french, tmp_path):
    lessons = [Lesson("Les chats dort."), Lesson("Oui …")]
    saved = SavedPage(french.models, lessons)
    saved.gather()
    file = saved.write(tmp_path)
    alone = type(page)(page.browser, file.as_uri()).open()
    alone.until(lambda: "dort → dorment" in alone.text("#suggested"))
    assert alone.one(".word.suspect").text.startswith("dort")
    alone.click_word(2)
    alone.until(lambda: "dort" in alone.text("#why-title") and alone.all("#cards .terms"))
    alone.one("#off input[value=Number]").click()
    alone.until(lambda: len(alone.all(".row")) == 2 and len(alone.all("#cards .card")) == 2)
    assert len(alone.all("#charts svg")) == 3
    alone.one("#write").click()
    alone.until(lambda: len(alone.all(".sentence")) == 5)
    alone.one("#about summary").click()
    alone.until(lambda: "How to cite" in alone.text("#card"))
    alone.one("#suggested li button").click()
    alone.until(lambda: "No error" in alone.text("#suggested"))
    Select(alone.one("#example")).select_by_value("1")
    alone.until(lambda: alone.words() == ["Oui", "…"])
    for hidden in ("#save", "#copy", "#edit", "#constraint"):
        assert not alone.one(hidden).is_displayed()
    assert alone.one("#text").get_attribute("readonly")
    assert alone.one("#status").get_attribute("class") != "error"
    alone.check_its_logs()


def test_a_bar_and_a_verdict_show_the_parts_of_the_surprisal(page):
    page.open("#lang=en&text=Les chats du voisin dort.&at=4")
    page.until(lambda: "dort surprises" in page.text("#parts"))
    part, bits = re.search(r"([\d.]+) of ([\d.]+) bits are its", page.text("#parts")).groups()
    assert 0 < float(part) < float(bits) == float(page.bits()[4])
    assert len(page.all("#rows .word .parts")) == 7
    assert len(page.all("#parts .key li")) == 4
