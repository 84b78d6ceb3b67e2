// The time axis of the report: choosing a range by drag, touch or keyboard, its drawing, and the
// strip at the top that shows activity over the whole recording. Heat maps and charts use the same
// chooser, so a range means the same everywhere.

import { el, fill, oncePerFrame, paint } from './dom.js';
import { duration, moment } from './format.js';
import { FONT, stateColours, themeColours } from './colors.js';
import { STATES } from './model.js';

const KEY_STEPS = 40;

/**
 * Lets the reader choose a range on a canvas whose width is [0, span] microseconds.
 * @param {HTMLCanvasElement} canvas
 * @param {() => {span: number, from: number, to: number, whole: boolean, left?: number}} axis what it shows now;
 *   `left` is the width of labels beside the axis, in pixels
 * @param {(from: number, to: number) => void} chosen both 0: everything
 */
export function rangeChooser(canvas, axis, chosen) {
    let drag = null;
    const at = (event) => {
        const bounds = canvas.getBoundingClientRect();
        const { span, left = 0 } = axis();
        const share = (event.clientX - bounds.left - left) / Math.max(1, bounds.width - left);
        return Math.max(0, Math.min(1, share)) * span;
    };
    canvas.addEventListener('pointerdown', (event) => {
        if (event.button !== 0) return;
        drag = { start: at(event), x: event.clientX, moved: false };
        canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
        if (!drag) return;
        if (!drag.moved && Math.abs(event.clientX - drag.x) < 4) return;
        drag.moved = true;
        const end = at(event);
        chosen(Math.round(Math.min(drag.start, end)), Math.round(Math.max(drag.start, end)));
    });
    canvas.addEventListener('pointerup', () => {
        if (drag && !drag.moved) chosen(0, 0);
        drag = null;
    });
    canvas.addEventListener('pointercancel', () => {
        drag = null;
    });
    canvas.addEventListener('keydown', (event) => {
        const range = moveRange(event, axis());
        if (!range) return;
        event.preventDefault();
        event.stopPropagation();
        chosen(range[0], range[1]);
    });
}

/** The range after a key: arrows move it, with shift its end; Escape clears it. */
function moveRange(event, { span, from, to, whole }) {
    const step = span / KEY_STEPS;
    if (event.key === 'Escape') return [0, 0];
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!direction) return null;
    if (whole)
        return direction > 0 ? [0, Math.round(step)] : [Math.round(span - step), Math.round(span)];
    if (event.shiftKey)
        return [from, Math.round(Math.max(from + step, Math.min(span, to + direction * step)))];
    const moved = Math.max(-from, Math.min(span - to, direction * step));
    return [Math.round(from + moved), Math.round(to + moved)];
}

/** A round step for about `wanted` ticks over `span`. @param {number} span @param {number} wanted */
export function tickStep(span, wanted) {
    const rough = span / Math.max(1, wanted);
    const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
    for (const factor of [1, 2, 5, 10]) if (power * factor >= rough) return power * factor;
    return power * 10;
}

/** Draws the axis' ticks at `y`. */
export function drawTicks(context, theme, left, width, y, span) {
    const step = tickStep(span, width / 90);
    context.font = FONT;
    context.textBaseline = 'top';
    context.fillStyle = theme.muted;
    for (let t = 0; t <= span; t += step) {
        const x = left + (t / span) * width;
        context.fillRect(Math.round(x), y, 1, 4);
        const text = moment(t, step * 5);
        const size = context.measureText(text).width;
        if (x + size + 4 < left + width) context.fillText(text, x + 4, y + 2);
    }
}

/** Dims what is outside the range. */
export function drawRange(context, theme, left, width, height, { span, from, to, whole }) {
    if (whole) return;
    const x0 = left + (from / span) * width;
    const x1 = left + (to / span) * width;
    context.fillStyle = theme.background;
    context.globalAlpha = 0.72;
    context.fillRect(left, 0, x0 - left, height);
    context.fillRect(x1, 0, left + width - x1, height);
    context.globalAlpha = 1;
    context.fillStyle = theme.accent;
    context.fillRect(x0 - 1, 0, 2, height);
    context.fillRect(x1 - 1, 0, 2, height);
}

/** The strip of activity over time. */
export class Timeline {
    /** @param {(from: number, to: number) => void} chosen */
    constructor(chosen) {
        this.canvas = el('canvas', {
            class: 'timeline-canvas',
            tabindex: '0',
            role: 'slider',
            'aria-roledescription': 'time range',
            'aria-label': 'Time range',
        });
        this.words = el('div', { class: 'timeline-words' });
        this.element = el(
            'section',
            { class: 'timeline', 'aria-label': 'Time' },
            this.words,
            this.canvas,
        );
        this.redraw = oncePerFrame(() => this.draw());
        this.chosen = chosen;
        rangeChooser(this.canvas, () => this.axis(), chosen);
        new ResizeObserver(this.redraw).observe(this.canvas);
    }

    axis() {
        const a = this.analysis;
        return { span: Math.max(1, a.process.duration), from: a.from, to: a.to, whole: a.whole };
    }

    /** @param {import('./analysis.js').Analysis} analysis */
    update(analysis) {
        this.analysis = analysis;
        this.element.hidden =
            !analysis.profile || !analysis.profile.time || analysis.process.duration <= 0;
        if (this.element.hidden) return;
        const { from, to, whole, process } = analysis;
        const range = whole
            ? `whole recording, ${duration(process.duration)}`
            : `${moment(from, to - from)} to ${moment(to, to - from)} (${duration(to - from)})`;
        fill(
            this.words,
            el('span', { class: 'strong', text: `${analysis.profile.title} over time` }),
            el('span', { class: 'muted', text: range }),
            analysis.profile.bucket > 0 &&
                el('span', {
                    class: 'muted hint',
                    text: `in steps of ${duration(analysis.profile.bucket)}`,
                }),
            whole
                ? el('span', { class: 'muted hint', text: 'drag to choose a range' })
                : el('button', {
                      type: 'button',
                      class: 'plain',
                      text: 'Whole recording',
                      on: { click: () => this.chosen(0, 0) },
                  }),
        );
        this.canvas.setAttribute('aria-valuemin', '0');
        this.canvas.setAttribute('aria-valuemax', String(process.duration));
        this.canvas.setAttribute('aria-valuenow', String(from));
        this.canvas.setAttribute('aria-valuetext', range);
        this.redraw();
    }

    draw() {
        if (!this.analysis || this.element.hidden) return;
        paint(this.canvas, (context, width, height) => {
            const theme = themeColours();
            const chart = height - 18;
            const { profile } = this.analysis;
            const { sums, layers, count } = this.analysis.overTime(
                profile,
                Math.max(10, Math.floor(width / 3)),
            );
            const colours = layers > 1 ? stateColours(theme.dark) : [theme.accent];
            drawStacked(context, sums, layers, count, colours, width, chart);
            context.fillStyle = theme.line;
            context.fillRect(0, chart, width, 1);
            drawTicks(context, theme, 0, width, chart + 1, this.axis().span);
            drawRange(context, theme, 0, width, chart, this.axis());
        });
    }
}

/** Bars over time, the layers on top of each other; the highest fills the height. */
export function drawStacked(context, sums, layers, count, colours, width, height) {
    let highest = 0;
    for (let i = 0; i < count; i++) {
        let sum = 0;
        for (let l = 0; l < layers; l++) sum += sums[i * layers + l];
        highest = Math.max(highest, sum);
    }
    if (highest <= 0) return highest;
    const step = width / count;
    for (let i = 0; i < count; i++) {
        let y = height;
        for (let l = 0; l < layers; l++) {
            const h = (sums[i * layers + l] / highest) * (height - 2);
            if (h <= 0) continue;
            context.fillStyle = colours[l];
            context.fillRect(i * step, y - h, Math.max(0.5, step - (step > 2.5 ? 0.6 : 0)), h);
            y -= h;
        }
    }
    return highest;
}

/** A key for the colours of states; only those that occur. @param {Float64Array} totals @param {boolean} dark */
export function stateLegend(totals, dark) {
    const colours = stateColours(dark);
    return STATES.map((name, s) => [name, s])
        .filter(([, s]) => totals[s] > 0)
        .map(([name, s]) =>
            el(
                'span',
                { class: 'key' },
                el('span', { class: 'swatch', style: { background: colours[s] } }),
                name,
            ),
        );
}
