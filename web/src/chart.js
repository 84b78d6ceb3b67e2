// Several series on one time axis: panels below each other with a shared cursor and the shared time
// range. A panel is lines, stacked areas, or spans (things with a duration). Nothing here knows what
// the series mean.

import { el, fill, oncePerFrame, paint } from './dom.js';
import { moment } from './format.js';
import { FONT, seriesColour, themeColours } from './colors.js';
import { drawRange, drawTicks, rangeChooser } from './timeline.js';

/**
 * @typedef {object} Series
 * @property {string} name
 * @property {Float64Array} times sorted, microseconds
 * @property {Float64Array} values for spans: the duration that starts at the time
 * @property {string} [colour]
 *
 * @typedef {object} Panel
 * @property {string} title
 * @property {'line'|'stacked'|'spans'} kind `stacked`: all series have the same times
 * @property {Series[]} series
 * @property {(value: number) => string} text
 * @property {number} [step] microseconds that a value holds; the line is drawn as steps then
 */

const PANEL = 84;
const TITLE = 20;
const AXIS = 20;
const DOT = 3;

export class Chart {
    /** @param {(from: number, to: number) => void} chosen */
    constructor(chosen) {
        /** @type {Panel[]} */
        this.panels = [];
        this.canvas = el('canvas', {
            class: 'chart-canvas',
            tabindex: '0',
            role: 'img',
            'aria-label': 'Series over time',
        });
        this.words = el('div', { class: 'unseen', 'aria-live': 'polite' });
        this.element = el('div', { class: 'chart' }, this.canvas, this.words);
        this.cursor = -1;
        this.redraw = oncePerFrame(() => this.draw());
        rangeChooser(this.canvas, () => this.axis, chosen);
        this.canvas.addEventListener('pointermove', (event) => this.moveCursor(event.offsetX));
        this.canvas.addEventListener('pointerleave', () => this.moveCursor(-1));
        new ResizeObserver(this.redraw).observe(this.canvas);
    }

    /** @param {{span: number, from: number, to: number, whole: boolean}} axis @param {Panel[]} panels */
    show(axis, panels) {
        this.axis = axis;
        this.panels = panels.filter((panel) => panel.series.some((s) => s.times.length > 0));
        const titles = this.panels.map(
            (panel) => `${panel.title}, at most ${reachOf(panel)}`,
        );
        this.canvas.setAttribute('aria-label', `Series over time: ${titles.join('; ')}`);
        fill(this.words);
        this.redraw();
    }

    moveCursor(x) {
        this.cursor = x;
        this.redraw();
    }

    /** Values of all panels at the cursor, for tests and for reading. */
    valuesAt(time) {
        return this.panels.map((panel) =>
            panel.series.map((series) => valueAt(panel, series, time)),
        );
    }

    /** Where no room for names is beside a title they stand below it, in as many lines as it takes;
     *  the canvas is as high as that makes it. */
    arrange() {
        const context = this.canvas.getContext('2d');
        const rows = this.panels.map((p) => namesBelow(context, p, this.canvas.clientWidth));
        const all = rows.reduce((sum, lines) => sum + PANEL + TITLE * (1 + lines.length), AXIS);
        if (this.canvas.style.height !== `${all}px`) this.canvas.style.height = `${all}px`;
        return rows;
    }

    draw() {
        if (!this.axis) return;
        const rows = this.arrange();
        paint(this.canvas, (context, width) => {
            const theme = themeColours();
            const time = this.cursor >= 0 ? (this.cursor / width) * this.axis.span : -1;
            let bottom = 0;
            this.panels.forEach((panel, i) => {
                const head = TITLE * (1 + rows[i].length);
                context.save();
                context.translate(0, bottom + head);
                this.drawPanel(context, theme, panel, width);
                drawRange(context, theme, 0, width, PANEL, this.axis);
                context.restore();
                drawTitle(context, theme, panel, bottom, width, time, rows[i].length > 0);
                rows[i].forEach((line, k) =>
                    drawNames(context, theme, line, bottom + TITLE * (k + 1) + TITLE / 2),
                );
                bottom += PANEL + head;
            });
            drawTicks(context, theme, 0, width, bottom, this.axis.span);
            if (this.cursor >= 0) {
                context.fillStyle = theme.muted;
                context.fillRect(this.cursor, 0, 1, bottom);
            }
        });
    }

    drawPanel(context, theme, panel, width) {
        context.fillStyle = theme.surface;
        context.fillRect(0, 0, width, PANEL - 6);
        const top = highest(panel);
        if (!(top > 0)) return;
        const height = PANEL - 8;
        const x = (time) => (time / this.axis.span) * width;
        const y = (value) => height - (value / top) * (height - 4);
        if (panel.kind === 'stacked') drawAreas(context, theme, panel, x, y, height);
        else if (panel.kind === 'spans') drawSpans(context, theme, panel, x, y, height, width);
        else panel.series.forEach((series, i) => drawLine(context, theme, panel, series, i, x, y));
    }
}

/** The largest value that a panel shows; of stacked series the largest sum. @param {Panel} panel */
function highest(panel) {
    let top = 0;
    const [first] = panel.series;
    if (panel.kind === 'stacked' && first) {
        for (let i = 0; i < first.times.length; i++) {
            top = Math.max(
                top,
                panel.series.reduce((sum, s) => sum + s.values[i], 0),
            );
        }
        return top;
    }
    for (const { values } of panel.series)
        for (const value of values) if (Number.isFinite(value)) top = Math.max(top, value);
    return top;
}

/** The largest value in words, and how many values cannot be drawn: a program may tell any.
 *  @param {Panel} panel */
function reachOf(panel) {
    let count = 0;
    let odd = 0;
    for (const { values } of panel.series) {
        count += values.length;
        for (const value of values) if (!Number.isFinite(value)) odd++;
    }
    if (odd === 0) return panel.text(highest(panel));
    return `${odd < count ? panel.text(highest(panel)) : '–'}; ${odd} of ${count} values are no numbers`;
}

/** What a series says at a moment: the value that holds there, or null. */
function valueAt(panel, series, time) {
    const { times, values } = series;
    let low = 0;
    let high = times.length;
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (times[middle] <= time) low = middle + 1;
        else high = middle;
    }
    const i = low - 1;
    if (i < 0) return null;
    if (panel.kind === 'spans') return time <= times[i] + values[i] ? values[i] : null;
    return panel.step && time > times[i] + panel.step ? null : values[i];
}

function colourOf(series, index, theme) {
    return series.colour || seriesColour(index, theme.dark);
}

/** Room that a name takes, with its colour and a gap. */
const KEY = 26;

/** The series' names in lines below the title; none when there is room beside it. */
function namesBelow(context, panel, width) {
    if (panel.series.length < 2) return [];
    context.font = `600 ${FONT}`;
    let room = context.measureText(panel.title).width + 12;
    context.font = FONT;
    room += context.measureText(`up to ${reachOf(panel)}`).width + 16;
    const parts = panel.series.map((series, i) => ({
        i,
        series,
        size: context.measureText(series.name).width + KEY,
    }));
    if (parts.reduce((sum, part) => sum + part.size, room) <= width) return [];
    const lines = [];
    let used = Infinity;
    for (const part of parts) {
        if (used + part.size > width) {
            lines.push([]);
            used = 0;
        }
        lines[lines.length - 1].push(part);
        used += part.size;
    }
    return lines;
}

function drawNames(context, theme, line, middle) {
    let x = 0;
    for (const { i, series, size } of line) {
        context.fillStyle = colourOf(series, i, theme);
        context.fillRect(x, middle - 4, 9, 9);
        context.fillStyle = theme.muted;
        context.fillText(series.name, x + 13, middle);
        x += size;
    }
}

/** Title at the left; the series' names, with values where the cursor is, at the right. */
function drawTitle(context, theme, panel, top, width, time, isNamedBelow) {
    context.font = `600 ${FONT}`;
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    context.fillStyle = theme.text;
    const middle = top + TITLE / 2;
    context.fillText(panel.title, 0, middle);
    let room = context.measureText(panel.title).width + 12;
    context.font = FONT;
    context.fillStyle = theme.muted;
    const scale = `up to ${reachOf(panel)}`;
    context.fillText(scale, room, middle);
    room += context.measureText(scale).width + 16;
    const parts = panel.series
        .map((series, i) => {
            const value = time >= 0 ? valueAt(panel, series, time) : null;
            const name = panel.series.length > 1 && !isNamedBelow ? series.name : '';
            return {
                i,
                series,
                text: [name, value === null ? '' : panel.text(value)].filter(Boolean).join(' '),
            };
        })
        .filter((part) => part.text);
    if (time >= 0) parts.unshift({ i: -1, text: moment(time) });
    const sizes = parts.map((part) => context.measureText(part.text).width + KEY);
    while (sizes.length > 0 && sizes.reduce((a, b) => a + b) > width - room) sizes.pop();
    let x = width;
    for (const part of parts.slice(0, sizes.length).reverse()) {
        x -= context.measureText(part.text).width;
        context.fillStyle = theme.muted;
        context.fillText(part.text, x, middle);
        if (part.i >= 0) {
            context.fillStyle = colourOf(part.series, part.i, theme);
            context.fillRect(x - 13, middle - 4, 9, 9);
        }
        x -= KEY;
    }
}

/** A line; where many points fall on a pixel, their lowest and highest. Where there is no number is
 *  a gap. */
function drawLine(context, theme, panel, series, index, x, y) {
    const { times, values } = series;
    context.strokeStyle = colourOf(series, index, theme);
    context.lineWidth = 1.5;
    context.lineJoin = 'round';
    context.beginPath();
    let started = false;
    for (let i = 0; i < times.length; ) {
        if (!Number.isFinite(values[i])) {
            started = false;
            i++;
            continue;
        }
        const column = Math.floor(x(times[i]));
        let low = values[i];
        let high = values[i];
        let last = i;
        for (let k = i + 1; k < times.length && Math.floor(x(times[k])) === column; k++) {
            if (!Number.isFinite(values[k])) break;
            low = Math.min(low, values[k]);
            high = Math.max(high, values[k]);
            last = k;
        }
        const gap = panel.step && i > 0 && times[i] - times[i - 1] > panel.step * 1.5;
        if (started && !gap) context.lineTo(x(times[i]), y(values[i]));
        else context.moveTo(x(times[i]), y(values[i]));
        if (!started && last === i && !Number.isFinite(values[i + 1]))
            context.lineTo(x(times[i]) + DOT, y(values[i])); // alone between two gaps
        started = true;
        if (last > i) {
            context.lineTo(column + 0.5, y(low));
            context.lineTo(column + 0.5, y(high));
            context.lineTo(x(times[last]), y(values[last]));
        }
        if (panel.step) context.lineTo(x(times[last] + panel.step), y(values[last]));
        i = last + 1;
    }
    context.stroke();
    const end = times.length - 1;
    if (end >= 0 && !panel.step && x(times[end]) - x(times[0]) < 2) {
        // points on one spot make no line
        context.fillStyle = colourOf(series, index, theme);
        context.fillRect(x(times[end]) - 2, y(values[end]) - 2, 4, 4);
    }
}

/** Areas on top of each other, as steps. */
function drawAreas(context, theme, panel, x, y, height) {
    const [{ times }] = panel.series;
    const base = new Float64Array(times.length);
    panel.series.forEach((series, index) => {
        context.fillStyle = colourOf(series, index, theme);
        for (let i = 0; i < times.length; i++) {
            const value = series.values[i];
            if (!(value > 0)) continue;
            const left = x(times[i]);
            const right = x(
                panel.step ? times[i] + panel.step : i + 1 < times.length ? times[i + 1] : times[i],
            );
            const bottom = i < base.length ? y(base[i]) : height;
            base[i] += value;
            context.fillRect(left, y(base[i]), Math.max(0.6, right - left), bottom - y(base[i]));
        }
    });
}

/** Things with a duration: as wide as they lasted and as high as they were long. */
function drawSpans(context, theme, panel, x, y, height, width) {
    panel.series.forEach((series, index) => {
        context.fillStyle = colourOf(series, index, theme);
        for (let i = 0; i < series.times.length; i++) {
            const left = x(series.times[i]);
            if (left > width) break;
            const top = y(series.values[i]);
            context.fillRect(
                left,
                top,
                Math.max(1.2, x(series.times[i] + series.values[i]) - left),
                height - top,
            );
        }
    });
}
