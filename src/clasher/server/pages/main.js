// The frame of the dashboard: navigation between pages, and the connection status.

import { show, say } from "./dom.js";
import { connect, watchStatus } from "./events.js";
import { follow } from "./history.js";
import { askForToken } from "./session.js";
import { openDrift } from "./drift.js";
import { openLabel } from "./label.js";
import { openLabels } from "./labels.js";
import { openMemory } from "./memory.js";
import { openNow } from "./now.js";
import { openTeach } from "./teach.js";
import { openTry } from "./try.js";

// Each page gets its root element and the rest of the address, and returns a function that closes it.
const PAGES = {
  now: ["Now", openNow],
  labels: ["Labels", (root, number) => (number ? openLabel : openLabels)(root, number)],
  try: ["Try", openTry],
  teach: ["Teach", openTeach],
  drift: ["Drift", openDrift],
  memory: ["Memory", openMemory],
};
const STATUS = { live: "live", connecting: "connecting …", refused: "no access" };

const content = document.getElementById("content");
let close = () => {};

function open() {
  const [, name = "now", ...rest] = location.hash.split("/");
  const page = Object.hasOwn(PAGES, name) ? name : "now";
  const [title, start] = PAGES[page];
  close();
  show(content);
  document.title = `${title} – clasher`;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#/${page}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  close = start(content, rest.join("/"));
  scrollTo(0, 0);
}

addEventListener("hashchange", () => {
  open();
  if (!content.contains(document.activeElement)) content.focus({ preventScroll: true });
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the hash holds the open page
  content.focus();
});
addEventListener("pagehide", () => close());
addEventListener("pageshow", (event) => event.persisted && open());

watchStatus(async (status) => {
  const place = document.getElementById("connection");
  place.dataset.status = status;
  say(place, STATUS[status]);
  if (status === "refused" && await askForToken()) connect();
});
connect();
follow();
open();
