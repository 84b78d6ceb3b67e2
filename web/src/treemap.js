// A treemap: areas in proportion to weights, boxes within boxes. Squarified: rows are filled so that
// boxes come out as square as they can, which makes their sizes comparable. Works on any Tree; a view
// says what names and colours nodes have.

import { el, oncePerFrame, paint } from './dom.js';
import { tailOfName } from './format.js';
import { FONT, themeColours } from './colors.js';
import { childLists } from './tree.js';

const HEAD = 17;
const GAP = 2;
const MIN_SIDE = 3;

/** @typedef {{node: number, x: number, y: number, w: number, h: number, depth: number, leaf: boolean}} Cell */

/**
 * Cells of everything under `root` that is large enough to see, parents before their children.
 * @param {import('./tree.js').Tree} tree @param {number} root
 * @param {number} width @param {number} height pixels
 * @returns {Cell[]}
 */
export function squarify(tree, root, width, height) {
    const { start, list } = childLists(tree.size, tree.parent);
    /** @type {Cell[]} */
    const cells = [];
    const open = [{ node: root, x: 0, y: 0, w: width, h: height, depth: 0, leaf: false }];
    while (open.length > 0) {
        const cell = open.pop();
        const children = [];
        for (let i = start[cell.node]; i < start[cell.node + 1]; i++)
            if (tree.total[list[i]] > 0) children.push(list[i]);
        cell.leaf = children.length === 0;
        cells.push(cell);
        const inner =
            cell.depth === 0
                ? { x: 0, y: 0, w: width, h: height }
                : {
                      x: cell.x + GAP,
                      y: cell.y + HEAD,
                      w: cell.w - 2 * GAP,
                      h: cell.h - HEAD - GAP,
                  };
        if (children.length === 0 || inner.w < MIN_SIDE * 3 || inner.h < MIN_SIDE * 3) continue;
        children.sort((a, b) => tree.total[b] - tree.total[a]);
        // What a node has beyond its children stays as free area at the end.
        fillRows(
            children,
            (node) => tree.total[node],
            tree.total[cell.node],
            inner,
            (node, x, y, w, h) => {
                if (w >= MIN_SIDE && h >= MIN_SIDE)
                    open.push({ node, x, y, w, h, depth: cell.depth + 1, leaf: false });
            },
        );
    }
    return cells.sort((a, b) => a.depth - b.depth || tree.total[b.node] - tree.total[a.node]);
}

/** Lays items, the largest first, into rows along the shorter side. */
function fillRows(items, weightOf, whole, area, place) {
    let { x, y, w, h } = area;
    const scale = whole > 0 ? (w * h) / whole : 0;
    for (let i = 0; i < items.length; ) {
        const side = Math.min(w, h);
        let sum = 0;
        let count = 0;
        let worst = Infinity;
        while (i + count < items.length) {
            const size = weightOf(items[i + count]) * scale;
            const next = sum + size;
            const ratio = worstRatio(weightOf(items[i]) * scale, size, next, side);
            if (count > 0 && ratio > worst) break;
            worst = ratio;
            sum = next;
            count++;
        }
        const thickness = side > 0 ? sum / side : 0;
        let along = 0;
        for (let k = 0; k < count; k++) {
            const length = thickness > 0 ? (weightOf(items[i + k]) * scale) / thickness : 0;
            if (w >= h) place(items[i + k], x, y + along, thickness, length);
            else place(items[i + k], x + along, y, length, thickness);
            along += length;
        }
        if (w >= h) {
            x += thickness;
            w -= thickness;
        } else {
            y += thickness;
            h -= thickness;
        }
        i += count;
    }
}

/** How far from a square the worst box of a row is, from its largest and smallest. */
function worstRatio(largest, smallest, sum, side) {
    const s = sum * sum;
    return Math.max((side * side * largest) / s, s / Math.max(1e-9, side * side * smallest));
}

/**
 * A treemap of a view that says of a node {name, facts, more}: what is shown at the pointer and said.
 * @param {{choose: (node: number) => void, facts: (node: number) => {name: string, facts: string, more: string}}} view
 */
export function treemapOf(view) {
    return new Treemap({
        chosen: (node) => view.choose(node),
        describe: (node) => {
            const { name, facts, more } = view.facts(node);
            return [
                el('div', { class: 'tip-name', text: name }),
                el('div', { text: facts }),
                el('div', { class: 'muted', text: more }),
            ];
        },
        say: (node) => Object.values(view.facts(node)).join(', '),
    });
}

export class Treemap {
    /** @param {{chosen: (node: number) => void, describe: (node: number) => Node[], say: (node: number) => string}} owner */
    constructor(owner) {
        this.owner = owner;
        this.cells = [];
        this.hovered = -1;
        this.focused = -1;
        this.canvas = el('canvas', {
            class: 'treemap-canvas',
            tabindex: '0',
            role: 'application',
            'aria-roledescription': 'treemap',
            'aria-label': 'Treemap',
        });
        this.tip = el('div', { class: 'tip', role: 'tooltip', hidden: true });
        this.live = el('div', { class: 'unseen', 'aria-live': 'polite' });
        this.element = el('div', { class: 'treemap' }, this.canvas, this.tip, this.live);
        this.redraw = oncePerFrame(() => this.draw());
        this.canvas.addEventListener('pointermove', (event) => this.hover(event));
        this.canvas.addEventListener('pointerleave', () => this.leave());
        this.canvas.addEventListener('click', (event) => {
            const cell = this.cellAt(event.offsetX, event.offsetY);
            if (cell >= 0) this.owner.chosen(this.cells[cell].node);
        });
        this.canvas.addEventListener('keydown', (event) => this.key(event));
        new ResizeObserver(() => {
            this.cells = [];
            this.redraw();
        }).observe(this.canvas);
    }

    /**
     * @param {{tree: import('./tree.js').Tree, root: number, label: (node: number) => string,
     *   colour: (node: number) => string, description: string}} scene
     */
    show(scene) {
        this.scene = scene;
        this.cells = [];
        this.hovered = this.focused = -1;
        this.canvas.setAttribute('aria-label', scene.description);
        this.redraw();
    }

    /** Lays the cells out for the canvas' present size, unless they are. */
    layOut() {
        if (this.cells.length > 0 || !this.scene) return;
        this.cells = squarify(
            this.scene.tree,
            this.scene.root,
            this.canvas.clientWidth,
            this.canvas.clientHeight,
        );
    }

    /** The innermost cell at a point, or -1. */
    cellAt(x, y) {
        this.layOut();
        for (let i = this.cells.length - 1; i > 0; i--) {
            const c = this.cells[i];
            if (x >= c.x && x < c.x + c.w && y >= c.y && y < c.y + c.h) return i;
        }
        return -1;
    }

    hover(event) {
        const cell = this.cellAt(event.offsetX, event.offsetY);
        if (cell !== this.hovered) {
            this.hovered = cell;
            this.redraw();
            if (cell >= 0) this.tip.replaceChildren(...this.owner.describe(this.cells[cell].node));
        }
        this.tip.hidden = cell < 0;
        if (cell < 0) return;
        const bounds = this.tip.getBoundingClientRect();
        this.tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, window.innerWidth - bounds.width - 8))}px`;
        this.tip.style.top = `${Math.max(8, Math.min(event.clientY + 18, window.innerHeight - bounds.height - 8))}px`;
    }

    leave() {
        this.hovered = -1;
        this.tip.hidden = true;
        this.redraw();
    }

    key(event) {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        this.layOut();
        const { tree, root } = this.scene;
        if (step) {
            this.focused = Math.max(1, Math.min(this.cells.length - 1, this.focused + step));
            if (this.cells[this.focused])
                this.live.textContent = this.owner.say(this.cells[this.focused].node);
            this.redraw();
        } else if (event.key === 'Enter' && this.cells[this.focused])
            this.owner.chosen(this.cells[this.focused].node);
        else if (event.key === 'Backspace') this.owner.chosen(root > 0 ? tree.parent[root] : 0);
        else if (event.key === 'Escape') this.owner.chosen(0);
        else return;
        event.preventDefault();
        event.stopPropagation();
    }

    draw() {
        if (!this.scene) return;
        this.layOut();
        paint(this.canvas, (context) => {
            const { label, colour } = this.scene;
            const theme = themeColours();
            context.font = FONT;
            context.textBaseline = 'middle';
            for (let i = 1; i < this.cells.length; i++)
                this.drawCell(context, theme, this.cells[i], label, colour);
            for (const [index, line] of [
                [this.hovered, theme.text],
                [this.focused, theme.accent],
            ]) {
                const cell = this.cells[index];
                if (!cell) continue;
                context.strokeStyle = line;
                context.lineWidth = 2;
                context.strokeRect(
                    cell.x + 1,
                    cell.y + 1,
                    Math.max(1, cell.w - 3),
                    Math.max(1, cell.h - 3),
                );
            }
        });
    }

    drawCell(context, theme, cell, label, colour) {
        const w = Math.max(1, cell.w - 1);
        const h = Math.max(1, cell.h - 1);
        context.fillStyle = colour(cell.node);
        context.fillRect(cell.x, cell.y, w, h);
        if (!cell.leaf && w > 2 * GAP && h > HEAD) {
            context.globalAlpha = 0.35;
            context.fillStyle = theme.background;
            context.fillRect(cell.x, cell.y, w, h);
            context.globalAlpha = 1;
        }
        if (w < 34 || h < 14) return;
        context.save();
        context.beginPath();
        context.rect(cell.x, cell.y, w - 2, h);
        context.clip();
        context.fillStyle = cell.leaf ? theme.box : theme.text;
        const name = label(cell.node);
        const text = context.measureText(name).width <= w - 6 ? name : tailOfName(name, 1);
        context.fillText(text, cell.x + 4, cell.y + Math.min(HEAD, h) / 2 + 0.5);
        context.restore();
    }
}
