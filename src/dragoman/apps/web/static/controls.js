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
  for (const tab of tabs) {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      const other = tabs[1 - tabs.indexOf(tab)];
      select(other);
      other.focus();
      event.preventDefault();
    });
  }
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);

/** Switch between light and dark; back at the system's own, the page follows the system again. */
export function connectTheme() {
  const button = byId("theme-button");
  const show = () => (button.ariaPressed = String(isDark()));
  button.addEventListener("click", () => {
    const chosen = isDark() ? "light" : "dark";
    if ((chosen === "dark") === dark.matches) delete root.dataset.theme;
    else root.dataset.theme = chosen;
    save("theme", root.dataset.theme ?? null);
    show();
  });
  dark.addEventListener("change", show);
  show();
}

const isMac = /Mac|iP(hone|ad)/.test(navigator.platform);
// Free in browsers on each system, and no letter that somebody types.
const held = isMac ? ["Control", "Shift"] : ["Alt", "Shift"];

/**
 * Let keys do what buttons do, and list them.
 * @param {{letter: string, label: string, button?: HTMLElement, run?: () => void}[]} shortcuts
 * @param {[string, string[]][]} others Further keys to list.
 */
export function connectShortcuts(shortcuts, others) {
  const dialog = closable(byId("keyboard"));
  byId("keyboard-button").addEventListener("click", () => dialog.showModal());
  for (const { letter, button } of shortcuts) {
    if (!button) continue;
    button.setAttribute("aria-keyshortcuts", [...held, letter].join("+"));
    button.title = `${button.ariaLabel} (${[...held, letter].join("+")})`;
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
  const listed = shortcuts.map(({ label, letter }) => [label, [...held, letter]]);
  for (const [label, keys] of [...listed, ...others])
    byId("shortcuts").append(
      make("dt", {}, label),
      make("dd", {}, ...keys.flatMap((key, at) => [at ? " + " : "", make("kbd", {}, key)])),
    );
}

/** Whether a letter was typed: the one on the key or, with other scripts, the one in its place. */
function isLetter({ key, code }, letter) {
  if (/^[a-z]$/i.test(key)) return key.toUpperCase() === letter;
  return code === `Key${letter}`;
}
