/*
 * realtime_2016.js -- the pages of 2016, used by a person who is a program.
 *
 *     node realtime_2016.js TOOLS CHROMIUM FOLDER PORT SEED
 *
 * They connect to localhost:8001, which is mapped to PORT.  Prints a line of
 * JSON for each check; "restart" waits for a line of standard input.
 */
"use strict";

const fs = require("fs");
const readline = require("readline");

const [tools, chromium, folder, port, seed] = process.argv.slice(2);
const modules = tools + "/node_modules/";
const playwright = require(modules + "playwright-core");
const lines = readline.createInterface({ input: process.stdin });
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu",
    "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--no-proxy-server",
    `--host-resolver-rules=MAP localhost:8001 127.0.0.1:${port}`];
const ELSEWHERE = {
	"jquery-3.0.0.min.js": "jquery/dist/jquery.min.js",
	"materialize.min.js": "materialize-css/dist/js/materialize.min.js",
	"materialize.min.css": "materialize-css/dist/css/materialize.min.css",
};
const wrong = [];

function check(name, fine, why) {
	process.stdout.write(JSON.stringify({ name, fine: !!fine,
	    why: String(why ?? "") }) + "\n");
}

function restart() {
	return new Promise((done) => {
		lines.once("line", done);
		check("restart", true);
	});
}

async function open(browser, name) {
	const page = await browser.newPage();

	page.on("pageerror", (e) => wrong.push(name + ": " + e.stack));
	await page.route(/^https:/, (route) => {
		const last = route.request().url().split("/").pop();
		const found = ELSEWHERE[last];
		if (found)
			route.fulfill({ path: modules + found });
		else
			route.fulfill({ body: "", contentType: "text/css" });
	});
	await page.goto(`file://${folder}/${name}`);
	return page;
}

async function until(page, what, test, arg) {
	try {
		await page.waitForFunction(test, arg, { timeout: 30000 });
		check(what, true);
	} catch {
		check(what, false, await page.innerText("body"));
	}
}

function cells(page) {
	return page.$$eval("#crawl-status tbody tr", (rows) => rows.map((r) =>
	    [...r.children].map((c) => c.textContent)));
}

function titles(page) {
	return page.$$eval("#page-data tbody tr", (rows) => rows.map((r) =>
	    r.children[1].textContent).sort());
}

async function follow(page) {
	await page.$eval("#crawls input", (i) => i.click());
}

(async () => {
	const browser = await playwright.chromium.launch({
	    executablePath: chromium, args: FLAGS });
	const crawler = await open(browser, "crawler-ui.html");
	const items = await open(browser, "items-ui.html");

	await crawler.waitForTimeout(500);
	await crawler.fill("#seed-url", seed);
	await crawler.fill("#rate-limit", "0.1");
	await crawler.click("button[type=submit]");
	await until(crawler, "crawler-ui: the crawl completes", () =>
	    $("#crawl-status tbody td:nth-child(2)").text() === "complete");
	check("crawler-ui: its figures", JSON.stringify(await cells(crawler)) ===
	    JSON.stringify([[seed, "complete", "7", "0", "1", "0"]]),
	    JSON.stringify(await cells(crawler)));

	await until(items, "items-ui: the crawl is listed", () =>
	    $("#crawls li").length === 1);
	await follow(items);
	await until(items, "items-ui: every item comes", () =>
	    $("#page-data tbody tr").length === 8);
	const before = JSON.stringify(await titles(items));
	check("items-ui: with its title", before.includes('"old.test 5"') &&
	    before.includes('"old.test 0"'), before);

	await restart();
	await items.waitForTimeout(4500);
	await until(items, "items-ui: it is connected again", () =>
	    socket.readyState === 1);
	/* Off, which is an error now, and on again, with the token. */
	await follow(items);
	await follow(items);
	await items.waitForTimeout(500);
	check("items-ui: no item twice", JSON.stringify(await titles(items)) ===
	    before, JSON.stringify(await titles(items)));

	/* The rate limit left blank is "". */
	await crawler.waitForTimeout(500);
	await crawler.fill("#rate-limit", "");
	await crawler.click("button[type=submit]");
	await until(crawler, "crawler-ui: a second crawl, rate limit blank", () =>
	    $("#crawl-status tbody tr").length === 2);
	await until(items, "items-ui: sees it too", () =>
	    $("#crawls li").length === 2);
	check("no page throws", wrong.length === 0, wrong.join("\n"));
	await browser.close();
	process.exit(0);
})();
