// Where the boxes of a wait graph stand. Who holds things up is on the right, who waits for it to
// the left of it, one column for each wait in between; a cycle stands as a ring, and who waits for
// one of its members to the left of the ring. Parts that have nothing to do with each other stand
// below each other. No state; works on numbers only.

export const BOX = { width: 232, height: 46 };
const GAP = { x: 170, y: 26, part: 34 };
const LABEL = 130; // room beside a ring of two

/**
 * @param {number} count of boxes
 * @param {{from: number, to: number}[]} edges
 * @param {number[][]} cycles
 * @returns {{x: Float64Array, y: Float64Array, width: number, height: number}} of the corners
 */
export function layoutWaits(count, edges, cycles) {
    const x = new Float64Array(count);
    const y = new Float64Array(count);
    let top = 0;
    let width = 0;
    const rings = new Set(cycles.flat());
    const parts = partsOf(count, edges);
    parts.sort((a, b) => Number(b.some((i) => rings.has(i))) - Number(a.some((i) => rings.has(i))));
    for (const part of parts) {
        const size = placePart(part, edges, cycles, { x, y, top });
        top += size.height + GAP.part;
        width = Math.max(width, size.width);
    }
    return { x, y, width, height: Math.max(0, top - GAP.part) };
}

/** The boxes by what they are connected with; alone ones are parts of their own. */
function partsOf(count, edges) {
    const leader = Array.from({ length: count }, (_, i) => i);
    const find = (i) => {
        while (leader[i] !== i) i = leader[i] = leader[leader[i]];
        return i;
    };
    for (const { from, to } of edges) leader[find(from)] = find(to);
    const parts = new Map();
    for (let i = 0; i < count; i++) {
        const key = find(i);
        if (!parts.has(key)) parts.set(key, []);
        parts.get(key).push(i);
    }
    return [...parts.values()].sort((a, b) => b.length - a.length);
}

function placePart(members, edges, cycles, { x, y, top }) {
    const inside = new Set(members);
    const ring = cycles.find((cycle) => inside.has(cycle[0])) || null;
    const distance = distances(members, edges, ring);
    const columns = [];
    for (const i of members) {
        if (ring && ring.includes(i)) continue;
        const column = distance.get(i) - (ring ? 1 : 0);
        (columns[column] = columns[column] || []).push(i);
    }
    const ringSize = ring ? ringOf(ring.length) : { width: 0, height: 0 };
    const tall = (n) => n * BOX.height + (n - 1) * GAP.y;
    const filled = Array.from(columns, (c) => c || []);
    const height = Math.max(ringSize.height, ...filled.map((c) => tall(c.length)));
    const width =
        ringSize.width +
        filled.length * BOX.width +
        Math.max(0, filled.length - (ring ? 0 : 1)) * GAP.x;
    if (ring) placeRing(ring, { x, y, left: width - ringSize.width, top, height, size: ringSize });
    filled.forEach((column, k) => {
        const left = width - ringSize.width - (ring ? GAP.x : 0) - BOX.width - k * (BOX.width + GAP.x);
        let at = top + (height - tall(column.length)) / 2;
        for (const i of column) {
            x[i] = left;
            y[i] = at;
            at += BOX.height + GAP.y;
        }
    });
    return { width, height };
}

/** How many waits each box is away from the ring, or from who waits for nobody. */
function distances(members, edges, ring) {
    const inside = new Set(members);
    const waiters = new Map();
    const waits = new Set();
    for (const { from, to } of edges) {
        if (!inside.has(from)) continue;
        if (!waiters.has(to)) waiters.set(to, []);
        waiters.get(to).push(from);
        waits.add(from);
    }
    const distance = new Map();
    let now = ring || members.filter((i) => !waits.has(i));
    if (now.length === 0) now = [members[0]];
    for (const i of now) distance.set(i, 0);
    for (let step = 1; now.length > 0; step++) {
        const next = [];
        for (const i of now)
            for (const w of waiters.get(i) || [])
                if (!distance.has(w)) {
                    distance.set(w, step);
                    next.push(w);
                }
        now = next;
    }
    // what the ring's members wait for besides
    for (const i of members) if (!distance.has(i)) distance.set(i, 1);
    return distance;
}

function ringOf(count) {
    const radius = count === 1 ? 0 : Math.max(BOX.height + 6, (count * (BOX.height + 26)) / Math.PI);
    const wide = count <= 2 ? 0 : radius * 1.7;
    const side = count === 2 ? LABEL : 20;
    return { radius, wide, side, width: 2 * (wide + side) + BOX.width, height: 2 * radius + BOX.height };
}

function placeRing(ring, { x, y, left, top, height, size }) {
    ring.forEach((i, k) => {
        const angle = (2 * Math.PI * k) / ring.length - Math.PI / 2;
        x[i] = left + size.side + size.wide * (1 + Math.cos(angle));
        y[i] = top + (height - BOX.height) / 2 + size.radius * Math.sin(angle);
    });
}

/**
 * The way of an arrow between two boxes. Those of a ring are bent to their left, so that two that
 * go both ways differ; others leave at the right and arrive at the left.
 * @returns {{path: string, label: [number, number], anchor: string}}
 */
export function arrow(a, b, isBent) {
    const n = (v) => v.toFixed(1);
    if (!isBent && a.x + BOX.width < b.x) {
        const start = [a.x + BOX.width, a.y + BOX.height / 2];
        const end = [b.x - 5, b.y + BOX.height / 2];
        const half = (start[0] + end[0]) / 2;
        return {
            path: `M${n(start[0])} ${n(start[1])}C${n(half)} ${n(start[1])} ${n(half)} ${n(end[1])} ${n(end[0])} ${n(end[1])}`,
            label: [start[0] + 6, start[1] - 5],
            anchor: 'start',
        };
    }
    const from = [a.x + BOX.width / 2, a.y + BOX.height / 2];
    const to = [b.x + BOX.width / 2, b.y + BOX.height / 2];
    const dx = to[0] - from[0];
    const dy = to[1] - from[1];
    const length = Math.hypot(dx, dy) || 1;
    const bend = Math.min(70, length / 1.5);
    const control = [
        (from[0] + to[0]) / 2 - (dy / length) * bend,
        (from[1] + to[1]) / 2 + (dx / length) * bend,
    ];
    const start = border(from, control, 0);
    const end = border(to, control, 5);
    const middle = [(start[0] + 2 * control[0] + end[0]) / 4, (start[1] + 2 * control[1] + end[1]) / 4];
    const isUpright = Math.abs(dy) > Math.abs(dx);
    const side = dy > 0 ? -1 : 1;
    return {
        path: `M${n(start[0])} ${n(start[1])}Q${n(control[0])} ${n(control[1])} ${n(end[0])} ${n(end[1])}`,
        label: isUpright ? [middle[0] + 8 * side, middle[1] + 4] : [middle[0], middle[1] - 4],
        anchor: !isUpright ? 'middle' : side < 0 ? 'end' : 'start',
    };
}

/** Where the line from a box's middle to a point leaves the box, and `more` beyond. */
function border(middle, point, more) {
    const dx = point[0] - middle[0];
    const dy = point[1] - middle[1];
    const share = Math.min(
        dx === 0 ? Infinity : (BOX.width / 2 + more) / Math.abs(dx),
        dy === 0 ? Infinity : (BOX.height / 2 + more) / Math.abs(dy),
    );
    return Number.isFinite(share) ? [middle[0] + dx * share, middle[1] + dy * share] : middle;
}
