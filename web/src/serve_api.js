// Talking to the server this page came from. Every failure has a message for people.

/** @param {string} path @param {{method?: string, json?: any, body?: any}} [options] */
export async function ask(path, options = {}) {
    const request = { method: options.method || 'GET', headers: {}, cache: 'no-store' };
    if (options.json !== undefined) {
        request.headers['Content-Type'] = 'application/json';
        request.body = JSON.stringify(options.json);
    } else if (options.body !== undefined) {
        request.body = options.body;
    }
    let answer;
    try {
        answer = await fetch(path, request);
    } catch {
        throw new Error('The server does not answer. Is clarinet serve still running?');
    }
    if (answer.status === 204) return null;
    const value = await answer.json().catch(() => null);
    if (!answer.ok) {
        const why = value && value.error;
        throw new Error(
            why ? why.message + (why.advice ? ` — ${why.advice}` : '') : `Status ${answer.status}`,
        );
    }
    return value;
}
