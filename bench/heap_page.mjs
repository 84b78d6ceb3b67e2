// How the page of a heap snapshot behaves in a real browser: the time until it is drawn, and how long
// frames take while it is used. Run by bench/heap.py with the page's file.

import { pathToFileURL } from 'node:url';
import { statSync } from 'node:fs';
import { Bench } from '../tests/browser/browser.mjs';

const ROUNDS = 3;
const MAP = '.view-heap .treemap-canvas';
const file = process.argv[2];
const bench = await new Bench().start();
const opened = [];
let page;

for (let i = 0; i < ROUNDS; i++) {
    if (page) await page.context().close();
    const start = performance.now();
    page = await bench.open(pathToFileURL(file).href, { hash: '#view=heap', ready: MAP });
    opened.push(performance.now() - start);
}

/** Times of `count` frames, each after a step. */
async function frames(name, count, step) {
    const taken = [];
    for (let i = 0; i < count; i++) {
        const start = await page.evaluate(() => performance.now());
        await step(i);
        taken.push(
            await page.evaluate(
                (begin) =>
                    new Promise((done) =>
                        requestAnimationFrame(() =>
                            setTimeout(() => done(performance.now() - begin), 0),
                        ),
                    ),
                start,
            ),
        );
    }
    taken.sort((a, b) => a - b);
    console.log(
        `page, ${name}: median ${taken[count >> 1].toFixed(0)} ms, worst ${taken.at(-1).toFixed(0)} ms`,
    );
}

opened.sort((a, b) => a - b);
console.log(
    `page: ${(statSync(file).size / 2 ** 20).toFixed(1)} MB, opens in ${(opened[1] / 1000).toFixed(2)} s [${opened.map((ms) => (ms / 1000).toFixed(2)).join(', ')}]`,
);
await page.locator(MAP).focus();
await frames('a step on the map', 20, () => page.keyboard.press('ArrowRight'));
await frames('into the map and out', 20, (i) => page.keyboard.press(i % 2 ? 'Escape' : 'Enter'));
await frames('filter types', 10, (i) =>
    page.fill('input[aria-label="Filter Heap types"]', i % 2 ? '' : 'System.S'),
);
await frames('scroll', 30, (i) => page.mouse.wheel(0, i % 20 < 10 ? 200 : -200));
if (page.problems.length) throw new Error(page.problems.join('\n'));
await bench.stop();
