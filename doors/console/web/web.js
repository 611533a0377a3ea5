/*
 * web.js -- requests by HTTP: the session, and what the WebSocket does not
 * provide.  A session is a cookie that this code cannot read, and a CSRF token
 * that is sent with every change.
 */

export class WebError extends Error {
	constructor(text, status, data = null) {
		super(text);
		this.status = status;
		this.data = data;              // the answer, if it is JSON
	}
}

let csrf = "";

function send(method, path, body, more) {
	const headers = { ...more.headers };

	if (body !== undefined)
		headers["Content-Type"] ??= "application/json";
	if (method !== "GET" && csrf !== "")
		headers["X-CSRF-Token"] = csrf;
	return fetch(path, { method, credentials: "same-origin", cache:
	    "no-store", signal: more.signal, headers, body: body ===
	    undefined || body instanceof Blob ? body : JSON.stringify(body)
	    }).catch((e) => {
		throw e.name === "AbortError" ? e : new WebError(
		    "The server cannot be reached.", 0);
	});
}

/* The external door says it in `messages`, all others in `error`. */
function errorOf(answer, text) {
	let data = null;

	try {
		data = JSON.parse(text);
	} catch {
		data = null;
	}
	return new WebError(data?.error ?? data?.messages?.join("; ") ??
	    `The server answered ${answer.status}.`, answer.status, data);
}

/* `as`: the type of the answer, "json" or "text". */
async function ask(method, path, body, as = "json", headers = {}) {
	const answer = await send(method, path, body, { headers });
	const text = await answer.text();

	if (!answer.ok)
		throw errorOf(answer, text);
	if (as === "text")
		return text;
	try {
		return text === "" ? null : JSON.parse(text);
	} catch {
		return null;
	}
}

/*
 * POST for an answer of lines: line(text) is called for each, as they come.
 * `signal` ends it, with an AbortError.
 */
export async function stream(path, body, line, signal) {
	const answer = await send("POST", path, body, { signal });

	if (!answer.ok)
		throw errorOf(answer, await answer.text());
	const reader = answer.body.pipeThrough(new TextDecoderStream())
	    .getReader();
	let rest = "";
	for (;;) {
		const { done, value } = await reader.read();
		if (done)
			return;
		const lines = (rest + value).split("\n");
		rest = lines.pop();
		for (const one of lines)
			line(one);
	}
}

export const get = (path) => ask("GET", path);
export const text = (path) => ask("GET", path, undefined, "text");
export const post = (path, body) => ask("POST", path, body);
export const put = (path, body) => ask("PUT", path, body);
/* Bytes, as their media type. */
export const upload = (path, blob) => ask("PUT", path, blob, "json",
    { "Content-Type": blob.type || "application/octet-stream" });
export const remove = (path) => ask("DELETE", path);
/* A merge patch (RFC 7396) for what has this revision. */
export const patch = (path, body, rev) => ask("PATCH", path, body, "json",
    { "Content-Type": "application/merge-patch+json", "If-Match": `"${rev}"` });

/* {wanted, valid, name, csrf, rights: {realtime: "read", ...}} */
export async function session() {
	return keep(await get("/session"));
}

export async function logIn(token) {
	return keep(await post("/session", { token }));
}

export async function logOut() {
	await remove("/session");
	csrf = "";
}

function keep(answer) {
	csrf = answer?.csrf ?? "";
	return answer ?? {};
}
