/*
 * console_items.js -- the console's tests of items and tasks; console_page.js
 * says how it is called.
 */
"use strict";

const { options, base, axe, check, same, askOutside, open, until, picture, grave,
	run } = require("./console_page.js");

const DESK = { width: 1280, height: 860 }, PHONE = { width: 390, height: 844 };
/* What a browser says of the answers that the story provokes. */
const REFUSED = ["answered 422", "status of 422"];
const STALE = ["answered 412", "status of 412", "answered 409",
	"status of 409"];
const ABSENT = ["/items/nothing"];
/* A record that a new run has replaced since it was listed. */
const REPLACED = [`answered 404: ${base}/runs/`,
	`status of 404 (Not Found) (${base}/runs/`];

/* --- what all parts need --------------------------------------------------- */

const goTo = async (page, path) => {
	await page.goto(base + path);
	await page.waitForFunction(() => document.body.dataset.door === "open" &&
	    document.querySelector("main h1, main h3") &&
	    !document.querySelector(".loading"));
};

const says = (page, what, text, ms) => until(page, what, (t) => document
    .querySelector("main").innerText.includes(t), text, ms);

/* At its top, drawn, and nothing moves any more. */
const settle = (page) => page.evaluate(async () => {
	const drawn = () => new Promise((done) => requestAnimationFrame(() =>
	    requestAnimationFrame(done)));

	scrollTo(0, 0);
	await drawn();
	await Promise.all(document.getAnimations().filter((a) => a.effect
	    .getComputedTiming().endTime !== Infinity).map((a) => a.finished
	    .catch(() => {})));
	await drawn();
});

/* A view in both widths and themes: pictures, axe-core, no sideways scroll. */
async function look(page, name) {
	const all = [], sideways = [];

	await page.evaluate(axe);
	for (const [form, size] of [["wide", DESK], ["phone", PHONE]])
		for (const theme of ["light", "dark"]) {
			await page.setViewportSize(size);
			await page.emulateMedia({ colorScheme: theme });
			await settle(page);
			await picture(page, `${name}-${form}-${theme}`,
			    { fullPage: true });
			if (await page.evaluate(() => document.documentElement
			    .scrollWidth > innerWidth))
				sideways.push(form);
			all.push(...(await grave(page, theme)).map((v) =>
			    `${form} ${theme} ${v}`));
		}
	await page.setViewportSize(DESK);
	await page.emulateMedia({ colorScheme: "light" });
	same(`${name}: axe-core has no serious finding`, all, []);
	same(`${name} does not scroll sideways`, sideways, []);
}

/* page.url() learns of what a page does to its address only later. */
const queryOf = (page) => page.evaluate(() => location.search);

/* The figure of a state in a task's card. */
const figure = (page, task, state) => page.evaluate(([t, s]) => {
	const card = document.getElementById("task-" + t);
	const li = [...card?.querySelectorAll(".state-list li") ?? []].find(
	    (x) => x.textContent.endsWith(" " + s));
	return li ? Number(li.querySelector("b").textContent.replaceAll(",",
	    "")) : 0;
}, [task, state]);

const card = (page, task) => page.locator(`[id="task-${task}"]`);

async function untilFigure(page, what, task, state, n) {
	for (let i = 0; i < 450 && await figure(page, task, state) !== n; i++)
		await page.waitForTimeout(200);
	same(what, await figure(page, task, state), n);
}

async function tidyUp(context, wrong) {
	same("no error, no failed request, nobody else asked", wrong, []);
	await context.close();
}

/* --- the shop, as it should be --------------------------------------------- */

async function shop() {
	const { context, page, wrong } = await open(DESK, {}, [...STALE,
	    ...REPLACED]);

	await goTo(page, "/");
	await page.click("#nav a:has-text('Items')");
	await page.waitForURL("**/browse/items");
	await until(page, "the navigation leads to the items", () => document
	    .querySelectorAll("[aria-label=Items] tbody tr").length > 50);
	check("... and marks where we are", await page.getAttribute(
	    "#nav a:has-text('Items')", "aria-current") === "page");
	await look(page, "items");
	await findItems(page);
	await oneItem(page);
	await replacedRecord(page);
	await editItem(page);
	await theWorklist(page);
	await steerTasks(page);
	await keys(page);
	await tidyUp(context, wrong);
}

async function findItems(page) {
	await page.keyboard.press("/");
	await page.keyboard.type("shop:p000");
	await until(page, "the beginning of an id finds items", () => document
	    .querySelectorAll("[aria-label=Items] tbody tr").length === 10);
	check("the address keeps it", await queryOf(page) ===
	    "?find=shop%3Ap000");
	await page.fill("[data-find]", "nothing has this");
	await says(page, "nothing found says so", "No item fits");
	await goTo(page, "/browse/items?tag=category");
	await until(page, "a tag finds items", () => {
		const rows = document.querySelectorAll(
		    "[aria-label=Items] tbody tr");
		return rows.length === 3 && [...rows].every((r) => r.cells[1]
		    .textContent === "category");
	});
	await page.click("button:has-text('New item')");
	await page.getByLabel("Data").fill("[1]");
	await page.click("button:has-text('Add')");
	await says(page, "data that is no object is refused in words",
	    "a JSON object is wanted");
	await look(page, "items-new");
	await page.getByLabel("Id", { exact: true }).fill("made:here");
	await page.getByLabel("Tags").fill("note, kind=test");
	await page.getByLabel("Data").fill('{"a": {"b": 1, "c": [1, 2]}}');
	await page.click("button:has-text('Add')");
	await page.waitForURL("**/browse/items/made%3Ahere");
	await says(page, "a new item is shown", "kind=test");
}

async function oneItem(page) {
	await goTo(page, "/browse/items/shop%3Ap0003");
	await says(page, "an item shows its data", "SKU0003");
	same("its operations", await page.$$eval(
	    "[aria-label=Operations] tbody th", (all) => all.map((x) =>
	    x.textContent)), ["price", "scrape", "summary"]);
	check("all are fresh", (await page.$$eval(
	    "[aria-label=Operations] .pair", (all) => all.map((x) =>
	    x.textContent))).every((s) => s === "fresh"));
	await page.click("[aria-label='Runs of scrape']");
	await says(page, "a run is shown with its change", "updateData");
	check("... its effect", await page.locator(
	    "[aria-label=Mutations] .kind:has-text('updated')").count() > 0);
	check("the address keeps which task", await queryOf(page) ===
	    "?task=scrape");
	await look(page, "item");
	await page.click(".captures a");
	await page.waitForURL("**/crawls/*/pages/*");
	await says(page, "its fetch leads to the archived page",
	    "/products/p0003");
	await page.goBack();
	await page.click("[aria-label='Runs of price']");
	await until(page, "metadata is shown with its age", () => document
	    .querySelector("pre[aria-label=Metadata]")?.textContent.includes(
	    "cents"));
	await page.getByLabel("How long this result counts").fill("7d");
	await page.keyboard.press("Enter");
	await says(page, "a result's age is set", "expires in 6 d 23 h");
	const before = await page.innerText("[aria-label=Runs] tbody th");
	await page.click("[aria-label='Run price again']");
	await until(page, "a task runs again at once", (old) => {
		const now = document.querySelector("[aria-label=Runs] tbody th");
		return now && now.innerText !== old;
	}, before);
	await page.click("a:has-text('shop:c0')");
	await page.waitForURL("**/browse/items/shop%3Ac0");
	await says(page, "who made it leads there", "categories/c0");
}

/* The task runs again after its runs were listed, before one is asked for. */
async function replacedRecord(page) {
	const records = [];
	const status = (answer) => /\/runs\/R/.test(answer.url()) &&
	    records.push(answer.status());

	await page.route("**/runs/R*", async (route) => {
		await askOutside("again");
		await route.continue();
	}, { times: 1 });
	page.on("response", status);
	await goTo(page, "/browse/try?item=shop%3Ap0003&task=price");
	await until(page, "a run that is replaced in between is no fault", () =>
	    document.querySelector(".source-box"));
	page.off("response", status);
	same("... its successor's record is read", records, [404, 200]);
}

async function editItem(page) {
	await goTo(page, "/browse/items/shop%3Ap0007");
	await page.getByLabel("A tag to add").fill("watch=daily");
	await page.keyboard.press("Enter");
	await says(page, "a tag is added", "watch=daily");
	await page.getByLabel("An alias to add").fill("EAN:7");
	await page.keyboard.press("Enter");
	await says(page, "an alias is added", "EAN:7");

	await page.click("button:has-text('Edit')");
	const text = page.locator("textarea[aria-label=Data]");
	// Not what the parser writes: a trial on this item would restore it.
	await text.fill((await text.inputValue()).replace('"SKU0007"',
	    '"SKU0007", "note": "CHANGED"'));
	await page.click("button:has-text('Save')");
	await until(page, "data is changed", () => document.querySelector(
	    "pre[aria-label=Data]")?.textContent.includes("CHANGED"));
	await page.click("button:has-text('Edit')");
	await text.fill((await text.inputValue()).replace("CHANGED", "MINE"));
	await askOutside("change");
	await page.waitForTimeout(3500);
	check("an edit is not disturbed by what others change", (await text
	    .inputValue()).includes("MINE"));
	await page.click("button:has-text('Save')");
	await says(page, "... and does not overwrite it",
	    "changed meanwhile");
	await look(page, "item-edit");
	await page.click("button:has-text('Leave it')");
	await until(page, "left, it shows what is there", () => {
		const now = document.querySelector("pre[aria-label=Data]")
		    ?.textContent ?? "";
		return now.includes("CHANGED") && now.includes('"where"');
	});

	await goTo(page, "/browse/items/EAN%3A7");
	await says(page, "an alias leads to its item, and says so",
	    "is an alias of this item");
	await page.click("[aria-label='Remove the alias EAN:7']");
	await page.click("dialog button:has-text('Remove it')");
	await until(page, "an alias is removed, and the item stays", () =>
	    !document.querySelector("main").innerText.includes("is an alias") &&
	    document.querySelector("main h1").textContent === "shop:p0007");
	await goTo(page, "/browse/items/shop%3Ap0007");
	await page.click("[aria-label='Remove the tag watch']");
	await page.click("dialog button:has-text('Remove it')");
	await until(page, "a tag is removed", () => !document.querySelector(
	    "main").innerText.includes("watch=daily"));

	await goTo(page, "/browse/items/made%3Ahere");
	await says(page, "an item without tasks says why", "None of its tags");
	await itemForms(page);
	await page.click("button:has-text('Delete')");
	check("the harmless answer has the focus", await page.evaluate(() =>
	    document.activeElement.textContent) === "No, leave it");
	await page.click("dialog button:has-text('Delete the item')");
	await page.waitForURL("**/browse/items");
	check("an item is deleted", await page.evaluate(() => fetch(
	    "/items?prefix=made:").then((r) => r.json()).then((a) =>
	    a.items.length)) === 0);
}

/* A blob is uploaded and removed, the item renamed, and another merged in. */
async function itemForms(page) {
	await page.getByLabel("A file to upload").setInputFiles({
	    name: "note.txt", mimeType: "text/plain", buffer: Buffer.from(
	    "<b>kept</b>") });
	await page.click("button:has-text('Upload')");
	await until(page, "a file is kept as a blob", () => /^note.txttext.plain11/
	    .test(document.querySelector("[aria-label=Blobs] tbody")
	    ?.textContent));
	await page.click("button:has-text('Rename')");
	await page.getByLabel("New id").fill("shop:p0001");
	await page.keyboard.press("Enter");
	await until(page, "an id that is taken is refused", () => document
	    .querySelector(".card .wrong")?.textContent !== "");
	await look(page, "item-rename");
	await page.getByLabel("New id").fill("made:there");
	await page.keyboard.press("Enter");
	await page.waitForURL("**/browse/items/made%3Athere");
	await says(page, "an item has another id, and the old one", "made:here");
	await page.click("[aria-label='Remove the blob note.txt']");
	await page.click("dialog button:has-text('Remove it')");
	await until(page, "a blob is removed", () => document.querySelector(
	    "main").innerText.includes("made:here") && !document
	    .querySelector("main").innerText.includes("note.txt"));
	await askOutside("other");
	await goTo(page, "/browse/items/made%3Aother");
	await page.click("button:has-text('Merge')");
	await page.getByLabel("Id of the item that stays").fill("made:there");
	await page.click("form button:has-text('Merge')");
	await page.click("dialog button:has-text('Merge them')");
	await page.waitForURL("**/browse/items/made%3Athere");
	await until(page, "an item is merged into another", () => {
		const text = document.querySelector("main").innerText;
		return text.includes("made:other") && text.includes('"else"');
	});
}

async function theWorklist(page) {
	await goTo(page, "/browse/worklist?tag=product");
	await says(page, "a worklist with nothing due says so",
	    "Nothing is due");
	await look(page, "worklist-empty");
}

async function steerTasks(page) {
	const n = options.products;

	await goTo(page, "/browse/tasks");
	await untilFigure(page, "tasks count their pairs", "scrape", "fresh", n);
	check("... and what they used", /\d+ runs?, .+ requests?, /.test(
	    await card(page, "scrape").innerText()), await card(page,
	    "scrape").innerText());
	await look(page, "tasks");
	await page.click("[aria-label='Pause price']");
	await until(page, "a task is paused", () => document.querySelector(
	    "[aria-label='Resume price']"));
	await page.click("[aria-label='Run price on all items again']");
	await page.click("dialog button:has-text('Make them stale')");
	await untilFigure(page, "its results are stale", "price", "stale", n);
	await look(page, "tasks-paused");
	await goTo(page, "/browse/worklist?tag=product&task=price");
	await until(page, "the worklist shows what is due", () => [...document
	    .querySelectorAll("[aria-label=Worklist] tbody tr")].filter((r) =>
	    r.cells[2].textContent === "stale").length > 50);
	await look(page, "worklist");
	await page.click("[aria-label=Worklist] tbody td a");
	await page.waitForURL("**/browse/tasks?find=price");
	await page.focus("[aria-label='Resume price']");
	await page.keyboard.press("Enter");
	await untilFigure(page, "resumed, it does them", "price", "fresh", n);
	check("the focus stays where it was", await page.evaluate(() =>
	    document.activeElement.getAttribute("aria-label")) ===
	    "Pause price");
	await page.click("button:has-text('parse.js')");
	await until(page, "the source is shown", () => document.querySelector(
	    "dialog pre")?.textContent.includes("readProduct"));
	await page.keyboard.press("Escape");
	await goTo(page, "/browse/failures");
	await says(page, "no failure is said to be none",
	    "No failure waits for you");
	await look(page, "failures-none");
}

async function keys(page) {
	await goTo(page, "/");
	// They count within 1.5 s of each other, which a slow machine may miss.
	for (let i = 0; i < 5 && !page.url().endsWith("/browse/items"); i++) {
		await page.keyboard.press("g");
		await page.keyboard.press("i");
		await page.waitForURL("**/browse/items", { timeout: 5000 })
		    .catch(() => {});
	}
	check("g and i lead to the items", page.url().endsWith(
	    "/browse/items"));
	await page.waitForSelector("[aria-label=Items] tbody tr");
	// From the first filter: the tag, then the table, then a link in it.
	await page.focus("[data-find]");
	for (let i = 0; i < 3; i++)
		await page.keyboard.press("Tab");
	check("Tab reaches the list's links", await page.evaluate(() =>
	    document.activeElement.matches("tbody a.id")), await page.evaluate(
	    () => document.activeElement.outerHTML));
	await page.keyboard.press("Enter");
	await page.waitForURL("**/browse/items/shop*");
	check("Enter opens one", true);
}

/* --- a parser is broken, and repaired --------------------------------------- */

const reload = (page) => page.click(
    "button:has-text('Reload the configuration')");

async function repair() {
	const { context, page, wrong } = await open(DESK, {}, REFUSED);
	const n = options.products;

	await goTo(page, "/browse/tasks");
	await untilFigure(page, "all is well", "scrape", "fresh", n);
	await askOutside("break");
	await reload(page);
	await untilFigure(page, "a broken parser parks its pairs", "scrape",
	    "failed", n);
	await look(page, "tasks-failed");
	await card(page, "scrape").locator("a:has-text('failed')").click();
	await page.waitForURL("**/browse/failures?task=scrape");
	await until(page, "one group has them all", (want) => {
		const first = document.querySelector(".failure");
		return first?.querySelector(".count").textContent ===
		    String(want) && first.querySelector("h2").textContent
		    .includes("TypeError");
	}, n);
	await until(page, "the line of source is marked", () => document
	    .querySelector(".code-line.here")?.textContent.includes(
	    'match(/Product (.*)/)[1]'));
	check("the stack is there", (await page.innerText(".stack")).includes(
	    "parse.js:"));
	check("what it said is there", (await page.innerText(
	    ".detail .logbox")).includes("reading"));
	await page.frameLocator(".detail iframe.preview").locator(
	    "h1:has-text('Product')").waitFor();
	check("beside them is the archived page", true);
	await look(page, "failures");
	await tryChange(page);
	const url = await page.innerText(".captures .url");
	await page.click(".captures a");
	await page.waitForURL("**/crawls/*/pages/*");
	await says(page, "beside it is the archived page", url);
	await until(page, "... with its body", () => document.querySelector(
	    "iframe.preview"));
	await page.goBack();
	await page.waitForSelector(".failure .items a");
	await page.click(".failure .items a");
	await page.waitForURL("**/browse/items/*");
	await until(page, "the item's run shows the error too", () => document
	    .querySelector(".code-line.here"));
	await says(page, "... and why the other task waits", "parked until");
	await look(page, "item-failed");

	await askOutside("spoil");
	await goTo(page, "/browse/tasks");
	await reload(page);
	await says(page, "a faulty file is refused with its place",
	    "parse.js:");
	await says(page, "... and the old one stays", "stays as it was");
	await look(page, "tasks-refused");
	await askOutside("mend");
	await reload(page);
	await until(page, "the repaired file is loaded", () =>
	    !document.querySelector(".fault") && document.querySelector(
	    ".toast.good")?.textContent.includes("is loaded"));
	check("parked pairs wait for a person", await figure(page, "scrape",
	    "failed") === n);

	await goTo(page, "/browse/failures");
	await page.waitForSelector(".detail button");
	await page.fill(".detail input", "one first");
	await page.click("button:has-text('Retry this one')");
	await until(page, "one failure is retried", (want) => document
	    .querySelector(".failure .count")?.textContent === String(want),
	    n - 1);
	await retryGroups(page);
	await says(page, "then none is left", "No failure waits for you");
	await goTo(page, "/browse/tasks");
	await untilFigure(page, "and all is well again", "scrape", "fresh", n);
	same("nothing is parked", await figure(page, "scrape", "failed"), 0);
	const handled = await page.evaluate(() => fetch(
	    "/tasks/scrape/failures?handled=true").then((r) => r.json()));
	check("the notes are kept", ["h1 again", "one first"].every((note) =>
	    handled.failures.some((f) => f.note === note)));
	await tidyUp(context, wrong);
}

/* From a failure: a change is tried, and nothing is saved. */
async function tryChange(page) {
	const text = page.locator("textarea.code");
	const result = (what, want) => until(page, what, (t) => document
	    .querySelector(".result").innerText.includes(t), want);
	const state = () => page.evaluate(async () => {
		const id = new URLSearchParams(location.search).get("item");
		const ask = (path) => fetch("/items/" + encodeURIComponent(id) +
		    path).then((r) => r.text());
		return await ask("") + await ask("/operations");
	});

	await page.click(".detail a:has-text('Try a change')");
	await page.waitForURL("**/browse/try?**");
	await page.waitForSelector(".source-box .band");
	const broken = await text.inputValue(), before = await state();
	check("Try shows the source", broken.includes("match(/Product"));
	await until(page, "... beside what the page says", () => document
	    .querySelector(".beside pre.body")?.textContent.includes("<h1>"));
	await page.click("button:has-text('Try it')");
	await result("as configured it fails", "The source is unchanged");

	await text.fill(broken + "x {\n");
	await text.press("Control+Enter");
	await result("a slip is shown with its place", "parse.js:");
	await look(page, "try-slip");
	await text.fill(broken.replace('$("h2").text().match(/Product (.*)/)[1]',
	    '$("h1").text().trim(), tried: "<b>yes</b>"'));
	await text.press("Control+Enter");
	await result("a change that works is seen to work", "With your change " +
	    "it succeeds; as configured it fails.");
	same("the difference", await page.$$eval(".diff-line.added", (all) =>
	    all.slice(0, 2).map((x) => x.textContent.trim().replace(
	    /shop:p\d+/, "ID"))), ["+ updateData ID: updated",
	    '+     /tried = "<b>yes</b>"']);
	await page.click(".result summary");
	await look(page, "try");
	same("nothing of it is saved", await state(), before);
	await page.click(".beside .captures a");
	await page.waitForURL("**/crawls/*/pages/*");
	await page.goBack();
	await until(page, "the change is still there after a look elsewhere",
	    () => document.querySelector("textarea.code")?.value.includes(
	    "tried"));
	await page.click("button:has-text('Undo my change')");
	check("... and can be taken back", await text.inputValue() === broken);
	await page.goBack();
	await page.waitForSelector(".failure .captures a");
}

/*
 * All groups; a fetch that the reload interrupted is one of its own, which a
 * later success may handle first.
 */
async function retryGroups(page) {
	const retry = page.locator("button:has-text('Retry, or handle')");

	for (let i = 0; i < 10 && await page.locator(".failure").count() > 0;
	    i++) {
		if (!await retry.first().click({ timeout: 5000 }).then(() =>
		    true, () => false))
			continue;
		await page.locator("dialog input").fill("h1 again");
		await page.click("dialog button:has-text('Retry all')");
		await page.waitForTimeout(500);
	}
}

/* --- what is hostile --------------------------------------------------------- */

async function hostile() {
	const { context, page, wrong } = await open(DESK, {}, ABSENT);
	const { long, markup } = options;

	await goTo(page, "/browse/items");
	await says(page, "markup in an id is text", markup);
	await look(page, "hostile-items");
	for (const id of ["a/b", "..%2F..", "add", markup, "x?y#z", "50%"]) {
		await page.locator("tbody a.id").filter({ hasText: id }).first()
		    .click();
		await until(page, `${id} has a view`, (want) => document
		    .querySelector("main h1")?.textContent === want && document
		    .querySelector("pre[aria-label=Data]")?.textContent ===
		    JSON.stringify({ was: want }, null, 2), id);
		await page.goBack();
		await page.waitForSelector("[aria-label=Items] tbody tr");
	}
	check("what no address can name is no link", await page.getByRole(
	    "link", { name: "..", exact: true }).count() === 0);

	await goTo(page, "/browse/items/" + encodeURIComponent(long));
	await until(page, "an id of 1,024 bytes has a view", (id) => document
	    .querySelector("main h1")?.textContent === id, long);
	const data = await page.innerText("pre[aria-label=Data]");
	check("control characters are written out", ["\\u202e", "\\u0001",
	    "\\u0085", "\\u2028", "__proto__"].every((t) =>
	    data.includes(t)) && !data.includes("\u202e"), data.slice(0, 300));
	await page.click("[aria-label='Runs of evil<b>x</b>']");
	await says(page, "a hostile message is text", "onerror=");
	await look(page, "hostile-item");
	await page.click("button:has-text('Edit')");
	const text = page.locator("textarea[aria-label=Data]");
	await text.fill((await text.inputValue()).replace('"polluted": true',
	    '"polluted": false'));
	await page.click("button:has-text('Save')");
	await until(page, "a member __proto__ is one as any other", () =>
	    document.querySelector("pre[aria-label=Data]")?.textContent
	    .includes('"polluted": false'));
	check("... which nothing inherits", await page.evaluate(() =>
	    ({}).polluted === undefined));

	await page.click("a:has-text('Try a change')");
	await page.waitForSelector(".source-box");
	await page.click("button:has-text('Try it')");
	await until(page, "a trial's message is text", () => document
	    .querySelector(".result")?.innerText.includes("onerror="));
	await look(page, "hostile-try");

	await goTo(page, "/browse/items/50%25");
	same("a blob is listed by its name and type, as text", await page
	    .$$eval("[aria-label=Blobs] tbody tr", (all) => all.map((r) =>
	    [r.cells[0].textContent, r.cells[1].textContent])),
	    [[markup, "text/html"]]);
	const saved = page.waitForEvent("download");
	await page.click("[aria-label=Blobs] tbody a");
	check("... and saved, not shown", /window\.hurt/.test((await saved)
	    .suggestedFilename()), (await saved).suggestedFilename());
	await goTo(page, "/browse/items/nothing%20<b>");
	await says(page, "an unknown item is said to be", "Nothing has the id");
	await goTo(page, "/browse/tasks");
	await says(page, "a tripped task says so", "too many failures");
	await look(page, "hostile-tasks");
	await card(page, "evil<b>x</b>").locator("a:has-text('failed')")
	    .click();
	await page.waitForSelector(".failure .code-line.here");
	check("the message is text, its direction written out", (await page
	    .innerText(".failure h2")).includes("onerror='window.hurt=1'> " +
	    "\\u202eabc"), await page.innerText(".failure h2"));
	await look(page, "hostile-failures");
	await goTo(page, "/browse/worklist?tag=" + encodeURIComponent(markup.split("=")[0]));
	await says(page, "a tag with markup is text", "Nothing is due");
	check("nothing was made of what they say", await page.evaluate(() =>
	    window.hurt === undefined) && await page.locator(
	    "main img, main script, main b b").count() === 0);
	await tidyUp(context, wrong);
}

/* --- tokens ------------------------------------------------------------------ */

async function enter(page, token, path) {
	await page.goto(base + path);
	await page.fill("input[name=token]", token);
	await page.click("button:has-text('Enter')");
}

async function token() {
	let { context, page, wrong } = await open(DESK);

	await enter(page, options.reader, "/browse/tasks");
	await page.waitForSelector(".task");
	check("a reader is listed the items", await page.isVisible(
	    "#nav a:has-text('Items')"));
	same("a reader finds nothing to change in tasks", await page.$$eval(
	    ".task button, .head button", (all) => all.length), 0);
	await goTo(page, "/browse/items/add");
	same("... nor in an item", await page.$$eval(
	    "main button:not(.copy)", (all) => all.map((b) =>
	    b.textContent)), ["Runs"]);
	await goTo(page, "/browse/try?item=add&task=shout");
	await says(page, "... nor to try", "items:write");
	await goTo(page, "/browse/failures");
	await page.waitForSelector(".failure .detail");
	check("... where Try is not offered", await page.locator(
	    "a:has-text('Try a change')").count() === 0);
	same("... nor in failures", await page.$$eval(
	    ".failure button:not([aria-expanded], [role=tab]), .failure input",
	    (all) => all.length), 0);
	await tidyUp(context, wrong);

	({ context, page, wrong } = await open(DESK));
	await enter(page, options.stranger, "/browse/items");
	await says(page, "a token without items is told what it lacks",
	    "items:read");
	check("... and no entry leads there", !await page.isVisible(
	    "#nav a:has-text('Items')"));
	await look(page, "items-refused");
	await tidyUp(context, wrong);
}

run({ shop, repair, hostile, token });
