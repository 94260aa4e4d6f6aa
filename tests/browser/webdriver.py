"""A browser for tests: headless Chromium, driven by Selenium."""

import base64
import json
import shutil
import time

try:
    from selenium import webdriver
    from selenium.webdriver import ActionChains
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.actions.action_builder import ActionBuilder
    from selenium.webdriver.common.actions.pointer_input import PointerInput
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.common.print_page_options import PrintOptions
except ImportError:
    webdriver = None

CHROMIUM_OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--disable-dev-shm-usage",
]
LETTER, A4 = (21.59, 27.94), (21.0, 29.7)  # in centimetres


def is_there():
    return bool(webdriver and shutil.which("chromedriver") and shutil.which("chromium"))


def key(name):
    """Selenium's ARROW_LEFT is the ArrowLeft of pages; a letter is itself."""
    words = "".join("_" + c if c.isupper() else c for c in name).strip("_").upper()
    return getattr(Keys, words) if len(name) > 1 else name


class Browser:
    """with Browser() as browser: browser.open(path); browser.run("return document.title")"""

    def __enter__(self):
        options = Options()
        options.binary_location = shutil.which("chromium")
        options.ignore_local_proxy_environment_variables()
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        for option in CHROMIUM_OPTIONS:
            options.add_argument(option)
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.run, self.logs = self.driver.execute_script, self.driver.get_log
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def open(self, path):
        self.logs("browser"), self.logs("performance")  # forget what was before
        self.driver.get(f"file://{path}")

    def faults(self):
        """What the page complained about, scripts kept from running among it."""
        return [entry["message"] for entry in self.logs("browser")
                if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """Every address that the page asked for."""
        events = [json.loads(entry["message"])["message"] for entry in self.logs("performance")]
        return [event["params"]["request"]["url"] for event in events
                if event["method"] == "Network.requestWillBeSent"]

    def devtools(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def look(self, width, height=900, dark=False, touch=False):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=1, mobile=touch)
        self.devtools("Emulation.setEmulatedMedia", media="", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def press(self, *keys):
        """Presses keys one after the other; "Control+Home" together."""
        actions = ActionChains(self.driver, duration=0)
        for combined in keys:
            held = [key(part) for part in combined.split("+")]
            for part in held:
                actions.key_down(part)
            for part in reversed(held):
                actions.key_up(part)
        actions.perform()

    def point(self, element, press=False, kind="mouse"):
        """Moves the pointer to the middle of an element; with `press` clicks or taps it."""
        self.run("arguments[0].scrollIntoView({block: 'center', inline: 'center'})", element)
        actions = ActionBuilder(self.driver, mouse=PointerInput(kind, kind), duration=0)
        actions.pointer_action.move_to(element)
        if press:
            actions.pointer_action.pointer_down().pointer_up()
        actions.perform()

    def picture(self, path):
        self.driver.save_screenshot(str(path))

    def print(self, path, size=LETTER):
        """Writes the page as a PDF for sheets of so many centimetres across and down."""
        options = PrintOptions()
        options.page_width, options.page_height = size
        options.background = True
        path.write_bytes(base64.b64decode(self.driver.print_page(options)))

    @staticmethod
    def wait(seconds):
        time.sleep(seconds)
