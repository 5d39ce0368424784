"""The page of the tiny run's models, and that of the bundled model in one browser."""

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import accord
from accord.pipeline.page.answers import Models
from accord.pipeline.page.server import PageServer

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --lang=en "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--disable-dev-shm-usage --host-resolver-rules=MAP\t*\t~NOTFOUND"
)
OWN = ("data", "blob", "about", "file", "chrome")  # schemes of what a browser has in itself
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


@pytest.fixture(scope="session")
def models(tiny_run) -> Models:
    return Models({name: partial(accord.load, tiny_run.folder, name) for name in ("ll-rnn", "rnn")})


@contextmanager
def serving(models: Models) -> Iterator[PageServer]:
    with PageServer(models) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield served
        served.shutdown()


@pytest.fixture(scope="session")
def server(models):
    with serving(models) as served:
        yield served


@pytest.fixture(scope="session")
def french(tiny_run):
    """The page of the bundled model and of a small one that explains nothing."""
    models = Models({"french": accord.load, "rnn": partial(accord.load, tiny_run.folder, "rnn")})
    with serving(models) as served:
        yield served


@pytest.fixture(scope="session")
def downloads(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def browser(tmp_path_factory, downloads):
    """One Chromium for all tests; skipped where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    if not (CHROMIUM and DRIVER):
        pytest.skip("there is no chromium with its chromedriver")
    from selenium.webdriver.chrome.service import Service

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
        self.until(lambda: self.all(".row"))
        # Rows are answered one after the other: wait for the words of each.
        self.until(lambda: all(self.words(row) for row in range(len(self.all(".row")))))
        return self

    def until(self, condition, seconds: float = 30):
        from selenium.webdriver.support.wait import WebDriverWait

        return WebDriverWait(self.browser, seconds, 0.05, ignored_exceptions=[Exception]).until(
            lambda _: condition()
        )

    def all(self, css: str) -> list:
        return self.browser.find_elements("css selector", css)

    def one(self, css: str):
        """An element, as soon as it is there."""
        return self.until(lambda: self.browser.find_element("css selector", css))

    def text(self, css: str) -> str:
        """The text of an element, folded or not."""
        return self.one(css).get_attribute("textContent")

    def type(self, css: str, text: str) -> None:
        self.one(css).clear()
        self.one(css).send_keys(text)

    def put(self, text: str) -> None:
        """A text too long to be typed key by key."""
        script = "const e = document.getElementById('text'); e.value = arguments[0]; e.oninput();"
        self.browser.execute_script(script, text)

    def words(self, row: int = 0) -> list[str]:
        """The words of a row as they are shown, without their numbers."""
        return self._of_words(row, "word.firstChild.textContent")

    def bits(self, row: int = 0) -> list[str]:
        return self._of_words(row, "word.querySelector('small').firstChild?.textContent ?? ''")

    def _of_words(self, row: int, what: str) -> list[str]:
        return self.browser.execute_script(
            "return [...document.querySelectorAll('.row')[arguments[0]].querySelectorAll('.word')]"
            f".map((word) => {what})",
            row,
        )

    def click_word(self, number: int, row: int = 0) -> None:
        self.all(".row")[row].find_elements("css selector", ".word")[number].click()

    def unfold(self, css: str) -> None:
        self.browser.execute_script("document.querySelector(arguments[0]).open = true", css)

    def check_its_logs(self) -> None:
        """No request left the machine and no script failed, as far as the browser's logs go."""
        log = self.browser.get_log("performance")
        events = [json.loads(entry["message"])["message"] for entry in log]
        asked = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        assert asked
        for url in map(urlsplit, asked):
            assert url.scheme in OWN or url.hostname == "127.0.0.1"
        log = self.browser.get_log("browser")
        assert [entry for entry in log if "400" not in entry["message"]] == []

    def look(self, width: int, scheme: str) -> None:
        """A window so wide, light or dark."""
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


@pytest.fixture
def page(browser, french) -> Page:
    page = Page(browser, french.address)
    page.look(1300, "light")
    return page.open("#lang=en&text=")


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core, if npm has it here or for all."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    for where in ([], ["--global"]):
        done = subprocess.run([npm, "root", *where], capture_output=True, text=True, check=False)
        script = Path(done.stdout.strip()) / "axe-core" / "axe.min.js"
        if done.returncode == 0 and script.is_file():
            return script.read_text(encoding="utf-8")
    pytest.skip("axe-core is not installed: `npm install --no-save axe-core` brings it")
