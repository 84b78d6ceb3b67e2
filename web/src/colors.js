// Colours of what is drawn on canvases. Text and surfaces take theirs from the style sheet; the
// boxes' are computed here for both themes. Whose code a box is decides its family of hues: warm
// for the program's own, cool for the libraries, violet for the runtime, grey for native code.

import { CATEGORY, STATE_COUNT } from './model.js';

/** Hue, saturation and spread per category. */
const FAMILIES = [
    { hue: 28, spread: 42, saturation: 76 },
    { hue: 203, spread: 76, saturation: 42 },
    { hue: 282, spread: 26, saturation: 32 },
    { hue: 90, spread: 40, saturation: 12 },
    { hue: 220, spread: 6, saturation: 8 },
];

const STATE_COLOURS = {
    light: ['#c9ced6', '#e8a33d', '#d9626b', '#a9b4c4', '#5b9bd5', '#9b7fc7', '#c4b7a6'],
    dark: ['#59616d', '#b97a1f', '#a8434c', '#4f5a6b', '#35699c', '#6d5499', '#71654f'],
};

/** Shades per key within a module, so that neighbours can be told apart. */
const SHADES = 4;
const DIFF_STEPS = 12;

export const FONT =
    '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';

/** Colours that canvases share with the style sheet, read from it so that there is one place. */
export function themeColours() {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(name).trim();
    return {
        text: get('--text'),
        muted: get('--muted'),
        line: get('--line'),
        surface: get('--surface'),
        background: get('--background'),
        accent: get('--accent'),
        box: get('--box-text'),
        match: get('--match'),
        haze: get('--haze'),
        dark: get('--scheme') === 'dark',
    };
}

/** @param {boolean} dark */
export function stateColours(dark) {
    return STATE_COLOURS[dark ? 'dark' : 'light'];
}

/** One colour of series number `index`, for charts. @param {number} index @param {boolean} dark */
export function seriesColour(index, dark) {
    const hues = [205, 32, 150, 340, 265, 95, 185, 12];
    return `hsl(${hues[index % hues.length]} ${dark ? '52% 62%' : '58% 44%'})`;
}

/**
 * Colour of each method by module.
 * @param {{name: string, module: string, category: number}[]} methods @param {boolean} dark
 * @returns {{palette: string[], ofMethod: Uint16Array, ofModule: Map<string, string>}}
 */
export function moduleColours(methods, dark) {
    const palette = [];
    const ofModule = new Map();
    const firstOf = new Map();
    const ofMethod = new Uint16Array(methods.length);
    methods.forEach((method, i) => {
        const id = `${method.category} ${method.module}`;
        let first = firstOf.get(id);
        if (first === undefined) {
            first = palette.length;
            firstOf.set(id, first);
            for (let shade = 0; shade < SHADES; shade++) {
                palette.push(boxColour(method.category, method.module, shade, dark));
            }
            if (!ofModule.has(method.module)) ofModule.set(method.module, palette[first + 1]);
        }
        ofMethod[i] = first + (hashText(method.name) % SHADES);
    });
    return { palette, ofMethod, ofModule };
}

function boxColour(category, module, shade, dark) {
    const family = FAMILIES[category] || FAMILIES[CATEGORY.synthetic];
    const turn = ((hashText(module) % 1000) / 1000 - 0.5) * family.spread;
    const hue = Math.round(family.hue + turn);
    const saturation = Math.round(family.saturation * (dark ? 0.62 : 1));
    const lightness = dark ? 34 + shade * 2.2 : 74 + shade * 2.2;
    return `hsl(${hue} ${saturation}% ${lightness}%)`;
}

/** Colours of a differential graph from "much less" over "the same" to "much more". @param {boolean} dark */
export function diffColours(dark) {
    const colours = [];
    for (let i = -DIFF_STEPS; i <= DIFF_STEPS; i++) {
        const strength = Math.abs(i) / DIFF_STEPS;
        const hue = i > 0 ? 8 : 212;
        const saturation = Math.round((dark ? 55 : 78) * strength);
        const lightness = dark ? 30 + 12 * strength : 92 - 26 * strength;
        colours.push(`hsl(${hue} ${saturation}% ${lightness}%)`);
    }
    return colours;
}

/**
 * Step of `diffColours` for a change of share. The scale is a root, so that small changes show.
 * @param {number} before share before @param {number} after share after
 */
export function diffStep(before, after) {
    const change = after - before;
    const strength = Math.min(1, Math.sqrt(Math.abs(change) / 0.1));
    return DIFF_STEPS + Math.round(Math.sign(change) * strength * DIFF_STEPS);
}

/** A colour of a heat map, 0 to 1; 0 is the background. @param {number} value @param {boolean} dark */
export function heatColour(value, dark) {
    const v = Math.max(0, Math.min(1, value));
    if (dark)
        return `hsl(${Math.round(20 + 25 * v)} ${Math.round(45 + 40 * v)}% ${Math.round(14 + 50 * v)}%)`;
    return `hsl(${Math.round(38 - 26 * v)} ${Math.round(70 + 15 * v)}% ${Math.round(95 - 50 * v)}%)`;
}

/** Which of `STATE_COUNT` totals at `offset` is the largest. */
export function largestState(states, offset) {
    let best = 0;
    for (let s = 1; s < STATE_COUNT; s++) if (states[offset + s] > states[offset + best]) best = s;
    return best;
}

/** A stable hash of text, so that a module has the same colour in every report. @param {string} text */
export function hashText(text) {
    let h = 0x811c9dc5;
    for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
    return (h ^ (h >>> 15)) >>> 0;
}
