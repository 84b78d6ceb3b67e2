/*
 * hooks_arm64: from the runtime's fast enter, leave and tailcall hooks to C. See hooks.c.
 *
 * In: the function in x10. Kept: x0 to x8 and q0 to q7 (arguments, results), as the runtime asks,
 * and x9, x11 to x15 besides.
 */
#if defined(__aarch64__)

        .text

.macro stub name, index
        .globl  \name
        .hidden \name
        .type   \name, %function
        .p2align 4
\name:
        .cfi_startproc
        stp     x29, x30, [sp, #-272]!
        .cfi_def_cfa_offset 272
        .cfi_offset x29, -272
        .cfi_offset x30, -264
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        stp     x8, x9, [sp, #80]
        stp     x10, x11, [sp, #96]
        stp     x12, x13, [sp, #112]
        stp     x14, x15, [sp, #128]
        stp     q0, q1, [sp, #144]
        stp     q2, q3, [sp, #176]
        stp     q4, q5, [sp, #208]
        stp     q6, q7, [sp, #240]
        mov     x0, x10
        adrp    x9, clr_hook_targets
        add     x9, x9, :lo12:clr_hook_targets
        ldr     x9, [x9, #(\index * 8)]
        blr     x9
        ldp     q6, q7, [sp, #240]
        ldp     q4, q5, [sp, #208]
        ldp     q2, q3, [sp, #176]
        ldp     q0, q1, [sp, #144]
        ldp     x14, x15, [sp, #128]
        ldp     x12, x13, [sp, #112]
        ldp     x10, x11, [sp, #96]
        ldp     x8, x9, [sp, #80]
        ldp     x6, x7, [sp, #64]
        ldp     x4, x5, [sp, #48]
        ldp     x2, x3, [sp, #32]
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #272
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size   \name, . - \name
.endm

        stub    clr_hook_stub_enter, 0
        stub    clr_hook_stub_leave, 1
        stub    clr_hook_stub_tailcall, 2

        .hidden clr_hook_targets
#endif

#if defined(__ELF__)
        .section .note.GNU-stack, "", %progbits
#endif
