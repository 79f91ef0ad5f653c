// Macros that compile hot host loops for several instruction sets.
#pragma once

// Compiles a function once for each instruction set; the program chooses the clone when it starts. All clones give the same bits,
// because work is element-wise in fixed SIMD lanes, without fused multiply-adds. The functions that such a loop calls for one element
// must be always_inline, or GCC calls one baseline copy of them from every clone.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(FEDHIVE_SANITIZED)
#define FEDHIVE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FEDHIVE_CLONES
#endif

// For loops in which element i depends on element i only: spans may be identical, but never overlap partly.
#if defined(__clang__)
#define FEDHIVE_ELEMENTWISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define FEDHIVE_ELEMENTWISE _Pragma("GCC ivdep")
#endif
