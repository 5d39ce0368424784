"""A page that was saved, or written to give away, in a real browser without a server."""

import pytest

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver.support.select import Select

from accord.pipeline.page.saved import Lesson, SavedPage

pytestmark = pytest.mark.slow


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
    assert len([*saved.gather()]) == len(saved)
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
