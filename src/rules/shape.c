/* shape: see shape.h. */
#include "rules/shape.h"

#include "base/text.h"
#include "cil/edit.h"
#include "clarinet/flags.h"

const char *shape_without_code(const shape *s)
{
    if ((s->flags & mdAbstract) != 0)
        return "it is abstract and has no body: name the methods that implement it";
    if ((s->flags & mdPinvokeImpl) == 0 &&
        ((s->impl_flags & miCodeTypeMask) != miIL || (s->impl_flags & miInternalCall) != 0))
        return "it has no body: the runtime itself provides its code";
    return NULL;
}

const char *shape_refusal(const shape *s)
{
    uint32_t result = cil_type_skip_modifiers(s->signature, 0);

    if ((s->flags & mdSpecialName) != 0 && !text_equal(s->name, ".ctor"))
        return "it has a special name (property, event, operator or type initialiser)";
    if ((s->flags & mdPinvokeImpl) != 0)
        return "it has no body: its code is native (P/Invoke)";
    if ((s->flags & mdUnmanagedExport) != 0)
        return "it is called by unmanaged code";
    if ((s->impl_flags & miAsync) != 0) /* its code leaves the value, not the task it promises */
        return "the runtime makes it asynchronous, so its code returns something else than it says";
    if ((s->type_flags & tdLayoutMask) == tdSequentialLayout)
        return "its type has sequential layout";
    if (s->is_value_type && cil_signature_has_this(s->signature->convention))
        return "it is an instance method of a value type";
    if ((s->signature->convention & CIL_CONVENTION_MASK) == CIL_CONVENTION_VARARG)
        return "it takes a variable list of arguments";
    if (s->signature->types[result].element == CIL_TYPE_BYREF)
        return "it returns by reference";
    if (s->signature->count > SHAPE_MOST_PARAMETERS)
        return "it has more than 1,024 parameters";
    return NULL;
}

const char *shape_body_refusal(const cil_body *body)
{
    return cil_has(body, CIL_JMP) ? "the method has `jmp`" : NULL;
}
