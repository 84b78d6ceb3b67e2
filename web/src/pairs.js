// A set of pairs of small integers in which each pair has a number: the nodes of a tree under
// construction (parent, key), and the ids of methods and lines. Open addressing in typed arrays.

/** A set of pairs of integers, each with a number: the nodes of a tree under construction. */
export class PairTable {
    /** @param {number} expected */
    constructor(expected) {
        let capacity = 1024;
        while (capacity < expected * 2) capacity *= 2;
        this.slots = new Int32Array(capacity).fill(-1);
        this.first = new Int32Array(capacity >> 1);
        this.second = new Int32Array(capacity >> 1);
        this.first[0] = this.second[0] = -1;
        this.size = 1;
    }

    /** The number of (first, second), new or not. @param {number} first @param {number} second */
    intern(first, second) {
        const mask = this.slots.length - 1;
        let slot = hashPair(first, second) & mask;
        for (let id = this.slots[slot]; id >= 0; id = this.slots[slot]) {
            if (this.first[id] === first && this.second[id] === second) return id;
            slot = (slot + 1) & mask;
        }
        if (this.size === this.first.length) {
            this.grow();
            return this.intern(first, second);
        }
        this.slots[slot] = this.size;
        this.first[this.size] = first;
        this.second[this.size] = second;
        return this.size++;
    }

    grow() {
        const capacity = this.slots.length * 2;
        const first = new Int32Array(capacity >> 1);
        const second = new Int32Array(capacity >> 1);
        first.set(this.first);
        second.set(this.second);
        this.first = first;
        this.second = second;
        this.slots = new Int32Array(capacity).fill(-1);
        for (let id = 1; id < this.size; id++) {
            let slot = hashPair(first[id], second[id]) & (capacity - 1);
            while (this.slots[slot] >= 0) slot = (slot + 1) & (capacity - 1);
            this.slots[slot] = id;
        }
    }

    parents() {
        return this.first.slice(0, this.size);
    }

    keys() {
        return this.second.slice(0, this.size);
    }
}

function hashPair(a, b) {
    let h = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b);
    h ^= h >>> 15;
    return Math.imul(h, 0x2c1b3c6d) ^ (h >>> 13);
}
