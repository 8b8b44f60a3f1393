// Runs before the page is drawn, so that a chosen theme does not flash; hence no module.
"use strict";
try {
  const theme = JSON.parse(localStorage.getItem("dragoman.theme"));
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage, the theme is the system's.
}
