/*
 * api_error: an error of the library as the SDK tells it: a result code, and the reason as text.
 */
#ifndef CLARINET_CIL_API_ERROR_H
#define CLARINET_CIL_API_ERROR_H

#include "base/buffer.h"
#include "base/error.h"
#include "clarinet/hresults.h"
#include "clarinet/text.h"

/* `code` is what a function of the library returned with *e; `why` may be NULL. */
static inline HRESULT api_result(int code, const error *e, clr_text *why)
{
    if (code == 0)
        return S_OK;
    if (why != NULL)
        buffer_append_text(why, e->message);
    switch (code) {
    case ERROR_MEMORY:
        return E_OUTOFMEMORY;
    case ERROR_UNSUPPORTED:
    case ERROR_LIMIT:
        return E_NOTIMPL;
    default:
        return COR_E_BADIMAGEFORMAT;
    }
}

#endif
