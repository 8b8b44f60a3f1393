// Small parts of the page that several modules make.

export const byId = (id) => document.getElementById(id);

/** An element with properties, and what is in it. */
export function make(name, properties = {}, ...content) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...content);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${new URL("icons.svg", import.meta.url)}#${name}`);
  svg.ariaHidden = "true";
  svg.append(use);
  return svg;
}

export function iconButton(name, label, onclick) {
  return make("button", { type: "button", className: "icon", ariaLabel: label, title: label, onclick }, icon(name));
}

/** Draw the icons that the page names, and let their buttons say what they do. */
export function drawIcons() {
  for (const place of document.querySelectorAll("[data-icon]")) {
    place.prepend(icon(place.dataset.icon));
    if (place.ariaLabel) place.title = place.ariaLabel;
  }
}

/** Let the buttons of a dialog without an effect of their own, and clicks beside it, close it. */
export function closable(dialog) {
  dialog.addEventListener("click", (event) => {
    // Only of buttons: a field may have this value, too.
    if (event.target === dialog || event.target.closest("button")?.value === "cancel") dialog.close();
  });
  return dialog;
}

/** Put text on the clipboard; false if the browser does not let us. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages without TLS have no clipboard; the old way may still work.
    const field = make("textarea", { value: text, className: "unseen" });
    const focused = document.activeElement;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    focused?.focus();
    return done;
  }
}
