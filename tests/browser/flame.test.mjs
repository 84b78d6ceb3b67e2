// The flame graph and the time range in a real browser.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { colourCount, pixel, settled, shot } from './browser.mjs';
import { FLAME, ROW, bench, clickFlame, hash, on, rows, start, text } from './fixture.mjs';
import { ProcessBuilder, report } from './builder.mjs';
import { SHOP_PATHS, shopProcess } from './make_data.mjs';

before(start);
after(() => bench.stop());

describe('flame graph', () => {
    it('draws boxes in the colours of their modules', () =>
        on('shop', {}, async (page) => {
            assert.ok((await colourCount(page, FLAME)) > 10);
            const [root, first] = [
                await pixel(page, FLAME, 400, 3),
                await pixel(page, FLAME, 400, ROW + 3),
            ];
            assert.equal(root[3], 255);
            assert.notDeepEqual(root, first);
            const empty = await pixel(page, FLAME, 400, 9.5 * ROW);
            assert.equal(empty[3], 0, 'right of the deepest stacks nothing is drawn');
            await shot(page, 'flame');
        }));

    it('says what the pointer is on', () =>
        on('shop', {}, async (page) => {
            const box = await page.locator(FLAME).boundingBox();
            await page.mouse.move(box.x + 40, box.y + 8.5 * ROW);
            const tip = await text(page, '.tip');
            assert.match(tip, /Shop\.Orders\.Pricing\.Discount/);
            assert.match(tip, /self/);
            assert.match(tip, /your code/);
        }));

    it('zooms by click, shows the path, and goes back', () =>
        on('shop', {}, async (page) => {
            const beforeZoom = await pixel(page, FLAME, 1100, 7.3 * ROW);
            await clickFlame(page, 0.1, 7);
            assert.match(await text(page, '.path'), /Shop\.Orders\.Pricing\.Total/);
            assert.notDeepEqual(
                await pixel(page, FLAME, 1100, 7.3 * ROW),
                beforeZoom,
                'the box fills the width now',
            );
            await shot(page, 'flame-zoomed');
            await page.goBack();
            await settled(page);
            assert.equal(await page.locator('.path').isVisible(), false);
            assert.deepEqual(await pixel(page, FLAME, 1100, 7.3 * ROW), beforeZoom);
        }));

    it('is usable by keyboard alone', () =>
        on('shop', {}, async (page) => {
            await page.locator(FLAME).focus();
            for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown'])
                await page.keyboard.press(key);
            assert.match(
                await text(page, '.view-flame [aria-live="polite"].unseen'),
                /ThreadPoolWorkQueue\.Dispatch.*self/,
            );
            await page.keyboard.press('Enter');
            assert.match(await text(page, '.path'), /Dispatch/);
            await page.keyboard.press('Backspace');
            assert.match(await text(page, '.path'), /WorkerThreadStart/);
            await page.keyboard.press('Escape');
            assert.equal(await page.locator('.path').isVisible(), false);
            await page.keyboard.press('i');
            assert.match(await hash(page), /shape=flame/);
        }));

    it('stands on its root as a flame and hangs as an icicle', () =>
        on('shop', { hash: '#shape=flame' }, async (page) => {
            const height = await page.locator(FLAME).evaluate((c) => c.clientHeight);
            const bottom = await pixel(page, FLAME, 1200, height - 4);
            assert.equal(bottom[3], 255, 'the root is at the bottom');
            assert.equal((await pixel(page, FLAME, 1200, 4))[3], 0, 'nothing at the top right');
        }));

    it('finds frames and says their share', () =>
        on('shop', {}, async (page) => {
            await page.keyboard.press('/');
            await page.keyboard.type('regex');
            await settled(page);
            const share = SHOP_PATHS.filter(([, path]) => path.join().includes('Regex')).reduce(
                (sum, [s]) => sum + s,
                0,
            );
            const found = Number(/([\d.]+) %/.exec(await text(page, '.found'))[1]);
            assert.ok(Math.abs(found - share) < 2, `${found} is about ${share}`);
            const match = await pixel(page, FLAME, 700, 7.5 * ROW);
            assert.ok(match[0] > 230 && match[2] < 120, `a match is yellow: ${match}`);
            await shot(page, 'flame-search');
            await page.fill('#search', '/^Shop\\..*Total$/');
            await settled(page);
            assert.match(await text(page, '.found'), /^3\d\.\d % matched/);
            await page.fill('#search', '/((/');
            await settled(page);
            assert.match(await text(page, '.found'), /–/, 'a broken expression matches nothing');
        }));

    it('turns around: leaves first', () =>
        on('shop', { hash: '#inverted=1' }, async (page) => {
            const box = await page.locator(FLAME).boundingBox();
            await page.mouse.move(box.x + 40, box.y + 1.5 * ROW);
            assert.match(await text(page, '.tip'), /Shop\.Orders\.Pricing\.Discount/);
            await page.mouse.move(box.x + 40, box.y + 2.5 * ROW);
            assert.match(await text(page, '.tip'), /Shop\.Orders\.Pricing\.Total/);
        }));

    it('groups by thread', () =>
        on('shop', { hash: '#grouped=1' }, async (page) => {
            const box = await page.locator(FLAME).boundingBox();
            await page.mouse.move(box.x + 40, box.y + 1.5 * ROW);
            assert.match(await text(page, '.tip'), /\.NET TP Worker \(471\d\)/);
            await shot(page, 'flame-threads');
        }));

    it('shows lines instead of methods', () =>
        on('shop', { hash: '#by=line' }, async (page) => {
            const box = await page.locator(FLAME).boundingBox();
            await page.mouse.move(box.x + 40, box.y + 8.5 * ROW);
            assert.match(await text(page, '.tip'), /Discount:102/);
            assert.match(await text(page, '.tip'), /Orders\.cs:102/);
        }));

    it('shows wall states as colours', () =>
        on('shop', { hash: '#profile=samples:wall' }, async (page) => {
            assert.match(await text(page, '.legend'), /waiting for a lock/);
            const colours = new Set();
            for (let x = 10; x < 1200; x += 20)
                colours.add((await pixel(page, FLAME, x, 2 * ROW - 4)).join());
            assert.ok(colours.size >= 3, 'one box has a part per state');
            await shot(page, 'wall');
            await page.click('.state-filter >> text=waiting for a lock');
            await settled(page);
            assert.match(await hash(page), /states=2/);
            await page.click('role=tab[name="Top methods"]');
            const list = await rows(page, 'Methods');
            assert.match(list[0], /pthread_cond_wait/);
            assert.ok(!list.join().includes('Discount'));
        }));
});

describe('time range', () => {
    it('filters everything after a drag, and is undone by a click', () =>
        on('shop', { hash: '#view=methods' }, async (page) => {
            const whole = await text(page, '.filters .sum');
            const box = await page.locator('.timeline-canvas').boundingBox();
            await page.mouse.move(box.x + box.width * 0.4, box.y + 20);
            await page.mouse.down();
            await page.mouse.move(box.x + box.width * 0.45, box.y + 20);
            await page.mouse.move(box.x + box.width * 0.55, box.y + 20);
            await page.mouse.up();
            await settled(page);
            const samples = Number(
                /in ([\d,]+) samples/.exec(await text(page, '.filters .sum'))[1].replace(',', ''),
            );
            assert.ok(samples > 1000 && samples < 2200, `the burst has a third of all: ${samples}`);
            assert.match(await text(page, '.timeline-words'), /4\.0.*5\.5/);
            await shot(page, 'range');
            await page.locator('.timeline-canvas').click();
            await settled(page);
            assert.equal(await text(page, '.filters .sum'), whole);
        }));

    it('moves by keyboard', () =>
        on('shop', {}, async (page) => {
            await page.locator('.timeline-canvas').focus();
            await page.keyboard.press('ArrowRight');
            assert.match(await hash(page), /to=250000/);
            await page.keyboard.press('Shift+ArrowRight');
            assert.match(await hash(page), /to=500000/);
            await page.keyboard.press('ArrowRight');
            assert.match(await hash(page), /from=250000&to=750000/);
            await page.keyboard.press('Escape');
            assert.equal(await hash(page), '');
        }));

    it('takes of a wall-clock row what is inside', async () => {
        const builder = new ProcessBuilder(1, 'Sleepy');
        builder.process.duration = 9e6;
        builder.process.profilers = [
            { name: 'wall', state: 'stopped', time: 0, stop: 8e6, note: '', parameters: {} },
        ];
        builder.process.threads = [{ id: 1, managed: 1, name: 'one', flags: 0, start: 0, end: 0 }];
        builder.table(
            'samples',
            'wall',
            { time: 'time', thread: 'thread', stack: 'stack', weight: 'duration', state: 'u64' },
            [
                {
                    time: 1e6,
                    thread: 0,
                    stack: builder.stack(['Main|App', 'Sleep|App']),
                    weight: 4e6,
                    state: 3,
                },
                {
                    time: 5e6,
                    thread: 0,
                    stack: builder.stack(['Main|App', 'Work|App']),
                    weight: 1e6,
                    state: 1,
                },
            ],
            'weight',
            'us',
        );
        // Hardly any processor time: the page then opens with the wall clock.
        builder.table(
            'samples',
            'cpu',
            { time: 'time', thread: 'thread', stack: 'stack', weight: 'duration' },
            [{ time: 5e6, thread: 0, stack: builder.stack(['Main|App', 'Work|App']), weight: 1e4 }],
            'weight',
            'us',
        );
        const address = bench.file('sleepy', report([builder.build()]));
        const page = await bench.open(address);
        assert.match(
            await text(page, '.timeline-words'),
            /whole recording, 8 s/,
            'the axis ends where the profiler stopped',
        );
        assert.equal(await text(page, '.filters .sum'), '5 s in 2 samples');
        const inside = await bench.open(address, { hash: '#from=2000000&to=5500000&view=methods' });
        assert.equal(await text(inside, '.filters .sum'), '3.50 s in 2 samples');
        const list = await rows(inside, 'Methods');
        assert.match(
            list.find((row) => row.includes('Sleep')),
            /3 s/,
        );
        assert.match(
            list.find((row) => row.includes('Work')),
            /500 ms/,
        );
        const sleeping = await pixel(page, '.timeline-canvas', 1280 * 0.4, 30);
        assert.equal(sleeping[3], 255, 'drawn over all the time it lasts');
        const ran = await bench.open(address, { hash: '#profile=samples:cpu' });
        assert.equal(await text(ran, '.filters .sum'), '10 ms in 1 sample');
        for (const p of [page, inside, ran]) {
            assert.deepEqual(p.problems, []);
            await p.context().close();
        }
    });

    it('draws steps evenly, whatever the width of a bar', async () => {
        const step = 50100;
        const builder = new ProcessBuilder(1, 'Steady');
        const stack = builder.stack(['Main|App', 'Wait|App']);
        builder.process.duration = 500 * step - 40000;
        builder.process.threads = [{ id: 1, managed: 1, name: 'one', flags: 0, start: 0, end: 0 }];
        builder.table(
            'samples',
            'wall',
            { time: 'time', thread: 'thread', stack: 'stack', weight: 'duration', state: 'u64' },
            Array.from({ length: 500 }, (_, i) => ({
                time: i * step,
                thread: 0,
                stack,
                weight: i < 499 ? step : step - 40000,
                state: 3,
            })),
            'weight',
            'us',
        );
        builder.tables[0].bucket = step;
        const page = await bench.open(bench.file('steady', report([builder.build()])));
        const filled = await page.evaluate(() => {
            const canvas = document.querySelector('.timeline-canvas');
            const y = Math.round(canvas.height * 0.15);
            const line = canvas.getContext('2d').getImageData(0, y, canvas.width, 1).data;
            let count = 0;
            for (let i = 3; i < line.length; i += 4) count += line[i] === 255;
            return count / canvas.width;
        });
        assert.ok(filled > 0.3, `${filled} of the strip is filled almost to its top`);
        assert.deepEqual(page.problems, []);
        await page.context().close();
    });

    it('counts exactly the rows inside', () =>
        on('shop', { hash: '#from=2000000&to=3000000' }, async (page) => {
            const data = shopProcess().build().tables[0];
            let time = 0;
            const inside = data.columns.time.filter(
                (delta) => (time += delta) >= 2e6 && time < 3e6,
            ).length;
            assert.match(await text(page, '.filters .sum'), new RegExp(` in ${inside} samples`));
        }));
});
