/*
 * console_harvests.js -- the console's tests of harvests; console_page.js says
 * how it is called.
 */
"use strict";

const { options, base, axe, check, same, askOutside, open, until, shoot, grave,
    tile, run } = require("./console_page.js");

const DESK = { width: 1280, height: 860 };
const HOSTILE = "<img src=x onerror=alert(1)>";

const goTo = async (page, path) => {
	await page.goto(base + path);
	await page.waitForFunction(() => document.body.dataset.door === "open" &&
	    document.querySelector("main h1, main h3") &&
	    !document.querySelector(".loading"));
};

const says = (page, what, text) => until(page, what, (t) => document
    .querySelector("main").innerText.includes(t), text);

const isIn = (page, what, state) => until(page, what, (s) => document
    .querySelector("h1 .badge")?.textContent === s, state);

/* In both widths and themes. */
async function look(page, name, within = "html") {
	await shoot(page, name);
	await page.evaluate(axe);
	for (const scheme of ["light", "dark"]) {
		await page.emulateMedia({ colorScheme: scheme });
		same(`${name}: axe-core has no serious finding (${scheme})`,
		    await grave(page, scheme, within), []);
	}
	await page.emulateMedia({ colorScheme: "light" });
}

const fill = (page, label, text) => page.getByLabel(label, { exact: true })
    .fill(text);

async function begin(page, type, seeds, credential, path) {
	await page.click("button:has-text('New harvest')");
	await page.getByLabel("Type", { exact: true }).selectOption(type);
	if (seeds !== "")
		await fill(page, "Seeds, one per line", seeds);
	await page.getByLabel("Credential", { exact: true })
	    .selectOption(credential);
	await fill(page, "Directory", path);
}

/* Begun by the button of a harvest that is over, watched and downloaded. */
async function exported(page) {
	await page.click(".head a:has-text('Export')");
	await page.waitForSelector(".choices input");
	same("the harvest is chosen", await page.$$eval(".choices input",
	    (all) => all.filter((i) => i.checked).map((i) => i.value)),
	    ["mastodon_account-1"]);
	same("its type, too", await page.getByLabel("Type", { exact: true })
	    .inputValue(), "mastodon_account");
	await page.click("form summary:has-text('More options')");
	await look(page, "exports-form");
	await page.click("form button:has-text('Export')");
	await isIn(page, "an export is made", "completed success");
	same("its rows", await tile(page, "Rows"), options.posts);
	await says(page, "how long it is kept", "Kept until");
	await look(page, "export");
	const link = page.locator("table a[download]");
	const [file] = await Promise.all([page.waitForEvent("download"),
	    link.click()]);
	same("the file's name", file.suggestedFilename(), "export-1_001.csv");
	await file.saveAs(options.file);
	await page.click(".crumbs a:has-text('Exports')");
	await until(page, "the list has it", () => document.querySelector(
	    "tbody tr"));
	same("a row", await page.$eval("tbody tr", (r) => [...r.cells].slice(0,
	    5).map((c) => c.textContent)), ["export-1", "completed success",
	    "csv", "mastodon_account-1", String(options.posts)]);
}

/* SFM's interface does not answer, so this one runs until it is cancelled. */
async function cancelled(page) {
	await goTo(page, "/browse/exports");
	await page.click("button:has-text('New export')");
	await page.getByLabel("Source", { exact: true }).selectOption("collection");
	await fill(page, "Id of the collection", "c1");
	await page.click("form summary:has-text('More options')");
	await fill(page, "Name", HOSTILE);
	await fill(page, "Columns", "uri, url");
	await fill(page, "Rows per file", "7");
	await fill(page, "Posts from", "2026-01-02");
	await fill(page, "Harvests begun until", "2026-01-03");
	await page.getByLabel("Leave out repeated posts").check();
	await page.click("form button:has-text('Export')");
	await isIn(page, "an export runs", "running");
	await says(page, "text of others is text", HOSTILE);
	await says(page, "what it does", "Looking up its WARC files");
	same("what was ordered", JSON.parse(await page.$eval("details pre",
	    (p) => p.textContent)), { collection: { id: "c1" }, id: HOSTILE,
	    type: "mastodon_account", format: "csv", segment_size: 7, dedupe:
	    true, item_date_start: "2026-01-02T00:00:00Z", harvest_date_end:
	    "2026-01-03T23:59:59.999999Z", columns: ["uri", "url"] });
	await page.click(".head button:has-text('Cancel')");
	await page.click("dialog button:has-text('Cancel the export')");
	await isIn(page, "it is cancelled", "completed failure");
	await says(page, "and says so", "export_cancelled");
	await goTo(page, "/browse/exports");
	await until(page, "its collection is listed", () => document
	    .querySelector("tbody tr")?.textContent.includes(
	    "collection c1"));
	await look(page, "exports");
}

async function harvests() {
	const { page, context, wrong } = await open(DESK);

	await goTo(page, "/system");
	await says(page, "the broker is not there yet", "not connected: ");
	await goTo(page, "/browse/exports");
	await says(page, "no export: what one is", "a table, for");
	await goTo(page, "/");
	await page.click("#nav a:has-text('Harvests')");
	await says(page, "no harvest: what one is", "archives every answer");
	await begin(page, "mastodon_account", "ada\n" + HOSTILE, "open",
	    "posts");
	await look(page, "harvests-form");
	await page.click("form button:has-text('Start')");
	await isIn(page, "it is begun, and comes to its end",
	    "completed success");
	same("its posts", await tile(page, "Found"), options.posts);
	await says(page, "its warning is there", "token_not_found");
	await says(page, "text of others is text", HOSTILE);
	await says(page, "its file is in its place", "in its place");
	same("one that is over is not steered", await page.$$eval(
	    ".steering button:not([hidden])", (b) => b.length), 0);
	await look(page, "harvest");

	await exported(page);
	await goTo(page, "/browse/harvests");
	await until(page, "the list has it", (n) => document.querySelector(
	    "tbody tr")?.textContent.includes(n), "mastodon_account-1");
	await page.selectOption("main .filters select", "paused");
	await says(page, "none is paused", "No harvest is in this state");
	await page.selectOption("main .filters select", "");

	await begin(page, "mastodon_stream", "", "stream", "live");
	await page.click("form button:has-text('Start')");
	await isIn(page, "a stream runs", "running");
	await page.click(".steering button:has-text('Pause')");
	await isIn(page, "it is paused", "paused");
	await look(page, "harvest-paused");
	await page.click(".steering button:has-text('Resume')");
	await isIn(page, "it is resumed", "running");
	await page.click(".steering button:has-text('Stop')");
	await page.click("dialog button:has-text('Stop the harvest')");
	await isIn(page, "it is stopped", "completed success");

	await goTo(page, "/browse/harvests");
	await begin(page, "mastodon_account", "", "open", "../out");
	await fill(page, "Seeds, one per line", "ada");
	await page.click("form button:has-text('Start')");
	await until(page, "a refusal is said", () => document.body.innerText
	    .includes("none of harvest.roots"));
	await fill(page, "Directory", "often");
	await page.getByLabel("Again and again").check();
	await fill(page, "Name of the schedule", HOSTILE);
	await page.click("form button:has-text('Put the schedule')");
	await says(page, "the schedule is there", "every 6 hours");
	await until(page, "its harvest, too", () => [...document
	    .querySelectorAll("tbody tr")].some((r) => r.textContent.includes(
	    "schedule-1-1")));
	await look(page, "harvests");
	await page.click("button[aria-label^='Delete the schedule']");
	await page.click("dialog button:has-text('Delete the schedule')");
	await until(page, "the schedule is deleted", () => !document
	    .querySelector("main").innerText.includes("every 6 hours"));
	await cancelled(page);
	await goTo(page, "/browse/exports/none-1");
	await says(page, "an unknown export", "There is no export none-1");
	await goTo(page, "/browse/harvests/none-1");
	await says(page, "an unknown one", "There is no harvest none-1");
	same("nothing went wrong", wrong, []);
	await context.close();
}

/* Those who may not read are told, those who may not write have no buttons. */
async function rights() {
	for (const [name, text] of [["crawler", options.crawler], ["looker",
	    options.looker]]) {
		const { page, context, wrong } = await open(DESK, {},
		    ["401", "403"]);
		await page.goto(base + "/browse/harvests");
		await page.fill("input[type=password], form input", text);
		await page.click("form button");
		if (name === "crawler")
			await says(page, "without harvest:read: it is said",
			    "harvest:read");
		else
			await until(page, "harvest:read: the list", () =>
			    document.querySelector("tbody tr"));
		same(`${name}: a file of an export`, await page.evaluate(
		    async () => (await fetch("/exports/export-1/" +
		    "export-1_001.csv")).status), name === "looker" ? 200 :
		    403);
		same(`${name}: there is no button for a new one`,
		    await page.$$eval("main .head button", (b) => b.length),
		    0);
		await goTo(page, "/browse/exports?harvest=mastodon_account-1");
		await says(page, `${name}: exports`, name === "looker" ?
		    "export-1" : "harvest:read");
		same(`${name}: there is no form and no button`,
		    await page.$$eval("main form, main .head button", (b) =>
		    b.length), 0);
		check(`${name}: nothing went wrong`, wrong.length === 0, wrong);
		await context.close();
	}
}

/* By the broker of Social Feed Manager: a harvest waits for the platform. */
async function queues() {
	const { page, context, wrong } = await open(DESK);
	const row = (want) => until(page, "a queue: " + want, (w) => [...document
	    .querySelectorAll(".queues tbody tr")].some((r) => [...r.cells].map(
	    (c) => c.textContent).join(" ") === w), want);

	await goTo(page, "/browse/harvests/" + options.harvest);
	await isIn(page, "the broker's harvest runs", "running");
	await until(page, "why it waits, and until when", () =>
	    /^waits .* for the rate limit, until \d\d:\d\d/.test(document
	    .querySelector(".why").textContent));
	await until(page, "its budget", () => [...document.querySelectorAll(
	    "[aria-label='Rate limits'] tbody td")].some((c) => c.textContent ===
	    "300"));
	await goTo(page, "/system");
	await says(page, "the broker is connected", "connected");
	/* Nobody consumes while its slots are full. */
	await row("mastodon_harvester 1 1 1 0");
	await says(page, "the outbox", "1 message (");
	await says(page, "a dead letter", "1 message that could not");
	await look(page, "system", ".queues");
	await askOutside("end the broker");
	await says(page, "the broker is gone", "not connected: ");
	same("nothing went wrong", wrong, []);
	await context.close();
}

run({ harvests, queues, rights });
