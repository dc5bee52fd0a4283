import { render } from "preact";
import "./style/page.css";
import "./style/tables.css";
import "./style/panel.css";
import "./style/charts.css";
import { Feed } from "./data/feed.js";
import { Requests } from "./data/requests.js";
import { Store } from "./data/store.js";
import { App } from "./view/app.js";
import { wordsFor } from "./words/words.js";

function sessionStorageIfAny(): Storage | null {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}

const requests = new Requests(sessionStorageIfAny());
// The token must not stay in the address, where people can see it, send it on or find it in the history.
if (requests.takeToken(location.hash))
  history.replaceState(null, "", `${location.pathname}${location.search}`);
const store = new Store();
const feed = new Feed(requests, store);

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") feed.pause();
  else if (store.view.connection.is === "paused") feed.start();
});
if (document.visibilityState === "visible") feed.start();
else feed.pause();

const words = await wordsFor(navigator.language);
document.documentElement.lang = words.lang;
const page = document.getElementById("page");
if (page !== null) render(<App store={store} feed={feed} requests={requests} words={words} />, page);
