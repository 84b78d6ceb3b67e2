// A table that sorts, filters and grows: used by every view with rows. Columns say how to sort and
// how to make a cell; the grid renders the first rows and more on request, so that a hundred
// thousand rows cost nothing until somebody wants them.

import { el, fill } from './dom.js';

const PAGE = 100;

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: any) => number|string} value to sort by
 * @property {(row: any) => Node|string} [cell] the value as text when absent
 * @property {boolean} [number] aligned right, sorted from the largest
 * @property {boolean} [rising] sorted from the smallest all the same
 * @property {string} [hint]
 * @property {boolean} [wide] gives way last when room is short
 * @property {boolean} [minor] not on a phone
 */

/**
 * @param {object} options
 * @param {string} options.label for screen readers
 * @param {Column[]} options.columns
 * @param {any[]} options.rows
 * @param {number} [options.sort] column to sort by at first
 * @param {(row: any) => string} [options.filterText] makes a filter box appear
 * @param {string} [options.empty] said when there are no rows
 * @param {{sort: number, up: boolean, filter: string, shown: number}} [options.memory] survives redraws
 */
export function grid(options) {
    const { columns } = options;
    const memory = options.memory || {};
    if (memory.sort === undefined) {
        Object.assign(memory, { sort: options.sort || 0, filter: '', shown: PAGE });
        memory.up = startsUp(columns[memory.sort]);
    }
    const body = el('tbody');
    const more = el('div', { class: 'grid-more' });
    const heads = columns.map((column, i) =>
        head(column, () => {
            memory.up = memory.sort === i ? !memory.up : startsUp(column);
            memory.sort = i;
            render();
        }),
    );
    const table = el(
        'table',
        { class: 'grid', 'aria-label': options.label },
        el('thead', null, el('tr', null, heads)),
        body,
    );
    const filter =
        options.filterText &&
        el('input', {
            class: 'grid-filter',
            type: 'search',
            placeholder: 'Filter…',
            'aria-label': `Filter ${options.label}`,
            value: memory.filter,
            spellcheck: 'false',
            on: {
                input: () => {
                    memory.filter = filter.value;
                    memory.shown = PAGE;
                    render();
                },
            },
        });

    function chosenRows() {
        const wanted = memory.filter.toLowerCase();
        const rows =
            wanted && options.filterText
                ? options.rows.filter((row) =>
                      options.filterText(row).toLowerCase().includes(wanted),
                  )
                : options.rows.slice();
        const { value } = columns[memory.sort];
        const sign = memory.up ? 1 : -1;
        return rows.sort((a, b) => compared(value(a), value(b), sign));
    }

    function render() {
        const rows = chosenRows();
        heads.forEach((th, i) => {
            if (i === memory.sort)
                th.setAttribute('aria-sort', memory.up ? 'ascending' : 'descending');
            else th.removeAttribute('aria-sort');
        });
        body.replaceChildren(
            ...rows.slice(0, memory.shown).map((row) =>
                el(
                    'tr',
                    null,
                    columns.map((c) => cell(c, row)),
                ),
            ),
        );
        if (rows.length === 0) {
            body.append(
                el(
                    'tr',
                    null,
                    el('td', {
                        colspan: columns.length,
                        class: 'muted wide',
                        text: options.empty || 'Nothing here.',
                    }),
                ),
            );
        }
        fill(
            more,
            rows.length > memory.shown &&
                el('button', {
                    type: 'button',
                    class: 'plain',
                    text: `Show more (${memory.shown} of ${rows.length.toLocaleString('en')})`,
                    on: {
                        click: () => {
                            memory.shown += PAGE * 5;
                            render();
                        },
                    },
                }),
        );
    }

    render();
    return el(
        'div',
        { class: 'grid-box' },
        filter,
        el('div', { class: 'grid-scroll' }, table),
        more,
    );
}

function startsUp(column) {
    return column.rising || !column.number;
}

/** As sort wants it, `sign` 1 from the smallest; what is no number stands last either way. */
function compared(x, y, sign) {
    if (typeof x === 'string') return sign * x.localeCompare(String(y));
    const [isX, isY] = [!Number.isNaN(x), !Number.isNaN(y)];
    if (!isX || !isY) return Number(isY) - Number(isX);
    return x === y ? 0 : sign * (x - Number(y));
}

function head(column, sorted) {
    return el(
        'th',
        { scope: 'col', class: classOf(column), title: column.hint },
        el('button', { type: 'button', class: 'sort', text: column.title, on: { click: sorted } }),
    );
}

function cell(column, row) {
    const content = column.cell ? column.cell(row) : String(column.value(row));
    return el('td', { class: classOf(column) }, content);
}

function classOf(column) {
    return ['number', 'wide', 'minor'].filter((name) => column[name]).join(' ');
}

/** A number with a bar behind it that shows its share. @param {string} text @param {number} share 0 to 1 */
export function bar(text, share) {
    return el(
        'span',
        { class: 'bar' },
        el('span', {
            class: 'bar-fill',
            style: { width: `${Math.max(0, Math.min(1, share)) * 100}%` },
        }),
        el('span', { class: 'bar-text', text }),
    );
}
