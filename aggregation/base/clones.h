// How hot loops of the host are compiled for several instruction sets.
#pragma once

// One function, one clone for each instruction set, chosen when the program starts. The clones give the same bits: element-wise work,
// fixed lanes, no contraction. Element bodies are always_inline, else GCC would call the one baseline copy of them from every clone.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(FEDHIVE_SANITIZED)
#define FEDHIVE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FEDHIVE_CLONES
#endif

// For loops whose spans may be the same (never partly overlapping): element i depends on element i only.
#if defined(__clang__)
#define FEDHIVE_ELEMENTWISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define FEDHIVE_ELEMENTWISE _Pragma("GCC ivdep")
#endif
