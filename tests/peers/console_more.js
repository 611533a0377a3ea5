/*
 * console_more.js -- the console's tests, part two; console_page.js says how it
 * is called.
 */
"use strict";

const fs = require("fs");
const { options, base, check, same, askOutside, open, until, shoot, run,
    WIDE } = require("./console_page.js");

/* --- the owner's first token ---------------------------------------------- */

async function first() {
	const { context, page, wrong } = await open(WIDE);

	await page.goto(base + "/settings#tokens");
	await until(page, "the owner's token comes first", () => document
	    .querySelector("main h2")?.textContent === "Your own token first");
	await page.evaluate(() => {
		window.stayed = true;
	});
	await shoot(page, "first-token-form");
	await page.click("button:has-text('Make my token')");
	await until(page, "it is shown, with its name", () =>
	    /^argiope_[0-9a-f]{64}$/.test(document.querySelector(".once code")
	    ?.textContent ?? "") && document.querySelector(".once h2")
	    .textContent.includes("owner"));
	await until(page, "this browser is signed in with it", () =>
	    document.querySelector(".once [role=status]").textContent ===
	    "This browser is signed in with it.");
	await page.keyboard.press("Escape");
	await page.keyboard.press("Escape");
	await page.mouse.click(5, 5);
	await page.waitForTimeout(2500);
	check("it is shown until it is confirmed", await page.isVisible(
	    "dialog[open] code"));
	await shoot(page, "first-token");
	await page.click("button:has-text('I have kept it')");
	await until(page, "then the list has it", () => document.querySelector(
	    "[aria-label=Tokens] tbody")?.innerText.includes("owner"));
	check("... and the text is gone", await page.locator("code.url")
	    .count() === 0);
	await until(page, "the connection is open", () =>
	    document.body.dataset.door === "open");
	check("the page was never reloaded", await page.evaluate(() =>
	    window.stayed === true));
	await page.goto(base + "/new?seeds=" + encodeURIComponent(
	    "http://site.test/day/1"));
	await page.click("button:has-text('Start the crawl')");
	await page.waitForURL("**/crawls/0");
	check("the owner may do everything", true);
	// Another token, made elsewhere, appears by itself.
	await page.goto(base + "/settings#tokens");
	await page.waitForSelector("[aria-label=Tokens] tbody tr");
	const other = await context.newPage();
	await other.goto(base + "/settings#tokens");
	await other.getByLabel("Name", { exact: true }).fill("prometheus");
	await other.selectOption("[id='scope-console']", "read");
	await other.click("button:has-text('Make a token')");
	await other.click("button:has-text('I have kept it')");
	await until(page, "a list follows what others change", () =>
	    document.querySelector("[aria-label=Tokens] tbody")?.innerText
	    .includes("prometheus"));
	same("no error", wrong, []);
	await context.close();
}

/* --- a server that is killed, and comes back ------------------------------- */

/* Start a crawl by the form; its number. */
async function begin(page, seeds, fields = {}, name = "") {
	await page.goto(base + "/new?seeds=" + encodeURIComponent(seeds));
	await page.check("#edit");
	await page.getByLabel("Delay of a host").fill(fields.delay ?? "0.05");
	if (fields.depth !== undefined)
		await page.getByLabel("Depth at most").fill(fields.depth);
	if (name !== "")
		await page.getByLabel("Name", { exact: true }).fill(name);
	await page.click("button:has-text('Start the crawl')");
	await page.waitForURL("**/crawls/*");
	return Number(/crawls\/(\d+)/.exec(page.url())[1]);
}

const tiles = (page) => page.$$eval(".tile:not([hidden])", (all) =>
    Object.fromEntries(all.map((t) => [t.querySelector("dt").textContent,
    t.querySelector("dd").textContent])));

/* Buttons of the page that could still be pressed, but those that look. */
const pressable = (page) => page.$$eval("main button:enabled", (all) => all
    .filter((b) => b.offsetParent !== null && !b.matches("[role=tab], " +
    ".ranges button, .copy, .sort")).map((b) => b.textContent ||
    b.ariaLabel));

async function gone() {
	/* A daemon that has just begun answers 503 until its data is read. */
	const { context, page, wrong } = await open(WIDE, {},
	    ["ERR_CONNECTION", "WebSocket connection", "failed: ", "/readyz"]);

	await begin(page, "http://site.test/");
	await until(page, "it works, with a speed", () => [...document
	    .querySelectorAll(".tile")].some((t) => /^Pages\/s[1-9]/.test(
	    t.textContent)) && document.querySelectorAll(
	    ".list-row:not([hidden]) .status").length > 10);
	check("its buttons can be pressed", (await pressable(page)).length > 1);
	await askOutside("kill");
	await until(page, "figures say of when they are", () => {
		const note = document.getElementById("asof");
		return !note.hidden && /as of \d\d:\d\d:\d\d/.test(
		    note.textContent);
	}, null, 5000);
	await page.waitForTimeout(1500);
	const then = await tiles(page);
	same("no speed, no time to its end", [then["Pages/s"],
	    then["Done in"]], ["–", "–"]);
	check("the line does not say that it works", /has not answered/.test(
	    await page.innerText(".why-line")), await page.innerText(
	    ".why-line"));
	same("no button can be pressed", await pressable(page), []);
	check("no chart ends now", await page.$$eval(".chart", (all) =>
	    all.length > 0 && all.every((c) => /as of \d\d:\d\d:\d\d/.test(
	    getComputedStyle(c.querySelector(".chart-from"), "::after")
	    .content) && !c.querySelector(".chart-until")?.checkVisibility({
	    visibilityProperty: true }))));
	await shoot(page, "gone-crawl");
	await page.waitForTimeout(2500);
	same("no figure moves", await tiles(page), then);
	await page.click("#brand");
	await page.waitForSelector(".crawls tbody tr");
	await page.waitForTimeout(500);
	same("nor on the list: no button, no speed", [await pressable(page),
	    (await tiles(page))["Pages/s"], await page.innerText(
	    ".crawls .speed")], [[], "–", "–"]);
	await shoot(page, "gone-list");
	await askOutside("start");
	await until(page, "it comes back by itself", () =>
	    document.body.dataset.door === "open" &&
	    document.getElementById("asof").hidden &&
	    !document.body.classList.contains("gone"));
	await until(page, "with a speed", () => [...document.querySelectorAll(
	    ".tile")].some((t) => /^Pages\/s[1-9]/.test(t.textContent)));
	check("and buttons", (await pressable(page)).length > 1);
	same("no other error", wrong, []);
	await context.close();
}

/* --- why, and again --------------------------------------------------------- */

/* From a change of the badge to that of the sentence, in ms. */
async function whyAfter(page, press) {
	await page.evaluate(() => {
		const badge = document.querySelector(".head .badge");
		const why = document.querySelector(".why-line");
		const times = window.times = {};
		window.watch?.disconnect();
		window.watch = new MutationObserver((all) => {
			for (const m of all) {
				const key = badge.contains(m.target) ? "state" :
				    why.contains(m.target) &&
				    why.textContent !== "…" ? "why" : "";
				if (key === "state")
					times.state ??= performance.now();
				else if (key === "why" && times.state)
					times.why ??= performance.now();
			}
		});
		window.watch.observe(document.querySelector("main"), {
		    subtree: true, childList: true, characterData: true,
		    attributes: true });
	});
	await press();
	await page.waitForFunction(() => window.times.why, null,
	    { timeout: 5000 }).catch(() => {});
	return page.evaluate(() => (window.times.why ?? Infinity) -
	    window.times.state);
}

async function rerun() {
	const { context, page, wrong } = await open(WIDE);
	const id = await begin(page, "http://site.test/day/1\n" +
	    "http://site.test/day/3\nhttp://site.test/day/4\n" +
	    "http://closed.test/x 0.25\n", { delay: "5" }, "again & again");

	await until(page, "it runs", () => document.querySelector(
	    ".state-running"));
	const slow = [];
	for (const word of ["Pause", "Resume", "Pause", "Resume"]) {
		await page.waitForSelector(`.steering button:has-text('${word}')`);
		slow.push(await whyAfter(page, () => page.click(
		    `.steering button:has-text('${word}')`)));
		await page.waitForTimeout(300);
	}
	// One may be late: the machine may be busy.
	check("why follows each change of state, mostly within 100 ms",
	    slow.every(Number.isFinite) && slow.filter((ms) => ms < 100).length >=
	    slow.length - 1, slow.map(Math.round));
	await until(page, "it ends", () => document.querySelector(
	    ".state-complete"));
	await shoot(page, "ended");

	await page.click("button:has-text('Retry failures')");
	await page.waitForURL("**/crawls/" + (id + 1));
	await until(page, "what failed is tried again, alone", () =>
	    document.querySelector("h1")?.textContent === "again & again" &&
	    document.querySelector(".state-complete") && document
	    .querySelector(".meta").textContent.includes(
	    "http://closed.test/x"));
	const t = await tiles(page);
	same("... and it alone", [t.Pages, t.Exceptions], ["0", "1"]);

	await page.goto(base + "/crawls/" + id);
	await page.click("button:has-text('Run again')");
	await page.waitForURL("**/crawls/" + (id + 2));
	await until(page, "an ended crawl is run again", () =>
	    document.querySelector("h1")?.textContent === "again & again" &&
	    document.querySelector(".state-complete"));
	same("... as it was", Object.values(await tiles(page)).slice(0, 1),
	    ["3"]);

	await page.click("a:has-text('Edit and run')");
	await page.waitForURL("**/new?from=*");
	await until(page, "it can be edited: its seeds and delays", () =>
	    document.getElementById("seeds").value ===
	    "http://site.test/day/1\nhttp://site.test/day/3\n" +
	    "http://site.test/day/4\nhttp://closed.test/x 0.25\n");
	await until(page, "... its name, and its policy", () => document
	    .querySelector(".launch input[maxlength='200']").value ===
	    "again & again" && [...document.querySelectorAll(
	    ".launch input")].some((i) => i.value === "5"));
	await shoot(page, "edit-and-run");
	await page.fill("#seeds", "http://site.test/day/2\n");
	await page.click("button:has-text('Start the crawl')");
	await page.waitForURL("**/crawls/" + (id + 3));
	await until(page, "... and run", () => document.querySelector(
	    ".meta")?.textContent.includes("http://site.test/day/2"));
	same("no error", wrong, []);
	await context.close();
}

/* --- a package --------------------------------------------------------------- */

async function wacz() {
	const { context, page, wrong } = await open(WIDE);
	const id = await begin(page, "http://site.test/plain\n" +
	    "http://site.test/day/1\n", { delay: "0", depth: "0" }, "Packed");

	await until(page, "it ends", () => document.querySelector(
	    ".state-complete"));
	await page.click("#tab-files");
	await until(page, "a package is offered under Files", (name) => document
	    .querySelector(".wacz a")?.download === name, `crawl-${id}.wacz`);
	const wait = page.waitForEvent("download");
	await page.click(".wacz a");
	await (await wait).saveAs(options.place);
	await shoot(page, "files");
	check("it is downloaded whole", fs.statSync(options.place).size > 5000,
	    fs.statSync(options.place).size);
	same("no error", wrong, []);
	await context.close();
}

/* --- causes ----------------------------------------------------------------- */

/* The samples of the tab Problems that have a cause: URL, cause. */
const causes = (page) => page.$$eval(".samples > li", (all) =>
    Object.fromEntries(all.filter((li) => li.querySelector(".cause")
    ?.checkVisibility()).map((li) => [li.querySelector(".url").textContent,
    li.querySelector(".cause").textContent])));

async function causesShown() {
	const { context, page, wrong } = await open(WIDE);

	await begin(page, "https://expired.test/\n" +
	    "https://other.test/\nhttps://self.test/\nhttps://plain.test/\n" +
	    "http://closed.test/x\nhttp://nowhere.invalid/\n" +
	    "http://site.test/missing/1\n" +
	    "http://site.test/private/1\n", { delay: "0", depth: "0" }, "Causes");

	await until(page, "it ends, and says how many failed", () =>
	    /^It ended (now|\d+ s ago): every URL was tried, 6 failed\.$/.test(
	    document.querySelector(".why-line").textContent));
	await until(page, "its charts end with its last figures", () =>
	    [...document.querySelectorAll(".chart")].some((c) => c.querySelector(
	    ".chart-title").textContent === "Queued and done" &&
	    c.querySelector(".legend").textContent === "queued 0done 1"), null,
	    5000);
	await page.click("#tab-problems");
	await until(page, "the problems are listed", () => document
	    .querySelectorAll(".samples > li").length === 8);
	const shown = await causes(page);
	same("each TLS failure says its cause", ["expired", "other", "self",
	    "plain"].map((host) => shown[`https://${host}.test/`]), [
	    "the certificate has expired", "the certificate is for another name",
	    "the certificate is self-signed", "the server does not speak TLS"]
	    .map((s) => "robots.txt could not be reached: " + s));
	check("a refused connection names address and error",
	    /: 127\.0\.0\.1 port \d+: Connection refused$/.test(
	    shown["http://closed.test/x"]), shown["http://closed.test/x"]);
	check("a name without an address says so too",
	    shown["http://nowhere.invalid/"]?.length > 10,
	    shown["http://nowhere.invalid/"]);
	same("robots.txt: the line", shown["http://site.test/private/1"],
	    "robots.txt line 2: Disallow: /private/");
	same("an answer has none", shown["http://site.test/missing/1"],
	    undefined);
	await page.fill("[data-find]", "self-signed");
	await until(page, "a cause is found by the filter", () => document
	    .querySelectorAll(".group").length === 1);
	await page.fill("[data-find]", "");
	await page.waitForTimeout(300);
	await shoot(page, "causes");
	// The server's crawl.retry_max is 4.
	await page.click("button:has-text('Retry failures')");
	await page.waitForSelector("dialog[open]");
	same("retrying says how many failures are left", await page.innerText(
	    "dialog p"), "Crawl 1 retries 4 of 6 URLs: one crawl takes no more " +
	    "(crawl.retry_max). 1 further crawl would retry the rest.");
	await shoot(page, "retry");
	await page.click("button:has-text('Start 1 more crawl')");
	await page.waitForURL("**/crawls/1");
	await page.goto(base + "/");
	await until(page, "every failure is retried, in two crawls", () =>
	    document.querySelectorAll(".crawls tbody .state-complete").length ===
	    3);
	const failed = await page.$$eval(".crawls tbody:not([aria-hidden]) tr",
	    (all) => all.map((tr) => tr.querySelector(
	    "[data-label=Errors]")?.textContent));
	same("... of four and of two URLs", failed, ["2", "4", "6"]);
	same("no error", wrong, []);
	await context.close();
}

/* --- the pictures of the documentation -------------------------------------- */

async function docs() {
	const { context, page, wrong } = await open({ width: 1440, height: 640 });
	const { crawl, folder } = options;

	async function picture(name, path, theme, down = 0) {
		if (name.endsWith("phone"))
			await page.setViewportSize({ width: 390, height: 780 });
		else
			await page.setViewportSize({ width: 1440, height: 640 });
		await page.emulateMedia({ colorScheme: theme });
		await page.goto(base + path);
		// The rates of a few seconds.
		await page.waitForTimeout(12000);
		await page.evaluate((y) => scrollTo(0, y), down);
		await page.waitForTimeout(300);
		const file = `${folder}/console-${name}.png`;
		await page.screenshot({ path: file });
		check(`${name} is below 150 kB`, fs.statSync(file).size < 150000,
		    fs.statSync(file).size);
	}

	await page.goto(base + "/");
	await page.waitForTimeout(60000);
	await picture("dashboard-light", "/", "light");
	await picture("dashboard-phone", "/", "light");
	await picture("crawl-dark", "/crawls/" + crawl, "dark");
	await picture("crawl-phone", "/crawls/" + crawl, "dark");
	await picture("problems-light", `/crawls/${crawl}?tab=problems`, "light",
	    400);
	await picture("page-light", "/crawls/0/pages/1", "light");
	same("no error", wrong, []);
	await context.close();
}

/* --- a thousand crawls ------------------------------------------------------ */

/* Runs in the page: start n crawls by the WebSocket; the last one's number. */
function startMany([seed, n, policy]) {
	return new Promise((done, fail) => {
		const s = new WebSocket(location.origin.replace("http", "ws"));
		let last = null, left = n;
		s.onopen = () => {
			for (let i = 0; i < n; i++)
				s.send(JSON.stringify({ command: "start_crawl",
				    command_id: i, args: { seeds: [seed],
				    name: "crawl no. " + i, policy } }));
		};
		s.onmessage = (e) => {
			const m = JSON.parse(e.data);
			if (m.type !== "response")
				return;
			if (!m.success)
				fail(new Error(m.error));
			last = m.data.crawl_id;
			if (--left === 0) {
				s.close();
				done(last);
			}
		};
		s.onclose = () => fail(new Error("closed"));
	});
}

/* The rows that are nodes, as [name, state]. */
const crawlRows = (page) => page.$$eval(".crawls tbody:not([aria-hidden]) tr",
    (all) => all.map((tr) => [tr.querySelector(".name").textContent,
    tr.querySelector(".badge").textContent]));

async function thousand() {
	const { context, page, wrong } = await open(WIDE);
	const n = options.ended + options.running;

	await page.goto(base + "/");
	// Slow ones first, so that their numbers are the lowest.
	await page.evaluate(startMany, ["http://site.test/", options.running,
	    { rate_limit: 60, limits: { max_depth: 1 } }]);
	await page.evaluate(startMany, ["http://closed.test/", options.ended,
	    { rate_limit: 0 }]);
	await until(page, "all are on the list", (all) => [...document
	    .querySelectorAll(".tile")].some((t) => t.textContent.replace(
	    ",", "").endsWith("of " + all)), n);
	await until(page, "all but a few have ended", (m) => [...document
	    .querySelectorAll(".tile")].some((t) => t.textContent.startsWith(
	    "Crawls" + m + " of")), options.running, 60000);
	const rows = await crawlRows(page);
	same("those that run come first", rows.slice(0, options.running).map(
	    ([, s]) => s), Array(options.running).fill("running"));
	const nodes = rows.length;
	check("only rows in view are nodes", nodes < 60 && nodes > 10, nodes);
	await shoot(page, "thousand");
	await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
	await until(page, "the last is at the end", () => [...document
	    .querySelectorAll(".crawls .name")].at(-1)?.textContent ===
	    "crawl no. 0");
	check("... and still few are nodes", (await crawlRows(page)).length <
	    60);
	await page.evaluate(() => scrollTo(0, 0));
	await page.click(".sort:text-is('Age')");
	await until(page, "sorted by age: the newest first", (last) =>
	    document.querySelector(".crawls .name")?.textContent === last,
	    "crawl no. " + (options.ended - 1));
	check("the address has the order", page.url().includes("sort=age"));
	await page.click(".sort:text-is('Age')");
	await until(page, "... the oldest first", () => document.querySelector(
	    ".crawls .state-running") && document.querySelector(
	    ".crawls .name").textContent === "crawl no. 0");
	await page.click(".sort:text-is('State')");

	await page.selectOption("[aria-label='Filter crawls by state']",
	    "running");
	await page.waitForTimeout(300);
	await page.check("[aria-label='Select all crawls of this list']");
	await until(page, "many are selected", (k) => document.querySelector(
	    ".bulk b")?.textContent === k + " crawls selected",
	    options.running);
	await shoot(page, "bulk");
	await page.click(".bulk button:has-text('Pause')");
	await page.selectOption("[aria-label='Filter crawls by state']",
	    "paused");
	await until(page, "all are paused at once", (k) => document
	    .querySelectorAll(".crawls tbody .state-paused").length === k,
	    options.running);
	await page.click(".bulk button:has-text('Resume')");
	await page.selectOption("[aria-label='Filter crawls by state']",
	    "running");
	await until(page, "... resumed", (k) => document.querySelectorAll(
	    ".crawls tbody .state-running").length === k, options.running);
	await page.click(".bulk button:has-text('Cancel')");
	const asked = await page.innerText("dialog");
	check("cancelling asks, with how many and names", asked.includes(
	    `Cancel ${options.running} crawls?`) && asked.includes(
	    "crawl no. "), asked);
	await page.click("dialog button[value=yes]");
	await page.selectOption("[aria-label='Filter crawls by state']",
	    "cancelled");
	await until(page, "... cancelled", (k) => document.querySelectorAll(
	    ".crawls tbody .state-cancelled").length === k, options.running);
	await page.selectOption("[aria-label='Filter crawls by state']", "");
	await page.check("[aria-label='Select all crawls of this list']");
	await page.click(".bulk button:has-text('Delete')");
	await page.click("dialog button[value=yes]");
	await until(page, "a thousand are deleted", () => document
	    .querySelector("main").innerText.includes("No crawl yet"), null,
	    60000);
	same("no error", wrong, []);
	await context.close();
}

run({ first, gone, rerun, wacz, causes: causesShown, docs, thousand });
