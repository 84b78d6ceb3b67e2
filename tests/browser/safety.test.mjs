// Names that the target chose cannot run script, reach the network or break the page; and generic
// type names show as they are.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Bench, settled, shot } from './browser.mjs';
import { report } from './builder.mjs';
import { HOSTILE, hostileReport } from './hostile.mjs';
import { page as pageWith, shopProcess } from './make_data.mjs';

const bench = new Bench();
let address;
const VIEWS = [
    'flame',
    'methods',
    'lines',
    'method',
    'time',
    'heat',
    'map',
    'threads',
    'waits',
    'exceptions',
    'other',
    'health',
];

before(async () => {
    await bench.start();
    address = bench.file('hostile', hostileReport());
});
after(() => bench.stop());

async function checkHarmless(page) {
    assert.equal(await page.evaluate(() => window.pwned), undefined, 'no script of the target ran');
    assert.deepEqual(page.problems, [], 'not even an attempt that the policy stopped');
    assert.deepEqual(
        page.requests.filter((url) => !url.startsWith('file:') && !url.startsWith('data:')),
        [],
        'no request',
    );
    assert.equal(await page.locator('script').count(), 1, "only the page's own script");
    assert.equal(
        await page.locator('img, svg:not(.waits), a, iframe, object, link[rel=stylesheet]').count(),
        0,
    );
}

describe('hostile names', () => {
    for (const view of VIEWS) {
        it(`cannot run script in ${view}`, async () => {
            const page = await bench.open(address, { hash: `#view=${view}` });
            await page.locator('details').evaluateAll((all) =>
                all.forEach((d) => {
                    d.open = true;
                }),
            );
            await settled(page);
            await checkHarmless(page);
            await page.context().close();
        });
    }

    it('cannot run script from pointer notes, paths and searches', async () => {
        const page = await bench.open(address);
        const canvas = page.locator('.view-flame .flame-canvas');
        const box = await canvas.boundingBox();
        for (let x = 5; x < box.width; x += 40) {
            for (let row = 0; row < 3; row++)
                await page.mouse.move(box.x + x, box.y + row * 19 + 9);
        }
        await page.mouse.click(box.x + 100, box.y + 28);
        await page.fill('#search', HOSTILE[0]);
        await settled(page);
        await checkHarmless(page);
        await page.context().close();
    });

    it('cannot run script from the address', async () => {
        for (const text of HOSTILE.filter((t) => t.isWellFormed() && t.length < 200)) {
            const page = await bench.open(address, {
                hash: `#search=${encodeURIComponent(text)}&method=${encodeURIComponent(text)}&view=${encodeURIComponent(text)}`,
            });
            await checkHarmless(page);
            await page.context().close();
        }
    });

    it('show as they are', async () => {
        const page = await bench.open(address, { hash: '#view=methods' });
        const names = await page.locator('table[aria-label="Methods"] .link').allTextContents();
        const plain = HOSTILE.filter((t) => t.isWellFormed() && !/[\u0000\u202e]/.test(t));
        assert.ok(plain.length >= HOSTILE.length - 3);
        for (const text of plain) assert.ok(names.includes(text), text);
        assert.ok(
            names.includes('\\u202egnp.exe\\u202c'),
            'a turned direction is spelled out, not followed',
        );
        assert.ok(names.includes('a\\u0000b'));
        await shot(page, 'hostile');
        await page.context().close();
    });
});

describe('the policy', () => {
    it('stops script that got into the page anyway', async () => {
        const page = await bench.open(address);
        await page.evaluate(() => {
            // A text node is not an assignment, so nothing throws; but it must not run either.
            const script = document.createElement('script');
            script.append('window.pwned = 1');
            document.body.append(script);
        });
        assert.equal(await page.evaluate(() => window.pwned), undefined);
        assert.ok(
            page.problems.some((p) => p.includes('will not be executed')),
            page.problems.join(),
        );
        const allowed = await page.evaluate(
            () =>
                [
                    () => {
                        document.body.innerHTML = '<img src=x onerror="window.pwned = 2">';
                    },
                    () => {
                        document.body.setAttribute('onclick', 'window.pwned = 3');
                    },
                    () => {
                        document.createElement('script').textContent = 'window.pwned = 4';
                    },
                    () => {
                        document.write('<p>');
                    },
                ].filter((attempt) => {
                    try {
                        attempt();
                        return true;
                    } catch {
                        return false;
                    }
                }).length,
        );
        assert.equal(allowed, 0, 'script and HTML from text are refused altogether');
        await page.context().close();
    });

    it('stops requests', async () => {
        const page = await bench.open(address);
        const failed = await page.evaluate(() =>
            fetch('http://192.0.2.1/').then(
                () => false,
                () => true,
            ),
        );
        assert.ok(failed);
        assert.deepEqual(
            page.requests.filter((url) => url.startsWith('http')),
            [],
        );
        await page.context().close();
    });

    it('is in every page', () => {
        const html = pageWith(report([shopProcess({ samples: 10 }).build()]));
        assert.match(
            html,
            /default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+';/,
        );
        assert.doesNotMatch(html, /unsafe-inline|unsafe-eval/);
    });
});

describe('type names', () => {
    it('show their < and >', async () => {
        const page = await bench.open(bench.file('shop', report([shopProcess().build()])), {
            hash: '#view=methods',
        });
        const names = await page.locator('table[aria-label="Methods"] .link').allTextContents();
        assert.ok(
            names.includes(
                'System.Collections.Generic.Dictionary<string, Shop.Catalogue.Item>.TryInsert',
            ),
        );
        assert.ok(names.includes('Shop.Catalogue.Search+<>c.<Find>b__3_0'));
        await page.context().close();
    });
});
