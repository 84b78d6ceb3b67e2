/*
 * hooks_x64: from the runtime's fast enter, leave and tailcall hooks to C. See hooks.c.
 *
 * In (System V): enter has the function in r14, because the argument registers are the method's;
 * leave and tailcall have it in rdi. In (Windows): rcx. Everything a C function may destroy and a
 * method may need is kept: arguments at enter and tailcall, results (rax, rdx, xmm0, xmm1) at leave.
 */
#if defined(__x86_64__)

#if defined(_WIN32)
#define SHADOW 32
#else
#define SHADOW 0
#endif

        .text

.macro stub name, function, index
        .globl  \name
#if defined(_WIN32)
        .def    \name; .scl 2; .type 32; .endef
        .seh_proc \name
\name:
        pushq   %rbp
        .seh_pushreg %rbp
        movq    %rsp, %rbp
        .seh_setframe %rbp, 0
        .seh_endprologue
#else
        .hidden \name
        .type   \name, @function
        .p2align 4
\name:
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
#endif
        subq    $(9 * 8 + 8 + 8 * 16 + SHADOW), %rsp
        andq    $-16, %rsp
        movups  %xmm0, SHADOW + 0x00(%rsp)
        movups  %xmm1, SHADOW + 0x10(%rsp)
        movups  %xmm2, SHADOW + 0x20(%rsp)
        movups  %xmm3, SHADOW + 0x30(%rsp)
        movups  %xmm4, SHADOW + 0x40(%rsp)
        movups  %xmm5, SHADOW + 0x50(%rsp)
        movups  %xmm6, SHADOW + 0x60(%rsp)
        movups  %xmm7, SHADOW + 0x70(%rsp)
        movq    %rax, SHADOW + 0x80(%rsp)
        movq    %rcx, SHADOW + 0x88(%rsp)
        movq    %rdx, SHADOW + 0x90(%rsp)
        movq    %rsi, SHADOW + 0x98(%rsp)
        movq    %rdi, SHADOW + 0xa0(%rsp)
        movq    %r8, SHADOW + 0xa8(%rsp)
        movq    %r9, SHADOW + 0xb0(%rsp)
        movq    %r10, SHADOW + 0xb8(%rsp)
        movq    %r11, SHADOW + 0xc0(%rsp)
#if defined(_WIN32)
        leaq    clr_hook_targets(%rip), %rax
#else
        movq    \function, %rdi
        leaq    clr_hook_targets(%rip), %rax
#endif
        call    *(\index * 8)(%rax)
        movups  SHADOW + 0x00(%rsp), %xmm0
        movups  SHADOW + 0x10(%rsp), %xmm1
        movups  SHADOW + 0x20(%rsp), %xmm2
        movups  SHADOW + 0x30(%rsp), %xmm3
        movups  SHADOW + 0x40(%rsp), %xmm4
        movups  SHADOW + 0x50(%rsp), %xmm5
        movups  SHADOW + 0x60(%rsp), %xmm6
        movups  SHADOW + 0x70(%rsp), %xmm7
        movq    SHADOW + 0x80(%rsp), %rax
        movq    SHADOW + 0x88(%rsp), %rcx
        movq    SHADOW + 0x90(%rsp), %rdx
        movq    SHADOW + 0x98(%rsp), %rsi
        movq    SHADOW + 0xa0(%rsp), %rdi
        movq    SHADOW + 0xa8(%rsp), %r8
        movq    SHADOW + 0xb0(%rsp), %r9
        movq    SHADOW + 0xb8(%rsp), %r10
        movq    SHADOW + 0xc0(%rsp), %r11
        leave
#if defined(_WIN32)
        ret
        .seh_endproc
#else
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   \name, . - \name
#endif
.endm

        stub    clr_hook_stub_enter, %r14, 0
        stub    clr_hook_stub_leave, %rdi, 1
        stub    clr_hook_stub_tailcall, %rdi, 2

#if !defined(_WIN32)
        .hidden clr_hook_targets
#endif
#endif

#if defined(__ELF__)
        .section .note.GNU-stack, "", %progbits
#endif
