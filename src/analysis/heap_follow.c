/* heap_follow: see heap_follow.h. */
#include "analysis/heap_follow.h"

#include "base/text.h"

static bool is_named(const heap *h, uint32_t node, uint32_t place, const char *name)
{
    heap_field field = heap_field_at(h, node, place);

    return (field & HEAP_ELEMENT) == 0 && text_equal(model_text(h->m, field), name);
}

bool heap_is_delegate(const heap *h, uint32_t node)
{
    return node != 0 && (heap_class_of(h, node)->flags & RECORDING_TYPE_DELEGATE) != 0;
}

/* Whether what an object refers to may be what it keeps in that field. */
typedef bool may_be(const heap *h, uint32_t target);

static bool may_be_list(const heap *h, uint32_t target)
{
    return text_equal(heap_type_name(h, h->type[target]), "object[]");
}

static bool may_be_anything(const heap *h, uint32_t target)
{
    (void)h;
    return target != 0;
}

static bool may_be_timer_callback(const heap *h, uint32_t target)
{
    return text_equal(heap_type_name(h, h->type[target]), "System.Threading.TimerCallback");
}

/* Not what timers and nodes of callbacks keep for themselves. */
static bool may_be_state(const heap *h, uint32_t target)
{
    static const char *const OTHERS[] = {
        "System.Threading.TimerQueue",
        "System.Threading.TimerQueueTimer",
        "System.Threading.TimerCallback",
        "System.Threading.ExecutionContext",
        "System.Threading.CancellationTokenSource.Registrations",
        "System.Threading.CancellationTokenSource.CallbackNode",
    };
    const char *name = heap_type_name(h, h->type[target]);

    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (text_equal(name, OTHERS[i]))
            return false;
    return true;
}

/* The same without names of fields: references come in the order of an object's fields, and the
 * types of the others are known. Only a delegate refers to itself: one with a list, or one of a
 * method that has no object. */
static uint32_t follow_by_type(const heap *h, uint32_t node, const char *name)
{
    static const struct {
        const char *name;
        may_be *may_be;
    } FIELDS[] = {
        {"_invocationList", may_be_list},
        {"_target", may_be_anything},
        {"_timerCallback", may_be_timer_callback},
        {"Callback", heap_is_delegate},
        {"_state", may_be_state},
        {"CallbackState", may_be_state},
    };
    bool refers_to_itself = false, is_list, is_after = !text_equal(name, "CallbackState");
    may_be *test = NULL;
    uint32_t found = 0;

    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++)
        if (text_equal(FIELDS[i].name, name))
            test = FIELDS[i].may_be;
    is_list = test == may_be_list;
    for (uint64_t k = h->first[node]; test != NULL && k < h->first[node + 1]; k++) {
        uint32_t target = h->targets[k];

        if (target == node)
            refers_to_itself = true;
        else if (!is_after) /* the state follows the callback, which may be one as well */
            is_after = heap_is_delegate(h, target);
        else if (found == 0 && test(h, target))
            found = target;
    }
    if (is_list)
        return refers_to_itself ? found : 0;
    return found == 0 && test == may_be_anything && refers_to_itself ? node : found;
}

/* What the object keeps in its field of this name; 0 = nothing. */
uint32_t heap_follow(const heap *h, uint32_t node, const char *name)
{
    bool has_names = (h->snapshot->flags & RECORDING_HEAP_OUTSIDE) == 0;

    if (node == 0)
        return 0;
    for (uint64_t k = h->first[node]; k < h->first[node + 1]; k++) {
        if (is_named(h, node, h->places[k], name))
            return h->targets[k];
        has_names = has_names || heap_field_at(h, node, h->places[k]) != 0;
    }
    return has_names ? 0 : follow_by_type(h, node, name);
}
