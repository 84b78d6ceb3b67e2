// The way of a user: a recording, `clarinet report` on it, the page in a browser. The recordings and
// what is in them: tests/support/recordings.h.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, before, describe, it } from 'node:test';
import { Bench, colourCount, settled, shot } from './browser.mjs';

const BUILD = resolve(process.env.CLARINET_BUILD || join(import.meta.dirname, '../../build'));
const EVIL = 'Shop.Evil</script><img src=x onerror=alert(1)>;`|"\\.Run';
const bench = new Bench();

/** Makes a recording and its report; returns the report's path. */
function reportOf(name, ...size) {
    const recording = join(bench.folder, `${name}.clarinet`);
    const html = join(bench.folder, `${name}.html`);
    execFileSync(join(BUILD, 'tests/make_recording'), [recording, ...size]);
    execFileSync(join(BUILD, 'clarinet'), ['report', recording, '-o', html], {
        stdio: ['ignore', 'pipe', 'pipe'],
    });
    return html;
}

before(() => bench.start());
after(() => bench.stop());

const rows = (page, label) => page.locator(`table[aria-label="${label}"] tbody tr`).allInnerTexts();

describe('a report made by clarinet', () => {
    it('shows the shares that the recording has', async () => {
        const page = await bench.open(pathToFileURL(reportOf('small', 'small')).href, {
            hash: '#view=methods',
        });
        assert.match(await page.locator('h1').innerText(), /Shop\.Api \(4711\)/);
        assert.equal(await page.locator('.filters .sum').innerText(), '100 ms in 10 samples');
        const list = await rows(page, 'Methods');
        const of = (name) =>
            list
                .find((row) => row.includes(name))
                .match(/[\d.]+ %|–/g)
                .slice(0, 2);
        assert.deepEqual(of('Shop.Orders.Price'), ['40.0 %', '40.0 %']);
        assert.deepEqual(
            of('Shop.Orders.Place'),
            ['30.0 %', '80.0 %'],
            'recursion is counted once',
        );
        assert.deepEqual(of('Shop.Program.Main'), ['–', '100.0 %']);
        await page.selectOption('select[aria-label="Profile"]', 'samples:wall');
        await page.click('role=tab[name="Flame graph"]');
        await settled(page);
        assert.equal(await page.locator('.filters .sum').innerText(), '100 ms in 3 samples');
        assert.match(
            await page.locator('.legend').innerText(),
            /running\s+waiting for a lock\s+sleeping/,
        );
        await page.selectOption('select[aria-label="Process"]', '1');
        assert.equal(await page.locator('.filters .sum').innerText(), '50 ms in 5 samples');
        assert.deepEqual(page.problems, []);
        await page.context().close();
    });

    it('shows a hostile name as text and runs nothing', async () => {
        const html = reportOf('hostile', 'small');
        assert.equal(
            readFileSync(html, 'utf8').match(/<script/g).length,
            2,
            'the data and the code, no more',
        );
        const page = await bench.open(pathToFileURL(html).href, { hash: '#view=methods' });
        const names = await page.locator('table[aria-label="Methods"] .link').allTextContents();
        assert.ok(names.includes(EVIL), names.join('\n'));
        assert.deepEqual(page.problems, [], 'no dialog, no error');
        assert.deepEqual(
            page.requests.filter((url) => !url.startsWith('file:') && !url.startsWith('data:')),
            [],
        );
        await shot(page, 'recording-methods');
        await page.context().close();
    });

    it('shows what clarinet diff found', async () => {
        const [before, after, html] = ['before.clarinet', 'after.clarinet', 'diff.html'].map(
            (name) => join(bench.folder, name),
        );
        execFileSync(join(BUILD, 'tests/make_recording'), [before, 'small']);
        execFileSync(join(BUILD, 'tests/make_recording'), [after, 'worse']);
        execFileSync(
            join(BUILD, 'clarinet'),
            ['diff', before, after, '--process', '4711', '-o', html],
            { stdio: ['ignore', 'pipe', 'pipe'] },
        );
        const page = await bench.open(pathToFileURL(html).href, { hash: '#view=changes' });
        assert.equal(
            await page.locator('h1').innerText(),
            'before.clarinet against after.clarinet',
        );
        // Price went from 4 of 10 samples to 8 of 14.
        assert.match(
            (await rows(page, 'What changed'))[0],
            /40\.00 %\s+57\.14 %\s+\+17\.14 pp.*Shop\.Orders\.Price/s,
        );
        await page.click('role=tab[name="Flame graph"]');
        await settled(page);
        assert.ok((await colourCount(page, '.view-flame .flame-canvas')) > 4);
        assert.deepEqual(page.problems, []);
        await shot(page, 'recording-diff');
        await page.context().close();
    });

    it('opens with a million samples (times are printed)', async () => {
        const html = reportOf('large', '1000000', '50000', '16');
        const page = await bench.open(pathToFileURL(html).href);
        const times = await page.evaluate(
            () => performance.getEntriesByType('navigation')[0].domComplete,
        );
        console.log(
            `1,000,000 samples, 50,000 stacks: ${(statSync(html).size / 2 ** 20).toFixed(1)} MiB, complete after ${Math.round(times)} ms`,
        );
        assert.match(await page.locator('.filters .sum').innerText(), / in 1,000,000 samples/);
        assert.ok((await colourCount(page, '.view-flame .flame-canvas')) > 4);
        assert.deepEqual(page.problems, []);
        await shot(page, 'recording-large');
        await page.context().close();
    });
});
