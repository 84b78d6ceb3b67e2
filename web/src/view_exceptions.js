// Exceptions: types with their counts, the messages and inner exceptions of each, where they were
// thrown and caught, and their rate over time. The flame graph of the same table is one click away.

import { breakable, el, fill, oncePerFrame, paint } from './dom.js';
import { percent, shortNumber, tailOfName } from './format.js';
import { bar, grid } from './grid.js';
import { FONT, themeColours } from './colors.js';
import { drawRange, drawStacked, drawTicks, rangeChooser } from './timeline.js';
import { CATEGORY } from './model.js';
import { methodLink } from './view_tables.js';

const STACK_FRAMES = 30;

export class ExceptionsView {
    /** @param {any} app */
    constructor(app) {
        this.app = app;
        this.memory = {};
        this.detailMemory = {};
        this.chosen = -1;
        this.canvas = el('canvas', {
            class: 'rate-canvas',
            tabindex: '0',
            role: 'img',
            'aria-label': 'Exceptions over time',
        });
        this.types = el('div');
        this.details = el('div', { class: 'details' });
        this.words = el('div', { class: 'controls' });
        this.element = el(
            'div',
            { class: 'view' },
            this.words,
            this.canvas,
            this.types,
            this.details,
        );
        this.redraw = oncePerFrame(() => this.draw());
        rangeChooser(
            this.canvas,
            () => this.axis(),
            (from, to) => app.store.set({ from, to }),
        );
        new ResizeObserver(this.redraw).observe(this.canvas);
    }

    axis() {
        const a = this.analysis;
        return { span: Math.max(1, a.process.duration), from: a.from, to: a.to, whole: a.whole };
    }

    update(analysis) {
        this.analysis = analysis;
        this.table = analysis.process.table('exceptions');
        if (!this.table) return;
        const groups = this.group();
        const whole = [...groups.values()].reduce((sum, g) => sum + g.count, 0);
        const seconds = Math.max(1e-6, (analysis.to - analysis.from) / 1e6);
        fill(
            this.words,
            el('span', {
                class: 'strong',
                text: `${shortNumber(whole)} exceptions, ${shortNumber(whole / seconds)} a second`,
            }),
            el('button', {
                type: 'button',
                class: 'plain',
                text: 'Flame graph of exceptions',
                on: {
                    click: () =>
                        this.app.store.set(
                            { view: 'flame', profile: this.table.id, zoom: '' },
                            true,
                        ),
                },
            }),
        );
        fill(
            this.types,
            grid({
                label: 'Exception types',
                rows: [...groups.values()],
                sort: 1,
                memory: this.memory,
                empty: 'No exceptions in this selection.',
                columns: [
                    {
                        title: 'Type',
                        wide: true,
                        value: (g) => g.name,
                        cell: (g) =>
                            el(
                                'button',
                                {
                                    type: 'button',
                                    class: 'link',
                                    on: {
                                        click: () => {
                                            this.chosen = g.type;
                                            this.showDetails(groups);
                                        },
                                    },
                                },
                                breakable(g.name),
                            ),
                    },
                    {
                        title: 'Count',
                        number: true,
                        value: (g) => g.count,
                        cell: (g) =>
                            el(
                                'span',
                                { class: 'pair' },
                                bar(percent(g.count, whole), g.count / whole),
                                el('span', { class: 'muted amount', text: shortNumber(g.count) }),
                            ),
                    },
                    {
                        title: 'A second',
                        number: true,
                        value: (g) => g.count / seconds,
                        cell: (g) => shortNumber(g.count / seconds),
                    },
                    { title: 'Messages', number: true, minor: true, value: (g) => g.messages.size },
                    { title: 'Stacks', number: true, minor: true, value: (g) => g.stacks.size },
                ],
            }),
        );
        if (!groups.has(this.chosen))
            this.chosen =
                [...groups.values()].reduce(
                    (best, g) => (!best || g.count > best.count ? g : best),
                    null,
                )?.type ?? -1;
        this.showDetails(groups);
        this.redraw();
    }

    /** Counts by type, and within it by message and by stack. */
    group() {
        const { process } = this.analysis;
        const { columns, stack, rows } = this.table;
        const groups = new Map();
        for (const row of rows > 0 ? this.analysis.rowsOf(this.table) : []) {
            const type = columns.type ? columns.type[row] : 0;
            let group = groups.get(type);
            if (!group)
                groups.set(
                    type,
                    (group = {
                        type,
                        name: process.text(type) || '(unknown type)',
                        count: 0,
                        messages: new Map(),
                        stacks: new Map(),
                    }),
                );
            const count = columns.count ? columns.count[row] : 1;
            group.count += count;
            add(group.messages, columns.message ? columns.message[row] : 0, count);
            if (stack) add(group.stacks, stack[row], count);
            if (columns.caught_in && columns.caught_in[row] > 0) {
                group.caught = group.caught || new Map();
                add(group.caught, columns.caught_in[row], count);
            }
            if (columns.inner && columns.inner[row] > 0) {
                group.inner = group.inner || new Map();
                add(group.inner, columns.inner[row], count);
            }
        }
        return groups;
    }

    showDetails(groups) {
        const group = groups.get(this.chosen);
        if (!group) return fill(this.details);
        const { process } = this.analysis;
        const list = (map) => [...map].map(([id, count]) => ({ id, count }));
        return fill(
            this.details,
            el('h3', { text: group.name }),
            grid({
                label: 'Messages',
                rows: list(group.messages),
                sort: 0,
                columns: [
                    {
                        title: 'Count',
                        number: true,
                        value: (r) => r.count,
                        cell: (r) => shortNumber(r.count),
                    },
                    {
                        title: 'Message',
                        wide: true,
                        value: (r) => process.text(r.id) || '(no message)',
                    },
                ],
            }),
            group.inner &&
                grid({
                    label: 'Inner exceptions',
                    rows: list(group.inner),
                    sort: 0,
                    columns: [
                        {
                            title: 'Count',
                            number: true,
                            value: (r) => r.count,
                            cell: (r) => shortNumber(r.count),
                        },
                        {
                            title: 'Inner exceptions, outermost first',
                            wide: true,
                            value: (r) => process.text(r.id),
                            cell: (r) => innerCell(process.text(r.id)),
                        },
                    ],
                }),
            group.caught &&
                grid({
                    label: 'Caught in',
                    rows: list(group.caught),
                    sort: 0,
                    columns: [
                        {
                            title: 'Count',
                            number: true,
                            value: (r) => r.count,
                            cell: (r) => shortNumber(r.count),
                        },
                        { title: 'Caught in', wide: true, value: (r) => process.text(r.id) },
                    ],
                }),
            grid({
                label: 'Stacks',
                rows: list(group.stacks),
                sort: 0,
                columns: [
                    {
                        title: 'Count',
                        number: true,
                        value: (r) => r.count,
                        cell: (r) => shortNumber(r.count),
                    },
                    {
                        title: 'Thrown at',
                        wide: true,
                        value: (r) => this.leafName(r.id),
                        cell: (r) => this.stackCell(r.id),
                    },
                ],
            }),
        );
    }

    leafName(stack) {
        const { process } = this.analysis;
        return stack > 0
            ? process.methods[process.methodOfFrame[process.frame[stack]]].name
            : '(no stack)';
    }

    /** A stack that opens: the leaf as its summary, the callers inside. */
    stackCell(stack) {
        const { process } = this.analysis;
        if (stack <= 0) return el('span', { class: 'muted', text: '(no stack)' });
        const frames = [];
        for (let s = stack; s > 0 && frames.length < STACK_FRAMES; s = process.parent[s])
            frames.push(process.frame[s]);
        return el(
            'details',
            null,
            el('summary', null, tailOfName(this.leafName(stack), 2), this.ownCaller(frames)),
            el(
                'ol',
                { class: 'stack' },
                frames.map((frame) =>
                    el(
                        'li',
                        null,
                        methodLink(this.app, this.analysis, process.methodOfFrame[frame]),
                        el('span', {
                            class: 'muted',
                            text: ` ${process.place(process.lineOfFrame[frame])}`,
                        }),
                    ),
                ),
            ),
        );
    }

    /** The nearest frame of the program's own code, where the leaf is not one: what tells stacks apart. */
    ownCaller(frames) {
        const { process } = this.analysis;
        const own = frames.findIndex(
            (frame) => process.methods[process.methodOfFrame[frame]].category === CATEGORY.app,
        );
        if (own <= 0) return null;
        return el('span', {
            class: 'muted',
            text: ` in ${tailOfName(process.methods[process.methodOfFrame[frames[own]]].name, 2)}`,
        });
    }

    draw() {
        if (!this.table || !this.table.time) return;
        paint(this.canvas, (context, width, height) => {
            const theme = themeColours();
            const chart = height - 18;
            const count = this.analysis.partsOfTime(
                this.table,
                Math.max(10, Math.floor(width / 4)),
            );
            const { rows } = this.table;
            const sums = new Float64Array(count);
            const { span } = this.axis();
            for (const row of rows > 0 ? this.analysis.rowsOf(this.table, true) : []) {
                const at = Math.min(count - 1, Math.floor((this.table.time[row] / span) * count));
                sums[at] += this.table.columns.count ? this.table.columns.count[row] : 1;
            }
            const highest = drawStacked(context, sums, 1, count, [theme.accent], width, chart);
            drawTicks(context, theme, 0, width, chart + 1, span);
            drawRange(context, theme, 0, width, chart, this.axis());
            context.font = FONT;
            context.textBaseline = 'top';
            context.fillStyle = theme.muted;
            context.fillText(
                `at most ${shortNumber(highest / (span / count / 1e6))} a second`,
                4,
                2,
            );
        });
    }
}

/** One line for each inner exception, as "Type: message". */
function innerCell(text) {
    return el(
        'ol',
        { class: 'stack' },
        text.split('\n').map((line) => el('li', { text: line })),
    );
}

function add(map, key, count) {
    map.set(key, (map.get(key) || 0) + count);
}
