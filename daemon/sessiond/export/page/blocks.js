// Blocks of code and output: long ones are folded, each has a button that copies it, and the keyboard can scroll them.

const SHOWN_LINES = 27;  // as in the style sheet
const SPARE_LINES = 9;   // a block that is longer by at most this is not folded

const blocks = {
  dress(part) {
    for (const block of part.querySelectorAll("pre")) {
      if (block.parentElement.classList.contains("block")) continue;
      const frame = document.createElement("div");
      frame.className = "block";
      block.replaceWith(frame);
      frame.append(block);
      const lines = block.textContent.replace(/\n$/, "").split("\n").length;
      if (lines > SHOWN_LINES + SPARE_LINES) {
        frame.classList.add("long");
        frame.dataset.lines = lines.toLocaleString("en");
        frame.insertAdjacentHTML("beforeend", `<button type="button" class="more" aria-expanded="false">${this.more(frame)}</button>`);
      }
      frame.insertAdjacentHTML("beforeend", `<button type="button" class="copy" title="Copy this block">Copy</button>`);
    }
  },

  more: frame => `${SHOWN_LINES} of ${frame.dataset.lines} lines`,

  turn(button) {
    const frame = button.parentElement;
    const open = frame.classList.toggle("whole");
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? `Show ${this.more(frame)}` : this.more(frame);
    if (!open) frame.scrollIntoView({block: "nearest"});
    frame.closest(".stretch").dataset.kept = "1";
    this.reach(frame);
  },

  // Blocks and tables that scroll take the focus, so that keys scroll them.
  reach(part) {
    for (const block of part.querySelectorAll("pre, table, math[display=block]")) {
      if (block.scrollWidth > block.clientWidth || block.scrollHeight > block.clientHeight + 1) block.tabIndex = 0;
    }
  },

  async copy(button) {
    const source = button.classList.contains("copy") ? button.parentElement.querySelector("pre")
      : button.closest("article").querySelector(".body");
    const text = source.localName === "pre" ? source.textContent : this.textOf(source);
    const word = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);   // no access to the clipboard: the reader's own key copies it
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = word; }, 1500);
  },

  // The text of a message as it is displayed, without folded parts and buttons.
  textOf(body) {
    const buttons = [...body.querySelectorAll(".block > button")];
    buttons.forEach(button => { button.hidden = true; });
    const text = body.innerText.trim();
    buttons.forEach(button => { button.hidden = false; });
    return text;
  },
};
