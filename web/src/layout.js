// Where the boxes of a flame graph are. Boxes stand level by level, and within a level from left
// to right, so that everything visible is a slice found by binary search. Positions are shares of
// the whole, 0 to 1; the widget scales them.

import { childLists } from './tree.js';

/**
 * @typedef {object} Layout
 * @property {number} count boxes; box 0 is the root
 * @property {number} levels
 * @property {Int32Array} levelStart first box of each level, and `count` at the end
 * @property {Int32Array} node tree node of each box
 * @property {Float64Array} x0
 * @property {Float64Array} x1
 * @property {Int32Array} boxOf box of each tree node, -1 when it has no weight
 * @property {Uint16Array} level of each box
 */

/**
 * @param {import('./tree.js').Tree} tree
 * @param {'weight'|'name'} order of siblings
 * @param {Int32Array} rankOfKey place of each key when sorted by name
 * @param {Float64Array} [widths] by node; the totals when absent
 * @returns {Layout}
 */
export function layOut(tree, order, rankOfKey, widths = tree.total) {
    const { start, list } = childLists(tree.size, tree.parent);
    const node = new Int32Array(tree.size);
    const x0 = new Float64Array(tree.size);
    const x1 = new Float64Array(tree.size);
    const level = new Uint16Array(tree.size);
    const boxOf = new Int32Array(tree.size).fill(-1);
    const scale = widths[0] > 0 ? 1 / widths[0] : 0;
    const compare =
        order === 'name'
            ? (a, b) => rankOfKey[tree.key[a]] - rankOfKey[tree.key[b]] || a - b
            : (a, b) => widths[b] - widths[a] || rankOfKey[tree.key[a]] - rankOfKey[tree.key[b]];
    const levelStart = [0];
    let count = 1;
    x1[0] = scale > 0 ? 1 : 0;
    boxOf[0] = 0;
    for (let box = 0, levelEnd = 1; box < count; box++) {
        if (box === levelEnd) {
            levelStart.push(box);
            levelEnd = count;
        }
        const parent = node[box];
        const from = start[parent];
        const to = start[parent + 1];
        if (to - from > 1) list.subarray(from, to).sort(compare);
        let x = x0[box];
        for (let i = from; i < to; i++) {
            const child = list[i];
            if (!(widths[child] > 0)) continue;
            node[count] = child;
            level[count] = level[box] + 1;
            boxOf[child] = count;
            x0[count] = x;
            x += widths[child] * scale;
            x1[count] = x;
            count++;
        }
    }
    levelStart.push(count);
    return {
        count,
        levels: levelStart.length - 1,
        levelStart: Int32Array.from(levelStart),
        node,
        x0,
        x1,
        boxOf,
        level,
    };
}

/** First box of [from, to) that ends right of `x`, or `to`. @param {Layout} layout */
export function firstEndingAfter(layout, from, to, x) {
    const { x1 } = layout;
    let low = from;
    let high = to;
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (x1[middle] > x) high = middle;
        else low = middle + 1;
    }
    return low;
}

/** The box of a level at position `x`, or -1. @param {Layout} layout @param {number} level @param {number} x */
export function boxAt(layout, level, x) {
    if (level < 0 || level >= layout.levels) return -1;
    const end = layout.levelStart[level + 1];
    const box = firstEndingAfter(layout, layout.levelStart[level], end, x);
    return box < end && layout.x0[box] <= x ? box : -1;
}

/**
 * Calls `visit(box, left, right)` for what is to be drawn of a level, in pixels: boxes of at least
 * one pixel each by itself; a run of smaller ones as one call with box -1. The work is bounded by
 * the width in pixels, not by the number of boxes.
 * @param {Layout} layout @param {number} level
 * @param {number} from left edge of the view, as a share @param {number} scale pixels per whole
 * @param {number} width pixels
 * @param {(box: number, left: number, right: number) => void} visit
 */
export function visitLevel(layout, level, from, scale, width, visit) {
    const { x0, x1, levelStart } = layout;
    const end = levelStart[level + 1];
    let box = firstEndingAfter(layout, levelStart[level], end, from);
    let runLeft = -1;
    let runRight = -1;
    while (box < end) {
        const left = (x0[box] - from) * scale;
        if (left >= width) break;
        const right = (x1[box] - from) * scale;
        if (right - left >= 1) {
            if (runLeft >= 0) visit(-1, runLeft, runRight);
            runLeft = -1;
            visit(box, Math.max(left, -1), Math.min(right, width + 1));
            box++;
            continue;
        }
        // Too small: jump to the first box that ends past the next pixel.
        const next = firstEndingAfter(layout, box + 1, end, from + (Math.floor(left) + 1) / scale);
        const covered = (x1[Math.max(box, next - 1)] - from) * scale;
        if (runLeft < 0 || left > runRight + 1) {
            if (runLeft >= 0) visit(-1, runLeft, runRight);
            runLeft = left;
        }
        runRight = covered;
        box = Math.max(next, box + 1);
    }
    if (runLeft >= 0) visit(-1, runLeft, runRight);
}
