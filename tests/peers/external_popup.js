/*
 * external_popup.js -- users who sign in through a popup, by Chromium; how it is
 * called is in console_page.js.  BASE is the front end's, which external_front.py
 * serves.
 */
"use strict";

const { base, say, check, same, askOutside, run, newContext, picture, ...shared } =
    require("./console_page.js");

/* Options of the current part. */
let options = shared.options;

const SIZE = { width: 640, height: 440 };

/* --- providers -------------------------------------------------------------- */

/* Their forms, filled in by a user. */
const providers = {
	async own(page, user, answer = "allow") {
		await page.waitForSelector("[name=user]");
		if (await page.$("[name=user]:not([readonly])"))
			await page.fill("[name=user]", user);
		await page.click("#" + answer);
	},
	async oidc(page, user, answer = "allow") {
		if (answer === "deny")
			return page.click("text=Cancel");
		await page.fill("[name=login]", user);
		await page.fill("[name=password]", "secret");
		await page.click("button[type=submit]");
		// Consent is asked once for each account.
		const consent = page.waitForSelector("text=Continue", {
		    timeout: 3000 }).then((b) => b.click());
		await Promise.race([consent, page.waitForEvent("close")]).catch(
		    () => {});
	},
};

function answer(page, more) {
	return providers[more.provider](page, more.user ?? "ada", more.answer);
}

/* --- the front end ------------------------------------------------------------- */

async function front(context, more = options) {
	const page = await context.newPage();
	await page.goto(base + "/app?" + new URLSearchParams({
	    connector: more.connector, uuid: more.uuid, end: more.end,
	    subdomain: "acme" }));
	return page;
}

/* The popup that a button of the front end opens. */
async function popupOf(page, button = "#connect") {
	const wait = page.waitForEvent("popup");
	await page.click(button);
	return wait;
}

async function saidTo(page, n = 1) {
	await page.waitForFunction((k) => window.told.length >= k, n);
	return page.evaluate(() => window.told.at(-1));
}

function closed(popup) {
	return popup.isClosed() ? true : popup.waitForEvent("close").then(
	    () => true);
}

/* Every URL that the browser asks for, and each Referer. */
function watch(context) {
	const seen = [];
	context.on("request", async (r) => {
		const all = await r.allHeaders().catch(() => ({}));
		seen.push({ url: r.url(), referer: all.referer ?? "" });
	});
	return seen;
}

/* --- parts ------------------------------------------------------------------------ */

/* Sign in, and read the token, as the seed's front end does. */
async function login() {
	const context = await newContext({ ignoreHTTPSErrors: true });
	const seen = watch(context);
	const page = await front(context);
	let popup = await popupOf(page, options.button);

	await popup.waitForLoadState();
	same("the popup is 640 by 440", await popup.evaluate(() =>
	    [innerWidth, innerHeight]), [SIZE.width, SIZE.height]);
	check("it is at the provider", popup.url().startsWith(
	    options.site), popup.url());
	await answer(popup, options);
	check("it closes by itself", await closed(popup));
	let said = await saidTo(page);
	same("GET /token: 200", said.status, 200);
	same("... its user", said.body.user, options.account);
	check("... a handle", /^argt_[\w-]{20,}$/.test(said.body.token));
	const first = said.body.token;

	popup = await popupOf(page);
	check("a token stands: the popup closes at once", await closed(popup));
	said = await saidTo(page, 2);
	same("... with the same token", said.body.token, first);
	if (options.other) {
		popup = await popupOf(page, "#switch");
		await answer(popup, { ...options, user: options.other });
		check("another account: the popup closes",
		    await closed(popup));
		said = await saidTo(page, 3);
		same("... its user", said.body?.user, options.otherAccount);
		check("... has a token of its own", said.body?.token !==
		    first);
	}
	const urls = seen.map((s) => s.url + " " + s.referer).join("\n");
	check("no URL and no Referer has the handle", !urls.includes(
	    said.body.token) && !urls.includes(first));
	// A provider's page may name itself to the provider.
	const told = seen.filter((s) => s.referer && new URL(s.referer)
	    .origin !== new URL(s.url).origin).map((s) => s.referer);
	check("no Referer has a ticket, a code or a state", !told.some((r) =>
	    /[?&](ticket|code|state|oauth_\w+)=/.test(r)), told);
	const cookies = (await context.cookies(options.end)).map((c) => c.name);
	same("no cookie of a login is left", cookies, []);
	await context.close();
}

/* Two popups at once, in one browser; the second one is answered first. */
async function two() {
	const context = await newContext({ ignoreHTTPSErrors: true });
	const all = [];

	for (const more of options.both) {
		const page = await front(context, { ...options, ...more });
		const popup = await popupOf(page);
		await popup.waitForSelector("[name=user]");
		all.push({ page, popup, more });
	}
	const cookies = (await context.cookies(options.end));
	same("each login has a cookie of its own", new Set(cookies.map((c) =>
	    c.name)).size, 2);
	check("... __Host-, Secure, HttpOnly, SameSite=Lax", cookies.every(
	    (c) => c.name.startsWith("__Host-") && c.secure && c.httpOnly &&
	    c.sameSite === "Lax" && c.path === "/"), JSON.stringify(cookies));
	for (const { page, popup, more } of all.reverse()) {
		// The provider knows the account of the other popup by now.
		await providers.own(popup, more.user);
		await closed(popup);
		same(`the token of ${more.user}`, (await saidTo(page)).body.user,
		    more.account);
	}
	await context.close();
}

/* The user says no; the user closes the popup. */
async function refuse() {
	const context = await newContext({ ignoreHTTPSErrors: true });
	let page = await front(context);
	let popup = await popupOf(page);

	await answer(popup, { ...options, answer: "deny" });
	await popup.waitForURL("**/oauth/callback?**");
	await popup.waitForTimeout(1500);
	check("an error does not close the popup", !popup.isClosed());
	const text = await popup.innerText("body");
	check("... and is told in words", text.length > 20 &&
	    !/undefined|null|[{}]/.test(text), text);
	await popup.close();
	same("... there is no token", (await saidTo(page)).status, 404);

	page = await front(context);
	popup = await popupOf(page);
	await popup.waitForLoadState();
	await popup.close();
	same("a closed popup leaves nothing", (await saidTo(page)).status, 404);
	await context.close();
}

/* Disconnect: 200, then 404, and again. */
async function clear() {
	const context = await newContext({ ignoreHTTPSErrors: true });
	const page = await front(context);

	await page.click("#clear");
	same("DELETE /token", await saidTo(page, 1), { status: 200, body: {
	    success: true, payload: {}, version: 0 } });
	await page.evaluate(() => thirdPartyToken());
	same("... then GET is 404", (await saidTo(page, 2)).status, 404);
	await page.click("#clear");
	same("... DELETE again is 200", (await saidTo(page, 3)).status, 200);
	await context.close();
}

/* A link that somebody else has sent: options.url is its login. */
async function mailed() {
	const context = await newContext({ ignoreHTTPSErrors: true });
	const page = await context.newPage();

	await page.goto(`${options.mail}/link?url=` + encodeURIComponent(
	    options.url));
	await page.click("#held");
	await page.waitForLoadState();
	check("a page asks first", page.url().startsWith(options.end),
	    page.url());
	const text = await page.innerText("body");
	for (const word of [options.title, "acme", options.name])
		check(`... and names ${word}`, text.includes(word), text);
	same("... it has sent nobody to the provider", await asked(), 0);
	await page.click("button, input[type=submit], a.go");
	await page.waitForURL(options.site + "/**").catch(() => {});
	check("... and goes to the provider once confirmed",
	    page.url().startsWith(options.site + "/"), page.url());
	await context.close();

	async function asked() {
		return context.pages().filter((p) => p.url().startsWith(
		    options.site)).length;
	}
}

/* Pages of others that hold the door's: in a frame, as an image. */
async function held() {
	const context = await newContext({ ignoreHTTPSErrors: true });

	for (const [where, kind] of [[base, "frame"], [options.mail, "frame"],
	    [base, "image"], [options.mail, "image"]]) {
		const page = await context.newPage();
		await page.goto(`${where}/${kind}?url=` + encodeURIComponent(
		    options.urls.pop()));
		await page.waitForTimeout(1000);
		const inner = page.frames().find((f) => f !==
		    page.mainFrame());
		const shown = inner ? await inner.evaluate(() =>
		    document.body.innerText).catch(() => "") : "";
		check(`a ${kind} of ${new URL(where).host} shows nothing of ` +
		    "ours", !shown.includes(options.title) &&
		    !/sign|continue|account/i.test(shown), shown);
		check("... and leads to no provider", !page.frames().some(
		    (f) => f.url().startsWith(options.site)));
		await page.close();
	}
	await context.close();
}

/* Screenshots in the popup's size: options.pages are names and URLs. */
async function shots() {
	// Without scripts the closing page stays.
	const context = await newContext({ ignoreHTTPSErrors: true,
	    viewport: SIZE, javaScriptEnabled: false });
	const page = await context.newPage();

	for (const [name, url] of options.pages) {
		await page.goto(url);
		for (const theme of ["light", "dark"]) {
			await page.emulateMedia({ colorScheme: theme });
			await picture(page, `popup-${name}-${theme}`);
		}
		const high = await page.evaluate(() => document.documentElement
		    .scrollHeight);
		check(`the page ${name} fits into the popup`, high <=
		    SIZE.height, high);
	}
	await page.emulateMedia({ colorScheme: "light" });
	await context.close();
}

const parts = { login, two, refuse, clear, mailed, held, shots };

/* One browser for all parts, which the script names one after the other. */
async function session() {
	for (;;) {
		options = { ...shared.options, ...await askOutside("next") };
		if (!options.part)
			return;
		say({ note: `${options.part} ${options.connector ?? ""}` });
		try {
			await parts[options.part]();
		} catch (e) {
			check(`${options.part} goes on to its end`, false,
			    e.message.slice(0, 800));
		}
	}
}

run({ session });
