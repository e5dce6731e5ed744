// The page of `twofold ask`: its views, its keys, and the quiet line that says how things stand.

import { byId, el, forgetNotice, isTyping, notice, plural } from "./dom.js";
import { Items } from "./items.js";
import { openKeys, prepareKeys } from "./keys.js";
import { Live } from "./live.js";
import { ItemMap } from "./map.js";
import { Off } from "./off.js";
import { Quality } from "./quality.js";
import { Questions } from "./questions.js";
import { Search } from "./search.js";
import { Settings, prepareSettings } from "./settings.js";

const GO = { p: "pairs", s: "search", q: "quality", o: "off", m: "map" };
const GO_MS = 1200;
const SETTLE_MS = 250;

const settings = new Settings();
const live = new Live({ who: settings.get("who") });
const app = { settings, live, items: new Items(), welcome: null, view: null, argument: null };
live.on("welcome", (message) => (app.welcome = message)); // before the views hear it
const views = {
  pairs: new Questions(app),
  search: new Search(app),
  quality: new Quality(app),
  off: new Off(app),
  map: new ItemMap(app),
};

function route() {
  const [name, argument] = location.hash.slice(1).split("/");
  if (live.state === "refused") return;
  if (location.hash === "#main") return;
  const view = name in views ? name : "pairs";
  const isOther = view !== app.view;
  if (isOther && app.view) views[app.view].leave();
  app.view = view;
  app.argument = argument;
  for (const each of Object.keys(views)) byId(`view-${each}`).hidden = each !== view;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${view}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (isOther) {
    byId("main").scrollTop = 0;
    forgetNotice();
  }
  views[view].enter(argument);
}

let goes = -Infinity;

function onKey(event) {
  if (isTyping(event) || event.defaultPrevented || live.state === "refused") return;
  if (performance.now() - goes < GO_MS && event.key in GO) {
    goes = -Infinity;
    location.hash = GO[event.key];
  } else if (event.key === "g") {
    goes = performance.now();
  } else if (event.key === "?") {
    openKeys();
  } else if (event.key === "z" && !event.repeat) {
    views.pairs.undo();
  } else if (!views[app.view].key(event)) {
    return;
  }
  event.preventDefault();
}

// An answer is what was given at one look; one about nine says nine things.
function showCounts({ looks, answers, same, different, unsure }) {
  const parts = [`${same} same`, `${different} different`, `${unsure} unsure`];
  app.looks = looks;
  byId("counts").textContent = plural(looks, "answer");
  byId("counts").title = `${plural(answers, "statement")}: ${parts.join(", ")}`;
}

const LEARNING = { learning: "learning…", waiting: "up to date", failed: "learning failed" };

function showLearning({ state, sentence }) {
  byId("learning").textContent = LEARNING[state];
  byId("learning").dataset.state = state;
  if (sentence) notice(sentence, { stays: state === "failed" });
}

// The server says when it has learnt; that it has to follows from another number of answers.
function showNews({ counts }) {
  if (counts.looks !== app.looks && app.looks !== undefined) showLearning({ state: "learning" });
  showCounts(counts);
}

let settling = 0;

// Said at once when something goes wrong, but not flickering with every answer.
function showState() {
  const { state, outbox } = live;
  document.body.dataset.state = state;
  clearTimeout(settling);
  const show = () =>
    (byId("saved").textContent = outbox.size
      ? `${plural(outbox.size, "answer")} to be saved`
      : state === "open"
        ? "saved"
        : "");
  if (outbox.size && state === "open") settling = setTimeout(show, SETTLE_MS);
  else show();
  if (state === "away")
    notice("The connection is lost; answers are kept here and sent when it is back.", {
      stays: true,
    });
  if (state === "refused") refuse();
}

function refuse() {
  const kept = live.outbox.size;
  for (const each of Object.keys(views)) byId(`view-${each}`).hidden = true;
  byId("view-refused").hidden = false;
  byId("view-refused").replaceChildren(
    el("h1", {}, "This link is no longer valid"),
    el(
      "p",
      {},
      "Start ",
      el("code", {}, "twofold ask"),
      " again and open the link that it prints.",
    ),
    kept
      ? el(
          "p",
          {},
          `${plural(kept, "answer")} that could not be saved ${kept === 1 ? "is" : "are"} kept in this browser and sent from there.`,
        )
      : "",
  );
  notice("");
}

let wasAway = false;

live.on("state", () => {
  if (wasAway && live.state === "open") notice("The connection is back.");
  wasAway = live.state === "away";
  showState();
});
live.on("welcome", (message) => {
  byId("title").textContent = message.title;
  document.title = `${message.title} – Twofold asks`;
  showCounts(message.counts);
  if (app.view !== "pairs") views[app.view].enter(app.argument);
});
for (const type of ["saved", "undone", "counts"]) live.on(type, showNews);
live.on("learning", showLearning);
live.on("refused", ({ key, sentence }) => notice(sentence, { stays: Boolean(key) }));
live.on(
  "saved",
  ({ second_opinion: isSecond }) =>
    isSecond && notice("Somebody answered this meanwhile; yours is kept as a second opinion."),
);

settings.on("who", (who) => live.rename(who));
settings.on("guess", showGuess);
function showGuess() {
  document.body.classList.toggle("show-guess", settings.get("guess"));
}

byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});
addEventListener("hashchange", route);
document.addEventListener("keydown", onKey);
prepareKeys();
prepareSettings(settings);
showGuess();
route();
live.connect();
