// Traced methods: what was counted of each, and single calls on a time line, a lane for every
// thread, calls inside of calls below each other. A click or the arrow keys choose a call.

import { el, fill, oncePerFrame, paint } from './dom.js';
import { duration, moment, shortNumber, tailOfName } from './format.js';
import { grid } from './grid.js';
import { FONT, hashText, themeColours } from './colors.js';
import { drawTicks } from './timeline.js';

const ROW = 18;
const GAP = 8;
const TITLE = 16;
const MAX_HEIGHT = 900;
const MOST_ROWS = 24;
const CALL = 0;
const ASYNC = 3; // a call until it was complete
const KINDS = ['', ' (steps)', ' (until complete)'];

/** @param {import('./model.js').Process} process */
export function hasTrace(process) {
    return process.table('trace_calls') !== null || process.table('trace_events') !== null;
}

/** Gives each box the first row that is free when it begins. */
function packRows(lane) {
    const ends = [];
    for (const box of [...lane.boxes].sort((a, b) => a.from - b.from)) {
        const free = ends.findIndex((end) => end <= box.from);
        box.depth = Math.min(MOST_ROWS, free < 0 ? ends.length : free);
        ends[box.depth] = box.to;
        lane.deepest = Math.max(lane.deepest, box.depth);
    }
}

export class TraceView {
    constructor() {
        this.chosen = -1;
        this.methodMemory = {};
        this.callMemory = {};
        this.methods = el('div');
        this.canvas = el('canvas', {
            class: 'lanes-canvas',
            tabindex: '0',
            role: 'img',
            'aria-label': 'Single calls over time, by thread',
            on: {
                click: (event) => this.click(event),
                keydown: (event) => this.key(event),
            },
        });
        this.call = el('p', { class: 'trace-call', role: 'status' });
        this.calls = el('div');
        this.element = el('div', { class: 'view' }, this.methods, this.canvas, this.call, this.calls);
        this.redraw = oncePerFrame(() => this.draw());
        new ResizeObserver(this.redraw).observe(this.canvas);
    }

    update(analysis) {
        this.analysis = analysis;
        this.table = analysis.process.table('trace_events');
        this.chosen = -1;
        this.showMethods();
        this.lanes = this.table ? this.layOut() : [];
        this.boxes = this.lanes.flatMap((lane) => lane.boxes);
        this.canvas.hidden = this.boxes.length === 0;
        this.showCall();
        this.showCalls();
        this.redraw();
    }

    /** The last row of a method and kind is its result. */
    showMethods() {
        const { process } = this.analysis;
        const table = process.table('trace_calls');
        const last = new Map();
        if (!table) return fill(this.methods);
        const { columns } = table;
        for (let row = 0; row < table.rows; row++)
            last.set(
                `${columns.method[row]} ${columns.step ? columns.step[row] : 0} ${columns.number ? columns.number[row] : 0}`,
                row,
            );
        const number = (title, name, hint) => ({
            title,
            hint,
            number: true,
            value: (row) => columns[name][row],
            cell: (row) => shortNumber(columns[name][row]),
        });
        const time = (title, name) => ({
            title,
            number: true,
            value: (row) => columns[name][row],
            cell: (row) => duration(columns[name][row]),
        });
        return fill(
            this.methods,
            grid({
                label: 'Traced methods',
                rows: [...last.values()],
                sort: 3,
                memory: this.methodMemory,
                empty: 'No method was called.',
                columns: [
                    {
                        title: 'Method',
                        wide: true,
                        value: (row) =>
                            process.text(columns.method[row]) +
                            (KINDS[columns.step ? columns.step[row] : 0] || ''),
                    },
                    number('Calls', 'calls'),
                    number('Failed', 'failures', 'Left by an exception'),
                    time('Total', 'total'),
                    time('Self', 'self'),
                    time('Shortest', 'least'),
                    ...(columns.p50 ? [time('Median', 'p50'), time('99 %', 'p99')] : []),
                    time('Longest', 'most'),
                    number('Active', 'active', 'Running when the recording ended'),
                    ...(columns.peak ? [number('Peak', 'peak', 'The most that ran at once')] : []),
                ],
            }),
        );
    }

    /**
     * A lane for each thread; boxes by their depth among the recorded calls. Async calls have a
     * lane of their own, in which each takes the first row that is free.
     */
    layOut() {
        const { columns, time, thread } = this.table;
        const lanes = new Map();
        for (const row of this.analysis.rowsOf(this.table)) {
            const kind = columns.kind ? columns.kind[row] : CALL;
            if (kind !== CALL && kind !== ASYNC) continue;
            const id = kind === ASYNC ? 'async' : thread ? thread[row] : -1;
            if (!lanes.has(id)) lanes.set(id, { id, boxes: [], deepest: 0 });
            const lane = lanes.get(id);
            const depth = kind === CALL && columns.depth ? columns.depth[row] : 0;
            lane.deepest = Math.max(lane.deepest, depth);
            lane.boxes.push({ row, depth, from: time[row], to: time[row] + columns.duration[row] });
        }
        if (lanes.has('async')) packRows(lanes.get('async'));
        let y = 0;
        for (const lane of lanes.values()) {
            lane.y = y;
            for (const box of lane.boxes) box.y = y + TITLE + box.depth * ROW;
            y += TITLE + (lane.deepest + 1) * ROW + GAP;
        }
        this.canvas.style.height = `${Math.min(MAX_HEIGHT, Math.max(60, y + 18))}px`;
        return [...lanes.values()];
    }

    axis(width) {
        const { from, to } = this.analysis;
        const span = Math.max(1, to - from);
        return { left: (t) => ((t - from) / span) * width, span };
    }

    draw() {
        if (!this.table || this.boxes.length === 0) return;
        paint(this.canvas, (context, width, height) => {
            const theme = themeColours();
            const { left, span } = this.axis(width);
            context.font = FONT;
            context.textBaseline = 'top';
            for (const lane of this.lanes) {
                const thread = this.analysis.process.threads[lane.id];
                context.fillStyle = theme.muted;
                const title = lane.id === 'async' ? 'async calls' : 'thread';
                context.fillText(thread ? thread.label : title, 4, lane.y + 1);
                for (const box of lane.boxes) this.drawBox(context, theme, box, left);
            }
            if (this.analysis.whole) drawTicks(context, theme, 0, width, height - 17, span);
            else this.drawEnds(context, theme, width, height - 14);
        });
    }

    /** Of a chosen range: where it begins and ends. */
    drawEnds(context, theme, width, y) {
        const { from, to } = this.analysis;
        context.fillStyle = theme.muted;
        context.fillText(moment(from), 4, y);
        context.textAlign = 'right';
        context.fillText(moment(to), width - 4, y);
        context.textAlign = 'left';
    }

    drawBox(context, theme, box, left) {
        const { columns } = this.table;
        const name = this.analysis.process.text(columns.method[box.row]);
        const x = left(box.from);
        const width = Math.max(1, left(box.to) - x);
        const hue = hashText(name) % 360;
        context.fillStyle = columns.failed[box.row]
            ? `hsl(0 65% ${theme.dark ? 45 : 60}%)`
            : `hsl(${hue} 45% ${theme.dark ? 42 : 70}%)`;
        context.fillRect(x, box.y, width, ROW - 2);
        if (box.row === this.chosen) {
            context.strokeStyle = theme.text;
            context.lineWidth = 2;
            context.strokeRect(x - 1, box.y - 1, width + 2, ROW);
        }
        if (width < 40) return;
        context.save();
        context.beginPath();
        context.rect(x, box.y, width - 3, ROW);
        context.clip();
        context.fillStyle = theme.box || theme.text;
        context.fillText(tailOfName(name, 2), x + 3, box.y + 2);
        context.restore();
    }

    choose(box) {
        this.chosen = box ? box.row : -1;
        this.showCall();
        this.redraw();
    }

    /** The nearest box of the row that was hit. */
    click(event) {
        const { left } = this.axis(this.canvas.clientWidth);
        const distance = (box) =>
            Math.max(0, left(box.from) - event.offsetX, event.offsetX - left(box.to));
        const near = this.boxes
            .filter((box) => event.offsetY >= box.y && event.offsetY < box.y + ROW)
            .sort((a, b) => distance(a) - distance(b))[0];
        this.choose(near && distance(near) < 6 ? near : null);
    }

    key(event) {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        const at = this.boxes.findIndex((box) => box.row === this.chosen);
        const next = at < 0 ? 0 : at + step;
        this.choose(this.boxes[Math.min(this.boxes.length - 1, Math.max(0, next))]);
    }

    showCall() {
        if (this.chosen < 0) return fill(this.call);
        const { process } = this.analysis;
        const { columns, time } = this.table;
        const row = this.chosen;
        const exception = columns.exception ? process.text(columns.exception[row]) : '';
        return fill(
            this.call,
            el('span', { class: 'strong', text: process.text(columns.method[row]) }),
            ` at ${moment(time[row])}, ${duration(columns.duration[row])}`,
            columns.failed[row] ? `, failed${exception ? `: ${exception}` : ''}` : '',
            ` ${process.text(columns.values[row])}`,
        );
    }

    showCalls() {
        if (!this.table) return fill(this.calls);
        const { process } = this.analysis;
        const { columns, time, thread } = this.table;
        return fill(
            this.calls,
            grid({
                label: 'Single calls',
                rows: [...this.analysis.rowsOf(this.table)],
                memory: this.callMemory,
                empty: 'No single calls in this selection.',
                filterText: (row) =>
                    `${process.text(columns.method[row])} ${process.text(columns.values[row])}`,
                columns: [
                    {
                        title: 'Time',
                        number: true,
                        rising: true,
                        value: (row) => time[row],
                        cell: (row) => moment(time[row]),
                    },
                    {
                        title: 'Took',
                        number: true,
                        value: (row) => columns.duration[row],
                        cell: (row) => duration(columns.duration[row]),
                    },
                    {
                        title: 'Thread',
                        value: (row) =>
                            thread && process.threads[thread[row]]
                                ? process.threads[thread[row]].label
                                : '–',
                    },
                    { title: 'Method', value: (row) => process.text(columns.method[row]) },
                    { title: 'Values', wide: true, value: (row) => process.text(columns.values[row]) },
                    {
                        title: 'Exception',
                        value: (row) =>
                            columns.exception ? process.text(columns.exception[row]) : '',
                    },
                ],
            }),
        );
    }
}
