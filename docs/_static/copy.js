// A button on every block of code: of a console, what was typed; of a Python session, its input.
(() => {
  "use strict";
  const typed = (text) => {
    const lines = text.replace(/\n$/, "").split("\n");
    for (const [first, more] of [[/^\$ /, /^> /], [/^>>> /, /^\.\.\. ?/]]) {
      if (!lines.some((line) => first.test(line))) continue;
      let inside = false;
      return lines
        .filter((line) => (inside = first.test(line) || (inside && more.test(line))))
        .map((line) => line.replace(first, "").replace(more, ""))
        .join("\n");
    }
    return lines.join("\n");
  };
  const say = (button, text) => {
    button.textContent = text;
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };
  for (const block of document.querySelectorAll("div.highlight")) {
    const pre = block.querySelector("pre");
    if (!pre || block.closest(".sphx-glr-script-out")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(typed(pre.textContent));
        say(button, "Copied");
      } catch {
        say(button, "Select the text");
      }
    });
    block.append(button);
  }
})();
