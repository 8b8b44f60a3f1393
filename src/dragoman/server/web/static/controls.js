// Tabs, theme and keyboard shortcuts.

import { byId, closable, make } from "./elements.js";
import { save } from "./storage.js";

/** Let tabs show their panels; arrow keys move between them. */
export function connectTabs() {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const select = (chosen) => {
    for (const tab of tabs) {
      tab.ariaSelected = String(tab === chosen);
      tab.tabIndex = tab === chosen ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
    }
    byId("hint").hidden = chosen.id !== "text-tab";
  };
  for (const [at, tab] of tabs.entries()) {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      select(tabs[1 - at]);
      tabs[1 - at].focus();
      event.preventDefault();
    });
  }
}

/** Switch between light and dark; back at the system's own, the page follows the system again. */
export function connectTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const { dataset } = document.documentElement;
  const button = byId("theme-button");
  const isDark = () => (dataset.theme ? dataset.theme === "dark" : dark.matches);
  const show = () => (button.ariaPressed = String(isDark()));
  button.addEventListener("click", () => {
    const wantsDark = !isDark();
    if (wantsDark === dark.matches) delete dataset.theme;
    else dataset.theme = wantsDark ? "dark" : "light";
    save("theme", dataset.theme ?? null);
    show();
  });
  dark.addEventListener("change", show);
  show();
}

// Free in browsers on each system, and no letter that somebody types.
const held = /Mac|iP(hone|ad)/.test(navigator.platform) ? ["Control", "Shift"] : ["Alt", "Shift"];

/**
 * Let keys do what buttons do, and list them.
 * @param {{letter: string, label: string, button?: HTMLElement, run?: () => void}[]} shortcuts
 * @param {[string, string[]][]} others Further keys to list.
 */
export function connectShortcuts(shortcuts, others) {
  const dialog = closable(byId("keyboard"));
  byId("keyboard-button").addEventListener("click", () => dialog.showModal());
  const listed = shortcuts.map(({ letter, label, button }) => {
    const keys = [...held, letter];
    button?.setAttribute("aria-keyshortcuts", keys.join("+"));
    if (button) button.title = `${button.ariaLabel} (${keys.join("+")})`;
    return [label, keys];
  });
  for (const [label, keys] of [...listed, ...others]) {
    const shown = keys.flatMap((key, at) => [at ? " + " : "", make("kbd", {}, key)]);
    byId("shortcuts").append(make("dt", {}, label), make("dd", {}, ...shown));
  }
  addEventListener("keydown", (event) => {
    const pressed = [event.ctrlKey && "Control", event.altKey && "Alt", event.shiftKey && "Shift"];
    if (event.metaKey || pressed.filter(Boolean).join() !== held.join()) return;
    const found = shortcuts.find(({ letter }) => isLetter(event, letter));
    if (!found || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    if (found.run) found.run();
    else found.button.click();
  });
}

/** Whether a letter was typed: the one on the key or, with other scripts, the one in its place. */
function isLetter({ key, code }, letter) {
  return /^[a-z]$/i.test(key) ? key.toUpperCase() === letter : code === `Key${letter}`;
}
