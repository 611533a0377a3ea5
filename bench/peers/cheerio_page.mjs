// cheerio on the page of script/start_bench.c, with its ten selectors:
//     node cheerio_page.mjs FILE RUNS
// One line of JSON: medians of wall and processor time, milliseconds a page.
import { load } from 'cheerio';
import { readFileSync } from 'node:fs';

const [file, count] = process.argv.slice(2);
const selectors = ['title', 'td.price', 'tr.r3 a', 'a[title]', 'li > b',
    'tr:nth-child(2n)', 'ul li:first-child', '.row td + td',
    'a[href^="/part/1"]', 'tr:has(b)'];
const page = readFileSync(file);
const wall = [], cpu = [];
let found;
for (let i = 0; i < Number(count) + 10; i++) {
    const before = process.cpuUsage(), began = performance.now();
    const $ = load(page.toString());
    found = 0;
    for (const css of selectors)
        found += $(css).length;
    const used = process.cpuUsage(before);
    // The first ten warm the compiler up.
    if (i < 10)
        continue;
    wall.push(performance.now() - began);
    cpu.push((used.user + used.system) / 1e3);
}
const median = a => a.sort((x, y) => x - y)[a.length >> 1];
console.log(JSON.stringify({ found, wall_ms: median(wall),
    cpu_ms: median(cpu), mb: process.resourceUsage().maxRSS / 1024 }));
