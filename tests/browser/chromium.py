"""Find a Chromium for the tests of the pages; run as a script, get one where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, Error, Playwright, sync_playwright

_QUIET = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
          "--disable-component-update", "--disable-sync")  # fmt: skip
_DISABLED = (
    # Pages under the address bar, loaded for each window that nobody sees: half of a test's time.
    # And a process kept ready for the next page.
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess"),
    # What Playwright disables, too: Chromium takes the last list only.
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"),
    *("HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding"),
    *("ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints"),
    *("NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch"),
)
_PATIENCE = 300


def found(playwright: Playwright) -> str | None:
    """Return the browser that AGGCAL_CHROMIUM names, else one on the path, else Playwright's."""
    named = os.environ.get("AGGCAL_CHROMIUM")
    if named:
        return shutil.which(named)
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    own = playwright.chromium.executable_path
    return own if Path(own).is_file() else None


def started(playwright: Playwright) -> Browser | None:
    """Start the browser; None if there is none, or it lacks something of the system."""
    path = found(playwright)
    args = [*_QUIET, f"--disable-features={','.join(_DISABLED)}"]
    if _is_root():
        args.append("--no-sandbox")  # within which Chromium refuses to work for root
    try:
        return playwright.chromium.launch(executable_path=path, args=args) if path else None
    except Error:
        return None


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _works() -> bool:
    with sync_playwright() as playwright:
        browser = started(playwright)
        if browser is not None:
            browser.close()
        return browser is not None


def main() -> None:
    """Get a browser, or say that the tests do without."""
    install = [sys.executable, "-m", "playwright", "install", "chromium"]
    ways = [install]
    if _is_root():
        apt = "apt-get update && apt-get install -y --no-install-recommends chromium"
        ways = [["sh", "-c", apt], [*install, "--with-deps"]]
    if os.environ.get("AGGCAL_CHROMIUM"):
        ways = []  # that one or none
    for way in [[], *ways]:
        try:
            if way and shutil.which(way[0]):
                subprocess.run(way, capture_output=True, stdin=subprocess.DEVNULL, check=False,
                               timeout=_PATIENCE)  # fmt: skip
        except subprocess.TimeoutExpired:
            continue
        if _works():
            return
    print("no Chromium here, and none could be installed: the tests of the pages in a browser "
          "will be skipped (AGGCAL_CHROMIUM=/path/to/chromium names one)")  # fmt: skip


if __name__ == "__main__":
    main()
