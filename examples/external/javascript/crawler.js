#!/usr/bin/env node
/*
 * A minimal external crawler: crawler.js PORT.  A task uploads `params.count` numbered documents and reports that it is
 * done.  It needs Node.js 18 or later and no packages.
 *
 * Try it against the simulated back end:
 *
 *     argiope external simulate-backend &
 *     node crawler.js 4444 &
 *     curl -d '{"external":{"endpoint":"http://127.0.0.1:4444","docIdField":"id"},"config":{"params":{"count":20}}}' \
 *         http://127.0.0.1:3333/run
 *
 * With TOKEN in the environment each request needs `Authorization: Bearer TOKEN`; the external object's `headers` send
 * it.
 */
"use strict";

const http = require("http");
const { setTimeout: sleep } = require("timers/promises");

const BATCH = 5, FIRST_PAUSE_MS = 200, TRIES = 8, CALL_MS = 60000;
const RETRIED = new Set([408, 409, 425, 429]);
const running = new Map();              // fid -> the AbortController of its task

/* POST until the back end accepts it.  False: it no longer knows the task, or refuses for good. */
async function call(endpoint, path, body, contentType, key) {
	const url = new URL(endpoint);  // The path is appended, the query stays.
	url.pathname = url.pathname.replace(/\/+$/, "") + path;
	for (let attempt = 0; attempt < TRIES; attempt++) {
		let pause = FIRST_PAUSE_MS * 2 ** attempt;
		try {
			const answer = await fetch(url, { method: "POST", body, redirect: "manual",
				headers: { "Content-Type": contentType, "Idempotency-Key": key },
				signal: AbortSignal.timeout(CALL_MS) });
			await answer.text();
			// 406: the lines that it names are refused, the others are accepted.
			if (answer.ok || (answer.status === 406 && path === "/upload"))
				return true;
			if (answer.status < 500 && !RETRIED.has(answer.status))
				return false;
			const after = Number(answer.headers.get("Retry-After") ?? NaN);
			if (!Number.isNaN(after))
				pause = after * 1000;
		} catch {
			// No answer, or part of one: the key keeps a repetition harmless.
		}
		await sleep(pause);
	}
	return false;
}

function report(task, code, message, key) {
	const body = JSON.stringify({ code, message, detail: null });
	return call(task.endpoint, "/status", body, "application/json", `${task.fid}:${key}`);
}

async function run(task, signal) {
	const { count = 10, pause = 0 } = task.params ?? {};
	const documents = Array.from({ length: Number(count) }, (_, i) => ({ id: i + 1, text: `Document ${i + 1}` }));
	for (let first = 0; first < documents.length; first += BATCH) {
		const batch = documents.slice(first, first + BATCH);
		const lines = batch.map((d) => JSON.stringify(d)).join("\n");    // No line feed after the last.
		if (signal.aborted || !await call(task.endpoint, "/upload", lines, "application/x-ndjson; charset=utf-8",
		    `${task.fid}:${task.attempt}.${first}`))
			return;
		await report(task, 102, `${first + batch.length} documents`, `s${task.attempt}.${first}`);
		await sleep(Number(pause) * 1000);
	}
	if (!signal.aborted)
		await report(task, 200, `${documents.length} documents`, `s${task.attempt}.end`);
}

function startTask(task) {
	const stop = new AbortController();
	running.set(task.fid, stop);
	task.attempt = Date.now();      // A retry of the task uses keys of its own.
	run(task, stop.signal).catch((e) => console.error(`${task.fid}: ${e.message}`));
	return [200, { success: true, version: 0, payload: {
		callback: "/task/" + task.fid, status: { code: 0, message: "New" } } }];
}

function changeTask(fid, status) {
	const stop = running.get(fid);
	if (!stop)
		return refusal(404, "there is no such task");
	if (status.code >= 200)
		stop.abort();
	return [200, { success: true, version: 0, payload: { status } }];
}

function refusal(code, message) {
	return [code, { success: false, messages: [message] }];
}

function answerRequest(request, text) {
	if (process.env.TOKEN && request.headers.authorization !== "Bearer " + process.env.TOKEN)
		return refusal(401, "the token is missing or wrong");
	const [, name, fid] = request.url.split("?")[0].split("/");
	if (name !== "task" || !["POST", "PATCH"].includes(request.method))
		return refusal(404, "there is no such call");
	try {
		const body = JSON.parse(text);
		return request.method === "POST" ? startTask(body) : changeTask(fid, body);
	} catch {
		return refusal(400, "the body is not JSON");
	}
}

http.createServer(async (request, response) => {
	let text = "";
	request.setEncoding("utf8");
	for await (const part of request)
		text += part;
	const [code, value] = answerRequest(request, text);
	console.error(`${request.method} ${request.url} ${code}`);
	response.writeHead(code, { "Content-Type": "application/json" });
	response.end(JSON.stringify(value));
}).listen(Number(process.argv[2]), "127.0.0.1");
