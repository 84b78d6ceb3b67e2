// Heat map over time: columns are moments, rows are the hottest methods, the threads, or the place
// within each second (which shows what comes at a rhythm). The darker a cell, the more weight.

import { choice, el, fill, oncePerFrame, paint } from './dom.js';
import { moment, percent, tailOfName, weight } from './format.js';
import { FONT, heatColour, themeColours } from './colors.js';
import { spread } from './analysis.js';
import { drawRange, drawTicks, rangeChooser } from './timeline.js';

const MAX_ROWS = 40;
const ROW_HEIGHT = 17;
const SUBSECOND_ROWS = 25;
const AXIS = 20;

export class HeatView {
    /** @param {any} app */
    constructor(app) {
        this.app = app;
        this.controls = el('div', { class: 'controls' });
        this.canvas = el('canvas', {
            class: 'heat-canvas',
            tabindex: '0',
            role: 'img',
            'aria-label': 'Heat map over time',
        });
        this.note = el('p', { class: 'muted small', 'aria-live': 'polite' });
        this.element = el(
            'div',
            { class: 'view view-heat' },
            this.controls,
            this.canvas,
            this.note,
        );
        this.redraw = oncePerFrame(() => this.draw());
        rangeChooser(
            this.canvas,
            () => this.axis(),
            (from, to) => app.store.set({ from, to }),
        );
        this.canvas.addEventListener('pointermove', (e) => this.say(e));
        new ResizeObserver(this.redraw).observe(this.canvas);
    }

    axis() {
        const a = this.analysis;
        return {
            span: Math.max(1, a.process.duration),
            from: a.from,
            to: a.to,
            whole: a.whole,
            left: this.left,
        };
    }

    update(analysis) {
        this.analysis = analysis;
        const { state } = analysis;
        fill(
            this.controls,
            choice(
                'Rows',
                [
                    ['methods', 'hottest methods'],
                    ['threads', 'threads'],
                    ['subsecond', 'within each second'],
                ],
                state.rows,
                (rows) => this.app.store.set({ rows }),
            ),
            el('span', { class: 'muted hint', text: 'drag to choose a range' }),
        );
        this.map = this.compute(state.rows);
        this.canvas.style.height = `${this.map.labels.length * ROW_HEIGHT + AXIS}px`;
        this.canvas.setAttribute('aria-label', `Heat map over time, rows: ${state.rows}`);
        this.note.textContent =
            this.map.labels.length === 0 ? 'No samples in this selection.' : '\u00a0';
        this.redraw();
    }

    /** Weight by row and column of the whole recording. @param {string} kind */
    compute(kind) {
        const { analysis } = this;
        const { profile, process } = analysis;
        const columns =
            kind === 'subsecond'
                ? Math.max(1, Math.min(600, Math.ceil(process.duration / 1e6)))
                : analysis.partsOfTime(profile, 160);
        if (!profile.time) return { labels: [], columns, cells: new Float64Array(0), highest: 0 };
        const { labels, rowOf } =
            kind === 'threads'
                ? threadRows(analysis)
                : kind === 'subsecond'
                  ? subsecondRows(profile)
                  : methodRows(analysis);
        const cells = new Float64Array(labels.length * columns);
        const span = kind === 'subsecond' ? columns * 1e6 : process.duration;
        let y = 0;
        const add = (x, w) => {
            cells[y * columns + x] += w;
        };
        for (const row of analysis.rowsOf(profile, true)) {
            y = rowOf(row);
            if (y >= 0) spread(profile, row, span, columns, add);
        }
        return { labels, columns, cells, span, highest: cells.reduce((a, b) => Math.max(a, b), 0) };
    }

    get left() {
        const width = this.canvas.clientWidth;
        return this.analysis.state.rows === 'subsecond'
            ? 56
            : Math.round(Math.min(260, width * 0.3));
    }

    draw() {
        if (!this.map) return;
        paint(this.canvas, (context, width) => {
            const theme = themeColours();
            const { labels, columns, cells, highest } = this.map;
            const { left } = this;
            const step = ((width - left) / columns) * (this.map.span / this.axis().span);
            context.font = FONT;
            labels.forEach((label, y) => {
                context.textBaseline = 'middle';
                context.fillStyle = theme.muted;
                context.save();
                context.beginPath();
                context.rect(0, y * ROW_HEIGHT, left - 8, ROW_HEIGHT);
                context.clip();
                context.fillText(label, 0, (y + 0.5) * ROW_HEIGHT);
                context.restore();
                for (let x = 0; x < columns; x++) {
                    const value = cells[y * columns + x];
                    if (value <= 0 || left + x * step > width) continue;
                    context.fillStyle = heatColour(
                        0.12 + 0.88 * Math.sqrt(value / highest),
                        theme.dark,
                    );
                    context.fillRect(
                        left + x * step,
                        y * ROW_HEIGHT,
                        Math.max(0.7, step - (step > 3 ? 1 : 0)),
                        ROW_HEIGHT - 1,
                    );
                }
            });
            const height = labels.length * ROW_HEIGHT;
            drawTicks(context, theme, left, width - left, height, this.axis().span);
            drawRange(context, theme, left, width - left, height, this.axis());
        });
    }

    /** Puts the cell under the pointer into words. */
    say(event) {
        const bounds = this.canvas.getBoundingClientRect();
        const { labels, columns, cells, span } = this.map;
        const y = Math.floor((event.clientY - bounds.top) / ROW_HEIGHT);
        const time =
            ((event.clientX - bounds.left - this.left) / (bounds.width - this.left)) *
            this.axis().span;
        const x = Math.floor((time / span) * columns);
        if (y < 0 || y >= labels.length || x < 0 || x >= columns) return;
        const value = cells[y * columns + x];
        let column = 0;
        for (let i = 0; i < labels.length; i++) column += cells[i * columns + x];
        this.note.textContent =
            `${labels[y]} at ${moment((x / columns) * span)}: ${weight(value, this.analysis.unit)}, ` +
            `${percent(value, column)} of what is shown of that moment`;
    }
}

/** The methods with most weight of their own; a row of samples goes to its leaf's method. */
function methodRows(analysis) {
    const { process, profile } = analysis;
    const { self } = analysis.sums('method');
    const order = Array.from(self.keys())
        .filter((i) => self[i] > 0)
        .sort((a, b) => self[b] - self[a])
        .slice(0, MAX_ROWS);
    const place = new Int32Array(process.methods.length).fill(-1);
    order.forEach((method, y) => {
        place[method] = y;
    });
    return {
        labels: order.map((i) => tailOfName(process.methods[i].name, 2)),
        rowOf: (row) => {
            const stack = profile.stack[row];
            return stack > 0 ? place[process.methodOfFrame[process.frame[stack]]] : -1;
        },
    };
}

function threadRows(analysis) {
    const { process, profile } = analysis;
    const sums = analysis.byThread();
    const order = process.threads
        .map((_, i) => i)
        .filter((i) => sums.weight[i] > 0)
        .sort((a, b) => sums.weight[b] - sums.weight[a])
        .slice(0, MAX_ROWS);
    const place = new Int32Array(process.threads.length).fill(-1);
    order.forEach((thread, y) => {
        place[thread] = y;
    });
    return {
        labels: order.map((i) => process.threads[i].label),
        rowOf: (row) =>
            profile.thread && profile.thread[row] >= 0 ? place[profile.thread[row]] : -1,
    };
}

function subsecondRows(profile) {
    const step = 1000 / SUBSECOND_ROWS;
    return {
        labels: Array.from({ length: SUBSECOND_ROWS }, (_, i) => `${Math.round(i * step)} ms`),
        rowOf: (row) => Math.floor(((profile.time[row] % 1e6) / 1e6) * SUBSECOND_ROWS),
    };
}
