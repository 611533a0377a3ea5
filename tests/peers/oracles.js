/*
 * oracles.js -- answers of npm packages to the questions of ask.c.
 *
 *     node oracles.js TOOLS < QUESTIONS
 *
 * A question has hex fields as there, and one more verb: "list" is "domain" by
 * the list of the package psl, which "rules" prints as a file.  Answers to
 * "robots" have no line number.
 */
"use strict";

const path = require("path");
const readline = require("readline");

const tools = path.join(process.argv[2], "node_modules");
const need = (name) => require(path.join(tools, name));
const { URL } = need("whatwg-url");
const robotsParser = need("robots-parser");
const tldts = need("tldts");
const psl = need("psl");

const text = (hex) => Buffer.from(hex, "hex").toString();
const hex = (s) => s === null || s === undefined ? "-" :
    Buffer.from(s).toString("hex");

function url(input, base) {
	try {
		return hex(new URL(input, base).href);
	} catch (e) {
		return "-";
	}
}

function robots(body, agent, target) {
	const robot = robotsParser("http://host/robots.txt", body);

	return robot.isAllowed("http://host" + target, agent) ? "1" : "0";
}

const verbs = {
	url, robots,
	domain: (host) => hex(tldts.getDomain(host,
	    { allowPrivateDomains: true })),
	list: (host) => hex(psl.get(host)),
};

async function main() {
	const lines = readline.createInterface({ input: process.stdin });

	for await (const line of lines) {
		const [verb, ...fields] = line.split("\t");

		console.log(verbs[verb](...fields.map(text)));
	}
}

main();
