/*
 * console_page.js -- what the console's browser tests share.
 *
 *     node console.js TOOLS CHROMIUM BASE PART JSON
 *
 * TOOLS has playwright-core and axe-core in its node_modules.  PART is one of
 * those that the script gives to run().  Prints a line of JSON for each check; a
 * line {"ask": word} waits for a line of standard input.
 */
"use strict";

const fs = require("fs");
const readline = require("readline");

const [tools, chromium, base, part, given] = process.argv.slice(2);
const playwright = require(tools + "/node_modules/playwright-core");
const axe = fs.readFileSync(tools + "/node_modules/axe-core/axe.min.js",
    "utf8");
const options = JSON.parse(given);
const lines = readline.createInterface({ input: process.stdin });

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
    "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-proxy-server",
    "--disable-default-apps", "--disable-extensions", "--disable-breakpad",
    "--enable-precise-memory-info", "--js-flags=--expose-gc",
    // A script may name sites of its own.
    `--host-resolver-rules=${options.rules ?? ""}MAP * ~NOTFOUND, ` +
    "EXCLUDE 127.0.0.1"];
const WAIT_MS = 60000;

function say(o) {
	process.stdout.write(JSON.stringify(o) + "\n");
}

function check(name, fine, why) {
	say({ name, fine: !!fine, why: fine ? "" : String(why ?? "") });
	return !!fine;
}

function same(name, got, want) {
	return check(name, JSON.stringify(got) === JSON.stringify(want),
	    JSON.stringify(got) + " is not " + JSON.stringify(want));
}

function askOutside(word) {
	return new Promise((done) => {
		lines.once("line", (l) => done(JSON.parse(l)));
		say({ ask: word });
	});
}

/* --- a page that is watched ---------------------------------------------- */

let browser = null;

function newContext(more) {
	return browser.newContext(more);
}

/* `wrong` gets what must not happen; `allow` are texts that may. */
async function open(size, more = {}, allow = []) {
	// An animated icon would be drawn sixty times a second.
	const context = await newContext({ viewport: size,
	    acceptDownloads: true, reducedMotion: "reduce", ...more });
	const page = await context.newPage();
	const wrong = [];
	const tell = (text) => {
		if (!allow.some((a) => text.includes(a)))
			wrong.push(text);
	};

	page.setDefaultTimeout(WAIT_MS);
	page.on("console", (m) => {
		if (m.type() === "error" || m.type() === "warning")
			tell(`${m.type()}: ${m.text()} (${m.location().url})`);
	});
	page.on("pageerror", (e) => tell("fault: " + e.stack));
	page.on("dialog", (d) => {
		tell("dialog: " + d.message());
		d.dismiss().catch(() => {});
	});
	context.on("request", (r) => {
		if (!r.url().startsWith(base) && !/^(data|blob|about):/.test(
		    r.url()))
			tell("asked elsewhere: " + r.url());
	});
	page.on("requestfailed", (r) => {
		if (r.failure()?.errorText !== "net::ERR_ABORTED")
			tell("failed: " + r.url() + " " + r.failure()?.errorText);
	});
	page.on("response", (r) => {
		if (r.status() >= 400)
			tell(`answered ${r.status()}: ${r.url()}`);
	});
	return { context, page, wrong };
}

const WIDE = { width: 1440, height: 900 }, PHONE = { width: 390, height: 844 };

async function until(page, what, test, arg, ms = WAIT_MS) {
	try {
		await page.waitForFunction(test, arg, { timeout: ms,
		    polling: 100 });
		return check(what, true);
	} catch {
		return check(what, false, "not within " + ms / 1000 +
		    " s; the page says: " + (await page.innerText("main").catch(
		    () => "")).replace(/\s+/g, " ").slice(0, 400));
	}
}

/* Take a screenshot, if they are kept; the name gives width and theme. */
async function picture(page, name, more = {}) {
	if (options.keep)
		await page.screenshot({ path: `${options.shots}/${name}.png`,
		    ...more });
}

/*
 * Check that a view fits into both widths; take screenshots of it, if they are
 * kept: NAME-{wide,phone}-{light,dark}.png.
 */
async function shoot(page, name) {
	for (const [form, size] of [["phone", PHONE], ["wide", WIDE]]) {
		await page.setViewportSize(size);
		for (const theme of options.keep ? ["dark", "light"] : []) {
			await page.emulateMedia({ colorScheme: theme });
			await page.waitForTimeout(300);
			await picture(page, `${name}-${form}-${theme}`);
		}
		check(`${name} does not scroll sideways (${form})`,
		    await page.evaluate(() => document.documentElement
		    .scrollWidth <= innerWidth));
	}
}

/*
 * The serious findings of axe-core, which is loaded into the page and not into
 * its frames.  The dark theme differs in its colours alone, so that only their
 * contrast is checked there.
 */
async function grave(page, theme, within = "html") {
	const found = await page.evaluate(([w, more]) => window.axe.run(w,
	    { resultTypes: ["violations"], iframes: false, ...more }), [within,
	    theme === "light" ? {} : { runOnly: ["color-contrast"] }]);

	return found.violations.filter((v) => v.impact === "serious" ||
	    v.impact === "critical").map((v) => v.id + " " + v.nodes[0].target +
	    " " + v.nodes[0].failureSummary);
}

/* The figure of a tile. */
function tile(page, name) {
	return page.evaluate((n) => {
		for (const t of document.querySelectorAll(".tile"))
			if (t.querySelector("dt").textContent === n)
				return Number(t.querySelector("dd").textContent
				    .replace(/[^0-9.]/g, ""));
		return NaN;
	}, name);
}

/* The rows of a long list that are in view. */
function rows(page) {
	return page.$$eval(".list-row:not([hidden])", (all) => all.map((r) =>
	    r.textContent).filter((t) => t !== ""));
}

function tab(page, name) {
	return page.click(`[role=tab]:has-text("${name}")`);
}

/* --- all of it ---------------------------------------------------------- */

async function main(parts) {
	browser = await playwright.chromium.launch({ executablePath: chromium,
	    args: FLAGS, headless: true });
	try {
		await parts[part]();
	} finally {
		await browser.close();
		lines.close();
	}
}

/* Do the part that is asked for. */
function run(parts) {
	main(parts).catch((e) => {
		check("it goes on to its end", false, e.message.slice(0, 800));
		process.exit(1);
	});
}

module.exports = { options, base, axe, say, check, same, askOutside, newContext,
	open, until, picture, shoot, grave, tile, rows, tab, run, WIDE, PHONE,
	WAIT_MS };
