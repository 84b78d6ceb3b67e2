// Call trees. A Shape is the merged tree of all stacks (siblings of one method or line are one
// node); it does not change. A Tree is a shape with weights for one selection, or a tree made from
// such a one: turned around, the callers of a method, its callees, one root per thread.
//
// Invariant of every tree here: node 0 is the root, and a parent's number is smaller than its
// children's. So totals are one pass from the end, and inherited properties one from the start.

/**
 * @typedef {object} Tree
 * @property {number} size
 * @property {Int32Array} parent
 * @property {Int32Array} key what the node shows: a method, a line or (from `keyCount` on) a thread
 * @property {number} keyCount
 * @property {Float64Array} self
 * @property {Float64Array} total
 * @property {Float64Array|null} states totals by state, `size * STATE_COUNT`
 * @property {Float64Array|null} before totals of the other side, in a differential graph
 * @property {Float64Array|null} selfBefore
 */
import { STATE_COUNT } from './model.js';
import { PairTable } from './pairs.js';

/**
 * Merges the stacks' nodes by key.
 * @param {Int32Array} parent of stacks @param {Int32Array} frame of stacks
 * @param {Int32Array} keyOfFrame @param {number} keyCount
 */
export function makeShape(parent, frame, keyOfFrame, keyCount) {
    const table = new PairTable(parent.length);
    const nodeOf = new Int32Array(parent.length);
    for (let i = 1; i < parent.length; i++) {
        nodeOf[i] = table.intern(nodeOf[parent[i]], keyOfFrame[frame[i]]);
    }
    const shape = {
        size: table.size,
        parent: table.parents(),
        key: table.keys(),
        keyCount,
        nodeOf,
    };
    return { ...shape, outermost: outermostNodes(shape) };
}

/** 1 for nodes whose key is on none of their ancestors: these count for a key's total. */
function outermostNodes({ size, parent, key, keyCount }) {
    const { start, list } = childLists(size, parent);
    const depthOfKey = new Int32Array(keyCount);
    const outermost = new Uint8Array(size);
    const path = new Int32Array(size + 1);
    const next = start.slice();
    let depth = 0;
    path[0] = 0;
    while (depth >= 0) {
        const node = path[depth];
        if (next[node] < start[node + 1]) {
            const child = list[next[node]++];
            const k = key[child];
            if (k < keyCount && depthOfKey[k]++ === 0) outermost[child] = 1;
            path[++depth] = child;
        } else {
            if (node > 0 && key[node] < keyCount) depthOfKey[key[node]]--;
            depth--;
        }
    }
    return outermost;
}

/** Children of every node, in the order of their numbers. @param {number} size @param {Int32Array} parent */
export function childLists(size, parent) {
    const start = new Int32Array(size + 1);
    for (let i = 1; i < size; i++) start[parent[i] + 1]++;
    for (let i = 0; i < size; i++) start[i + 1] += start[i];
    const list = new Int32Array(Math.max(0, size - 1));
    const next = start.slice();
    for (let i = 1; i < size; i++) list[next[parent[i]]++] = i;
    return { start, list };
}

/** The key of what is too small to be seen, and the share below which it is. */
export const SMALL = -2;
const SMALLEST = 1 / 50000;

/** @returns {Tree} */
function emptyTree(size, parent, key, keyCount, withStates, withBefore) {
    return {
        size,
        parent,
        key,
        keyCount,
        self: new Float64Array(size),
        total: new Float64Array(size),
        states: withStates ? new Float64Array(size * STATE_COUNT) : null,
        before: withBefore ? new Float64Array(size) : null,
        selfBefore: withBefore ? new Float64Array(size) : null,
    };
}

/** Adds every node's weights to its parent, from the leaves on. @param {Tree} tree */
function addTotals(tree) {
    const { size, parent, self, total, states, before, selfBefore } = tree;
    for (let i = 0; i < size; i++) total[i] += self[i];
    for (let i = size - 1; i > 0; i--) total[parent[i]] += total[i];
    if (before) {
        for (let i = 0; i < size; i++) before[i] += selfBefore[i];
        for (let i = size - 1; i > 0; i--) before[parent[i]] += before[i];
    }
    if (states) {
        for (let i = size - 1; i > 0; i--) {
            const from = i * STATE_COUNT;
            const to = parent[i] * STATE_COUNT;
            for (let s = 0; s < STATE_COUNT; s++) states[to + s] += states[from + s];
        }
    }
    return tree;
}

/**
 * The tree of the chosen rows of a table.
 * @param {any} shape @param {import('./model.js').Table} table
 * @param {Int32Array} rows @param {Float64Array|null} weights by row of the table; null: 1 each
 */
export function weigh(shape, table, rows, weights) {
    const tree = emptyTree(
        shape.size,
        shape.parent,
        shape.key,
        shape.keyCount,
        table.state !== null,
        false,
    );
    const { self, states } = tree;
    const { stack, state } = table;
    for (let i = 0; i < rows.length; i++) {
        const row = rows[i];
        const node = shape.nodeOf[stack[row]];
        const w = weights ? weights[row] : 1;
        self[node] += w;
        if (states) states[node * STATE_COUNT + state[row]] += w;
    }
    return addTotals(tree);
}

/** The two-sided tree of a diff table. @param {any} shape @param {import('./model.js').Table} table @param {number} scale */
export function weighDiff(shape, table, scale) {
    const tree = emptyTree(shape.size, shape.parent, shape.key, shape.keyCount, false, true);
    const { before, after } = table.columns;
    for (let row = 0; row < table.rows; row++) {
        const node = shape.nodeOf[table.stack[row]];
        tree.self[node] += after[row];
        tree.selfBefore[node] += before[row] * scale;
    }
    return addTotals(tree);
}

/**
 * As `weigh`, with one root per thread. Keys from `keyCount` on are threads. What is too small to
 * be seen at all stands under SMALL, so that the tree does not grow with threads times stacks.
 */
export function weighByThread(shape, table, rows, weights, threadCount) {
    const sorted = sortRowsByThread(table, rows, threadCount);
    const nodes = new PairTable(shape.size);
    const work = {
        target: new Int32Array(shape.size),
        total: new Float64Array(shape.size),
        stamp: new Int32Array(shape.size).fill(-1),
    };
    let least = 0;
    for (let i = 0; i < sorted.length; i++) least += weights ? weights[sorted[i]] : 1;
    least *= SMALLEST;
    const nodeOfRow = new Int32Array(rows.length);
    for (let i = 0, end = 0; i < sorted.length; i = end) {
        const thread = table.thread ? table.thread[sorted[i]] : -1;
        while (end < sorted.length && (!table.thread || table.thread[sorted[end]] === thread))
            end++;
        const ofThread = sorted.subarray(i, end);
        placeThread(shape, table, ofThread, weights, thread, nodes, work, least);
        for (let k = 0; k < ofThread.length; k++)
            nodeOfRow[i + k] = work.target[shape.nodeOf[table.stack[ofThread[k]]]];
    }
    const tree = emptyTree(
        nodes.size,
        nodes.parents(),
        nodes.keys(),
        shape.keyCount,
        table.state !== null,
        false,
    );
    for (let i = 0; i < sorted.length; i++) {
        const w = weights ? weights[sorted[i]] : 1;
        tree.self[nodeOfRow[i]] += w;
        if (tree.states) tree.states[nodeOfRow[i] * STATE_COUNT + table.state[sorted[i]]] += w;
    }
    return addTotals(tree);
}

/** Finds the nodes that one thread's rows touch, and gives each its place under the thread's root. */
function placeThread(shape, table, rows, weights, thread, nodes, work, least) {
    const { target, total, stamp } = work;
    const touched = [];
    for (let i = 0; i < rows.length; i++) {
        const leaf = shape.nodeOf[table.stack[rows[i]]];
        for (let n = leaf; n >= 0 && stamp[n] !== thread + 1; n = shape.parent[n]) {
            stamp[n] = thread + 1;
            total[n] = 0;
            touched.push(n);
        }
        total[leaf] += weights ? weights[rows[i]] : 1;
    }
    const order = Int32Array.from(touched).sort();
    for (let i = order.length - 1; i > 0; i--) total[shape.parent[order[i]]] += total[order[i]];
    target[0] = nodes.intern(0, shape.keyCount + thread + 1);
    for (let i = 1; i < order.length; i++) {
        const above = target[shape.parent[order[i]]];
        const cut = nodes.second[above] === SMALL;
        target[order[i]] = cut
            ? above
            : nodes.intern(above, total[order[i]] >= least ? shape.key[order[i]] : SMALL);
    }
}

function sortRowsByThread(table, rows, threadCount) {
    if (!table.thread) return rows;
    const start = new Int32Array(threadCount + 2);
    for (let i = 0; i < rows.length; i++) start[table.thread[rows[i]] + 2]++;
    for (let i = 1; i < start.length; i++) start[i] += start[i - 1];
    const sorted = new Int32Array(rows.length);
    for (let i = 0; i < rows.length; i++) sorted[start[table.thread[rows[i]] + 1]++] = rows[i];
    return sorted;
}

/** Copies node `from` of `source`, as weight of `to` in `tree`. `part` is 'self' or 'total'. */
function transfer(source, from, tree, to, part) {
    tree.self[to] += part === 'self' ? source.self[from] : source.total[from];
    if (tree.selfBefore)
        tree.selfBefore[to] += part === 'self' ? source.selfBefore[from] : source.before[from];
    if (!tree.states) return;
    const ends = part === 'self' ? ownStates(source, from) : null;
    for (let s = 0; s < STATE_COUNT; s++) {
        tree.states[to * STATE_COUNT + s] += ends ? ends[s] : source.states[from * STATE_COUNT + s];
    }
}

const stateScratch = new Float64Array(STATE_COUNT);

/** States of a node's own weight: its totals less its children's, kept by `prepareOwnStates`. */
function ownStates(source, node) {
    for (let s = 0; s < STATE_COUNT; s++) stateScratch[s] = source.own[node * STATE_COUNT + s];
    return stateScratch;
}

/** Adds the field `own` (states of each node's own weight) to a tree that has states. */
function prepareOwnStates(tree) {
    if (!tree.states || tree.own) return;
    tree.own = tree.states.slice();
    for (let i = tree.size - 1; i > 0; i--) {
        for (let s = 0; s < STATE_COUNT; s++) {
            tree.own[tree.parent[i] * STATE_COUNT + s] -= tree.states[i * STATE_COUNT + s];
        }
    }
}

/** Copies chosen nodes' weights into the tree that `nodes` holds. `target[i]` = 0: not chosen. */
function treeOf(source, nodes, target, part) {
    const tree = emptyTree(
        nodes.size,
        nodes.parents(),
        nodes.keys(),
        source.keyCount,
        source.states !== null,
        source.before !== null,
    );
    prepareOwnStates(source);
    for (let i = 1; i < source.size; i++)
        if (target[i] > 0) transfer(source, i, tree, target[i], part);
    return addTotals(tree);
}

function isEmpty(tree, node) {
    return !(tree.self[node] > 0) && !(tree.selfBefore && tree.selfBefore[node] > 0);
}

/**
 * The tree turned around: leaves at the root, so that one sees who calls what is hot. It is built
 * level by level; callers of what is too small to be seen stand under SMALL.
 * @param {Tree} tree
 */
export function invert(tree) {
    const nodes = new PairTable(tree.size);
    const target = new Int32Array(tree.size);
    const at = new Int32Array(tree.size);
    let open = [];
    for (let i = 1; i < tree.size; i++) {
        if (isEmpty(tree, i)) continue;
        at[i] = i;
        open.push(i);
    }
    const own = (i) => tree.self[i] + (tree.selfBefore ? tree.selfBefore[i] : 0);
    const least = (tree.total[0] + (tree.before ? tree.before[0] : 0)) * SMALLEST;
    while (open.length > 0) {
        const first = nodes.size;
        for (const i of open) target[i] = nodes.intern(target[i], tree.key[at[i]]);
        const weights = new Float64Array(nodes.size - first);
        for (const i of open) weights[target[i] - first] += own(i);
        open = open.filter((i) => {
            at[i] = tree.parent[at[i]];
            if (at[i] === 0) return false;
            if (weights[target[i] - first] >= least) return true;
            target[i] = nodes.intern(target[i], SMALL);
            return false;
        });
    }
    return treeOf(tree, nodes, target, 'self');
}

/** Everything called from a method, with the method as the only child of the root. @param {Tree} tree @param {number} key */
export function calleesOf(tree, key) {
    const nodes = new PairTable(1024);
    const target = new Int32Array(tree.size);
    for (let i = 1; i < tree.size; i++) {
        const above = target[tree.parent[i]];
        if (above > 0) target[i] = nodes.intern(above, tree.key[i]);
        else if (tree.key[i] === key) target[i] = nodes.intern(0, key);
    }
    return treeOf(tree, nodes, target, 'self');
}

/** Everyone who calls a method, the nearest caller first. @param {Tree} tree @param {number} key */
export function callersOf(tree, key) {
    const nodes = new PairTable(1024);
    const target = new Int32Array(tree.size);
    const inside = new Uint8Array(tree.size);
    for (let i = 1; i < tree.size; i++) {
        inside[i] = inside[tree.parent[i]];
        if (inside[i] || tree.key[i] !== key) continue;
        inside[i] = 1;
        let at = 0;
        for (let n = i; n > 0; n = tree.parent[n]) at = nodes.intern(at, tree.key[n]);
        target[i] = at;
    }
    return treeOf(tree, nodes, target, 'total');
}

/** Self and total by key; recursion is counted once. @param {Tree} tree @param {Uint8Array} outermost */
export function sumByKey(tree, outermost) {
    const self = new Float64Array(tree.keyCount);
    const total = new Float64Array(tree.keyCount);
    const selfBefore = tree.before ? new Float64Array(tree.keyCount) : null;
    const before = tree.before ? new Float64Array(tree.keyCount) : null;
    for (let i = 1; i < tree.size; i++) {
        const k = tree.key[i];
        self[k] += tree.self[i];
        if (outermost[i]) total[k] += tree.total[i];
        if (before) {
            selfBefore[k] += tree.selfBefore[i];
            if (outermost[i]) before[k] += tree.before[i];
        }
    }
    return { self, total, selfBefore, before };
}

/** Weight under nodes whose key matches, none counted twice. @param {Tree} tree @param {Uint8Array} matches by key */
export function matchedWeight(tree, matches) {
    const inside = new Uint8Array(tree.size);
    let sum = 0;
    for (let i = 1; i < tree.size; i++) {
        inside[i] = inside[tree.parent[i]];
        if (inside[i] || !matches[tree.key[i]]) continue;
        inside[i] = 1;
        sum += tree.total[i];
    }
    return sum;
}

/** Keys from the root to a node, for links. @param {Tree} tree @param {number} node */
export function pathOf(tree, node) {
    const path = [];
    for (let n = node; n > 0; n = tree.parent[n]) path.push(tree.key[n]);
    return path.reverse();
}

/** The node at the end of a path, as deep as it exists. @param {Tree} tree @param {number[]} path */
export function nodeAt(tree, path) {
    let node = 0;
    for (let i = 1, depth = 0; i < tree.size && depth < path.length; i++) {
        if (tree.parent[i] === node && tree.key[i] === path[depth]) {
            node = i;
            depth++;
        }
    }
    return node;
}
