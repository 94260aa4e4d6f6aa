"""A browser for tests: headless Chromium, driven by chromedriver, with Python's own library alone."""

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request

CHROMIUM_OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--disable-dev-shm-usage",
]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # how WebDriver marks a reference to an element
KEYS = {"Tab": "\ue004", "Escape": "\ue00c", "ArrowLeft": "\ue012", "ArrowUp": "\ue013",
        "ArrowRight": "\ue014", "ArrowDown": "\ue015", "Home": "\ue011", "End": "\ue010",
        "Shift": "\ue008", "Control": "\ue009", "Enter": "\ue007"}


LETTER, A4 = (21.59, 27.94), (21.0, 29.7)  # in centimetres


def is_there():
    return bool(shutil.which("chromedriver") and shutil.which("chromium"))


class Browser:
    """with Browser() as browser: browser.open(path); browser.run("return document.title")"""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        self.address = self._address()
        options = [*CHROMIUM_OPTIONS, f"--user-data-dir={self.profile.name}"]
        capabilities = {"browserName": "chrome",
                        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                        "goog:chromeOptions": {"args": options, "binary": shutil.which("chromium")}}
        started = self._send("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.session = f"/session/{started['sessionId']}"
        return self

    def __exit__(self, *_):
        try:
            self._send("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait(20)
            self.profile.cleanup()

    def _address(self):
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                return "http://127.0.0.1:" + line.rsplit("port", 1)[1].strip(" .\n")
        raise RuntimeError("chromedriver did not start")

    def _send(self, method, path, body=None):
        data = None if method in ("GET", "DELETE") else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.address + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return json.loads(answer.read())["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.loads(error.read())["value"]["message"]) from None

    def open(self, path):
        self.logs("browser"), self.logs("performance")  # forget what was before
        self._send("POST", self.session + "/url", {"url": f"file://{path}"})

    def run(self, script, *arguments):
        """What a script returns that runs in the page."""
        return self._send("POST", self.session + "/execute/sync",
                          {"script": script, "args": list(arguments)})

    def logs(self, kind):
        return self._send("POST", self.session + "/se/log", {"type": kind})

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
        return self._send("POST", self.session + "/goog/cdp/execute",
                          {"cmd": command, "params": parameters})

    def look(self, width, height=900, dark=False, touch=False):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=1, mobile=touch)
        self.devtools("Emulation.setEmulatedMedia", media="", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def press(self, *keys):
        """Presses keys one after the other; "Control+Home" together."""
        actions = []
        for key in keys:
            held = [KEYS.get(part, part) for part in key.split("+")]
            actions += [{"type": "keyDown", "value": part} for part in held]
            actions += [{"type": "keyUp", "value": part} for part in reversed(held)]
        self._send("POST", self.session + "/actions",
                   {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def point(self, element, press=False, kind="mouse"):
        """Moves the pointer to the middle of an element; with `press` clicks or taps it."""
        self.run("arguments[0].scrollIntoView({block: 'center', inline: 'center'})", element)
        actions = [{"type": "pointerMove", "origin": element, "x": 0, "y": 0, "duration": 0}]
        if press:
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self._send("POST", self.session + "/actions", {"actions": [
            {"type": "pointer", "id": kind, "parameters": {"pointerType": kind},
             "actions": actions}]})

    def picture(self, path):
        path.write_bytes(base64.b64decode(self._send("GET", self.session + "/screenshot")))

    def print(self, path, size=LETTER):
        """Writes the page as a PDF for sheets of so many centimetres across and down."""
        width, height = size
        page = self._send("POST", self.session + "/print", {
            "background": True, "page": {"width": width, "height": height}})
        path.write_bytes(base64.b64decode(page))

    @staticmethod
    def wait(seconds):
        time.sleep(seconds)
