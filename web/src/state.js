// What the reader is looking at: one flat object that lives in the page's address (after #), so
// that a link opens the same view. Views never keep such state themselves; they ask for a change
// and are told when it happened.

/**
 * @typedef {object} State
 * @property {number} process index
 * @property {string} profile id of a table, '' = the first
 * @property {string} view
 * @property {number} from microseconds @property {number} to microseconds; from = to: everything
 * @property {string} threads indices joined by '.', '' = all
 * @property {string} states numbers joined by '.', '' = all
 * @property {string} search
 * @property {string} zoom path of keys joined by '.'
 * @property {string} method index of a method, '' = none
 * @property {string} colour '' = what suits the profile
 * @property {string} order 'weight' or 'name'
 * @property {string} shape 'icicle' or 'flame'
 * @property {string} by 'method' or 'line'
 * @property {number} inverted @property {number} grouped
 * @property {string} rows of the heat map
 * @property {string} widths of a differential graph: 'after' or 'before'
 */

/** @type {State} */
const DEFAULTS = {
    process: 0,
    profile: '',
    view: 'flame',
    from: 0,
    to: 0,
    threads: '',
    states: '',
    search: '',
    zoom: '',
    method: '',
    colour: '',
    order: 'weight',
    shape: 'icicle',
    by: 'method',
    inverted: 0,
    grouped: 0,
    rows: 'methods',
    widths: 'after',
};

export class Store {
    constructor() {
        /** @type {State} */
        this.state = read(window.location.hash);
        this.listeners = [];
        window.addEventListener('hashchange', () => {
            const next = read(window.location.hash);
            if (write(next) !== write(this.state)) this.replace(next);
        });
    }

    /** @param {(state: State, changed: Set<string>) => void} listener */
    listen(listener) {
        this.listeners.push(listener);
    }

    /**
     * @param {Partial<State>} change
     * @param {boolean} [step] whether "back" should undo it
     */
    set(change, step = false) {
        const next = { ...this.state, ...change };
        const hash = write(next);
        if (hash === write(this.state)) return;
        const method = step ? 'pushState' : 'replaceState';
        window.history[method](null, '', hash || '#');
        this.replace(next);
    }

    replace(next) {
        const changed = new Set(Object.keys(next).filter((key) => next[key] !== this.state[key]));
        this.state = next;
        for (const listener of this.listeners) listener(next, changed);
    }
}

/** @param {string} hash */
function read(hash) {
    const state = { ...DEFAULTS };
    for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ''))) {
        if (!(key in DEFAULTS)) continue;
        if (typeof DEFAULTS[key] === 'number') {
            const number = Number(value);
            if (Number.isFinite(number)) state[key] = number;
        } else {
            state[key] = value;
        }
    }
    return state;
}

/** Only what differs from the defaults. @param {State} state */
function write(state) {
    const parts = new URLSearchParams();
    for (const key of Object.keys(DEFAULTS)) {
        if (state[key] !== DEFAULTS[key]) parts.set(key, String(state[key]));
    }
    const text = parts.toString();
    return text ? `#${text}` : '';
}

/** '1.2.3' as numbers. @param {string} text */
export function numbers(text) {
    return text === ''
        ? []
        : text
              .split('.')
              .map(Number)
              .filter((n) => Number.isInteger(n) && n >= 0);
}
