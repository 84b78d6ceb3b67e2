// The report page in a real browser: it draws, and what a reader does has the effect it should.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Bench, colourCount, matchPixels, pixel, settled, shot } from './browser.mjs';
import { FINDINGS, KINDS, ProcessBuilder, SHOP_PATHS, report, shopProcess } from './make_data.mjs';

const FLAME = '.view-flame .flame-canvas';
const ROW = 19;
const VIEWS = ['flame', 'methods', 'lines', 'method', 'time', 'heat', 'map', 'threads', 'exceptions', 'other', 'health'];
const bench = new Bench();
const files = {};

before(async () => {
    await bench.start();
    for (const kind of ['shop', 'two', 'diff', 'rich']) files[kind] = bench.file(kind, KINDS[kind]());
});
after(() => bench.stop());

/** Opens a page, runs the test, and insists that it went without errors and requests. */
async function on(kind, options, test) {
    const page = await bench.open(files[kind], options);
    try {
        await test(page);
        assert.deepEqual(page.problems, []);
        assert.deepEqual(page.requests.filter((url) => !url.startsWith('file:') && !url.startsWith('data:')), []);
    } finally {
        await page.context().close();
    }
}

const text = (page, selector) => page.locator(selector).first().innerText();
const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash));

/** Clicks the flame graph at a share of its width and a row. */
async function clickFlame(page, share, row, options = {}) {
    const box = await page.locator(FLAME).boundingBox();
    await page.locator(FLAME).click({ position: { x: box.width * share, y: (row + 0.5) * ROW }, ...options });
    await settled(page);
}

/** The rows of the visible table as texts. */
const rows = (page, label) => page.locator(`table[aria-label="${label}"] tbody tr`).allInnerTexts();

describe('flame graph', () => {
    it('draws boxes in the colours of their modules', () => on('shop', {}, async (page) => {
        assert.ok(await colourCount(page, FLAME) > 10);
        const [root, first] = [await pixel(page, FLAME, 400, 3), await pixel(page, FLAME, 400, ROW + 3)];
        assert.equal(root[3], 255);
        assert.notDeepEqual(root, first);
        const empty = await pixel(page, FLAME, 400, 9.5 * ROW);
        assert.equal(empty[3], 0, 'right of the deepest stacks nothing is drawn');
        await shot(page, 'flame');
    }));

    it('says what the pointer is on', () => on('shop', {}, async (page) => {
        const box = await page.locator(FLAME).boundingBox();
        await page.mouse.move(box.x + 40, box.y + 8.5 * ROW);
        const tip = await text(page, '.tip');
        assert.match(tip, /Shop\.Orders\.Pricing\.Discount/);
        assert.match(tip, /self/);
        assert.match(tip, /your code/);
    }));

    it('zooms by click, shows the path, and goes back', () => on('shop', {}, async (page) => {
        const beforeZoom = await pixel(page, FLAME, 1100, 7.3 * ROW);
        await clickFlame(page, 0.1, 7);
        assert.match(await text(page, '.path'), /Shop\.Orders\.Pricing\.Total/);
        assert.notDeepEqual(await pixel(page, FLAME, 1100, 7.3 * ROW), beforeZoom, 'the box fills the width now');
        await shot(page, 'flame-zoomed');
        await page.goBack();
        await settled(page);
        assert.equal(await page.locator('.path').isVisible(), false);
        assert.deepEqual(await pixel(page, FLAME, 1100, 7.3 * ROW), beforeZoom);
    }));

    it('is usable by keyboard alone', () => on('shop', {}, async (page) => {
        await page.locator(FLAME).focus();
        for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
        assert.match(await text(page, '.view-flame [aria-live="polite"].unseen'), /ThreadPoolWorkQueue\.Dispatch.*self/);
        await page.keyboard.press('Enter');
        assert.match(await text(page, '.path'), /Dispatch/);
        await page.keyboard.press('Backspace');
        assert.match(await text(page, '.path'), /WorkerThreadStart/);
        await page.keyboard.press('Escape');
        assert.equal(await page.locator('.path').isVisible(), false);
        await page.keyboard.press('i');
        assert.match(await hash(page), /shape=flame/);
    }));

    it('stands on its root as a flame and hangs as an icicle', () => on('shop', { hash: '#shape=flame' }, async (page) => {
        const height = await page.locator(FLAME).evaluate((c) => c.clientHeight);
        const bottom = await pixel(page, FLAME, 1200, height - 4);
        assert.equal(bottom[3], 255, 'the root is at the bottom');
        assert.equal((await pixel(page, FLAME, 1200, 4))[3], 0, 'nothing at the top right');
    }));

    it('finds frames and says their share', () => on('shop', {}, async (page) => {
        await page.keyboard.press('/');
        await page.keyboard.type('regex');
        await settled(page);
        const share = SHOP_PATHS.filter(([, path]) => path.join().includes('Regex')).reduce((sum, [s]) => sum + s, 0);
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

    it('turns around: leaves first', () => on('shop', { hash: '#inverted=1' }, async (page) => {
        const box = await page.locator(FLAME).boundingBox();
        await page.mouse.move(box.x + 40, box.y + 1.5 * ROW);
        assert.match(await text(page, '.tip'), /Shop\.Orders\.Pricing\.Discount/);
        await page.mouse.move(box.x + 40, box.y + 2.5 * ROW);
        assert.match(await text(page, '.tip'), /Shop\.Orders\.Pricing\.Total/);
    }));

    it('groups by thread', () => on('shop', { hash: '#grouped=1' }, async (page) => {
        const box = await page.locator(FLAME).boundingBox();
        await page.mouse.move(box.x + 40, box.y + 1.5 * ROW);
        assert.match(await text(page, '.tip'), /\.NET TP Worker \(471\d\)/);
        await shot(page, 'flame-threads');
    }));

    it('shows lines instead of methods', () => on('shop', { hash: '#by=line' }, async (page) => {
        const box = await page.locator(FLAME).boundingBox();
        await page.mouse.move(box.x + 40, box.y + 8.5 * ROW);
        assert.match(await text(page, '.tip'), /Discount:102/);
        assert.match(await text(page, '.tip'), /Orders\.cs:102/);
    }));

    it('shows wall states as colours', () => on('shop', { hash: '#profile=samples:wall' }, async (page) => {
        assert.match(await text(page, '.legend'), /waiting for a lock/);
        const colours = new Set();
        for (let x = 10; x < 1200; x += 20) colours.add((await pixel(page, FLAME, x, 2 * ROW - 4)).join());
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
    it('filters everything after a drag, and is undone by a click', () => on('shop', { hash: '#view=methods' }, async (page) => {
        const whole = await text(page, '.filters .sum');
        const box = await page.locator('.timeline-canvas').boundingBox();
        await page.mouse.move(box.x + box.width * 0.4, box.y + 20);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width * 0.45, box.y + 20);
        await page.mouse.move(box.x + box.width * 0.55, box.y + 20);
        await page.mouse.up();
        await settled(page);
        const samples = Number(/in ([\d,]+) samples/.exec(await text(page, '.filters .sum'))[1].replace(',', ''));
        assert.ok(samples > 1000 && samples < 2200, `the burst has a third of all: ${samples}`);
        assert.match(await text(page, '.timeline-words'), /4\.0.*5\.5/);
        await shot(page, 'range');
        await page.locator('.timeline-canvas').click();
        await settled(page);
        assert.equal(await text(page, '.filters .sum'), whole);
    }));

    it('moves by keyboard', () => on('shop', {}, async (page) => {
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
        builder.process.profilers = [{ name: 'wall', state: 'stopped', time: 0, stop: 8e6, note: '', parameters: {} }];
        builder.process.threads = [{ id: 1, managed: 1, name: 'one', flags: 0, start: 0, end: 0 }];
        builder.table('samples', 'wall', { time: 'time', thread: 'thread', stack: 'stack', weight: 'duration', state: 'u64' },
            [{ time: 1e6, thread: 0, stack: builder.stack(['Main|App', 'Sleep|App']), weight: 4e6, state: 3 },
                { time: 5e6, thread: 0, stack: builder.stack(['Main|App', 'Work|App']), weight: 1e6, state: 1 }], 'weight', 'us');
        const address = bench.file('sleepy', report([builder.build()]));
        const page = await bench.open(address);
        assert.match(await text(page, '.timeline-words'), /whole recording, 8 s/, 'the axis ends where the profiler stopped');
        assert.equal(await text(page, '.filters .sum'), '5 s in 2 samples');
        const inside = await bench.open(address, { hash: '#from=2000000&to=5500000&view=methods' });
        assert.equal(await text(inside, '.filters .sum'), '3.50 s in 2 samples');
        const list = await rows(inside, 'Methods');
        assert.match(list.find((row) => row.includes('Sleep')), /3 s/);
        assert.match(list.find((row) => row.includes('Work')), /500 ms/);
        const sleeping = await pixel(page, '.timeline-canvas', 1280 * 0.4, 30);
        assert.equal(sleeping[3], 255, 'drawn over all the time it lasts');
        for (const p of [page, inside]) {
            assert.deepEqual(p.problems, []);
            await p.context().close();
        }
    });

    it('counts exactly the rows inside', () => on('shop', { hash: '#from=2000000&to=3000000' }, async (page) => {
        const data = shopProcess().build().tables[0];
        let time = 0;
        const inside = data.columns.time.filter((delta) => (time += delta) >= 2e6 && time < 3e6).length;
        assert.match(await text(page, '.filters .sum'), new RegExp(` in ${inside} samples`));
    }));
});

describe('views', () => {
    it('lists methods with true shares, sorts and filters', () => on('shop', { hash: '#view=methods' }, async (page) => {
        const list = await rows(page, 'Methods');
        assert.match(list[0], /Shop\.Orders\.Pricing\.Discount/);
        const share = Number(/([\d.]+) %/.exec(list[0])[1]);
        assert.ok(Math.abs(share - 26) < 2, `Discount has about 26 %: ${share}`);
        const recursive = (await rows(page, 'Methods')).find((row) => row.includes('Cleanup.Visit'));
        const [self, total] = recursive.match(/[\d.]+ %/g);
        assert.equal(self, total, 'recursion is counted once');
        await page.click('th >> text=Total');
        assert.match((await rows(page, 'Methods'))[0], /StartCallback/);
        assert.equal(await page.locator('th[aria-sort="descending"]').innerText(), 'Total');
        await page.fill('.grid-filter', 'regexinterpreter');
        assert.equal((await rows(page, 'Methods')).length, 2);
        await shot(page, 'methods', { fullPage: true });
    }));

    it('opens callers and callees of a method', () => on('shop', { hash: '#view=methods' }, async (page) => {
        await page.click('.link >> text=Shop.Orders.Pricing.Total');
        await settled(page);
        assert.equal(await text(page, '.method-name'), 'Shop.Orders.Pricing.Total');
        assert.ok(await colourCount(page, '.view-method .flame-canvas') > 3);
        const canvases = page.locator('.view-method .flame-canvas');
        await canvases.nth(1).scrollIntoViewIfNeeded();
        const callees = await canvases.nth(1).boundingBox();
        await page.mouse.move(callees.x + 30, callees.y + 2.5 * ROW);
        assert.match(await page.locator('.view-method .tip').nth(1).innerText(), /Discount/);
        await canvases.nth(0).scrollIntoViewIfNeeded();
        const callers = await canvases.nth(0).boundingBox();
        await page.mouse.move(callers.x + 30, callers.y + callers.height - 2.5 * ROW);
        assert.match(await page.locator('.view-method .tip').nth(0).innerText(), /OrdersController\.Place/);
        await page.fill('.method-input', 'json');
        await page.click('.suggestions .link >> nth=0');
        assert.match(await text(page, '.method-name'), /Json/);
        await shot(page, 'method', { fullPage: true });
    }));

    it('shows hot lines with their source', () => on('shop', { hash: '#view=lines' }, async (page) => {
        assert.match((await rows(page, 'Lines'))[0], /Orders\.cs:102/);
        const here = await text(page, '.code .here');
        assert.match(here, /102/);
        assert.match(here, /foreach \(var rule in Rules/);
        assert.match(here, /2\d\.\d %/);
        assert.match(await text(page, '.code'), /<summary>What a customer/);
        await page.click('.link >> text=Gateway.cs:63');
        assert.match(await text(page, '.source'), /was not found/);
        await shot(page, 'lines', { fullPage: true });
    }));

    it('chooses threads for all views', () => on('shop', { hash: '#view=threads' }, async (page) => {
        await page.click('input[aria-label="Only main (4711)"]');
        await settled(page);
        await shot(page, 'threads');
        await page.click('role=tab[name="Top methods"]');
        const list = await rows(page, 'Methods');
        assert.deepEqual(list.map((row) => /Shop\.[\w.]+/.exec(row)[0]).sort(), ['Shop.Jobs.Cleanup.Run', 'Shop.Jobs.Cleanup.Visit', 'Shop.Program.Main']);
        await page.click('.chip');
        await settled(page);
        assert.ok((await rows(page, 'Methods')).length > 20);
    }));

    it('draws heat maps of methods, threads and seconds', () => on('shop', { hash: '#view=heat' }, async (page) => {
        for (const kind of ['methods', 'threads', 'subsecond']) {
            await page.selectOption('select[aria-label="Rows"]', kind);
            await settled(page);
            assert.ok(await colourCount(page, '.heat-canvas') > 8, kind);
            await shot(page, `heat-${kind}`);
        }
        await page.selectOption('select[aria-label="Rows"]', 'methods');
        await settled(page);
        await page.locator('.heat-canvas').scrollIntoViewIfNeeded();
        const box = await page.locator('.heat-canvas').boundingBox();
        await page.mouse.move(box.x + box.width * 0.7, box.y + 8);
        assert.match(await text(page, '.view-heat p'), /Pricing\.Discount at .* s: /);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width * 0.9, box.y + 8);
        await page.mouse.up();
        assert.match(await hash(page), /from=\d+&to=\d+/);
    }));

    it('draws every series on one time axis', () => on('rich', { hash: '#view=time' }, async (page) => {
        const label = await page.getAttribute('.chart-canvas', 'aria-label');
        for (const title of ['CPU in use, cores', 'Threads by state', 'Exceptions a second', 'Collections: pause', 'allocation rate', 'gen 2 size']) {
            assert.ok(label.includes(title), `${title} in ${label}`);
        }
        assert.ok(await colourCount(page, '.chart-canvas') > 8);
        const panel = (n) => n * 104 + 20;
        // Cores: the burst from 4 s to 5.5 s is about three times as high as the rest.
        const height = async (share) => {
            let filled = 0;
            const { width } = await page.locator('.chart-canvas').boundingBox();
            for (let y = panel(0); y < panel(0) + 76; y += 2) {
                const [r, , b] = await pixel(page, '.chart-canvas', width * share, y);
                if (r > b + 60) filled++;
            }
            return filled;
        };
        const [quiet, burst] = [await height(0.2), await height(0.48)];
        assert.ok(burst > quiet * 1.8, `burst ${burst}, quiet ${quiet}`);
        await page.locator('.chart-canvas').scrollIntoViewIfNeeded();
        const box = await page.locator('.chart-canvas').boundingBox();
        await page.mouse.move(box.x + box.width * 0.48, box.y + 60);
        await shot(page, 'time', { fullPage: true });
        await page.mouse.down();
        await page.mouse.move(box.x + box.width * 0.6, box.y + 60);
        await page.mouse.up();
        await settled(page);
        assert.match(await hash(page), /from=48\d+&to=(59|60)\d+/);
        assert.match(await text(page, '.timeline-words'), /4\.8\d s to (5\.9|6\.0)\d s/);
    }));

    it('maps whose code it is, in proportion', () => on('shop', { hash: '#view=map' }, async (page) => {
        const box = await page.locator('.treemap-canvas').boundingBox();
        assert.ok(await colourCount(page, '.treemap-canvas') > 8);
        // The area of a method is its share: count points of a grid that it covers.
        let discount = 0;
        let points = 0;
        for (let x = 0.03; x < 1; x += 0.06) {
            for (let y = 0.08; y < 1; y += 0.15) {
                await page.mouse.move(box.x + box.width * x, box.y + box.height * y);
                await settled(page);
                points++;
                if (/Pricing\.Discount/.test(await page.locator('.view-map .tip').innerText())) discount++;
            }
        }
        assert.ok(Math.abs((100 * discount) / points - 25) < 7, `${discount} of ${points} points`);
        await shot(page, 'map');
        await page.mouse.click(box.x + 20, box.y + 8);
        await settled(page);
        assert.match(await text(page, '.view-map .path'), /All\s*›\s*Shop/);
        await page.locator('.treemap-canvas').focus();
        await page.keyboard.press('ArrowRight');
        assert.match(await text(page, '.view-map .unseen'), /Shop\.Orders\.Pricing.*your code/);
        await page.keyboard.press('Escape');
        await page.mouse.click(box.x + 60, box.y + 200);
        await settled(page);
        assert.equal(await text(page, '.method-name'), 'Shop.Orders.Pricing.Discount');
    }));

    it('shows exceptions by type, message and stack', () => on('shop', { hash: '#view=exceptions' }, async (page) => {
        assert.match(await text(page, '.view .controls'), /600 exceptions, 60 a second/);
        assert.match((await rows(page, 'Exception types'))[0], /System\.FormatException/);
        assert.match((await rows(page, 'Messages'))[0], /'abc' was not in a correct format/);
        assert.ok(await colourCount(page, '.rate-canvas') >= 1);
        await page.click('details summary >> text=Number.ThrowFormatException');
        assert.match(await text(page, 'table .stack'), /OrdersController\.Place.*Orders\.cs:39/);
        await shot(page, 'exceptions', { fullPage: true });
        await page.click('text=Flame graph of exceptions');
        await settled(page);
        assert.match(await text(page, '.filters .sum'), /^600$/);
        assert.ok(await colourCount(page, FLAME) > 4);
    }));

    it('shows losses and own cost', () => on('shop', { hash: '#view=health' }, async (page) => {
        assert.match((await rows(page, 'Losses'))[0], /cpu\s+ring full\s+12/);
        assert.match(await text(page, '.view'), /Handler calls\s+12,000/);
        assert.match(await text(page, '.view'), /interval=10ms native=true/);
        await shot(page, 'health', { fullPage: true });
    }));

    it('shows tables that it does not know by their types', async () => {
        const builder = shopProcess({ samples: 20 });
        builder.table('collections', 'gc', { time: 'time', thread: 'thread', reason: 'string', pause: 'duration', promoted: 'u64' },
            [{ time: 5e6, thread: 6, reason: builder.string('<induced>'), pause: 12500, promoted: 3 * 2 ** 20 },
                { time: 1e6, thread: 6, reason: builder.string('small objects'), pause: 800, promoted: 2048 }], 'pause', 'us');
        builder.tables.at(-1).units = { promoted: 'bytes' };
        const page = await bench.open(bench.file('other', report([builder.build()])), { hash: '#view=other' });
        const list = await rows(page, 'collections:gc');
        assert.match(list[0], /1\.00 s\s+\.NET BGC \(4717\)\s+small objects\s+800 µs\s+2 KiB/);
        assert.match(list[1], /5\.00 s.*<induced>.*12\.5 ms.*3 MiB/s);
        assert.deepEqual(page.problems, []);
        await page.context().close();
    });

    it('puts findings first, the worst on top', () => on('shop', {}, async (page) => {
        const titles = await page.locator('.finding summary .strong').allInnerTexts();
        assert.deepEqual(titles, ['Exceptions as control flow', 'A lock holds up orders']);
        assert.match(await text(page, '.finding .evidence'), /<b>not bold<\/b>/);
        assert.equal(await page.locator('.finding b').count(), 0);
        assert.equal(FINDINGS.length, titles.length);
    }));

    it('hides findings when there are none', () => on('two', {}, async (page) => {
        assert.equal(await page.locator('.findings').isVisible(), false);
    }));

    it('switches between processes', () => on('two', {}, async (page) => {
        const first = await text(page, '.filters .sum');
        await page.selectOption('select[aria-label="Process"]', '1');
        await settled(page);
        assert.match(await text(page, 'h1'), /Shop\.Worker \(4800\)/);
        assert.notEqual(await text(page, '.filters .sum'), first);
        assert.match(await text(page, '.filters .sum'), /in 900 samples/);
    }));
});

describe('difference', () => {
    it('colours what grew red and what shrank blue', () => on('diff', {}, async (page) => {
        const grown = await pixel(page, FLAME, 500, 8 * ROW + 3);
        assert.ok(grown[0] > grown[2] + 60, `Discount is red: ${grown}`);
        const shrunk = await pixel(page, FLAME, 960, 6 * ROW + 3);
        assert.ok(shrunk[2] > shrunk[0] + 60, `Search is blue: ${shrunk}`);
        await shot(page, 'diff');
        await page.selectOption('select[aria-label="Widths"]', 'before');
        await page.fill('#search', 'RegexInterpreter.Scan');
        await settled(page);
        assert.ok(await matchPixels(page, FLAME) > 500, 'what is gone shows with the widths of before');
    }));

    it('lists what got slower', () => on('diff', { hash: '#view=changes' }, async (page) => {
        const list = await rows(page, 'What changed');
        assert.match(list[0], /26\.00 %.*\+19\.61 pp.*Shop\.Orders\.Pricing\.Discount/s);
        assert.match(await text(page, '.view .facts'), /Shop before/);
        await shot(page, 'changes');
    }));
});

describe('the page', () => {
    it('opens a link to a view', () => on('shop', {}, async (page) => {
        await clickFlame(page, 0.1, 7);
        await page.fill('#search', 'Discount');
        await page.selectOption('select[aria-label="Shape"]', 'flame');
        await settled(page);
        const link = await page.evaluate(() => location.href);
        const other = await bench.open(link);
        assert.match(await text(other, '.path'), /Shop\.Orders\.Pricing\.Total/);
        assert.equal(await other.inputValue('#search'), 'Discount');
        assert.equal(await other.inputValue('select[aria-label="Shape"]'), 'flame');
        const image = (p) => p.locator(FLAME).evaluate((c) => c.toDataURL());
        await page.mouse.move(0, 0);
        await page.evaluate(() => document.activeElement.blur());
        await page.reload();
        await settled(page);
        assert.equal(await image(other), await image(page), 'both draw the same');
        await other.context().close();
    }));

    it('survives a broken link', () => on('shop', { hash: '#view=nothing&process=99&from=x&to=-1&zoom=1.b.99999&method=1e9&threads=77.zz&states=9&profile=no:no' }, async (page) => {
        assert.equal(await page.locator('.tab[aria-selected="true"]').innerText(), 'Flame graph');
    }));

    it('is dark where the system is, and by its button', () => on('shop', { dark: true }, async (page) => {
        const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        assert.equal(await background(), 'rgb(20, 24, 29)');
        const box = await pixel(page, FLAME, 400, 2 * ROW - 4);
        assert.ok(box[0] < 128, 'boxes are dark as well');
        await shot(page, 'flame-dark');
        await page.goto(`${files.shop}#profile=samples:wall&view=heat`);
        await settled(page);
        await shot(page, 'heat-dark');
        await page.click('#theme');
        await settled(page);
        assert.equal(await background(), 'rgb(255, 255, 255)');
        await page.keyboard.press('t');
        assert.equal(await background(), 'rgb(20, 24, 29)');
    }));

    for (const view of VIEWS) {
        it(`fits a phone: ${view}`, () => on('rich', { width: 390, height: 844, scale: 2, hash: `#view=${view}` }, async (page) => {
            const width = await page.evaluate(() => document.documentElement.scrollWidth);
            assert.ok(width <= 390, `nothing sticks out: ${width}`);
            await shot(page, `phone-${view}`, { fullPage: true });
        }));
    }

    it('prints', () => on('shop', {}, async (page) => {
        await page.emulateMedia({ media: 'print' });
        assert.equal(await page.locator('.tabs').isVisible(), false);
        assert.equal(await page.locator(FLAME).isVisible(), true);
        const pdf = await page.pdf({ format: 'A4', printBackground: true });
        assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
        await shot(page, 'print', { fullPage: true });
    }));

    it('prints light where the page is dark', () => on('shop', { dark: true }, async (page) => {
        await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
        assert.ok((await pixel(page, FLAME, 400, 2 * ROW - 4))[0] > 140, 'drawn at once, in light colours');
        await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
        assert.ok((await pixel(page, FLAME, 400, 2 * ROW - 4))[0] < 128);
    }));

    it('explains its keys', () => on('shop', {}, async (page) => {
        await page.keyboard.press('?');
        assert.match(await text(page, 'dialog'), /callers and callees of the frame/);
        await shot(page, 'help');
        await page.keyboard.press('Escape');
        assert.equal(await page.locator('dialog').isVisible(), false);
        await page.keyboard.press('2');
        assert.equal(await page.locator('.tab[aria-selected="true"]').innerText(), 'Top methods');
    }));

    it('names everything that can be reached by keyboard', () => on('rich', {}, async (page) => {
        for (const view of VIEWS) {
            await page.click(`#tab-${view}`);
            const nameless = await page.evaluate(() => [...document.querySelectorAll('button, select, input, canvas, [role]')]
                .filter((e) => e.checkVisibility() && !(e.textContent.trim() || e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')))
                .map((e) => e.outerHTML.slice(0, 120)));
            assert.deepEqual(nameless, [], view);
        }
        assert.equal(await page.locator('h1').count(), 1);
        assert.equal(await page.locator('main').count(), 1);
    }));

    it('keeps the focus where it is when something is chosen', () => on('shop', {}, async (page) => {
        await page.locator('select[aria-label="Order"]').focus();
        await page.keyboard.press('ArrowDown');
        await settled(page);
        assert.match(await hash(page), /order=name/);
        assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Order');
    }));

    it('has readable contrast in both themes', async () => {
        for (const dark of [false, true]) {
            await on('shop', { dark }, async (page) => {
                const low = await page.evaluate(() => {
                    const style = getComputedStyle(document.documentElement);
                    const rgb = (name) => {
                        const probe = document.createElement('span');
                        probe.style.color = style.getPropertyValue(name);
                        document.body.append(probe);
                        const parts = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
                        probe.remove();
                        return parts;
                    };
                    const luminance = (c) => c.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
                        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
                    const contrast = (a, b) => {
                        const [x, y] = [luminance(rgb(a)), luminance(rgb(b))].sort((m, n) => n - m);
                        return (x + 0.05) / (y + 0.05);
                    };
                    const pairs = [['--text', '--background'], ['--muted', '--background'], ['--muted', '--surface'], ['--accent', '--background'],
                        ['--accent', '--accent-soft'], ['--critical', '--critical-soft'], ['--warning', '--warning-soft'], ['--info', '--info-soft'], ['--better', '--background']];
                    return pairs.map(([a, b]) => [a, b, contrast(a, b)]).filter(([, , c]) => c < 4.5);
                });
                assert.deepEqual(low, []);
            });
        }
    });

    it('says so when its data cannot be read', async () => {
        for (const [data, reason] of [[null, /no data/], [{ version: 2 }, /version 2/], [report([]), /no process/],
            [report([{ ...shopProcess().build(), stacks: { parent: [-1, 5], frame: [-1, 0] } }]), /Stack 1 is damaged/]]) {
            const page = await bench.open(bench.file('broken', data));
            assert.match(await text(page, '.failure'), reason);
            await page.context().close();
        }
    });

    it('shows a process without any table', async () => {
        const page = await bench.open(bench.file('empty', report([{ pid: 1, name: 'empty', strings: [''] }])));
        assert.deepEqual(page.problems, []);
        assert.match(await text(page, '.panel'), /Nothing was lost/);
        await page.context().close();
    });
});
