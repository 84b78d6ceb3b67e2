// The page of a heap snapshot: of a real program whose hoards are known, and of hostile names.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { after, before, describe, it } from 'node:test';
import { Bench, colourCount, settled, shot } from './browser.mjs';
import { report } from './builder.mjs';
import { HOSTILE } from './hostile.mjs';
import { shopProcess } from './make_data.mjs';

const ROOT = resolve(import.meta.dirname, '../..');
const BUILD = resolve(process.env.CLARINET_BUILD || join(ROOT, 'build'));
const VERSION = readFileSync(join(ROOT, 'tools/runtimes/versions'), 'utf8').match(
    /^10\.0\s+(\S+)/m,
)[1];
const MAP = '.view-heap .treemap-canvas';
const bench = new Bench();
let html;

/** Takes a snapshot of the sample Hoarder and makes its page. */
async function makeReport() {
    const recording = join(bench.folder, 'hoard.clarinet');
    const clarinet = join(BUILD, 'clarinet');
    const patient = spawn(
        join(process.env.CLARINET_RUNTIMES, 'dotnet'),
        ['exec', '--fx-version', VERSION, join(BUILD, 'samples/Hoarder/Hoarder.dll')],
        { stdio: ['pipe', 'pipe', 'inherit'] },
    );
    try {
        for await (const line of createInterface({ input: patient.stdout }))
            if (line === 'ready') break;
        execFileSync(clarinet, ['heap', String(patient.pid), '-o', recording], { stdio: 'pipe' });
    } finally {
        patient.kill('SIGKILL');
    }
    html = join(bench.folder, 'hoard.html');
    execFileSync(clarinet, ['report', recording, '-f', 'html', '-o', html], { stdio: 'pipe' });
}

before(async () => {
    await bench.start();
    await makeReport();
});
after(() => bench.stop());

const rows = (page, label) => page.locator(`table[aria-label="${label}"] tbody tr`).allInnerTexts();

function checkHarmless(page) {
    assert.deepEqual(page.problems, []);
    assert.deepEqual(
        page.requests.filter((url) => !url.startsWith('file:') && !url.startsWith('data:')),
        [],
    );
}

describe('the page of a heap snapshot', () => {
    it('shows types, roots, ways, strings and waste', async () => {
        const page = await bench.open(pathToFileURL(html).href);
        assert.ok(statSync(html).size < 1 << 20, 'the page stays small');
        await page.click('role=tab[name="Heap"]');
        assert.match(await page.locator('.view-heap > p').first().innerText(), /objects, .*B/);
        const types = await rows(page, 'Heap types');
        assert.ok(types.some((row) => row.includes('byte[]')), types.join('\n'));
        await page.fill('input[aria-label="Filter Heap types"]', 'Hoarder.ListItem');
        assert.match((await rows(page, 'Heap types')).join('\n'), /500/);
        const holders = (await rows(page, 'Kept alive by')).join('\n');
        assert.match(holders, /static field Hoarder\.Store\.Large/);
        const strings = (await rows(page, 'Equal strings')).join('\n');
        assert.match(strings, /the same name in every order[^]*Hoarder\.Named\.Name/);
        const waste = (await rows(page, 'Kept for little or nothing')).join('\n');
        assert.match(waste, /Hoarder\.Subscriber[^]*held by Hoarder\.Publisher\.Changed/);
        assert.match(waste, /held by object\[\] in Hoarder\.Store\.Boxes/);
        await page.selectOption('.view-heap select[aria-label="Type"]', { index: 0 });
        assert.match(await page.locator('.heap-ways').innerText(), /static field Hoarder/);
        assert.ok(!(await page.locator('role=tab[name="Other tables"]').isVisible()));
        checkHarmless(page);
        await page.context().close();
    });

    it('draws what keeps what alive, and goes in and out', async () => {
        const page = await bench.open(pathToFileURL(html).href, { hash: '#view=heap' });
        await settled(page);
        assert.ok((await colourCount(page, MAP)) > 4);
        await shot(page, 'heap');
        await page.locator(MAP).focus();
        await page.keyboard.press('ArrowRight');
        assert.match(await page.locator('.view-heap .treemap .unseen').innerText(), /%/);
        await page.keyboard.press('Enter');
        await settled(page);
        assert.equal(await page.locator('.view-heap .path .crumb').count(), 2);
        await page.locator('.view-heap .path .crumb').first().click();
        assert.ok(!(await page.locator('.view-heap .path').isVisible()));
        checkHarmless(page);
        await page.context().close();
    });

    it('shows hostile names as text', async () => {
        const process = shopProcess({});
        const all = (make) => HOSTILE.map(make);
        const step = (text, next) => ({
            root: text, field: text, type: text, repeated: true, repeated_by: text, objects: 1,
            bytes: 1, next,
        });
        process.heap = {
            objects: 1, bytes: 100, quick: false, type_count: 9999, holder_count: 9999,
            types: all((type) => ({
                type, count: 1, bytes: 1, retained: 1, largest: 1, generations: { [type]: 1 },
            })),
            holders: all((type) => ({ type, root: type, count: 1, retained: 1 })),
            duplicates: all((value) => ({
                value, count: 2, length: 1, wasted: 1, holders: [{ holder: value, references: 1 }],
            })),
            duplicate_texts: 9999, duplicate_bytes: 1,
            waste: all((type) => ({ kind: type, what: type, type, holder: type, count: 1, bytes: 1 })),
            ways: all((type) => ({ type, bytes: 1, paths: [step(type, [step(type, [])])] })),
            tree: {
                parent: [-1, ...all(() => 0)], type: ['', ...HOSTILE], root: ['', ...HOSTILE],
                objects: [0, ...all(() => 1)], retained: [100, ...all(() => 5)], left_out: 3,
            },
        };
        const page = await bench.open(bench.file('hostile-heap', report([process])), {
            hash: '#view=heap',
        });
        await settled(page);
        assert.equal(await page.evaluate(() => window.pwned), undefined);
        assert.ok((await rows(page, 'Heap types')).some((row) => row.includes(HOSTILE[0])));
        checkHarmless(page);
        await page.context().close();
    });

    it('shows tasks that are not done, with hostile names as text', async () => {
        const process = shopProcess({});
        const frame = (method) => ({ method, type: method, file: `/a/${method}`, line: 7, times: 2 });
        const chain = (name, more) => ({
            count: 9, tasks: 9, waiting_for: { kind: 'timer', type: name, due_ms: 3000, age_ms: 2000 },
            never_completed: 0, awaited_by: 'nobody', frames: [frame(name), frame('Shop.LoadAsync')],
            ...more,
        });
        process.tasks = {
            quick: true, incomplete: 1234, rings: 1, runtime_async: 0, kinds: 300,
            pool: { existing: 4, working: 3, minimum: 2, queued: 40 },
            chains: [
                chain('Shop.Cat.FeedAsync', { ring: 2, waiting_for: { kind: 'cycle', type: '' } }),
                chain('x', { frames: [], waiting_for: { kind: 'promise', type: HOSTILE[0] } }),
                chain('Shop.LostAsync', { awaited_by: 'blocked thread', never_completed: 3 }),
                ...HOSTILE.map((name) => chain(name)),
            ],
        };
        const url = bench.file('tasks', report([process]));
        const page = await bench.open(url, { hash: '#view=tasks' });
        await settled(page);
        const text = await page.locator('.view-tasks').innerText();
        for (const words of [/1,234 tasks are not done, in 300 kinds/, /await each other, for ever/,
            /40 items wait/, /9 × waiting for a timer of 3.* s, the oldest for 2/,
            /a TaskCompletionSource that nobody awaits/, /3 of them nothing can complete/,
            /a thread blocks on it/])
            assert.match(text, words);
        assert.ok(text.includes(HOSTILE[0]));
        assert.equal(await page.evaluate(() => window.pwned), undefined);
        await shot(page, 'tasks');
        await page.fill('.view-tasks input', 'cat.feed');
        assert.equal(await page.locator('.task-chain').count(), 1);
        checkHarmless(page);
        await page.context().close();
    });

    it('says what is wrong with a snapshot', async () => {
        const process = shopProcess({});
        process.heap = { trouble: 'the heap snapshot was cut off before its end' };
        const page = await bench.open(bench.file('cut-heap', report([process])), {
            hash: '#view=heap',
        });
        assert.match(await page.locator('.view-heap .notice').innerText(), /cut off/);
        checkHarmless(page);
        await page.context().close();
    });
});
