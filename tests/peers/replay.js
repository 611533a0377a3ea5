/*
 * replay.js -- opens a WACZ in ReplayWeb.page, in a real browser.
 *
 *     node replay.js TOOLS CHROMIUM APP WACZ URL ABSENT LINK PAGE [LINK PAGE...]
 *
 * TOOLS has playwright-core in its node_modules; APP is where ReplayWeb.page is
 * served, WACZ where the package is.  Opens URL, follows on each page the LINK,
 * which leads to PAGE, and at last asks for ABSENT.  Prints one line of JSON:
 * what was shown.
 */
"use strict";

const [tools, chromium, app, wacz, first, absent, ...links] =
    process.argv.slice(2);
const playwright = require(tools + "/node_modules/playwright-core");

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
    "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-proxy-server",
    "--disable-default-apps", "--disable-extensions", "--disable-breakpad",
    // Names lead nowhere, whatever the page or the browser asks for.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];
const SHOW_MS = 30000;

/* The frame that shows this page of the archive, when it has its body. */
async function shown(page, url, wanted) {
	const until = Date.now() + SHOW_MS;

	while (Date.now() < until) {
		for (const frame of page.frames()) {
			if (!frame.url().endsWith("mp_/" + url))
				continue;
			const text = await frame.evaluate(() =>
			    document.readyState === "complete" && document.body ?
			    document.body.innerText : "").catch(() => "");
			if (text !== "" && text.includes(wanted))
				return { frame, text };
		}
		await page.waitForTimeout(100);
	}
	throw new Error(url + " is not shown; there are " +
	    page.frames().map((f) => f.url()).join(" "));
}

/* Runs in the page. */
function look() {
	const images = [...document.images].map((i) =>
	    ({ width: i.naturalWidth, height: i.naturalHeight,
	        complete: i.complete }));
	const title = document.querySelector("h1");

	return { title: document.title, images,
	    color: title && getComputedStyle(title).color,
	    made: document.documentElement.dataset.made || "" };
}

async function tell(page, url, wanted) {
	const { frame, text } = await shown(page, url, wanted);

	return { text, frame, ...await frame.evaluate(look) };
}

async function open(page, url) {
	await page.goto("about:blank");
	await page.goto(app + "?source=" + encodeURIComponent(wacz) +
	    "#view=replay&url=" + encodeURIComponent(url));
}

async function main() {
	const browser = await playwright.chromium.launch({
	    executablePath: chromium, args: FLAGS, headless: true });
	const page = await browser.newPage();
	const said = [], outside = [];

	page.on("pageerror", (e) => said.push(String(e)));
	page.context().on("request", (r) => {
		if (!/^(data|blob|about|chrome-error):/.test(r.url()) &&
		    !r.url().startsWith(app))
			outside.push(r.url());
	});
	try {
		const pages = [];

		await open(page, first);
		pages.push(await tell(page, first, ""));
		for (let i = 0; i < links.length; i += 2) {
			await pages[pages.length - 1].frame.click(
			    "a[href$='" + links[i] + "']");
			pages.push(await tell(page,
			    new URL(links[i + 1], first).href, ""));
		}
		await open(page, new URL(absent, first).href);
		pages.push(await tell(page, new URL(absent, first).href,
		    "Not Found"));
		for (const shown of pages)
			delete shown.frame;
		console.log(JSON.stringify({ pages, said, outside,
		    version: browser.version() }));
	} finally {
		await browser.close();
	}
}

main().catch((e) => {
	console.error(e.message);
	process.exit(1);
});
