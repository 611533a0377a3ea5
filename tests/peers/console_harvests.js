/*
 * console_harvests.js -- the console's tests of harvests; console_page.js says
 * how it is called.
 */
"use strict";

const { options, base, axe, check, same, open, until, shoot, tile, run }
    = require("./console_page.js");

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
async function look(page, name) {
	await shoot(page, name);
	await page.evaluate(axe);
	for (const scheme of ["light", "dark"]) {
		await page.emulateMedia({ colorScheme: scheme });
		const found = await page.evaluate(() => window.axe.run(document,
		    { resultTypes: ["violations"] }));
		same(`${name}: axe-core has no serious finding (${scheme})`,
		    found.violations.filter((v) => v.impact === "serious" ||
		    v.impact === "critical").map((v) => v.id + " " +
		    v.nodes[0].target), []);
	}
	await page.emulateMedia({ colorScheme: "light" });
}

const fill = (page, label, text) => page.getByLabel(label, { exact: true })
    .fill(text);

async function begin(page, type, seeds, credential, path) {
	await page.click("button:has-text('New harvest')");
	await page.getByLabel("Type", { exact: true }).selectOption(type);
	if (seeds !== "")
		await fill(page, "Seeds, one a line", seeds);
	await page.getByLabel("Credential", { exact: true })
	    .selectOption(credential);
	await fill(page, "Directory", path);
}

async function harvests() {
	const { page, context, wrong } = await open(DESK);

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

	await page.click(".crumbs a");
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
	await fill(page, "Seeds, one a line", "ada");
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
		same(`${name}: there is no button for a new one`,
		    await page.$$eval("main .head button", (b) => b.length),
		    0);
		check(`${name}: nothing went wrong`, wrong.length === 0, wrong);
		await context.close();
	}
}

run({ harvests, rights });
