/* watch_rules: see watch_rules.h. */
#include "server/watch_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "catalogue/catalogue.h"

#define SECOND       UINT64_C(1000000000)
#define LEAST_GROWTH (UINT64_C(32) << 20) /* a small program may double without harm */

static int wrong(const char *item, error *e)
{
    error_set(e, ERROR_USAGE, "--trigger does not understand '%.80s'", item);
    return error_advise(e, "as in --trigger cpu=80/30s,memory=50/10m,errors=5/10s");
}

static int take(char *item, watch_rules *rules, error *e)
{
    static const watch_rules USUAL = {80, 30 * SECOND, 50, 600 * SECOND, 5, 10 * SECOND};
    char whole[100];
    char *value = strchr(item, '=');
    char *time = value == NULL ? NULL : strchr(value, '/');
    double limit = 0;
    uint64_t ns = 0;
    char *end = NULL;

    snprintf(whole, sizeof whole, "%s", item);
    if (value != NULL) {
        *value++ = '\0';
        limit = strtod(value, &end);
        if (end == value || !(limit > 0 && limit < 1e9) || (*end != '\0' && end != time))
            return wrong(whole, e);
    }
    if (time != NULL && (catalogue_parse_duration(time + 1, &ns, e) != 0 || ns == 0))
        return wrong(whole, e);
    if (text_equal(item, "cpu")) {
        rules->cpu_percent = limit > 0 ? limit : USUAL.cpu_percent;
        rules->cpu_ns = ns != 0 ? ns : USUAL.cpu_ns;
    } else if (text_equal(item, "memory")) {
        rules->memory_percent = limit > 0 ? limit : USUAL.memory_percent;
        rules->memory_ns = ns != 0 ? ns : USUAL.memory_ns;
    } else if (text_equal(item, "errors")) {
        rules->errors = limit > 0 ? limit : USUAL.errors;
        rules->errors_ns = ns != 0 ? ns : USUAL.errors_ns;
    } else {
        return wrong(whole, e);
    }
    return 0;
}

int watch_rules_parse(const char *text, watch_rules *rules, error *e)
{
    char list[300];
    char *rest = NULL;
    int code = 0;

    memset(rules, 0, sizeof *rules);
    if (text_equal(text, "none"))
        return 0;
    if (snprintf(list, sizeof list, "%s", text) >= (int)sizeof list)
        return wrong(text, e);
    for (char *item = strtok_r(list, ",", &rest); item != NULL && code == 0;
         item = strtok_r(NULL, ",", &rest))
        code = take(item, rules, e);
    return code;
}

static bool is_busy(const watch_rules *r, watch_pulse *p, const watch_values *v, uint64_t now)
{
    if (r->cpu_percent <= 0 || v->cpu_percent < r->cpu_percent) {
        p->high_since_ns = 0;
        return false;
    }
    if (p->high_since_ns == 0)
        p->high_since_ns = now;
    if (now - p->high_since_ns < r->cpu_ns)
        return false;
    p->high_since_ns = 0;
    return true;
}

static bool has_grown(const watch_rules *r, watch_pulse *p, const watch_values *v, uint64_t now)
{
    uint64_t before = p->least_bytes;
    bool is_reason;

    if (r->memory_percent <= 0 || v->memory_bytes == 0)
        return false;
    is_reason = before != 0 && v->memory_bytes >= before + LEAST_GROWTH &&
                100.0 * (double)(v->memory_bytes - before) >= r->memory_percent * (double)before;
    if (before == 0 || v->memory_bytes < before || is_reason ||
        now - p->least_at_ns > r->memory_ns) {
        p->least_bytes = v->memory_bytes;
        p->least_at_ns = now;
    }
    return is_reason;
}

static bool has_failed(const watch_rules *r, watch_pulse *p, const watch_values *v, uint64_t now)
{
    bool is_known = p->failed_at_ns != 0;
    bool is_reason;

    if (r->errors <= 0 || !v->has_failed)
        return false;
    is_reason = is_known && v->failed > p->failed_before &&
                (double)(v->failed - p->failed_before) >= r->errors;
    if (!is_known || is_reason || now - p->failed_at_ns > r->errors_ns) {
        p->failed_before = v->failed;
        p->failed_at_ns = now;
    }
    return is_reason;
}

const char *watch_judge(const watch_rules *rules, watch_pulse *pulse, const watch_values *values,
                        uint64_t now_ns)
{
    bool busy = is_busy(rules, pulse, values, now_ns);
    bool grown = has_grown(rules, pulse, values, now_ns);
    bool failed = has_failed(rules, pulse, values, now_ns);

    return failed ? "errors" : grown ? "memory" : busy ? "cpu" : NULL;
}
