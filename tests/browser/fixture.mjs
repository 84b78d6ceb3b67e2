// What the tests of the page share: reports of the generated data, opened and watched.

import assert from 'node:assert/strict';
import { Bench, settled } from './browser.mjs';
import { KINDS } from './make_data.mjs';

export const FLAME = '.view-flame .flame-canvas';
export const ROW = 19;
export const VIEWS = [
    'flame',
    'methods',
    'lines',
    'method',
    'time',
    'heat',
    'map',
    'threads',
    'exceptions',
    'other',
    'health',
];
export const bench = new Bench();
export const files = {};

/** Starts the browser and writes the reports. */
export async function start() {
    await bench.start();
    for (const kind of ['shop', 'two', 'diff', 'rich', 'events']) {
        files[kind] = bench.file(kind, KINDS[kind]());
    }
}

/** Opens a page, runs the test, and insists that it went without errors and requests. */
export async function on(kind, options, test) {
    const page = await bench.open(files[kind], options);
    try {
        await test(page);
        assert.deepEqual(page.problems, []);
        assert.deepEqual(
            page.requests.filter((url) => !url.startsWith('file:') && !url.startsWith('data:')),
            [],
        );
    } finally {
        await page.context().close();
    }
}

export const text = (page, selector) => page.locator(selector).first().innerText();
export const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash));

/** Clicks the flame graph at a share of its width and a row. */
export async function clickFlame(page, share, row, options = {}) {
    const box = await page.locator(FLAME).boundingBox();
    await page
        .locator(FLAME)
        .click({ position: { x: box.width * share, y: (row + 0.5) * ROW }, ...options });
    await settled(page);
}

/** The rows of the visible table as texts. */
export const rows = (page, label) =>
    page.locator(`table[aria-label="${label}"] tbody tr`).allInnerTexts();
