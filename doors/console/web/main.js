/*
 * main.js -- the frame around the views: rights, routes, the line of state,
 * keys, theme.
 */
import { clear, el, put, set } from "./dom.js";
import { Crawls, frozen } from "./crawls.js";
import { Door } from "./door.js";
import { many, rate, timeOfDay } from "./format.js";
import { icon } from "./icons.js";
import { ask, closeDialogs, empty, showKeys, toast } from "./say.js";
import { nextTheme, themeName } from "./theme.js";
import * as web from "./web.js";
import { dashboard } from "./dashboard.js";
import { launch } from "./launch.js";
import { crawl } from "./crawl.js";
import { page } from "./page.js";
import { system } from "./system.js";
import { settings } from "./settings.js";
import { login } from "./login.js";
import { items } from "./items.js";
import { item } from "./item.js";
import { tasks } from "./tasks.js";
import { failures } from "./failures.js";
import { worklist } from "./worklist.js";

const HIDDEN_MS = 5000;                // then a hidden tab disconnects

const ROUTES = [
	[/^\/$/, dashboard, "Crawls"],
	[/^\/new$/, launch, "New crawl"],
	[/^\/crawls\/(\d+)$/, crawl, "Crawl"],
	[/^\/crawls\/(\d+)\/pages\/(\d+)$/, page, "Page"],
	[/^\/system$/, system, "System"],
	[/^\/settings$/, settings, "Settings"],
	[/^\/browse\/items$/, ofItems(items), "Items"],
	[/^\/browse\/items\/.+$/, ofItems(item), "Item"],
	[/^\/browse\/tasks$/, ofItems(tasks), "Tasks"],
	[/^\/browse\/failures$/, ofItems(failures), "Failures"],
	[/^\/browse\/worklist$/, ofItems(worklist), "Worklist"],
	[/^\/browse\/try$/, ofItems(tryTask), "Try"],
	[/^\/browse\/harvests$/, ofHarvests("harvests"), "Harvests"],
	[/^\/browse\/harvests\/[^/]+$/, ofHarvests("harvest"), "Harvest"],
	[/^\/browse\/exports$/, ofHarvests("exports"), "Exports"],
	[/^\/browse\/exports\/[^/]+$/, ofHarvests("export", "oneExport"),
	    "Export"],
	[/^\/browse\/connectors$/, ofExternal("connectors"), "Connectors"],
	[/^\/browse\/connectors\/[^/]+$/, ofExternal("connector"),
	    "Connector"],
	[/^\/browse\/external$/, ofExternal("external"), "Tasks of back ends"],
	[/^\/browse\/external\/[^/]+\/[^/]+\/[^/]+$/,
	    ofExternal("external_task", "externalTask"), "Task"],
];
const ITEMS = "/browse/items";         // stands for all views of items
const HARVESTS = "/browse/harvests";   // and of harvests
const EXPORTS = "/browse/exports";
const CONNECTORS = "/browse/connectors";       // and of the external door
const TASKS = "/browse/external";
const NAV = [["/", "Crawls"], ["/new", "New crawl"], [ITEMS, "Items"],
	[HARVESTS, "Harvests"], [CONNECTORS, "Connectors"],
	["/system", "System"], ["/settings", "Settings"]];

const door = new Door(location.origin.replace(/^http/, "ws") + "/");
const crawls = new Crawls(door);

/* The object that every view gets. */
const app = {
	door, crawls, web, ask, toast, go, entered,
	session: {},
	/* The server was there and does not answer now. */
	gone: () => document.body.classList.contains("gone"),
	/* May this session change that ("realtime", "console")? */
	may: (which) => (app.session.rights?.[which] ?? "write") === "write",
	/* May it at least read? */
	sees: (which) => app.session.rights?.[which] !== "none",
	title(text) {
		document.title = text + " · Argiope";
	},
	/* Change the query of the address but not the view, so links keep it. */
	query(changes) {
		const q = new URLSearchParams(location.search);
		for (const [k, v] of Object.entries(changes))
			if (v === "" || v === null)
				q.delete(k);
			else
				q.set(k, v);
		const text = q.toString();
		history.replaceState(null, "", location.pathname +
		    (text ? "?" + text : "") + location.hash);
	},
};

let starting = "";                     // what the server says of its start
let itemsDoor = "";                    // "": not known; open, absent, refused
let view = null, pressedG = 0;
const main = document.getElementById("main");
const state = document.getElementById("state");

/* --- the items door ------------------------------------------------------ */

/* Ask whether this server has it, and this session may read it. */
async function askItems() {
	const was = itemsDoor;

	try {
		// Who may not read the list of doors is not told otherwise.
		const { doors } = app.sees("console") ?
		    await web.get("/doors") : { doors: [{ name: "items" }] };
		itemsDoor = !app.sees("items") ? "refused" : doors.some((d) =>
		    d.name === "items" && d.state !== "closed") ? "open" :
		    "absent";
	} catch {
		return;         // it is asked again when the connection opens
	}
	if (itemsDoor === was)
		return;
	tellNav();
	if (view !== null && location.pathname.startsWith("/browse/"))
		show();
}

/* A view of the items door; in words, why there is none. */
function ofItems(make) {
	return (root, params) => {
		if (itemsDoor === "open")
			return make(root, params, app);
		if (itemsDoor === "refused")
			empty(root, "Your token may not read items", "It lacks " +
			    "the scope items:read. Somebody who may change " +
			    "tokens makes one with it under Settings, Tokens.",
			    el("p", null, el("a.button", { href: "/settings" },
			    "To the settings")));
		else if (itemsDoor === "absent")
			empty(root, "This server keeps no items", "It was built " +
			    "without the items door.", el("p", null,
			    el("a.button", { href: "/" }, "To the crawls")));
		else
			root.append(el("p.loading", null, "Asking…"));
		return {};
	};
}

/* A view of harvests, loaded when it is opened; in words, why there is none. */
function ofHarvests(file, name = file) {
	return (root, params) => {
		if (app.sees("harvest"))
			return loaded(file, name, root, params);
		empty(root, "Your token may not read harvests", "It lacks the " +
		    "scope harvest:read. Somebody who may change tokens makes " +
		    "one with it under Settings, Tokens.", el("p", null,
		    el("a.button", { href: "/settings" }, "To the settings")));
		return {};
	};
}

/* The same of connectors and their tasks. */
function ofExternal(file, name = file) {
	return (root, params) => {
		if (app.sees("external"))
			return loaded(file, name, root, params);
		empty(root, "Your token may not read connectors", "It lacks " +
		    "the scope external:read. Somebody who may change tokens " +
		    "makes one with it under Settings, Tokens.", el("p", null,
		    el("a.button", { href: "/settings" }, "To the settings")));
		return {};
	};
}

function loaded(file, name, root, params) {
	const place = el("div", null, el("p.loading", null, "Loading…"));
	const late = { view: null, tick: () => late.view?.tick?.(),
	    close: () => late.view?.close?.() };

	root.append(place);
	import(`./${file}.js`).then((views) => {
		if (place.isConnected)
			late.view = views[name](clear(place), params, app);
	}, (e) => empty(place, "The view could not be loaded", e.message));
	return late;
}

/* Few open it, so it is loaded then. */
function tryTask(root, params) {
	const place = el("div", null, el("p.loading", null, "Loading…"));

	root.append(place);
	import("./try.js").then((view) => {
		if (place.isConnected)
			view.tryTask(clear(place), params, app);
	}, (e) => empty(place, "The view could not be loaded", e.message));
	return {};
}

/* --- which view --------------------------------------------------------- */

/* Mark where we are; items are listed when they can be seen. */
function tellNav() {
	const path = location.pathname;
	const here = path.startsWith(HARVESTS) || path.startsWith(EXPORTS) ?
	    HARVESTS : path.startsWith(CONNECTORS) || path.startsWith(TASKS) ?
	    CONNECTORS : path.startsWith("/browse/") ? ITEMS : path;

	for (const a of document.querySelectorAll("#nav a")) {
		const href = a.getAttribute("href");
		set(a, "aria-current", href === here ? "page" : null);
		if (href === ITEMS)
			a.hidden = itemsDoor !== "open";
		else if (href === HARVESTS)
			a.hidden = !app.sees("harvest");
		else if (href === CONNECTORS)
			a.hidden = !app.sees("external");
	}
	showCurrent(document.getElementById("nav"));
}

/* On a phone the views are more than its width. */
function showCurrent(nav) {
	const a = nav.querySelector("[aria-current]");

	if (a !== null && nav.scrollWidth > nav.clientWidth)
		nav.scrollLeft = a.offsetLeft - nav.offsetLeft -
		    (nav.clientWidth - a.offsetWidth) / 2;
}

function go(path, replace) {
	if (replace)
		history.replaceState(null, "", path);
	else
		history.pushState(null, "", path);
	show();
	scrollTo(0, 0);
	main.focus({ preventScroll: true });
}

function show() {
	closeDialogs();
	view?.close?.();
	view = null;
	tellNav();
	for (const [pattern, make, title] of ROUTES) {
		const m = pattern.exec(location.pathname);
		if (m) {
			app.title(title);
			view = make(clear(main), m.slice(1).map(Number), app);
			return;
		}
	}
	app.title("Not found");
	clear(main, el("section.empty", null, el("h1", null, "Nothing is here"),
	    el("p", null, "There is no view at ", el("code", null,
	    location.pathname), "."), el("p", null, el("a.button", { href: "/" },
	    "To the crawls"))));
}

function follow(e) {
	const a = e.target.closest("a[href]");

	if (a === null || e.defaultPrevented || e.button !== 0 || e.ctrlKey ||
	    e.metaKey || e.shiftKey || e.altKey || a.target !== "" ||
	    a.hasAttribute("download") || a.origin !== location.origin ||
	    !ROUTES.some(([p]) => p.test(a.pathname)))
		return;
	e.preventDefault();
	if (a.pathname === location.pathname && a.hash !== "") {
		history.pushState(null, "", a.href);
		dispatchEvent(new HashChangeEvent("hashchange"));
		return;
	}
	go(a.pathname + a.search + a.hash);
}

/* --- the frame ---------------------------------------------------------- */

function frame() {
	const theme = document.getElementById("theme");
	const tellTheme = () => {
		clear(theme, icon({ auto: "auto", light: "sun",
		    dark: "moon" }[themeName()]));
		theme.title = "Theme: " + { auto: "as the system",
		    light: "light", dark: "dark" }[themeName()];
		theme.setAttribute("aria-label", theme.title);
	};

	clear(document.getElementById("nav"), NAV.map(([href, text]) =>
	    el("a", { href, hidden: href === ITEMS }, text)));
	document.getElementById("brand").prepend(icon("spider"));
	theme.onclick = () => {
		nextTheme();
		tellTheme();
	};
	tellTheme();
	const keys = document.getElementById("keys");
	keys.append(icon("help"));
	keys.onclick = showKeys;
	const leave = document.getElementById("leave");
	leave.append(icon("lock"));
	leave.onclick = () => web.logOut().then(() => location.reload());
}

/* The reason that stops all crawls, such as a full disk; "": none. */
function commonWhy(running) {
	const why = running[0]?.why ?? "";

	return running.every((c) => c.why === why && c.perSecond === 0 &&
	    Date.now() - c.still > 5000) && !/\d/.test(why) ? why : "";
}

/* Screen readers read this line when it changes: states, no figures. */
function tellState() {
	const running = crawls.newest().filter((c) => c.status === "running" &&
	    c.kind === "crawl");
	const words = { connecting: "Connecting…", lost: "Connection lost; " +
	    "trying again…", asleep: "Resting while hidden" };
	const why = commonWhy(running);
	const text = starting !== "" ? "The server is starting: " + starting :
	    words[door.state] ?? (running.length === 0 ?
	    "Connected, no crawl is running" : many(running.length, "crawl") +
	    (why === "" ? " running" : running.length === 1 ? " waits: " +
	    why : " wait: " + why));

	document.body.dataset.door = door.state;
	document.body.classList.toggle("waits", why !== "");
	put(state, text);
	put(document.getElementById("speed"), door.state !== "open" ||
	    running.length === 0 ? "" : rate(running.reduce((n, c) => n +
	    c.perSecond, 0)) + " pages/s");
}

/* --- a server that starts ------------------------------------------------ */

/*
 * The server answers before it has read its data, and reports its progress until
 * it serves everything.
 */
async function askStart() {
	const was = starting;

	try {
		const answer = await fetch("/readyz");
		const text = answer.ok ? "" : (await answer.json()).state;
		starting = text.startsWith("loading") ? text : "";
	} catch {
		starting = "";
	}
	if (starting !== was) {
		tellState();
		tellGone();
	}
}

/* --- a server that is gone ----------------------------------------------- */

/* Buttons that work without the server. */
const LOCAL = "[role=tab], .ranges button, .copy, .sort, [data-local]";
const watchButtons = new MutationObserver(disableButtons);

/* Also disables buttons that are added or enabled while it is gone. */
function disableButtons() {
	for (const b of document.querySelectorAll("main button:enabled, " +
	    "dialog:not([data-keep]) .danger:enabled"))
		if (!b.matches(LOCAL)) {
			b.disabled = true;
			b.dataset.gone = "";
		}
}

function enableButtons() {
	for (const b of document.querySelectorAll("button[data-gone]")) {
		b.disabled = false;
		delete b.dataset.gone;
	}
}

/* Figures show their time, speeds go away, and buttons are disabled. */
function tellGone() {
	const lost = door.state === "lost" && door.heard > 0;
	const note = document.getElementById("asof");

	if (lost)
		put(note, (starting !== "" ? "The server is starting." :
		    "The server does not answer.") + " All figures are as of " +
		    timeOfDay(door.heard / 1000) + ".");
	if (lost === app.gone() || (!lost && door.state !== "open"))
		return;
	document.body.classList.toggle("gone", lost);
	note.hidden = !lost;
	frozen.at = lost ? door.heard : 0;
	document.body.style.setProperty("--asof", lost ? '"as of ' +
	    timeOfDay(door.heard / 1000) + '"' : '""');
	if (lost) {
		crawls.freeze();
		disableButtons();
		watchButtons.observe(document.body, { subtree: true,
		    childList: true, attributes: true,
		    attributeFilter: ["disabled"] });
	} else {
		watchButtons.disconnect();
		enableButtons();
	}
	view?.tick?.();
}

/* --- keys --------------------------------------------------------------- */

function key(e) {
	const typing = e.target.closest?.("input, textarea, select") !== null;

	if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented ||
	    document.querySelector("dialog[open]"))
		return;
	if (typing) {
		if (e.key === "Escape")
			e.target.blur();
		return;
	}
	if (Date.now() - pressedG < 1500) {
		const to = { c: "/", n: "/new", i: ITEMS, s: "/system",
		    t: "/settings" }[e.key];
		pressedG = 0;
		if (to) {
			e.preventDefault();
			go(to);
			return;
		}
	}
	if (e.key === "g")
		pressedG = Date.now();
	else if (e.key === "n")
		go("/new");
	else if (e.key === "?")
		showKeys();
	else if (e.key === "/")
		document.querySelector("#main [data-find]")?.focus();
	else if (!view?.key?.(e))
		return;
	e.preventDefault();
}

/* --- life --------------------------------------------------------------- */

function tick() {
	if (document.hidden)
		return;
	door.tick();
	if (starting !== "")
		askStart();
	if (door.state === "open")
		crawls.tick();
	view?.tick?.();
}

let hiding = 0;
function visibility() {
	clearTimeout(hiding);
	if (document.hidden)
		hiding = setTimeout(() => door.sleep(), HIDDEN_MS);
	else
		door.wake();
}

/* This browser has a session, or needs none. */
function entered(session) {
	app.session = session;
	document.getElementById("leave").hidden = !session.valid;
	document.body.classList.toggle("reads-only", !app.may("realtime"));
	return askItems();
}

/* Refused on opening: maybe a token is needed, or was revoked. */
async function refused() {
	askStart();
	try {
		const s = await web.session();
		if (s.wanted && !s.valid)
			location.reload();
		else
			// Another tab of this browser has signed in.
			entered(s);
	} catch {
		// The server does not answer: the door keeps trying.
	}
}

async function begin() {
	await entered(app.session);
	door.addEventListener("state", tellGone);
	door.addEventListener("state", tellState);
	door.addEventListener("state", () => {
		if (door.state === "open") {
			askStart();
			askItems();
		}
	});
	door.addEventListener("refused", refused);
	crawls.addEventListener("change", tellState);
	door.wake();
	crawls.open();
	addEventListener("popstate", show);
	addEventListener("click", follow);
	addEventListener("keydown", key);
	document.addEventListener("visibilitychange", visibility);
	setInterval(tick, 1000);
	show();
	tellState();
}

async function start() {
	frame();
	try {
		app.session = await web.session();
	} catch (e) {
		toast(e.message, "bad");
	}
	if (app.session.wanted && !app.session.valid) {
		put(state, "A token is wanted");
		login(clear(main), app, (s) => {
			app.session = s;
			begin();
		});
		return;
	}
	begin();
}

start();
