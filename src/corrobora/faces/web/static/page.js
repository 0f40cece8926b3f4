// What the pages do beyond plain HTML: live panels from server-sent patches, dropped files, following a list.
// Every page is complete without this file. Nothing here builds markup from data: the server renders, this only places it.

/** Make `old` equal to `next`, keeping elements that did not change, the focus, open details and scroll positions. */
function morph(old, next) {
  if (old.nodeType !== next.nodeType || old.nodeName !== next.nodeName) return old.replaceWith(next);
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
    return;
  }
  if (old.isEqualNode(next)) return;
  const isTheReaders = (name) => name === "open" && old.nodeName === "DETAILS";
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value && !isTheReaders(name)) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && !isTheReaders(name)) old.removeAttribute(name);
  }
  if (old.matches("input, textarea, select")) return; // what a person typed stays
  morphChildren(old, next);
}

/** What an element is known by: a button never becomes another button, nor a link another link, under somebody's hand. */
const nameOf = (each) => each.id || each.getAttribute?.("href") || (each.nodeName === "BUTTON" && each.value) || "";

/** Children with a name are matched by it, the others by their place. */
function morphChildren(old, next) {
  const named = new Map([...old.children].filter(nameOf).map((each) => [nameOf(each), each]));
  let place = old.firstChild;
  for (const wanted of [...next.childNodes]) {
    const same = named.get(nameOf(wanted));
    if (same) {
      if (same === place) place = place.nextSibling;
      else if (old.moveBefore) old.moveBefore(same, place); // keeps the focus
      else old.insertBefore(same, place);
      morph(same, wanted);
    } else if (place && !nameOf(wanted) && !nameOf(place) && place.nodeName === wanted.nodeName) {
      const current = place;
      place = place.nextSibling;
      morph(current, wanted);
    } else {
      old.insertBefore(wanted, place);
    }
  }
  while (place) {
    const gone = place;
    place = place.nextSibling;
    gone.remove();
  }
}

function parseElement(html) {
  return new DOMParser().parseFromString(html, "text/html").body.firstElementChild;
}

/** After a part was replaced: the focus stays, or goes to the panel whose button or link is gone, never to the page. */
function keepFocus(focused, panel) {
  if (!focused.isConnected) panel.tabIndex = -1;
  (focused.isConnected ? focused : panel).focus({ preventScroll: true });
}

const SPOKEN_EVERY = 15_000; // milliseconds between two sentences for screen readers
const LOST_AFTER = 3_000; // milliseconds without a connection before the page says so

function makeNotice(isLoggedOut) {
  const text = isLoggedOut
    ? 'You are logged out. What stands here may be old. <a href="">Log in</a>'
    : "The connection to the server is lost. What stands here may be old; it goes on by itself.";
  return parseElement(`<p class="notice warn">${text}</p>`);
}

/** Follow one run: patches replace panels by their id; the cursor survives reloads, sleep and hidden tabs. */
class LiveView {
  constructor(root) {
    this.root = root;
    this.cursor = root.dataset.cursor || "0";
    this.spokenAt = 0;
    this.source = null;
    this.lost = document.getElementById("lost");
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.open()));
    addEventListener("pagehide", () => this.close());
    addEventListener("pageshow", () => this.open());
    this.open();
  }

  open() {
    if (this.source || this.ended || document.hidden) return;
    this.sent = {}; // the lines of each panel as they came: a patch names those that stay
    const address = new URL(this.root.dataset.stream, location.href);
    address.searchParams.set("after", this.cursor);
    this.source = new EventSource(address);
    this.source.addEventListener("open", () => this.tellLost(false));
    this.source.addEventListener("patch", (message) => this.apply(message));
    this.source.addEventListener("reload", () => this.reload());
    this.source.addEventListener("end", () => this.end());
    this.source.addEventListener("error", () => this.retry());
  }

  close() {
    this.source?.close();
    this.source = null;
    this.tellLost(false);
  }

  /** Say that what is shown may be old, once that lasts longer than a change of the network. */
  tellLost(isLost) {
    if (isLost && this.losing) return;
    clearTimeout(this.losing);
    this.losing = isLost ? setTimeout(() => this.lost?.replaceChildren(makeNotice(this.isLoggedOut)), LOST_AFTER) : 0;
    if (!isLost) this.lost?.replaceChildren();
  }

  end() {
    this.ended = true;
    this.close();
  }

  /** The browser retries a broken connection itself; one that the server refused is opened again here, or needs a login. */
  async retry() {
    this.tellLost(true);
    if (this.source?.readyState !== EventSource.CLOSED) return;
    this.source = null;
    const answer = await fetch(location.href).catch(() => null);
    if (answer?.status === 401 && !this.isLoggedOut) this.lost?.replaceChildren(makeNotice(true));
    this.isLoggedOut = answer?.status === 401;
    setTimeout(() => this.open(), LOST_AFTER);
  }

  /** The run changed its state, so that other panels and buttons are needed. */
  reload() {
    this.end();
    location.reload();
  }

  apply(message) {
    if (message.lastEventId) this.cursor = message.lastEventId;
    const { target, parts } = JSON.parse(message.data);
    const lines = parts.flatMap((part) => (typeof part === "string" ? part : this.sent[target].slice(...part)));
    this.sent[target] = lines;
    const old = document.getElementById(target);
    const next = parseElement(lines.join("\n"));
    if (!old || !next) return;
    if (target === "spoken") return this.speak(old, next);
    const list = old.querySelector("[data-follow]");
    const follows = list && document.querySelector("#follow")?.checked !== false;
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    morph(old, next);
    if (focused && document.activeElement !== focused) keepFocus(focused, old);
    if (follows) list.scrollTop = list.scrollHeight;
  }

  /** The last sentence is always spoken: at once if the state of the run changed, else when the pause is over. */
  speak(place, next) {
    clearTimeout(this.speaking);
    if (place.textContent === next.textContent) return;
    const isUrgent = place.dataset.state !== next.dataset.state;
    const wait = isUrgent ? 0 : Math.max(0, this.spokenAt + SPOKEN_EVERY - Date.now());
    this.speaking = setTimeout(() => {
      this.spokenAt = Date.now();
      place.dataset.state = next.dataset.state;
      place.textContent = next.textContent;
    }, wait);
  }
}

/** Let files be dropped on a form that has a file field. */
function acceptDrops(zone) {
  const field = zone.querySelector("input[type=file]");
  const mark = (on) => (event) => {
    event.preventDefault();
    zone.classList.toggle("over", on);
  };
  zone.addEventListener("dragover", mark(true));
  zone.addEventListener("dragleave", mark(false));
  zone.addEventListener("drop", (event) => {
    mark(false)(event);
    if (event.dataTransfer.files.length) field.files = event.dataTransfer.files;
  });
}

/** A form is sent once: a second press while the answer is awaited does nothing, and the button says that it works. */
let sent = new WeakSet();
addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (sent.has(event.target)) return event.preventDefault();
  sent.add(event.target);
  event.submitter?.setAttribute("aria-busy", "true");
});
addEventListener("pageshow", () => {
  sent = new WeakSet();
  for (const each of document.querySelectorAll("[aria-busy]")) each.removeAttribute("aria-busy");
});
addEventListener("click", (event) => {
  const asked = event.target.closest("[data-confirm]");
  if (asked && !confirm(asked.dataset.confirm)) event.preventDefault();
});

for (const each of document.querySelectorAll("[data-stream]")) new LiveView(each);
for (const each of document.querySelectorAll(".drop")) acceptDrops(each);
for (const each of document.querySelectorAll("[data-follow]")) each.scrollTop = each.scrollHeight;
