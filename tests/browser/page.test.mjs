// The page as a whole in a real browser: links, themes, a phone, printing, the keyboard.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pixel, settled, shot } from './browser.mjs';
import { FLAME, ROW, VIEWS, bench, clickFlame, files, hash, on, start, text } from './fixture.mjs';
import { report } from './builder.mjs';
import { shopProcess } from './make_data.mjs';

before(start);
after(() => bench.stop());

describe('the page', () => {
    it('opens a link to a view', () =>
        on('shop', {}, async (page) => {
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

    it('survives a broken link', () =>
        on(
            'shop',
            {
                hash: '#view=nothing&process=99&from=x&to=-1&zoom=1.b.99999&method=1e9&threads=77.zz&states=9&profile=no:no',
            },
            async (page) => {
                assert.equal(
                    await page.locator('.tab[aria-selected="true"]').innerText(),
                    'Flame graph',
                );
            },
        ));

    it('is dark where the system is, and by its button', () =>
        on('shop', { dark: true }, async (page) => {
            const background = () =>
                page.evaluate(() => getComputedStyle(document.body).backgroundColor);
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
        it(`fits a phone: ${view}`, () =>
            on(
                'rich',
                { width: 390, height: 844, scale: 2, hash: `#view=${view}` },
                async (page) => {
                    const width = await page.evaluate(() => document.documentElement.scrollWidth);
                    assert.ok(width <= 390, `nothing sticks out: ${width}`);
                    await shot(page, `phone-${view}`, { fullPage: true });
                },
            ));
    }

    it('prints', () =>
        on('shop', {}, async (page) => {
            await page.emulateMedia({ media: 'print' });
            assert.equal(await page.locator('.tabs').isVisible(), false);
            assert.equal(await page.locator(FLAME).isVisible(), true);
            const pdf = await page.pdf({ format: 'A4', printBackground: true });
            assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
            await shot(page, 'print', { fullPage: true });
        }));

    it('prints light where the page is dark', () =>
        on('shop', { dark: true }, async (page) => {
            await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
            assert.ok(
                (await pixel(page, FLAME, 400, 2 * ROW - 4))[0] > 140,
                'drawn at once, in light colours',
            );
            await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
            assert.ok((await pixel(page, FLAME, 400, 2 * ROW - 4))[0] < 128);
        }));

    it('explains its keys', () =>
        on('shop', {}, async (page) => {
            await page.keyboard.press('?');
            assert.match(await text(page, 'dialog'), /callers and callees of the frame/);
            await shot(page, 'help');
            await page.keyboard.press('Escape');
            assert.equal(await page.locator('dialog').isVisible(), false);
            await page.keyboard.press('2');
            assert.equal(
                await page.locator('.tab[aria-selected="true"]').innerText(),
                'Top methods',
            );
        }));

    it('names everything that can be reached by keyboard', () =>
        on('rich', {}, async (page) => {
            for (const view of VIEWS) {
                await page.click(`#tab-${view}`);
                const nameless = await page.evaluate(() =>
                    [...document.querySelectorAll('button, select, input, canvas, [role]')]
                        .filter(
                            (e) =>
                                e.checkVisibility() &&
                                !(
                                    e.textContent.trim() ||
                                    e.getAttribute('aria-label') ||
                                    e.getAttribute('aria-labelledby')
                                ),
                        )
                        .map((e) => e.outerHTML.slice(0, 120)),
                );
                assert.deepEqual(nameless, [], view);
            }
            assert.equal(await page.locator('h1').count(), 1);
            assert.equal(await page.locator('main').count(), 1);
        }));

    it('keeps the focus where it is when something is chosen', () =>
        on('shop', {}, async (page) => {
            await page.locator('select[aria-label="Order"]').focus();
            await page.keyboard.press('ArrowDown');
            await settled(page);
            assert.match(await hash(page), /order=name/);
            assert.equal(
                await page.evaluate(() => document.activeElement.getAttribute('aria-label')),
                'Order',
            );
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
                        const parts = getComputedStyle(probe)
                            .color.match(/[\d.]+/g)
                            .slice(0, 3)
                            .map(Number);
                        probe.remove();
                        return parts;
                    };
                    const luminance = (c) =>
                        c
                            .map((v) => v / 255)
                            .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
                            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
                    const contrast = (a, b) => {
                        const [x, y] = [luminance(rgb(a)), luminance(rgb(b))].sort((m, n) => n - m);
                        return (x + 0.05) / (y + 0.05);
                    };
                    const pairs = [
                        ['--text', '--background'],
                        ['--muted', '--background'],
                        ['--muted', '--surface'],
                        ['--accent', '--background'],
                        ['--accent', '--accent-soft'],
                        ['--critical', '--critical-soft'],
                        ['--warning', '--warning-soft'],
                        ['--info', '--info-soft'],
                        ['--better', '--background'],
                    ];
                    return pairs
                        .map(([a, b]) => [a, b, contrast(a, b)])
                        .filter(([, , c]) => c < 4.5);
                });
                assert.deepEqual(low, []);
            });
        }
    });

    it('says so when its data cannot be read', async () => {
        for (const [data, reason] of [
            [null, /no data/],
            [{ version: 2 }, /version 2/],
            [report([]), /no process/],
            [
                report([{ ...shopProcess().build(), stacks: { parent: [-1, 5], frame: [-1, 0] } }]),
                /Stack 1 is damaged/,
            ],
        ]) {
            const page = await bench.open(bench.file('broken', data));
            assert.match(await text(page, '.failure'), reason);
            await page.context().close();
        }
    });

    it('shows a process without any table', async () => {
        const page = await bench.open(
            bench.file('empty', report([{ pid: 1, name: 'empty', strings: [''] }])),
        );
        assert.deepEqual(page.problems, []);
        assert.match(await text(page, '.panel'), /Nothing was lost/);
        await page.context().close();
    });
});
