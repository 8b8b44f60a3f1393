// Runs before the page is drawn; hence no module.
"use strict";

// A chosen theme must not flash.
try {
  const theme = JSON.parse(localStorage.getItem("dragoman.theme"));
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage, the theme is the system's.
}

// Say so if other files of the page do not arrive, as without a connection or after an update of the server.
addEventListener(
  "error",
  ({ target }) => {
    if (target instanceof HTMLScriptElement || target instanceof HTMLLinkElement) document.documentElement.dataset.failed = "";
  },
  true,
);
