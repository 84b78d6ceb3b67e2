// The form that begins a session: built from the catalogue, so a new profiler needs nothing here.

import { el, fill } from './dom.js';
import { ask } from './serve_api.js';

/** One parameter's control; `read` is undefined when the default is left as it is. */
function parameterControl(profiler, parameter) {
    const id = `p-${profiler.name}-${parameter.name}`;
    let input;
    if (parameter.type === 'boolean')
        input = el('input', { type: 'checkbox', id, checked: parameter.default === 'true' });
    else if (parameter.type === 'choice')
        input = el(
            'select',
            { id },
            parameter.choices.map((c) =>
                el('option', { value: c, text: c, selected: c === parameter.default }),
            ),
        );
    else input = el('input', { type: 'text', id, value: parameter.default, spellcheck: 'false' });
    const read = () => {
        if (parameter.type === 'boolean')
            return input.checked === (parameter.default === 'true') ? undefined : input.checked;
        return input.value === parameter.default ? undefined : input.value;
    };
    const node = el(
        'div',
        { class: 'parameter' },
        el('label', { for: id, text: parameter.name, title: parameter.description }),
        input,
    );
    return { name: parameter.name, node, read };
}

function profilerChoice(profiler) {
    const parameters = profiler.parameters.map((p) => parameterControl(profiler, p));
    const details = el('div', { hidden: true }, parameters.map((p) => p.node));
    const box = el('input', {
        type: 'checkbox',
        name: profiler.name,
        on: { change: () => (details.hidden = !box.checked) },
    });
    const node = el(
        'div',
        null,
        el('label', { title: profiler.description }, box, ' ', el('b', { text: profiler.name })),
        el('div', { class: 'small muted', text: profiler.cost }),
        details,
    );
    const read = () => {
        if (!box.checked) return null;
        const values = {};
        for (const p of parameters) {
            const value = p.read();
            if (value !== undefined) values[p.name] = value;
        }
        return { name: profiler.name, parameters: values };
    };
    return { node, read };
}

/** A command line as its words; quotes keep blanks together. @param {string} text */
export function wordsOf(text) {
    const words = [];
    for (const match of text.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g))
        words.push(match[0].replace(/"([^"]*)"|'([^']*)'/g, (_, a, b) => (a === undefined ? b : a)));
    return words;
}

/**
 * @param {any} process null: a program is to be started
 * @param {any[]} profilers the catalogue
 * @param {(session: any) => void} started @param {() => void} closed
 */
export function startForm(process, profilers, started, closed) {
    const choices = profilers.filter((p) => process === null || p.attach).map(profilerChoice);
    const command = el('input', {
        type: 'text',
        id: 'command',
        placeholder: 'dotnet Shop.dll --port 8080',
        spellcheck: 'false',
        autocomplete: 'off',
    });
    const chosen = el('div', { class: 'choices', hidden: true }, choices.map((c) => c.node));
    const preset = el(
        'select',
        { id: 'preset', on: { change: () => (chosen.hidden = preset.value === 'checkup') } },
        el('option', { value: 'checkup', text: 'checkup: everything that is cheap' }),
        el('option', { value: 'own', text: 'profilers of my choice' }),
    );
    const duration = el('input', { type: 'text', id: 'duration', value: '10s' });
    const tags = el('input', { type: 'text', id: 'tags', placeholder: 'before, release-7' });
    const trouble = el('div', { role: 'alert' });
    const button = el('button', { class: 'act', type: 'button', text: 'Start', on: { click } });

    async function click() {
        button.disabled = true;
        fill(trouble);
        try {
            const own = preset.value === 'own';
            const wanted = own ? choices.map((c) => c.read()).filter(Boolean) : [];
            if (own && wanted.length === 0) throw new Error('Choose at least one profiler.');
            const list = tags.value.split(',').map((t) => t.trim());
            started(
                await ask('/api/sessions', {
                    method: 'POST',
                    json: {
                        ...(process === null
                            ? { command: wordsOf(command.value) }
                            : { processId: process.pid }),
                        profilers: wanted,
                        duration: duration.value,
                        tags: list.filter(Boolean),
                    },
                }),
            );
        } catch (error) {
            fill(trouble, el('p', { class: 'trouble', text: error.message }));
            button.disabled = false;
        }
    }

    return el(
        'fieldset',
        { class: 'start' },
        el('legend', {
            text: process === null ? 'Start a program' : `Examine ${process.name} (${process.pid})`,
        }),
        process === null &&
            el(
                'div',
                { class: 'controls' },
                el('label', { for: 'command', text: 'command' }),
                command,
                el('span', {
                    class: 'small muted',
                    text: 'It runs as the user of this server, and ends with the session.',
                }),
            ),
        el(
            'div',
            { class: 'controls' },
            el('label', { for: 'preset', text: 'what' }),
            preset,
            el('label', { for: 'duration', text: 'how long' }),
            duration,
            el('label', { for: 'tags', text: 'tags' }),
            tags,
            button,
            el('button', { class: 'plain', type: 'button', text: 'Close', on: { click: closed } }),
        ),
        chosen,
        trouble,
    );
}
