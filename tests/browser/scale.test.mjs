// A hundred thousand distinct stacks: it draws right, and what each step costs is printed. The times
// are for people to read; nothing here fails because a machine is slow.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Bench, colourCount, settled, shot } from './browser.mjs';
import { report } from './builder.mjs';
import { bigProcess } from './make_data.mjs';

const COUNT = 100_000;
const FLAME = '.view-flame .flame-canvas';
const bench = new Bench();
let page;

before(async () => {
    await bench.start();
    const builder = bigProcess(COUNT);
    const data = builder.build();
    assert.equal(new Set(data.tables[0].columns.stack).size, COUNT);
    const address = bench.file('big', report([data]));
    const start = Date.now();
    page = await bench.open(address);
    const timing = await page.evaluate(
        () => performance.getEntriesByType('navigation')[0].domComplete,
    );
    console.log(
        `open ${COUNT} distinct stacks, ${data.tables[0].rows} rows: ${Math.round(timing)} ms to complete, ${Date.now() - start} ms seen from outside`,
    );
});
after(() => bench.stop());

/** Runs steps, one a frame, and reports how long the frames took. */
async function frames(name, steps, step) {
    const times = await page
        .evaluate(
            async ([count, source]) => {
                const run = new Function('i', 'canvas', 'scroll', source);
                const canvas = document.querySelector('.view-flame .flame-canvas');
                const scroll = document.querySelector('.view-flame .flame-scroll');
                const taken = [];
                for (let i = 0; i < count; i++) {
                    const start = performance.now();
                    run(i, canvas, scroll);
                    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
                    taken.push(performance.now() - start);
                }
                return taken.sort((a, b) => a - b);
            },
            [steps, step],
        )
        .catch((error) => {
            throw new Error(`${name}: ${error.message}`);
        });
    console.log(
        `${name}: median ${times[times.length >> 1].toFixed(1)} ms, p95 ${times[Math.floor(times.length * 0.95)].toFixed(1)} ms, worst ${times.at(-1).toFixed(1)} ms a frame`,
    );
    return times;
}

describe('100,000 distinct stacks', () => {
    it('are drawn', async () => {
        assert.ok((await colourCount(page, FLAME)) > 50);
        await shot(page, 'big');
    });

    it('answer the pointer with the frame under it', async () => {
        const box = await page.locator(FLAME).boundingBox();
        await page.mouse.move(box.x + 300, box.y + 28);
        assert.match(
            await page.locator('.view-flame .tip').innerText(),
            /Company\.Area\d+\..*\.Method\d+/,
        );
    });

    it('zoom and come back to the same picture', async () => {
        const image = () => page.locator(FLAME).evaluate((c) => c.toDataURL());
        await page.mouse.move(0, 0);
        await settled(page);
        const first = await image();
        await page.locator(FLAME).click({ position: { x: 200, y: 10.5 * 19 } });
        await settled(page);
        assert.notEqual(await image(), first);
        await shot(page, 'big-zoomed');
        await page.locator(FLAME).focus();
        await page.keyboard.press('Escape');
        await page.evaluate(() => document.activeElement.blur());
        await page.reload();
        await settled(page);
        assert.equal(await image(), first);
    });

    it('search agrees with a count by hand', async () => {
        const data = bigProcess(COUNT).build();
        const test = /method77/i;
        const inside = new Uint8Array(data.stacks.parent.length);
        for (let i = 1; i < inside.length; i++) {
            inside[i] =
                inside[data.stacks.parent[i]] ||
                (test.test(data.strings[data.frames.name[data.stacks.frame[i]]]) ? 1 : 0);
        }
        const { columns, rows } = data.tables[0];
        let matched = 0;
        for (let i = 0; i < rows; i++) if (inside[columns.stack[i]]) matched++;
        await page.fill('#search', 'method77');
        await settled(page);
        const found = Number(/([\d.]+) %/.exec(await page.locator('.found').innerText())[1]);
        assert.equal(found, Number(((100 * matched) / rows).toFixed(1)));
        await page.fill('#search', '');
    });

    it('stay fluid (times are printed)', async () => {
        const key = (name) =>
            `canvas.dispatchEvent(new KeyboardEvent('keydown', { key: ${name}, bubbles: true }))`;
        await page.locator(FLAME).focus();
        await bench.browser
            .contexts()[0]
            .newCDPSession(page)
            .then((session) => session.send('Page.setBypassCSP', { enabled: true }));
        await page.reload();
        await page.waitForSelector(FLAME);
        const all = [
            await frames('scroll', 60, 'scroll.scrollTop = (i % 30) * 25'),
            await frames('zoom', 40, key("i % 20 < 10 ? '+' : '-'")),
            await frames('pan', 40, `${key("'+'")}; ${key("i % 2 ? 'a' : 'd'")}`),
            await frames('zoom out', 5, key("'0'")),
            await frames(
                'time range',
                20,
                "location.hash = '#from=' + i * 1000000 + '&to=' + (i * 1000000 + 20000000)",
            ),
            await frames('reversed', 2, "location.hash = i ? '#inverted=1' : ''"),
            await frames('by thread', 2, "location.hash = i ? '#grouped=1' : ''"),
        ];
        assert.ok(all.every((times) => times.length > 0));
        assert.deepEqual(page.problems, []);
    });
});
