// What the reading screens do beyond plain HTML: evidence opens on hover and focus also in browsers that have no interest
// invokers, a statement of the list opens its evidence, and menus close. Every screen is complete without this file.

const OPENS_AFTER = 150; // milliseconds, as the style sheet says
const CLOSES_AFTER = 350;

/** Open the card of a marker by pointer and focus; moving into the card keeps it open, a click pins it. */
function openByInterest(marker) {
  const card = document.getElementById(marker.getAttribute("popovertarget"));
  if (!card) return;
  let timer = 0;
  let pinned = false;
  const later = (act, delay) => {
    clearTimeout(timer);
    timer = setTimeout(act, delay);
  };
  const open = () => later(() => card.matches(":popover-open") || card.showPopover({ source: marker }), OPENS_AFTER);
  const close = () => later(() => pinned || !card.matches(":popover-open") || card.hidePopover(), CLOSES_AFTER);
  const isMouse = (event) => event.pointerType === "mouse";
  marker.addEventListener("pointerenter", (event) => isMouse(event) && open());
  marker.addEventListener("pointerleave", (event) => isMouse(event) && close());
  card.addEventListener("pointerenter", () => clearTimeout(timer));
  card.addEventListener("pointerleave", (event) => isMouse(event) && close());
  marker.addEventListener("focus", () => marker.matches(":focus-visible") && open());
  marker.addEventListener("blur", (event) => card.contains(event.relatedTarget) || close());
  marker.addEventListener("click", () => (pinned = true));
  card.addEventListener("toggle", (event) => event.newState === "closed" && (pinned = false));
}

if (!("interestForElement" in HTMLButtonElement.prototype)) {
  for (const each of document.querySelectorAll("button.n[popovertarget]")) openByInterest(each);
}

/** Go to a marker and open its card. */
function openMarker(name) {
  const marker = document.getElementById(name);
  const card = marker && document.getElementById(marker.getAttribute("popovertarget"));
  if (!card) return;
  marker.scrollIntoView({ block: "center" });
  marker.focus();
  if (!card.matches(":popover-open")) card.showPopover({ source: marker });
}

for (const each of document.querySelectorAll("a[data-marker]")) {
  each.addEventListener("click", (event) => {
    event.preventDefault();
    openMarker(each.dataset.marker);
  });
}

/** A menu closes by Escape, and when the focus or a click goes elsewhere. */
for (const menu of document.querySelectorAll("details.menu")) {
  const closeUnlessIn = (target) => target && !menu.contains(target) && (menu.open = false);
  menu.addEventListener("focusout", (event) => closeUnlessIn(event.relatedTarget));
  addEventListener("click", (event) => closeUnlessIn(event.target));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}
