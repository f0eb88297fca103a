(() => {
  "use strict";
  // Asks, while anybody looks, whether what the page shows has changed; the answer is a header.
  const EVERY = 1500, state = document.documentElement.dataset.state, lost = document.createElement("p");
  lost.className = "lost";
  lost.setAttribute("role", "status");
  document.body.append(lost);
  async function look() {
    if (document.hidden) return;
    let found;
    try {
      const answer = await fetch(location.pathname + location.search, { method: "HEAD", cache: "no-store" });
      found = answer.headers.get("ETag");
      lost.textContent = "";
    } catch {
      lost.textContent = "The server has stopped: this page no longer refreshes.";
      return;
    }
    if (found && found !== '"' + state + '"') location.reload();
  }
  setInterval(look, EVERY);
  document.addEventListener("visibilitychange", look);
})();
