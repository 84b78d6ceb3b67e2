// The flame graph widget: one canvas, sticky in a scrolling box, that draws the visible slice of a
// Layout. It knows boxes, labels and colours, and nothing of profiles; a view hands it what to show
// and hears what was chosen. Zoom is a range of shares [from, to] that glides to its goal.

import { el, oncePerFrame, paint } from './dom.js';
import { tailOfName } from './format.js';
import { FONT, diffColours, diffStep, largestState, stateColours, themeColours } from './colors.js';
import { boxAt, visitLevel } from './layout.js';
import { STATE_COUNT } from './model.js';

export const ROW = 19;
const MIN_TEXT = 26;
const GLIDE_MS = 160;

/**
 * @typedef {object} Scene what is shown
 * @property {import('./tree.js').Tree} tree
 * @property {import('./layout.js').Layout} layout
 * @property {(key: number) => string} label
 * @property {{palette: string[], ofKey: (key: number) => number}} colours
 * @property {'module'|'state'|'change'} colourBy
 * @property {Uint8Array|null} matches by key; others are dimmed
 * @property {boolean} icicle root at the top
 * @property {string} rootLabel
 * @property {string} description for people who cannot see the canvas
 */

export class FlameWidget {
    /**
     * @param {{zoomed: (node: number) => void, chosen: (node: number) => void,
     *   describe: (node: number) => Node[], say: (node: number) => string}} owner
     */
    constructor(owner) {
        this.owner = owner;
        /** @type {Scene|null} */
        this.scene = null;
        this.from = 0;
        this.to = 1;
        this.zoomNode = 0;
        this.focusBox = -1;
        this.hoverBox = -1;
        this.glide = null;
        this.widthOf = new Map();
        this.frameTimes = [];
        this.redraw = oncePerFrame(() => this.draw());
        this.build();
    }

    build() {
        this.canvas = el('canvas', {
            class: 'flame-canvas',
            tabindex: '0',
            role: 'application',
            'aria-roledescription': 'flame graph',
            'aria-label': 'Flame graph',
        });
        this.spacer = el('div', { class: 'flame-spacer' });
        this.scroll = el('div', { class: 'flame-scroll' }, this.canvas, this.spacer);
        this.tip = el('div', { class: 'tip', role: 'tooltip', hidden: true });
        this.live = el('div', { class: 'unseen', 'aria-live': 'polite' });
        this.element = el('div', { class: 'flame' }, this.scroll, this.tip, this.live);
        this.scroll.addEventListener('scroll', this.redraw);
        new ResizeObserver(this.redraw).observe(this.scroll);
        this.canvas.addEventListener('pointermove', (e) => this.pointerMoved(e));
        this.canvas.addEventListener('pointerleave', () => this.hover(-1));
        this.canvas.addEventListener('pointerdown', (e) => this.pointerDown(e));
        this.canvas.addEventListener('pointerup', (e) => this.pointerUp(e));
        this.canvas.addEventListener('pointercancel', () => {
            this.drag = null;
        });
        this.canvas.addEventListener('dblclick', () => this.zoomTo(0));
        this.canvas.addEventListener('wheel', (e) => this.wheel(e), { passive: false });
        this.canvas.addEventListener('keydown', (e) => this.key(e));
        this.canvas.addEventListener('blur', () => this.hover(-1));
    }

    /** Shows a scene; keeps the zoom when `zoomNode` is given. @param {Scene} scene @param {number} zoomNode */
    show(scene, zoomNode) {
        const turned = !this.scene || this.scene.icicle !== scene.icicle;
        this.scene = scene;
        this.focusBox = this.hoverBox = -1;
        this.tip.hidden = true;
        this.glide = null;
        this.zoomNode = scene.layout.boxOf[zoomNode] >= 0 ? zoomNode : 0;
        const box = scene.layout.boxOf[this.zoomNode];
        this.from = scene.layout.x0[box];
        this.to = scene.layout.x1[box];
        this.canvas.setAttribute('aria-label', scene.description);
        const height = `${Math.max(1, scene.layout.levels) * ROW}px`;
        this.spacer.style.height = height;
        this.scroll.style.setProperty('--flame-height', height);
        if (turned) this.scroll.scrollTop = scene.icicle ? 0 : this.scroll.scrollHeight;
        this.redraw();
    }

    /** Zooms to a node, gliding. @param {number} node */
    zoomTo(node) {
        const { layout } = this.scene;
        const box = Math.max(0, layout.boxOf[node]);
        this.zoomNode = layout.node[box];
        this.glideTo(layout.x0[box], layout.x1[box]);
        this.scrollToLevel(layout.level[box]);
        this.owner.zoomed(this.zoomNode);
    }

    glideTo(from, to) {
        const still = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
        if (still) {
            this.from = from;
            this.to = to;
            this.glide = null;
        } else {
            this.glide = { from0: this.from, to0: this.to, from, to, start: performance.now() };
        }
        this.redraw();
    }

    /** Zooms around a position, as a wheel or + and - do. @param {number} factor @param {number} [around] share */
    zoomBy(factor, around = (this.from + this.to) / 2) {
        const size = Math.min(1, (this.to - this.from) * factor);
        const share = (around - this.from) / (this.to - this.from);
        const from = Math.max(0, Math.min(1 - size, around - share * size));
        this.glideTo(from, from + size);
    }

    panBy(share) {
        const size = this.to - this.from;
        const from = Math.max(0, Math.min(1 - size, this.from + share * size));
        this.glide = null;
        this.from = from;
        this.to = from + size;
        this.redraw();
    }

    scrollToLevel(level) {
        const height = this.scroll.clientHeight;
        const top = this.rowTop(level);
        if (top < this.scroll.scrollTop || top + ROW > this.scroll.scrollTop + height) {
            this.scroll.scrollTop = top - height / 2;
        }
    }

    /** Top of a level in the scrolled content. @param {number} level */
    rowTop(level) {
        const { icicle, layout } = this.scene;
        const content = Math.max(layout.levels * ROW, this.scroll.clientHeight);
        return icicle ? level * ROW : content - (level + 1) * ROW;
    }

    /** The box under a pointer, or -1. */
    boxUnder(event) {
        if (!this.scene) return -1;
        const bounds = this.canvas.getBoundingClientRect();
        const y = event.clientY - bounds.top + this.scroll.scrollTop;
        const x =
            this.from + ((event.clientX - bounds.left) / bounds.width) * (this.to - this.from);
        const { icicle, layout } = this.scene;
        const content = Math.max(layout.levels * ROW, this.scroll.clientHeight);
        return boxAt(layout, Math.floor((icicle ? y : content - y) / ROW), x);
    }

    pointerMoved(event) {
        if (this.drag) {
            const dx = event.clientX - this.drag.x;
            if (this.drag.moved || Math.abs(dx) > 4) {
                this.drag.moved = true;
                this.panBy((this.drag.last - event.clientX) / this.canvas.clientWidth);
                this.drag.last = event.clientX;
                this.tip.hidden = true;
                return;
            }
        }
        this.hover(this.boxUnder(event), event);
    }

    pointerDown(event) {
        if (event.button !== 0) return;
        this.drag = { x: event.clientX, last: event.clientX, moved: false };
        this.canvas.setPointerCapture(event.pointerId);
    }

    pointerUp(event) {
        const drag = this.drag;
        this.drag = null;
        if (!drag || drag.moved) return;
        const box = this.boxUnder(event);
        if (box < 0) return;
        this.focusBox = box;
        const node = this.scene.layout.node[box];
        if (event.altKey) this.owner.chosen(node);
        else this.zoomTo(node);
    }

    wheel(event) {
        if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
        event.preventDefault();
        const bounds = this.canvas.getBoundingClientRect();
        if (event.shiftKey) {
            this.panBy((event.deltaX || event.deltaY) / bounds.width);
            return;
        }
        const around =
            this.from + ((event.clientX - bounds.left) / bounds.width) * (this.to - this.from);
        this.zoomBy(Math.exp(event.deltaY * 0.003), around);
        this.glide = this.glide && { ...this.glide, start: this.glide.start - GLIDE_MS * 0.6 };
    }

    hover(box, event) {
        if (box !== this.hoverBox) {
            this.hoverBox = box;
            this.redraw();
            if (box >= 0)
                this.tip.replaceChildren(...this.owner.describe(this.scene.layout.node[box]));
        }
        this.tip.hidden = box < 0;
        if (box >= 0 && event) this.placeTip(event.clientX, event.clientY);
    }

    placeTip(x, y) {
        const bounds = this.tip.getBoundingClientRect();
        const left = Math.min(x + 14, window.innerWidth - bounds.width - 8);
        const below = y + 18 + bounds.height < window.innerHeight;
        this.tip.style.left = `${Math.max(8, left)}px`;
        this.tip.style.top = `${below ? y + 18 : Math.max(8, y - bounds.height - 12)}px`;
    }

    /** Moves the keyboard's box and says what it is. @param {number} box */
    focus(box) {
        if (box < 0) return;
        const { layout } = this.scene;
        this.focusBox = box;
        if (layout.x1[box] <= this.from || layout.x0[box] >= this.to) {
            this.zoomTo(layout.node[box]);
        }
        this.scrollToLevel(layout.level[box]);
        this.live.textContent = this.owner.say(layout.node[box]);
        this.redraw();
    }

    key(event) {
        if (!this.scene || event.ctrlKey || event.metaKey) return;
        const { layout, tree, icicle } = this.scene;
        const box = this.focusBox >= 0 ? this.focusBox : Math.max(0, layout.boxOf[this.zoomNode]);
        const node = layout.node[box];
        const child = () => {
            const level = layout.level[box] + 1;
            if (level >= layout.levels) return -1;
            const middle = boxAt(layout, level, layout.x0[box] + 1e-12);
            return middle >= 0 && tree.parent[layout.node[middle]] === node ? middle : -1;
        };
        const sibling = (step) => {
            const other = box + step;
            return other > 0 && other < layout.count && layout.level[other] === layout.level[box]
                ? other
                : -1;
        };
        const parent = () => (box > 0 ? layout.boxOf[tree.parent[node]] : -1);
        const actions = {
            ArrowDown: () => this.focus(icicle ? child() : parent()),
            ArrowUp: () => this.focus(icicle ? parent() : child()),
            ArrowLeft: () => this.focus(sibling(-1)),
            ArrowRight: () => this.focus(sibling(1)),
            Enter: () => this.zoomTo(node),
            ' ': () => this.zoomTo(node),
            Backspace: () => this.zoomTo(this.zoomNode > 0 ? tree.parent[this.zoomNode] : 0),
            Escape: () => this.zoomTo(0),
            0: () => this.zoomTo(0),
            '+': () => this.zoomBy(0.6),
            '=': () => this.zoomBy(0.6),
            '-': () => this.zoomBy(1 / 0.6),
            a: () => this.panBy(-0.2),
            d: () => this.panBy(0.2),
            n: () => this.nextMatch(box, 1),
            N: () => this.nextMatch(box, -1),
            m: () => this.owner.chosen(node),
        };
        const action = actions[event.key];
        if (!action) return;
        event.preventDefault();
        event.stopPropagation();
        action();
    }

    nextMatch(box, step) {
        const { matches, layout, tree } = this.scene;
        if (!matches) return;
        for (let i = 1; i <= layout.count; i++) {
            const at = (box + step * i + layout.count * 2) % layout.count;
            if (matches[tree.key[layout.node[at]]]) return this.focus(at);
        }
    }

    step(now) {
        const g = this.glide;
        if (!g) return;
        const t = Math.min(1, (now - g.start) / GLIDE_MS);
        const eased = 1 - (1 - t) ** 3;
        this.from = g.from0 + (g.from - g.from0) * eased;
        this.to = g.to0 + (g.to - g.to0) * eased;
        if (t >= 1) this.glide = null;
        else this.redraw();
    }

    draw() {
        if (!this.scene) return;
        const start = performance.now();
        this.step(start);
        this.canvas.style.height = `${this.scroll.clientHeight}px`;
        paint(this.canvas, (context, width, height) => this.drawRows(context, width, height));
        this.frameTimes.push(performance.now() - start);
        if (this.frameTimes.length > 600) this.frameTimes.shift();
    }

    drawRows(context, width, height) {
        const { layout, icicle } = this.scene;
        const theme = themeColours();
        const brush = this.brush(context, theme, width / Math.max(1e-12, this.to - this.from));
        context.font = FONT;
        context.textBaseline = 'middle';
        const content = Math.max(layout.levels * ROW, height);
        const scrolled = this.scroll.scrollTop;
        const first = Math.max(
            0,
            Math.floor((icicle ? scrolled : content - scrolled - height) / ROW),
        );
        const last = Math.min(
            layout.levels - 1,
            Math.ceil((icicle ? scrolled + height : content - scrolled) / ROW),
        );
        const zoomLevel = layout.level[Math.max(0, layout.boxOf[this.zoomNode])];
        for (let level = first; level <= last; level++) {
            const y = this.rowTop(level) - scrolled;
            context.globalAlpha = level < zoomLevel ? 0.55 : 1;
            visitLevel(layout, level, this.from, brush.scale, width, (box, left, right) =>
                brush.box(box, left, right, y),
            );
        }
        context.globalAlpha = 1;
        for (const [box, colour] of [
            [this.hoverBox, theme.text],
            [this.focusBox, theme.accent],
        ]) {
            if (box >= 0) this.outline(context, box, colour, brush.scale, width, scrolled);
        }
    }

    outline(context, box, colour, scale, width, scrolled) {
        const { layout } = this.scene;
        const left = Math.max(0, (layout.x0[box] - this.from) * scale);
        const right = Math.min(width, (layout.x1[box] - this.from) * scale);
        if (right <= 0 || left >= width) return;
        context.strokeStyle = colour;
        context.lineWidth = 2;
        context.strokeRect(
            left + 1,
            this.rowTop(layout.level[box]) - scrolled + 1,
            Math.max(1, right - left - 3),
            ROW - 3,
        );
    }

    /** Drawing of one box, with everything that is the same for all looked up once. */
    brush(context, theme, scale) {
        const { tree, layout, label, colours, colourBy, matches, rootLabel } = this.scene;
        const states = stateColours(theme.dark);
        const changes = diffColours(theme.dark);
        const fillOf = (node) => {
            if (node === 0) return theme.haze;
            if (colourBy === 'state' && tree.states)
                return states[largestState(tree.states, node * STATE_COUNT)];
            if (colourBy === 'change' && tree.before) {
                return changes[diffStep(share(tree.before, node), share(tree.total, node))];
            }
            return colours.palette[colours.ofKey(tree.key[node])];
        };
        const share = (values, node) => (values[0] > 0 ? values[node] / values[0] : 0);
        const box = (index, left, right, y) => {
            const h = ROW - 1;
            if (index < 0) {
                context.fillStyle = theme.haze;
                context.fillRect(left, y, Math.max(0.5, right - left), h);
                return;
            }
            const node = layout.node[index];
            const w = Math.max(0.6, right - left - (right - left > 3 ? 1 : 0.2));
            context.fillStyle = fillOf(node);
            context.fillRect(left, y, w, h);
            if (colourBy === 'state' && tree.states && node > 0 && w >= 4) {
                this.drawStates(context, tree, node, left, y, w, h, states);
            }
            if (matches && node > 0) {
                context.fillStyle = matches[tree.key[node]] ? theme.match : theme.background;
                const alpha = context.globalAlpha;
                context.globalAlpha = matches[tree.key[node]] ? alpha : 0.62;
                context.fillRect(left, y, w, h);
                context.globalAlpha = alpha;
            }
            if (w < MIN_TEXT) return;
            context.fillStyle =
                node === 0
                    ? theme.text
                    : matches && matches[tree.key[node]]
                      ? '#1d1600'
                      : theme.box;
            const x = Math.max(0, left);
            const text = this.fit(
                context,
                node === 0 ? rootLabel : label(tree.key[node]),
                right - x - 9,
            );
            if (text) context.fillText(text, x + 4, y + h / 2 + 0.5);
        };
        return { scale, box };
    }

    drawStates(context, tree, node, left, y, width, height, states) {
        let x = left;
        for (let s = 0; s < STATE_COUNT; s++) {
            const w = (tree.states[node * STATE_COUNT + s] / tree.total[node]) * width;
            if (w <= 0) continue;
            context.fillStyle = states[s];
            context.fillRect(x, y, w, height);
            x += w;
        }
    }

    /** As much of a name as fits, from its end, since the end is what tells methods apart. */
    fit(context, text, room) {
        for (const candidate of [text, tailOfName(text, 2), tailOfName(text, 1)]) {
            if (this.measure(context, candidate) <= room) return candidate;
        }
        const short = tailOfName(text, 1);
        let fits = Math.floor((room / this.measure(context, short)) * short.length);
        while (fits >= 2 && this.measure(context, `${short.slice(0, fits)}…`) > room) fits--;
        return fits >= 2 ? `${short.slice(0, fits)}…` : '';
    }

    measure(context, text) {
        let width = this.widthOf.get(text);
        if (width === undefined) {
            if (this.widthOf.size > 20000) this.widthOf.clear();
            width = context.measureText(text).width;
            this.widthOf.set(text, width);
        }
        return width;
    }
}
