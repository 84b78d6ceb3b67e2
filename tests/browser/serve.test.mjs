// The server's page on a real program: from the list of processes to the report, and what goes
// wrong on the way.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { Bench, shot } from './browser.mjs';

const ROOT = resolve(import.meta.dirname, '../..');
const BUILD = resolve(process.env.CLARINET_BUILD || join(ROOT, 'build'));
const VERSION = readFileSync(join(ROOT, 'tools/runtimes/versions'), 'utf8').match(
    /^10\.0\s+(\S+)/m,
)[1];
const PATIENCE = 180000;
const bench = new Bench();
const children = [];
let address;

function start(program, ...args) {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    children.push(child);
    return child;
}

async function firstLine(child) {
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    return line;
}

async function sample(name) {
    const dll = join(BUILD, 'samples', name, `${name}.dll`);
    const child = start(
        join(process.env.CLARINET_RUNTIMES, 'dotnet'), 'exec', '--fx-version', VERSION, dll,
    );
    await firstLine(child);
    return child;
}

async function open(options = {}) {
    const page = await bench.open(address, { ready: '.serve .tabs', ...options });
    page.setDefaultTimeout(PATIENCE);
    return page;
}

/** Begins a session on a process through the form. */
async function examine(page, pid, fillIn) {
    await page.click(`tr[data-pid="${pid}"] button`);
    await fillIn();
    await page.click('.start button.act');
}

before(async () => {
    await bench.start();
    address = await firstLine(
        start(join(BUILD, 'clarinet'), 'serve', '--port', '0', '--sessions', join(bench.folder, 's')),
    );
});
after(async () => {
    for (const child of children) child.kill('SIGKILL');
    await bench.stop();
});

describe("the server's page", () => {
    it('goes from a click to the report', async () => {
        const patient = await sample('SickShop');
        const page = await open();
        assert.doesNotMatch(page.url(), /token/, 'the token does not stay in the address');
        await page.waitForSelector(`tr[data-pid="${patient.pid}"] button:enabled`);
        await shot(page, 'serve-processes');
        await examine(page, patient.pid, () => page.fill('#duration', '2s'));
        await page.waitForSelector('.finding.critical');
        assert.match(await page.locator('.finding.critical').first().innerText(), /Deadlock/);
        await shot(page, 'serve-session');
        const [report] = await Promise.all([
            page.context().waitForEvent('page'),
            page.click('text=Open the report'),
        ]);
        await report.waitForSelector('.panel > .view');
        assert.match(await report.locator('h1').innerText(), /SickShop/);
        const [viewer] = await Promise.all([
            page.context().waitForEvent('page'),
            page.click('text=Open in speedscope'),
        ]);
        const wrong = [];
        const asked = [];
        viewer.on('pageerror', (error) => wrong.push(String(error)));
        viewer.on('request', (request) => asked.push(request.url()));
        // its own toolbar is there once the profile is drawn, and its title has the file's name
        await viewer.waitForSelector('text=Time Order');
        await viewer.waitForFunction(() => document.querySelectorAll('canvas').length > 0);
        await viewer.waitForFunction(() => /SickShop/.test(document.title));
        assert.deepEqual(wrong, []);
        assert.deepEqual(asked.filter((url) => !url.startsWith(new URL(address).origin)), []);
        await shot(viewer, 'serve-speedscope');
        await page.click('text=Sessions');
        await page.waitForSelector('tr[data-session]');
        assert.match(await page.locator('tr[data-session]').first().innerText(), /SickShop/);
        await shot(page, 'serve-sessions');
        assert.deepEqual(page.problems, []);
        const { origin } = new URL(address);
        assert.deepEqual(page.requests.filter((r) => !r.startsWith(origin)), []);
        patient.kill('SIGKILL');
    });

    it('says what is wrong with a parameter, and begins once it is right', async () => {
        const patient = await sample('Busy');
        const page = await open();
        await page.waitForSelector(`tr[data-pid="${patient.pid}"] button:enabled`);
        await examine(page, patient.pid, async () => {
            await page.selectOption('#preset', 'own');
            await page.check('input[name="cpu"]');
            await page.fill('#p-cpu-interval', 'fast');
            await page.fill('#duration', '1h');
        });
        await page.waitForSelector('.start .trouble');
        assert.match(await page.locator('.start .trouble').innerText(), /interval|fast/);
        await page.fill('#p-cpu-interval', '20ms');
        await page.click('.start button.act');
        await page.waitForSelector('progress');
        await page.waitForSelector('text=Stop and keep');
        await shot(page, 'serve-running');
        // the program dies: the page says so, and what was recorded is there
        patient.kill('SIGKILL');
        await page.waitForSelector('text=Open the report');
        assert.equal(
            page.problems.filter((p) => !/400 \(Bad Request\)/.test(p)).length,
            0,
            String(page.problems),
        );
    });

    it('needs the token', async () => {
        const page = await bench.open(address.replace(/\?.*/, ''), { ready: 'body' });
        assert.match(await page.locator('body').innerText(), /token is missing/);
    });

    it('fits a phone, and the dark', async () => {
        const page = await open({ width: 390, height: 800, dark: true });
        await page.waitForSelector('.panel table, .panel p');
        const width = await page.evaluate('document.documentElement.scrollWidth');
        assert.ok(width <= 390, `${width} px wide`);
        const background = await page.evaluate('getComputedStyle(document.body).backgroundColor');
        assert.equal(background, 'rgb(20, 24, 29)');
        await shot(page, 'serve-phone');
    });
});
