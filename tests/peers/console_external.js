/*
 * console_external.js -- the console's tests of connectors and of tasks of back
 * ends; console_page.js says how it is called.
 */
"use strict";

const { options, base, axe, check, same, askOutside, open, until, picture, grave,
	tile, run } = require("./console_page.js");

const DESK = { width: 1280, height: 860 }, PHONE = { width: 360, height: 740 };
const HOSTILE = "<img src=x onerror=alert(1)>";
const SECRET = "canary-pass";

const main = (page) => page.locator("main");
const says = (page, what, text) => until(page, what, (t) => document
    .querySelector("main").innerText.includes(t), text);
const isIn = (page, what, state) => until(page, what, (s) => document
    .querySelector("h1 .badge")?.textContent === s, state);
const fill = (page, label, text) => main(page).getByLabel(label,
    { exact: true }).fill(text);
const press = (page, text) => page.locator("main button:visible", { hasText:
    text }).first().click();
const answer = (page, text) => page.click(`dialog button:has-text("${text}")`);

const goTo = async (page, path) => {
	await page.goto(base + path);
	await page.waitForFunction(() => document.body.dataset.door === "open" &&
	    document.querySelector("main h1, main h3") &&
	    !document.querySelector(".loading"));
};

/* Both widths and themes: screenshots, no sideways scroll, axe-core. */
async function look(page, name, within = "html") {
	await page.evaluate(axe);
	for (const [form, size] of [["wide", DESK], ["phone", PHONE]]) {
		await page.setViewportSize(size);
		await page.evaluate(() => scrollTo(0, 0));
		check(`${name} does not scroll sideways (${form})`,
		    await page.evaluate(() => document.documentElement
		    .scrollWidth <= innerWidth));
		for (const scheme of ["light", "dark"]) {
			await page.emulateMedia({ colorScheme: scheme });
			await picture(page, `${name}-${form}-${scheme}`,
			    { fullPage: true });
			if (form === "phone" && scheme === "dark")
				continue;
			same(`${name}: axe-core has no serious finding (` +
			    `${form}, ${scheme})`, await grave(page, scheme,
			    within), []);
		}
	}
	await page.setViewportSize(DESK);
	await page.emulateMedia({ colorScheme: "light" });
}

async function enter(page, text) {
	await page.goto(base + "/");
	await page.fill("form input", text);
	await page.click("form button");
	await page.waitForFunction(() => document.body.dataset.door === "open");
}

/* Which fields are marked as wrong, by their labels. */
const wrongFields = (page) => page.$$eval("[aria-invalid]", (all) => all.map(
    (f) => document.querySelector(`label[for="${f.id}"]`).firstChild
    .textContent + ": " + document.getElementById(f.id + "-wrong")
    .textContent));

/* --- connectors ---------------------------------------------------------- */

async function checks(page) {
	await press(page, "Check");
	await until(page, "a missing parameter is shown at its field", () =>
	    document.querySelector("[aria-invalid]"));
	let wrong = await wrongFields(page);
	check("... it alone", wrong.length === 1 && wrong[0].startsWith(
	    "Kind: "), wrong);
	same("... and has the focus", await page.evaluate(() => document
	    .querySelector(`label[for="${document.activeElement.id}"]`)
	    .firstChild.textContent), "Kind");
	await fill(page, "Kind needed", "a");
	await fill(page, "Most", "0");
	await fill(page, "From", "2026-02-01");
	await fill(page, "Until", "2026-01-01");
	await press(page, "Check");
	await until(page, "two more", () => document.querySelectorAll(
	    "[aria-invalid]").length === 1 || document.querySelectorAll(
	    "[aria-invalid]").length === 2);
	wrong = await wrongFields(page);
	check("... a bound", wrong.some((w) => w.startsWith("Most: ")), wrong);
	await fill(page, "Most", "40");
	await press(page, "Check");
	await until(page, "a restriction has its message", () => [...document
	    .querySelectorAll(".field .wrong")].some((w) => w.textContent
	    .includes("Must be earlier")));
	same("... at its parameter", (await wrongFields(page)).map((w) => w
	    .split(":")[0]), ["From"]);
	await look(page, "connector-wrong");
	await fill(page, "From", "2025-01-01");
	await press(page, "Check");
	await says(page, "the check is passed", "The check is passed");
	same("... and nothing is wrong", await wrongFields(page), []);
	same("its parts", await page.$$eval(".checks li b", (all) => all.map(
	    (b) => b.textContent)), ["parameters", "credential", "source",
	    "documents"]);
}

async function byHand(page) {
	await main(page).getByLabel("pictures", { exact: true }).check();
	await fill(page, "Words", "one\ntwo");
	await fill(page, "Pass phrase", SECRET);
	await askOutside("spoil");
	/* By the keyboard: Enter in a field of the form. */
	await main(page).getByLabel("Most", { exact: true }).press("Enter");
	await until(page, "documents come while it runs", () => {
		const n = document.querySelectorAll(".documents > li").length;
		return n >= 10 && n < 45 && document.querySelector(
		    ".by-hand button:not([hidden])");
	});
	await askOutside("fast");
	await says(page, "it ends", "the source has no more documents");
	same("documents", [await tile(page, "Documents"), await tile(page,
	    "Rejected")], [44, 1]);
	await until(page, "the rejected one has its rule", () => document
	    .querySelector(".documents .rejected .wrong").textContent.includes(
	    "/name"));
	await page.locator(".documents summary").first().press("Enter");
	await until(page, "a document opens, with all digits", () => document
	    .querySelector(".documents details[open] pre")?.textContent
	    .includes("1000000000000000000000000000001"));
	const [file] = await Promise.all([page.waitForEvent("download"),
	    page.click(".by-hand a[download]")]);
	same("the file's name", file.suggestedFilename(), "things.ndjson");
	await file.saveAs(options.file);
	await look(page, "connector-run");
	await askOutside("mend");
	await askOutside("slow");
	await press(page, "Run by hand");
	await until(page, "another run", () => document.querySelectorAll(
	    ".documents > li").length >= 10);
	await page.click(".by-hand button:has-text('Stop')");
	await says(page, "it is stopped", "You have stopped it");
	await askOutside("fast");
}

/* --- choices ------------------------------------------------------------- */

const fetcher = (page, title) => main(page).getByRole("button", { name:
    "Fetch choices of " + title, exact: true });
const part = (page, title) => main(page).locator(".field", { has: page
    .getByLabel(title, { exact: true }) }).locator(".fetched");
/* The body of the request that `act` makes. */
const bodyOf = async (page, end, act) => (await Promise.all([page
    .waitForRequest((r) => r.url().endsWith(end)), act()]))[0].postDataJSON();
const tells = (page, what, title, text) => until(page, what, ([t, s]) =>
    [...document.querySelectorAll(".field")].find((f) => f.querySelector(
    "label")?.firstChild.textContent === t)?.querySelector(".fetched")
    .innerText.includes(s), [title, text]);

async function refusedChoices(page) {
	await fetcher(page, "Board").click();
	await tells(page, "what a choice needs is said", "Board",
	    "kind: these choices need it");
	same("... and shown at its field", await wrongFields(page),
	    ["Kind: these choices need it"]);
	same("... which has the focus", await page.evaluate(() => document
	    .activeElement.labels[0].firstChild.textContent), "Kind");
	await look(page, "connector-choices-wrong");
	await fill(page, "Kind needed", "a");
	await fetcher(page, "Tags").click();
	await tells(page, "without a credential: the server's words", "Tags",
	    "credential: the connector wants a user and a password");
	same("... and no field is wrong any more", [await wrongFields(page),
	    await part(page, "Board").locator(".wrong").textContent()], [[],
	    ""]);
	same("... but the credential", await page.textContent(
	    ".credential .wrong"),
	    "the connector wants a user and a password");
	await fill(page, "User", "ada");
	await fill(page, "Password, token or key", "canary-wrong");
	await fetcher(page, "Tags").click();
	await tells(page, "a wrong one: who must act", "Tags", "config: ");
	await fill(page, "Password, token or key", SECRET);
	await askOutside("no choices");
	await fetcher(page, "Tags").click();
	await tells(page, "none: it is said", "Tags", "No choices were found");
	same("... and nothing is listed", await part(page, "Tags").locator(
	    "input[type=checkbox]").count(), 0);
	await askOutside("few choices");
}

/* By the keyboard alone. */
async function oneChoice(page) {
	const list = part(page, "Board").locator("select");
	const field = main(page).getByLabel("Board", { exact: true });

	await askOutside("late choices");
	await fill(page, "Board", "e 1");
	await field.press("Tab");
	same("the request is what a program sends", await bodyOf(page,
	    "/external/boards/choices", () => page.keyboard.press("Enter")), {
	    name: "board", query: "e 1", params: { kind: "a", board: "e 1",
	    tags: [] }, credential: { user: "ada", password: SECRET } });
	await tells(page, "it waits", "Board", "Asking the source…");
	same("... and cannot be asked again", await fetcher(page, "Board")
	    .isDisabled(), true);
	await tells(page, "how many there are", "Board", "10 choices.");
	same("... in a status", await part(page, "Board").getByRole("status")
	    .textContent(), "10 choices.");
	same("the choices that match", await list.locator("option")
	    .allTextContents(), ["choose one", HOSTILE + " e 1", ...[10, 11, 12,
	    13, 14, 15, 16, 17, 18].map((i) => "näme " + i)]);
	await until(page, "the button has the focus again", () => document
	    .activeElement.textContent.includes("Fetch choices of Board"));
	await page.keyboard.press("Tab");
	same("the list is next", await page.evaluate(() => document
	    .activeElement.getAttribute("aria-label")), "Choices of Board");
	await page.keyboard.press("ArrowDown");
	same("what is picked is in the field", await field.inputValue(), "1");
	await page.keyboard.press("ArrowDown");
	same("another one", await field.inputValue(), "10");
	await field.fill("12");
	same("what is typed shows in the list", await list.inputValue(), "12");
	await field.fill("x");
	same("... as far as it is there", await list.inputValue(), "");
	await list.selectOption("11");
	same("what was picked is no query", (await bodyOf(page, "/choices", () =>
	    fetcher(page, "Board").click())).query, "");
	await until(page, "so all are there", () => document.querySelectorAll(
	    ".fetched option").length === 11);
	await list.selectOption("2");
}

async function severalChoices(page) {
	const lines = main(page).getByLabel("Tags", { exact: true });
	const search = main(page).getByLabel("Search the choices of Tags");
	const boxes = part(page, "Tags").locator("input[type=checkbox]");
	const focused = () => page.evaluate(() => document.activeElement
	    .parentElement.textContent);

	await fill(page, "Tags", "mine");
	await search.fill("e 2");
	same("Enter asks, and does not send the form", await bodyOf(page,
	    "/boards/choices", () => search.press("Enter")), { name: "tags",
	    query: "e 2", params: { kind: "a", board: "2", tags: ["mine"] },
	    credential: { user: "ada", password: SECRET } });
	await until(page, "a box for each", () => document.querySelectorAll(
	    ".fetched [type=checkbox]").length === 10);
	same("no run has begun", await page.locator(".by-hand").count(), 0);
	await fetcher(page, "Tags").press("Tab");
	await page.keyboard.press("Space");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("Space");
	same("ticked ones are added", await lines.inputValue(), "mine\n2\n20");
	await look(page, "connector-choices");
	await page.keyboard.press("Space");
	same("others are removed", await lines.inputValue(), "mine\n2");
	await fill(page, "Tags", "20");
	same("what is typed is ticked", [await boxes.nth(0).isChecked(),
	    await boxes.nth(1).isChecked()], [false, true]);
	await askOutside("many choices");
	await search.fill("");
	await fetcher(page, "Tags").click();
	await tells(page, "that some were left out is said", "Tags",
	    "The first 1,000 choices: to find others, search for a part");
	same("... and the rest is there", await boxes.count(), 1000);
	await fetcher(page, "Tags").press("Tab");
	same("Tab leads to the first", await focused(), "näme 1");
	await page.keyboard.press("End");
	same("End to the last", await focused(), "näme 1000");
	await page.keyboard.press("ArrowDown");
	same("which it stays at", await focused(), "näme 1000");
	await page.keyboard.press("Space");
	await page.keyboard.press("Tab");
	same("Tab leaves the list", await page.evaluate(() => document
	    .activeElement.id), "credential-user");
	await look(page, "connector-choices-many");
	await askOutside("few choices");
	same("a check has what was picked", (await bodyOf(page, "/check", () =>
	    press(page, "Check"))).params, { kind: "a", board: "2",
	    tags: ["20", "1000"] });
	await says(page, "... and is passed", "The check is passed");
}

async function choices(page) {
	await goTo(page, "/browse/connectors/boards");
	await refusedChoices(page);
	await oneChoice(page);
	await severalChoices(page);
}

async function secrets(page) {
	await goTo(page, "/browse/connectors/secret");
	await fill(page, "Kind needed", "a");
	await press(page, "Run by hand");
	await until(page, "a missing credential is said there", () => document
	    .querySelector(".credential .wrong")?.textContent !== "");
	await fill(page, "User", "ada");
	await fill(page, "Password, token or key", "canary-wrong");
	await press(page, "Run by hand");
	await says(page, "a wrong one: who must act", "config: ");
	await fill(page, "Password, token or key", SECRET);
	await press(page, "Run by hand");
	await says(page, "the right one", "the source has no more documents");
	await look(page, "connector-credential");
	same("nothing is kept in the browser, or in the address",
	    await page.evaluate((s) => [location.href, JSON.stringify({
	    ...localStorage }), JSON.stringify({ ...sessionStorage }),
	    document.cookie].filter((t) => t.includes(s) || t.includes(
	    "canary")), SECRET), []);
	await page.click("a.tab:has-text('Connectors')");
	await page.click("a:has-text('Secret things')");
	await page.waitForSelector("#credential-secret");
	same("the fields are empty again", await page.inputValue(
	    "#credential-secret"), "");
	await page.click("a.tab:has-text('Connectors')");
	await page.click("a:has-text('Things of people')");
	await says(page, "signing in is the back end's affair",
	    "People sign in at the front end of a back end");
	same("so there is no run", await page.locator(
	    "main button:has-text('Run by hand')").count(), 0);
	same("... and nothing that fetches choices", [await page.locator(
	    "main button:has-text('Fetch choices')").count(), await main(page)
	    .getByLabel("Board", { exact: true }).count()], [0, 1]);
	await look(page, "connector-oauth");
}

/* --- tasks of back ends -------------------------------------------------- */

const facts = (page, name) => page.$$eval(".facts dt", (all, n) => all.find(
    (d) => d.textContent === n).nextSibling.textContent, name);

async function steered(page) {
	await askOutside("slow task");
	await page.click("a.tab:has-text('Tasks of back ends')");
	await until(page, "a back end's task is listed", () => [...document
	    .querySelectorAll("tbody tr")].some((r) => r.cells[0].textContent
	    === "t:1" && r.cells[7].textContent === "acme" &&
	    r.cells[1].textContent === "running"));
	await page.click("tbody a:has-text('t:1')");
	await isIn(page, "it runs", "running");
	await says(page, "its log is there", "attempt 1 begins");
	await until(page, "documents are uploaded", () => Number([...document
	    .querySelectorAll(".tile")].find((t) => t.firstChild.textContent
	    === "Uploaded").lastChild.textContent) >= 10);
	/* The next page does not come while it is looked at. */
	await askOutside("hold");
	await look(page, "task-running");
	await press(page, "Stop");
	same("a question names it", await page.textContent("dialog h2"),
	    "Stop t:1?");
	await answer(page, "No, leave it");
	await isIn(page, "it still runs", "running");
	await press(page, "Stop");
	await answer(page, "Stop the task");
	await isIn(page, "it is stopped", "failed");
	await says(page, "... as the back end was told",
	    "500 Cancelled by an operator");
	await says(page, "... and its log grows", "an operator has cancelled");
	await askOutside("fast");
	await press(page, "Retry");
	await isIn(page, "another attempt ends", "done");
	same("it is the second", await tile(page, "Attempt"), 2);
	same("all is uploaded", await tile(page, "Uploaded"), 45);
	await press(page, "Reset the cursor");
	await answer(page, "Reset the cursor");
	await until(page, "the cursor is gone", () => [...document
	    .querySelectorAll("details pre")].some((p) => p.textContent
	    .startsWith("There is none")));
	same("who it is for", await facts(page, "Back end"), "acme");
	await look(page, "task-done");
}

async function rejected(page) {
	await askOutside("broken task");
	await goTo(page, "/browse/external/acme/things/broken");
	await isIn(page, "a task with a rejected document", "done");
	await until(page, "the rule that it broke", () => document.querySelector(
	    "td.rule")?.textContent.includes("/name"));
	await page.click(".documents summary");
	await until(page, "the document", () => document.querySelector(
	    ".documents pre")?.textContent.includes('"name": 7'));
	await look(page, "task-rejected");
	await askOutside("mend");
	await askOutside("secret task");
	await goTo(page, "/browse/external/acme/things/kept");
	await isIn(page, "a task with a secret parameter", "done");
	await press(page, "Retry");
	await says(page, "what is not kept is asked for",
	    "Secrets are not kept");
	same("the rest is there", await main(page).getByLabel("Kind needed",
	    { exact: true }).inputValue(), "a");
	await fill(page, "Pass phrase", "canary");
	await fetcher(page, "Board").click();
	await tells(page, "choices for another attempt", "Board", "10 choices.");
	await part(page, "Board").locator("select").selectOption("3");
	same("... are picked", await main(page).getByLabel("Board", { exact:
	    true }).inputValue(), "3");
	await look(page, "task-retry");
	await main(page).locator("form button.primary").click();
	await until(page, "it is tried again", () => [...document
	    .querySelectorAll(".tile")].some((t) => t.textContent ===
	    "Attempt2"));
	await isIn(page, "and done", "done");
}

async function redelivered(page) {
	await askOutside("refused");
	await goTo(page, "/browse/external/acme/things/r1");
	await isIn(page, "the back end refuses", "draining");
	await says(page, "why it waits", "Waits for the back end acme (HTTP 503)");
	await look(page, "task-waiting");
	await isIn(page, "it is given up", "undelivered");
	await askOutside("accept");
	await press(page, "Redeliver");
	await isIn(page, "it is delivered", "done");
	same("all of it", [await tile(page, "Uploaded"), await tile(page,
	    "Spooled")], [45, 0]);
	await askOutside("refused too");
	await goTo(page, "/browse/external/acme/things/r2");
	await isIn(page, "another one", "draining");
	await press(page, "Give up");
	await answer(page, "Give them up");
	await isIn(page, "what is left is dropped", "cancelled");
	await goTo(page, "/system");
	await until(page, "System: a back end's last error", () => document
	    .querySelector(".back-ends td.error")?.textContent === "HTTP 503");
	await look(page, "system-back-ends", ".back-ends");
	await askOutside("accept");
	await goTo(page, "/browse/external?backend=acme");
	await until(page, "the list", () => document.querySelectorAll(
	    "tbody tr").length >= 5);
	await look(page, "tasks");
	await main(page).getByLabel("Which tasks").selectOption("1");
	await says(page, "none is open", "There is no such task");
	await goTo(page, "/browse/external/acme/things/none");
	await says(page, "an unknown task", "there is no such task");
	await goTo(page, "/browse/connectors/none");
	await says(page, "an unknown connector", "there is no such connector");
}

async function external() {
	/* Statuses that these tests provoke on purpose. */
	const { page, context, wrong } = await open(DESK, {}, ["400", "401",
	    "404"]);

	await enter(page, options.token);
	await page.click("#nav a:has-text('Connectors')");
	await until(page, "the connectors", () => document.querySelectorAll(
	    "tbody tr").length >= 4);
	await says(page, "text of others is text", HOSTILE);
	await look(page, "connectors");
	await page.locator("tbody a", { hasText: /^Things$/ }).click();
	await page.waitForSelector("form .field");
	await look(page, "connector");
	await checks(page);
	await byHand(page);
	await choices(page);
	await secrets(page);
	await steered(page);
	await rejected(page);
	await redelivered(page);
	same("nothing went wrong", wrong, []);
	await context.close();
}

/* Those who may not read are told, those who may not write have no buttons. */
async function rights() {
	for (const [name, text] of [["looker", options.looker], ["crawler",
	    options.crawler]]) {
		const { page, context, wrong } = await open(DESK, {}, ["401"]);
		await enter(page, text);
		await goTo(page, "/browse/external");
		if (name === "crawler") {
			await says(page, "without external:read: it is said",
			    "external:read");
			same("... and it is not in the navigation",
			    await page.isVisible("#nav a:has-text(" +
			    "'Connectors')"), false);
		} else {
			await until(page, "external:read: the list", () =>
			    document.querySelector("tbody tr"));
			await goTo(page, "/browse/external/acme/things/r1");
			await isIn(page, "a task", "done");
			same("nothing that changes it", await page.$$eval(
			    ".steering button:not([hidden])", (b) => b.length),
			    0);
			await page.setViewportSize(PHONE);
			await goTo(page, "/browse/connectors/things");
			check("on a phone the navigation shows where it is",
			    await page.evaluate(() => {
				const r = document.querySelector("#nav " +
				    "[aria-current]").getBoundingClientRect();
				return r.left >= 0 && r.right < innerWidth -
				    20;
			}));
			same("nothing that runs a connector", await page.$$eval(
			    "form button", (b) => b.filter((x) => x.offsetParent)
			    .length), 0);
		}
		check(`${name}: nothing went wrong`, wrong.length === 0, wrong);
		await context.close();
	}
}

run({ external, rights });
