"""The page in a real browser: what a person types, clicks and chooses, and what they then see."""

import json
import shutil
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.select import Select  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER), reason="there is no chromium with its chromedriver"
    ),
]
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --lang=en "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--disable-dev-shm-usage --host-resolver-rules=MAP\t*\t~NOTFOUND"
)
OWN = ("data", "blob", "about", "file", "chrome")  # schemes of what a browser has in itself
PAIR = "Les chiens du voisin dorment."


@pytest.fixture(scope="module")
def downloads(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(tmp_path_factory, downloads):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS.split():
        options.add_argument(flag.replace("\t", " "))
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('browser')}")
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options, Service(DRIVER))
    driver.get("about:blank")
    driver.get_log("performance")  # what its own new tab asked for, with which it begins
    yield driver
    driver.quit()


class Page:
    """What a person does on the page."""

    def __init__(self, browser, address: str):
        self.browser, self.address = browser, address

    def open(self, hash: str = "") -> "Page":
        self.browser.get("about:blank")
        self.browser.get(self.address + hash)
        self.until(lambda: self.all(".word"))
        return self

    def until(self, condition):
        return WebDriverWait(self.browser, 20, 0.05, ignored_exceptions=[Exception]).until(
            lambda _: condition()
        )

    def all(self, css: str) -> list:
        return self.browser.find_elements(By.CSS_SELECTOR, css)

    def one(self, css: str):
        return self.browser.find_element(By.CSS_SELECTOR, css)

    def type(self, css: str, text: str) -> None:
        self.one(css).clear()
        self.one(css).send_keys(text)

    def words(self, row: int = 0) -> list[str]:
        """The words of a row as they are shown, without their numbers."""
        return self.browser.execute_script(
            "return [...document.querySelectorAll('.row')[arguments[0]].querySelectorAll('.word')]"
            ".map((word) => word.firstChild.textContent)",
            row,
        )

    def bits(self, row: int = 0) -> list[str]:
        return self.browser.execute_script(
            "return [...document.querySelectorAll('.row')[arguments[0]].querySelectorAll('small')]"
            ".map((small) => small.firstChild.textContent)",
            row,
        )

    def click_word(self, number: int, row: int = 0) -> None:
        self.all(".row")[row].find_elements(By.CSS_SELECTOR, ".word")[number].click()


@pytest.fixture
def page(browser, server) -> Page:
    return Page(browser, server.address).open("#lang=en&text=")


def test_a_typed_sentence_is_read_with_curves(page):
    page.type("#text", PAIR)
    page.until(lambda: page.words() == ["Les", "chiens", "du", "voisin", "dorment", ".", "⏎"])
    assert all(float(bits) >= 0 for bits in page.bits())
    page.until(lambda: len(page.all("#charts svg")) == 3)
    assert page.one("#why").get_attribute("hidden")


def test_a_clicked_word_is_explained_and_the_terms_sum_to_log_p(page):
    page.open(f"#lang=en&text={PAIR}")
    page.click_word(4)
    page.until(lambda: page.all(".terms tr"))
    assert page.one("#why-title").text == "Why “dorment”?"
    numbers = [float(cell.text.replace("−", "-")) for cell in page.all("#cards .terms td.number")]
    assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=0.005 * len(numbers))
    assert "plural" in page.one(".terms").text
    assert "dormir, verb" in page.one("ul.from").text


def test_arrow_keys_go_from_word_to_word(page):
    page.open(f"#lang=en&text={PAIR}")
    page.click_word(0)
    page.until(lambda: "Les" in page.one("#why-title").text)
    page.browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    page.until(lambda: "chiens" in page.one("#why-title").text)
    page.browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    page.until(lambda: "du" in page.one("#why-title").text)


@pytest.mark.parametrize(
    ("text", "at", "after"),
    [
        ("Le chien dort.", 0, "Les chien dort."),
        ("👍 😀 le chien dort.", 2, "👍 😀 les chien dort."),
    ],
)
def test_an_edited_word_stands_before_and_after(page, text, at, after):
    page.open(f"#lang=en&text={text}&at={at}")
    page.until(lambda: page.one("#edit").get_attribute("value").lower() == "le")
    page.type("#edit", "les")
    page.until(lambda: page.one("#other").get_attribute("value") == after)
    page.until(lambda: len(page.all(".row")) == 2)
    assert [page.words(row)[at].lower() for row in (0, 1)] == ["le", "les"]
    differs = page.all(".row")[1].find_element(By.CSS_SELECTOR, ".differs")
    assert differs.text.lower().startswith("les")


def test_a_likeliest_word_can_be_put_there(page):
    page.open("#lang=en&text=Le chien …&at=2")
    page.until(lambda: page.all(".likeliest button"))
    chosen = page.one(".likeliest button bdi").text
    page.one(".likeliest button").click()
    page.until(lambda: len(page.all(".row")) == 2)
    assert page.words(1)[2] == ("⏎" if chosen == "⏎" else chosen)


def test_a_feature_is_switched_off(page):
    page.open(f"#lang=en&text={PAIR}&at=4")
    before = page.bits()
    page.one("#off input[value=Number]").click()
    page.until(lambda: len(page.all(".row")) == 2)
    assert "without number" in page.all(".row .name")[1].text
    assert page.bits(0) == before
    assert page.bits(1) != before
    page.until(lambda: len(page.all(".card")) == 2)
    assert page.one("tr.off th").text.startswith("plural")
    assert page.one("tr.off td.number").text == "0.00"


def test_where_nothing_is_typed_the_first_word_is_asked_for(page):
    page.open("#lang=en&text=")
    page.until(lambda: "There is no text yet" in page.one("#status").text)
    assert page.words() == ["…"]
    page.type("#text", "Oui")
    page.until(lambda: page.words() == ["Oui", "⏎"])
    page.until(lambda: not page.one("#status").text)


def test_words_are_compared_in_one_gap(page):
    page.open(f"#lang=en&text={PAIR}&at=4")
    page.type("#others", "dort, dormir")
    page.until(lambda: len(page.all(".compared thead th")) == 4)
    rows = page.all(".compared tbody tr")
    names = [row.find_element(By.CSS_SELECTOR, "th").text for row in rows]
    assert {"plural", "singular", "log p"} <= {*names}
    assert "−log Z" not in names  # which all share
    spread = []
    for row in rows[:-1]:
        cells = [cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td")]
        nats = [0 if text == "·" else float(text.replace("−", "-")) for text in cells]
        spread.append(max(nats) - min(nats))
    assert all(before >= after - 0.011 for before, after in pairwise(spread))


def test_two_models_and_a_minimal_pair_side_by_side(page):
    page.open(f"#lang=en&text={PAIR}&other=Les chiens du voisin dort.&at=4")
    Select(page.one("#beside")).select_by_value("rnn")
    page.until(lambda: len(page.all(".row")) == 4 and len(page.all(".card")) == 4)
    assert [name.text.split(" ·")[0] for name in page.all(".row .name")] == [
        "ll-rnn", "ll-rnn", "rnn", "rnn",
    ]  # fmt: skip
    assert page.words(3)[4] == "dort"


def test_the_model_writes_on_and_its_words_are_glossed(page):
    page.open("#lang=en&text=Les …")
    page.type("#constraint", "NOUN")
    page.one("#write").click()
    page.until(lambda: len(page.all(".sentence")) == 5)
    page.one(".sentence summary").click()
    assert "noun" in page.one(".gloss span small").text
    page.one("#off input[value=Number]").click()
    page.until(lambda: len(page.all(".row")) == 2)
    page.one("#write").click()
    page.until(lambda: "without number" in page.one("#written").text)
    page.type("#constraint", "NOM")
    page.one("#write").click()
    page.until(lambda: "unknown part of speech 'NOM'" in page.one("#written").text)


def test_a_link_shows_the_same_again(page):
    page.type("#text", PAIR)
    page.until(lambda: len(page.words()) == 7)
    page.click_word(4)
    page.one("#off input[value=Gender]").click()
    page.until(lambda: len(page.all(".card")) == 2)
    link, shown = page.browser.current_url, page.one("#cards").text
    page.browser.get("about:blank")
    page.browser.get(link)
    page.until(lambda: page.one("#cards").text == shown)
    assert page.one("#text").get_attribute("value") == PAIR


def test_labels_are_french_where_french_is_chosen(page):
    page.open(f"#lang=fr&text={PAIR}&at=4")
    page.until(lambda: page.all(".terms tr"))
    assert "pluriel" in page.one(".terms").text
    assert page.one("#save").text == "Enregistrer en un fichier HTML"
    assert page.one("html").get_attribute("lang") == "fr"


def test_every_example_can_be_shown(page):
    for place in range(10):
        Select(page.one("#example")).select_by_value(str(place))
        page.until(lambda: page.all(".row") and page.all(".terms tr"))
        assert page.one("#status").text == ""


def test_a_saved_page_works_without_a_server(page, downloads):
    page.open(f"#lang=en&text={PAIR}&at=4&off=Number")
    page.until(lambda: len(page.all(".card")) == 2)
    shown = page.one("#cards").text
    page.one("#save").click()
    saved = downloads / "accord.html"
    page.until(saved.exists)
    page.until(lambda: "Saved" in page.one("#status").text)
    alone = Page(page.browser, saved.as_uri()).open()
    alone.until(lambda: alone.all(".card") and alone.one("#cards").text == shown)
    alone.click_word(1)
    alone.until(lambda: "chiens" in alone.one("#why-title").text)
    alone.type("#text", "Autre chose.")
    alone.until(lambda: "keeps only what was on screen" in alone.one("#status").text)


HOSTILE = [
    "<script>document.title='taken'</script> <img src=x onerror=\"document.title='taken'\">",
    "</script><b>gras</b> &amp; \"'`",
    "👩‍👩‍👧 🇫🇷 é̂",
    "שלום \u202eabc\u202c عالم",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_text(page, text, downloads):
    script = "const e = document.getElementById('text'); e.value = arguments[0]; e.oninput();"
    page.browser.execute_script(script, text)
    written = "".join(text.split())
    page.until(lambda: "".join(page.words()[:-1]) == written)
    page.click_word(0)
    page.until(lambda: page.all(".terms tr"))
    assert page.browser.title == "Accord"
    assert not page.all("main img, main script, main b:not(.name b)")
    (downloads / "accord.html").unlink(missing_ok=True)
    page.one("#save").click()
    page.until(lambda: (downloads / "accord.html").exists())
    page.until(lambda: "Saved" in page.one("#status").text)
    alone = Page(page.browser, (downloads / "accord.html").as_uri()).open()
    alone.until(lambda: "".join(alone.words()[:-1]) == written)
    assert page.browser.title == "Accord"


def test_ten_thousand_words_are_shown_as_text_and_the_page_goes_on(page):
    script = "const e = document.getElementById('text'); e.value = arguments[0]; e.oninput();"
    page.browser.execute_script(script, "<b>mot</b> " * 2_000)
    page.until(lambda: len(page.all(".word")) == 10_001)
    assert page.words()[-6:] == ["<", "b", ">", "mot</b", ">", "⏎"]
    assert not page.all("#rows .word b")
    assert "at most 1,000 words" in page.one("#charts").text
    page.browser.execute_script(script, "mot " * 20_001)
    page.until(lambda: "at most 20,000 words, got 20,001" in page.one("#status").text)
    page.browser.execute_script(script, "Le chien dort.")
    page.until(lambda: page.words() == ["Le", "chien", "dort", ".", "⏎"])
    assert page.one("#status").text == ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_without_scrolling_sideways(page, scheme):
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    phone = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        page.open(
            f"#lang=fr&text={PAIR}&other=anticonstitutionnellement&at=4&others=dort&off=Number"
        )
        page.until(lambda: len(page.all(".card")) >= 4)
        assert page.browser.execute_script("return document.documentElement.scrollWidth") <= 400
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_no_request_left_the_machine_and_no_script_failed(page):
    """Of all tests above, as far as the browser keeps its logs."""
    page.open(f"#lang=en&text={PAIR}&at=4")
    page.until(lambda: page.all(".terms tr"))
    events = [
        json.loads(entry["message"])["message"] for entry in page.browser.get_log("performance")
    ]
    asked = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert asked
    for url in map(urlsplit, asked):
        assert url.scheme in OWN or url.hostname == "127.0.0.1"
    failed = [entry for entry in page.browser.get_log("browser") if "400" not in entry["message"]]
    assert failed == []
