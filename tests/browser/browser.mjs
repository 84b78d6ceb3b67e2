// The browser of the tests: Debian's Chromium, headless, in a new empty profile, without a network
// need. Every page opened here is watched: errors and requests are collected for the tests to check.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { page as pageWith } from './make_data.mjs';

const PROGRAM = process.env.CLARINET_CHROMIUM || '/usr/bin/chromium';
const FLAGS = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
];
const PATIENCE = 180_000; // ms until something that must happen counts as not happening
export const SHOTS = resolve(
    process.env.CLARINET_SHOTS || join(import.meta.dirname || '.', '../../build/screenshots'),
);

export class Bench {
    async start() {
        this.folder = mkdtempSync(join(tmpdir(), 'clarinet-browser-'));
        mkdirSync(SHOTS, { recursive: true });
        this.browser = await chromium.launch({
            executablePath: PROGRAM,
            headless: true,
            timeout: PATIENCE,
            args: FLAGS,
        });
        return this;
    }

    async stop() {
        await this.browser.close();
        rmSync(this.folder, { recursive: true, force: true });
    }

    /** Writes a report file and returns its address. */
    file(name, data) {
        const path = join(this.folder, `${name}.html`);
        writeFileSync(path, pageWith(data));
        return pathToFileURL(path).href;
    }

    /**
     * Opens an address in a context of its own.
     * @returns {Promise<any>} a Playwright page with `problems` (errors) and `requests` (addresses)
     */
    async open(
        address,
        {
            width = 1280,
            height = 860,
            dark = false,
            hash = '',
            scale = 1,
            ready = '.panel > .view, .failure',
        } = {},
    ) {
        const context = await this.browser.newContext({
            viewport: { width, height },
            deviceScaleFactor: scale,
            colorScheme: dark ? 'dark' : 'light',
            reducedMotion: 'reduce',
        });
        context.setDefaultTimeout(PATIENCE);
        const page = await context.newPage();
        page.problems = [];
        page.requests = [];
        page.on('pageerror', (error) => page.problems.push(String(error)));
        page.on('console', (message) => {
            if (message.type() === 'error' || message.type() === 'warning')
                page.problems.push(message.text());
        });
        page.on('dialog', (dialog) => {
            page.problems.push(`dialog: ${dialog.message()}`);
            dialog.dismiss();
        });
        page.on('request', (request) => page.requests.push(request.url()));
        await page.goto(address + hash);
        await page.waitForSelector(ready);
        await settled(page);
        return page;
    }
}

/** Waits until what was asked for is drawn: two animation frames. */
export async function settled(page) {
    await page.evaluate(
        () =>
            new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))),
    );
}

export async function shot(page, name, options = {}) {
    await settled(page);
    await page.screenshot({ path: join(SHOTS, `${name}.png`), ...options });
}

/** The pixels of a canvas, read from a copy so that reading does not change how the page draws. */
const READ = `(canvas) => {
    const copy = document.createElement('canvas');
    copy.width = canvas.width;
    copy.height = canvas.height;
    const context = copy.getContext('2d', { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    return context.getImageData(0, 0, copy.width, copy.height).data;
}`;

function onPixels(page, selector, work, argument) {
    return page
        .locator(selector)
        .first()
        .evaluate(
            new Function(
                'canvas',
                'argument',
                `return (${work})((${READ})(canvas), canvas, argument);`,
            ),
            argument,
        );
}

/** Colour of the pixel at (x, y) of a canvas, in CSS pixels: [r, g, b, a]. */
export function pixel(page, selector, x, y) {
    return onPixels(
        page,
        selector,
        (data, canvas, at) => {
            const ratio = canvas.width / canvas.clientWidth;
            const i = (Math.round(at[1] * ratio) * canvas.width + Math.round(at[0] * ratio)) * 4;
            return [...data.slice(i, i + 4)];
        },
        [x, y],
    );
}

/** Number of distinct opaque colours on a canvas: 0 or 1 means that nothing is drawn. */
export function colourCount(page, selector) {
    return onPixels(page, selector, (data) => {
        const colours = new Set();
        for (let i = 0; i < data.length; i += 4) {
            if (data[i + 3] === 255)
                colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
        }
        return colours.size;
    });
}

/** Number of pixels in the colour of a search match. */
export function matchPixels(page, selector) {
    return onPixels(page, selector, (data) => {
        let count = 0;
        for (let i = 0; i < data.length; i += 4)
            if (data[i] > 240 && data[i + 1] > 200 && data[i + 2] < 100) count++;
        return count;
    });
}
