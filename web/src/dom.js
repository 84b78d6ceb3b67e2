// Making elements. Text from the data reaches the page only here, as text nodes and attributes
// that cannot run; nothing in web/ assigns HTML (the page's policy would refuse it as well).

import { readable } from './format.js';

const ATTRIBUTES =
    /^(aria-[a-z]+|role|id|title|type|for|name|value|placeholder|tabindex|scope|colspan|min|max|step|open|selected|checked|disabled|hidden|autocomplete|spellcheck|inputmode|rel|target|accept|multiple|download|method)$/;
// Links lead into this server only.
const LINK = /^(\/api\/[\w/?=&.%-]*|\/speedscope\/#[\w/=&%.-]*|#[\w/.-]*)$/;

/**
 * @param {string} tag
 * @param {Object<string, any>|null} [options] `class`, `text`, `on` (event name to handler),
 *   `data` (dataset), `style` (CSS property to value), and plain attributes
 * @param {...(Node|string|null|undefined|false|Array<any>)} children
 * @returns {any}
 */
export function el(tag, options, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(options || {})) {
        if (value === undefined || value === null || value === false) continue;
        if (key === 'class') node.className = value;
        else if (key === 'text') node.textContent = readable(String(value));
        else if (key === 'on')
            for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
        else if (key === 'data') Object.assign(node.dataset, value);
        else if (key === 'style')
            for (const [p, v] of Object.entries(value)) node.style.setProperty(p, v);
        else if (key === 'href' && LINK.test(value)) node.setAttribute('href', value);
        else if (ATTRIBUTES.test(key))
            node.setAttribute(key, value === true ? '' : readable(String(value)));
        else throw new Error(`el: attribute ${key} is not allowed`);
    }
    append(node, children);
    return node;
}

const SVG_ATTRIBUTES =
    /^(aria-[a-z]+|role|id|tabindex|class|x|y|x1|y1|x2|y2|rx|width|height|d|viewBox|text-anchor|transform|orient|refX|refY|markerWidth|markerHeight|marker-end)$/;

/** The same for drawings. @param {string} tag @param {Object<string, any>|null} [options]
 *  @param {...any} children @returns {any} */
export function svg(tag, options, ...children) {
    const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [key, value] of Object.entries(options || {})) {
        if (value === undefined || value === null || value === false) continue;
        if (key === 'on')
            for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
        else if (key === 'data') Object.assign(node.dataset, value);
        else if (SVG_ATTRIBUTES.test(key)) node.setAttribute(key, readable(String(value)));
        else throw new Error(`svg: attribute ${key} is not allowed`);
    }
    append(node, children);
    return node;
}

/** @param {Node} node @param {any[]} children */
function append(node, children) {
    for (const child of children) {
        if (child === null || child === undefined || child === false) continue;
        if (Array.isArray(child)) append(node, child);
        else
            node.appendChild(
                typeof child === 'string' ? document.createTextNode(readable(child)) : child,
            );
    }
}

const FOCUSABLE = 'button, select, input, summary';

/**
 * Replaces what is in `node`. The keyboard stays where it was: what had the focus gives it to what
 * stands in its place.
 * @param {Element} node @param {...any} children
 */
export function fill(node, ...children) {
    const held = node.contains(document.activeElement)
        ? [...node.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement)
        : -1;
    node.replaceChildren();
    append(node, children);
    if (held >= 0) {
        const successor = node.querySelectorAll(FOCUSABLE)[held];
        if (successor) successor.focus({ preventScroll: true });
    }
    return node;
}

/** A name with places where it may break: after dots, commas and the like. @param {string} text */
export function breakable(text) {
    const parts = text.split(/(?<=[.,+/\\:>])(?=[^.,:>])/);
    return parts.flatMap((part, i) => (i > 0 ? [document.createElement('wbr'), part] : [part]));
}

/** A labelled drop-down. @param {string} label @param {[string, string][]} choices value and text
 *  @param {string} value @param {(value: string) => void} changed */
export function choice(label, choices, value, changed) {
    const select = el(
        'select',
        { 'aria-label': label, on: { change: () => changed(select.value) } },
        choices.map(([v, text]) => el('option', { value: v, text, selected: v === value })),
    );
    return el(
        'label',
        { class: 'control' },
        el('span', { class: 'control-name', text: label }),
        select,
    );
}

/** A button that is pressed or not. @param {string} text @param {boolean} on
 *  @param {(on: boolean) => void} changed @param {string} [title] */
export function toggle(text, on, changed, title) {
    return el('button', {
        class: 'toggle',
        type: 'button',
        'aria-pressed': on ? 'true' : 'false',
        title,
        text,
        on: { click: () => changed(!on) },
    });
}

/** A canvas that keeps to its box in device pixels; calls `draw(context, width, height)`.
 *  @param {HTMLCanvasElement} canvas @param {(c: CanvasRenderingContext2D, w: number, h: number) => void} draw */
export function paint(canvas, draw) {
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (width === 0 || height === 0) return;
    const ratio = window.devicePixelRatio || 1;
    const w = Math.round(width * ratio);
    const h = Math.round(height * ratio);
    if (canvas.width !== w || canvas.height !== h) {
        canvas.width = w;
        canvas.height = h;
    }
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, width, height);
}

/** Runs `work` once in the next animation frame, however often it is asked for. @param {() => void} work */
export function oncePerFrame(work) {
    let asked = false;
    return () => {
        if (asked) return;
        asked = true;
        requestAnimationFrame(() => {
            asked = false;
            work();
        });
    };
}
