/*
 * thread: the agent's own thread. It sleeps in poll, without a timeout when nothing records; it
 * blocks every signal, so that it never runs a handler of the target's.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/sampling.h"
#include "base/os.h"

enum {
    STACK_SIZE = 1 << 20,
    /* The runtime looks after this time whether its threads have left our code, and once more
     * after as long again; only then it sleeps for 5 s. */
    DETACH_EXPECTED_MS = 300,
    FAREWELL_MS = 800,
};

static void *run(void *argument);

int agent_start_thread(agent *a, error *e)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    int code;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    code = pthread_create(&a->thread, &attributes, run, a);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0)
        return error_set_errno(e, ERROR_IO, code, "no thread");
    a->has_thread = true;
    return 0;
}

static bool somebody_records(const agent *a)
{
    for (size_t i = 0; i < AGENT_CLIENTS; i++)
        if (a->clients[i].state == CLIENT_RECORDING)
            return true;
    return false;
}

/* Milliseconds until `when`, rounded up; at least 0. */
static int until(uint64_t when, uint64_t now)
{
    return when <= now ? 0 : (int)((when - now + 999999) / 1000000);
}

static int sooner(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Whoever lets go before the runtime is done with attaching is unmapped while it still has a call
 * to make: it was seen to crash then. */
static bool may_leave(const agent *a)
{
    return !a->stays && (a->by_start || atomic_load(&a->attach_complete));
}

/* How long to sleep: -1 = until somebody comes. */
static int time_to_sleep(const agent *a, uint64_t now)
{
    int wait = -1;

    if (somebody_records(a))
        wait = until(a->next_tick_ns, now);
    if (a->soon_ns != 0)
        wait = sooner(wait, until(a->soon_ns, now));
    for (size_t i = 0; i < AGENT_CLIENTS; i++)
        if (a->clients[i].state == CLIENT_GREETING || a->clients[i].state == CLIENT_LEAVING)
            wait = sooner(wait, until(a->clients[i].deadline_ns, now));
    if (a->alone_since_ns != 0 && may_leave(a))
        wait = sooner(wait, until(a->alone_since_ns + (uint64_t)AGENT_ALONE_MS * 1000000, now));
    return wait;
}

/* How long news wait: the first ones not at all, as the program may die the next moment. A round
 * costs about the same however much there is to take, so those that go on and on wait longer. */
static unsigned time_of_news(agent *a, uint64_t now)
{
    if (now - a->news_since_ns >= 1000000000u) {
        a->news_since_ns = now;
        a->news_rounds = 0;
    }
    if (++a->news_rounds <= AGENT_NEWS_ROUNDS)
        return 0;
    return a->news_rounds <= 2 * AGENT_NEWS_ROUNDS ? AGENT_SOON_MS : AGENT_STORM_MS;
}

/* Somebody woke us: a ring that fills is emptied now. */
static void heed_wake(agent *a)
{
    uint64_t now = os_monotonic_ns();

    if (atomic_load(&a->hurries) != atomic_load(&a->hurried) || atomic_load(&a->events.waking) ||
        !atomic_exchange(&a->has_news, false))
        agent_round(a, false);
    else if (a->soon_ns == 0)
        a->soon_ns = now + (uint64_t)time_of_news(a, now) * 1000000;
}

static void sleep_and_serve(agent *a)
{
    struct pollfd polled[AGENT_CLIENTS + 2];
    size_t who[AGENT_CLIENTS];
    nfds_t count = 2;
    uint64_t value;

    polled[0] = (struct pollfd){a->wake, POLLIN, 0};
    polled[1] = (struct pollfd){a->endpoint.listener, POLLIN, 0};
    for (size_t i = 0; i < AGENT_CLIENTS; i++) {
        if (a->clients[i].state == CLIENT_FREE)
            continue;
        who[count - 2] = i;
        polled[count++] = (struct pollfd){
            a->clients[i].descriptor,
            (short)(POLLIN | (output_has_pending(&a->clients[i].out) ? POLLOUT : 0)), 0};
    }
    if (poll(polled, count, time_to_sleep(a, os_monotonic_ns())) <= 0)
        return;
    if (polled[0].revents != 0)
        while (read(a->wake, &value, sizeof value) > 0) {
        }
    for (nfds_t i = 2; i < count; i++) {
        client *c = &a->clients[who[i - 2]];

        if ((polled[i].revents & POLLOUT) != 0)
            client_flush(a, c);
        if (c->state != CLIENT_FREE && (polled[i].revents & ~POLLOUT) != 0)
            client_receive(a, c);
    }
    if ((polled[1].revents & POLLNVAL) != 0)
        a->endpoint.listener = -1; /* the program has closed it */
    if (polled[1].revents != 0) {
        int descriptor = endpoint_accept(a);

        if (descriptor >= 0)
            client_open(a, descriptor);
    }
    if (polled[0].revents != 0 &&
        (somebody_records(a) || atomic_load(&a->hurries) != atomic_load(&a->hurried)))
        heed_wake(a);
}

static unsigned next_tick_ms(agent *a)
{
    unsigned tick = AGENT_LONGEST_TICK_MS;

    for (unsigned i = 0; i < ENGINE_COUNT; i++) {
        unsigned wait = AGENT_TICK_MS;

        if (!agent_is_active(a, i))
            continue;
        if (ENGINES[i]->longest_wait_ms != NULL)
            wait = ENGINES[i]->longest_wait_ms(a);
        tick = wait < tick ? wait : tick;
    }
    return tick;
}

/* Ticks, deadlines. */
static void keep_time(agent *a)
{
    uint64_t now = os_monotonic_ns();

    for (size_t i = 0; i < AGENT_CLIENTS; i++) {
        client *c = &a->clients[i];

        if ((c->state == CLIENT_GREETING || c->state == CLIENT_LEAVING) && now >= c->deadline_ns)
            client_close(a, c);
    }
    if (a->soon_ns != 0 && now >= a->soon_ns) {
        a->soon_ns = 0;
        agent_round(a, false);
    }
    if (somebody_records(a) && now >= a->next_tick_ns) {
        a->next_tick_ns = now + (uint64_t)next_tick_ms(a) * 1000000;
        atomic_fetch_add_explicit(&a->tick, 1, memory_order_relaxed);
        atomic_store_explicit(&a->waking, false, memory_order_relaxed);
        agent_round(a, false);
    }
    if (client_count(a) != 0)
        a->alone_since_ns = 0;
    else if (a->alone_since_ns == 0)
        a->alone_since_ns = now;
}

/* Whether nobody needs us any more: at once after a session, after a grace before the first. */
static bool is_over(const agent *a, bool had_client)
{
    if (a->alone_since_ns == 0 || !may_leave(a))
        return false;
    return had_client ||
           os_monotonic_ns() - a->alone_since_ns >= (uint64_t)AGENT_ALONE_MS * 1000000;
}

/* Nobody is connected: names take no memory, and what they name may go without our notice. */
static void forget_names(agent *a)
{
    sampling_forget(a);
    names_reset(&a->names);
    atomic_fetch_add(&a->unloads, 1);
}

/* True when the runtime will let go; this thread must then end at once. */
static bool let_go(agent *a)
{
    forget_names(a);
    agent_apply_mask(a, NULL);
    endpoint_close(a);
    if (!counterweight_holds(a)) {
        atomic_store(&a->phase, AGENT_DETACHING);
        if (clr_info_request_profiler_detach(&a->info, DETACH_EXPECTED_MS) == S_OK)
            return true;
        atomic_store(&a->phase, AGENT_RUNNING);
    }
    /* after ReJIT, too, there is no way out: stay, at no cost, and listen */
    a->stays = true;
    return false;
}

/* The process ends: every session gets its last records, as long as the runtime waits for us. */
static void say_farewell(agent *a)
{
    uint64_t end = os_monotonic_ns() + (uint64_t)FAREWELL_MS * 1000000;

    for (size_t i = 0; i < AGENT_CLIENTS; i++)
        agent_stop_client(a, &a->clients[i]);
    for (size_t i = 0; i < AGENT_CLIENTS; i++) {
        client *c = &a->clients[i];

        while (c->state != CLIENT_FREE && output_send(&c->out, c->descriptor) == 0 &&
               output_has_pending(&c->out)) {
            struct pollfd polled = {c->descriptor, POLLOUT, 0};

            if (output_hand_over(&c->out, c->descriptor) == 0 ||
                poll(&polled, 1, until(end, os_monotonic_ns())) <= 0)
                break;
        }
        client_close(a, c);
    }
    endpoint_close(a);
}

/* The tool that started the process has turned us away while the runtime waits for us to begin:
 * whoever waits undoes everything; this thread must end at once. */
static bool is_refused(agent *a)
{
    int none = 0;

    if (!a->by_start || !atomic_compare_exchange_strong(&a->started, &none, AGENT_START_REFUSED))
        return false;
    lock_wake(&a->started, INT32_MAX);
    return true;
}

static void *run(void *argument)
{
    agent *a = argument;
    bool had_client = client_count(a) != 0;
    int woken = 0; /* the `started` that was told */

    prctl(PR_SET_NAME, "clarinet", 0, 0, 0);
    a->own_thread_id = os_thread_id();
    a->next_tick_ns = os_monotonic_ns();
    a->alone_since_ns = client_count(a) == 0 ? a->next_tick_ns : 0;
    while (atomic_load(&a->phase) == AGENT_RUNNING) {
        sleep_and_serve(a);
        keep_time(a);
        had_client = had_client || client_count(a) != 0;
        if (is_over(a, had_client)) {
            if (is_refused(a) || let_go(a))
                return NULL;
            had_client = false;
            endpoint_open_own(a, NULL);
        }
        if (a->stays && had_client && client_count(a) == 0) {
            forget_names(a);
            had_client = false;
        }
        if (atomic_load(&a->started) != woken) {
            woken = atomic_load(&a->started);
            lock_wake(&a->started, INT32_MAX);
        }
    }
    if (atomic_load(&a->phase) == AGENT_ENDING)
        say_farewell(a);
    atomic_store(&a->finished, 1);
    lock_wake(&a->finished, INT32_MAX);
    return NULL;
}
