// Numbers, times and names as text. Pure functions; nothing here touches the page.

const DURATION_STEPS = [
    [1e6, 's'],
    [1e3, 'ms'],
];
const BYTE_STEPS = [
    [1e12, 'TB'],
    [1e9, 'GB'],
    [1e6, 'MB'],
    [1e3, 'KB'],
];

/** Three significant digits without an exponent: 1234, 123, 12.3, 1.23. @param {number} value */
export function shortNumber(value) {
    const size = Math.abs(value);
    if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en');
    return value.toFixed(size >= 10 ? 1 : 2);
}

/** @param {number} microseconds */
export function duration(microseconds) {
    const seconds = Math.round(microseconds / 1e6);
    if (seconds >= 3600)
        return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
    if (seconds >= 100) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
    for (const [step, unit] of DURATION_STEPS) {
        if (Math.abs(microseconds) >= step) return `${shortNumber(microseconds / step)} ${unit}`;
    }
    return microseconds === 0 ? '0' : `${shortNumber(microseconds)} µs`;
}

/** @param {number} count */
export function bytes(count) {
    for (const [step, unit] of BYTE_STEPS) {
        if (Math.abs(count) >= step) return `${shortNumber(count / step)} ${unit}`;
    }
    return `${shortNumber(count)} B`;
}

/** A weight in the unit of its table. @param {number} value @param {string} unit */
export function weight(value, unit) {
    if (unit === 'us') return duration(value);
    if (unit === 'bytes') return bytes(value);
    return shortNumber(value);
}

/** A share as a percentage; small ones keep a digit more. @param {number} part @param {number} whole */
export function percent(part, whole) {
    if (!(whole > 0) || part === 0) return '–';
    const share = (100 * part) / whole;
    if (share !== 0 && Math.abs(share) < 0.01) return '<0.01 %';
    return `${share.toFixed(Math.abs(share) < 1 ? 2 : 1)} %`;
}

/** A signed difference of two shares, in percentage points. @param {number} points */
export function points(points) {
    const sign = points > 0 ? '+' : points < 0 ? '−' : '±';
    return `${sign}${Math.abs(points).toFixed(2)} pp`;
}

/** A moment on the recording's axis, in seconds or, where the span is short, milliseconds. @param {number} microseconds @param {number} [span] */
export function moment(microseconds, span = 1e7) {
    if (span < 1e6)
        return `${(microseconds / 1e3).toFixed(span < 1e4 ? 2 : span < 1e5 ? 1 : 0)} ms`;
    const digits = span < 2e7 ? 2 : span < 2e8 ? 1 : 0;
    return `${(microseconds / 1e6).toFixed(digits)} s`;
}

/** Clock time of a moment, local to the reader. @param {number} unixMilliseconds */
export function clock(unixMilliseconds) {
    return new Date(unixMilliseconds).toLocaleString(undefined, {
        dateStyle: 'medium',
        timeStyle: 'medium',
    });
}

/**
 * A method's name without its namespace, then without its type. Generic arguments and parameter
 * lists may contain dots and are left whole.
 * @param {string} name
 * @param {number} parts how many dotted parts to keep from the end
 */
export function tailOfName(name, parts) {
    if (name.startsWith('(') || name.startsWith('[')) return name;
    if (name.includes('@')) return name.slice(0, name.indexOf('@')) || name;
    if (name.includes('::')) return name.split('::').slice(-parts).join('::');
    let depth = 0;
    let end = name.length;
    const open = name.indexOf('(');
    if (open > 0) end = open;
    for (let i = end - 1; i > 0; i--) {
        const c = name[i];
        if (c === '>' || c === ']' || c === ')') depth++;
        else if (c === '<' || c === '[' || c === '(') depth = Math.max(0, depth - 1);
        else if (c === '.' && depth === 0 && name[i - 1] !== '.' && --parts === 0) {
            return name.slice(i + 1);
        }
    }
    return name;
}

/**
 * A method's type and its own name. Native names are divided at `::`; names without a type have ''.
 * @param {string} name
 * @returns {[string, string]}
 */
export function typeAndMethod(name) {
    const open = name.indexOf('(');
    const native = name.lastIndexOf('::', open > 0 ? open : name.length);
    if (native > 0) return [name.slice(0, native), name.slice(native + 2)];
    const method = tailOfName(name, 1);
    return [name.slice(0, Math.max(0, name.length - method.length - 1)), method];
}

// Control characters, and those that turn the direction of writing and so can make a name look like
// another one.
const UNREADABLE =
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Text with invisible and direction-changing characters spelled out. @param {string} text */
export function readable(text) {
    return text.replace(UNREADABLE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The last part of a path with either kind of slash. @param {string} path */
export function fileName(path) {
    return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
}
