/*
 * script_dollar_questions.js -- what script_dollar.py asks of a page, the same
 * code for cheerio and for our `$`.  `outer(sel)` is the markup of its first.
 */
"use strict";

const SELECTORS = [
    "a", "p", "div > p", "a[href]", "a[href^='http']", "h1, h2, h3", "table tr td",
    "li:first-child", "li:last-child", "tr:nth-child(2n+1)", "td:nth-of-type(2)",
    "div:not([class])", "p:has(a)", "a:contains('the')", "pre", "*[id]", "span.title",
    "code:not(a code)", "dl > dt + dd", "h2 ~ p", "ul li a", "[class~='section']",
    "[href$='.html']", "div:has(> table)", "tr:nth-last-child(2)", "td:only-child",
    ":is(b, strong, em, i)", "p:empty, td:empty", "head > *", "body *:not(:has(*))",
];

/* FNV-1a over UTF-16 units. */
function hash(text) {
    let h = 2166136261;

    for (let i = 0; i < text.length; i++)
        h = Math.imul(h ^ text.charCodeAt(i), 16777619);
    return h >>> 0;
}

function shown(texts) {
    return [hash(texts), texts.length, texts.slice(0, 120)];
}

/* The methods, on what a selector found. */
function walk($, s, outer) {
    const name = (i, e) => e.tagName + i;
    const list = (t) => t.map(name).get().join();
    const first = s.first();

    return [
        list(s.parent()), list(s.parents("div, body")), list(s.closest("div, table")),
        list(s.children()), list(first.siblings()), list(s.next("p, li, tr")), list(s.prev()),
        list(s.find("a")), list(s.find("> a")), list(s.not("[class]")), list(s.filter("[id]")),
        list(s.has("b")), list(s.add("h1")), list(s.slice(1, 4)), list(s.eq(-1)),
        s.contents().length, s.index(), s.is("p"), s.hasClass("title"), s.last().text(),
        first.html() ?? "", outer(first), first.attr("class") ?? "", first.val() ?? "",
        s.filter((i) => i % 3 == 1).length, list(s.siblings("p, li, td, a")),
    ];
}

function answer($, css, outer) {
    const s = $(css);
    const attrs = s.map((i, e) => [
        $(e).attr("href") + "|" + $(e).attr("id") + "|" + $(e).attr("class")]).get();

    return [s.length, shown(s.text()), shown(attrs.join()),
        shown(s.map((i, e) => outer($(e))).get().join("\n")),
        ...walk($, s.slice(0, 50), outer).map((x) => shown(String(x)))];
}

/* For the figure: ten selectors, and what they find is read. */
function ten($) {
    let n = 0;

    for (const css of SELECTORS.slice(0, 10)) {
        const s = $(css);
        n += s.length + s.text().length;
    }
    return n;
}
