(() => {
  "use strict";
  // Light and dark: the system's, until the reader chooses.
  const theme = document.querySelector("#theme"), root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  const label = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("aggcal-theme", root.dataset.theme); } catch { /* a page from a file may have no storage */ }
    label();
  });
  dark.addEventListener("change", label);
  label();
})();
