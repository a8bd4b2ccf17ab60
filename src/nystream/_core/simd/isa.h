/* Which instruction set the compiled kernels use, chosen once at import: one build serves every processor.
   A kernel lives in NAME_body.h, written against NAME(x) for its function names and V for the vector width, and is
   included once per instruction set by NAME_kernel.h (see ldl_kernel.h).  Other compilers and processors get the
   baseline.  NYSTREAM_ISA=plain|base|avx2|avx512 lowers the choice and never raises it: a level that the processor
   lacks gives the best below it; other values are refused (_core/__init__.py).  The tests use it to compare paths.
   "plain" is "base" except where a kernel keeps a copy in standard C for compilers without vector types.

   What is not standard C (vector types, attributes, builtins, pragmas of one compiler) stands behind ISA_VECTORS or
   ISA_X86; -DNYSTREAM_PLAIN_C turns both off, which is what other compilers see (tests/core/test_standard_c.py). */
#ifndef NYSTREAM_ISA_H
#define NYSTREAM_ISA_H
#include <stdlib.h>
#include <string.h>

/* Whether the compiler has GCC's vector types, attributes and builtins. */
#if (defined(__GNUC__) || defined(__clang__)) && !defined(NYSTREAM_PLAIN_C)
#define ISA_VECTORS 1
#else
#define ISA_VECTORS 0
#endif

/* Whether it can also compile for several instruction sets at once, and ask the processor (not clang-cl, which has no
   runtime library for that). */
#if ISA_VECTORS && defined(__x86_64__) && !defined(_MSC_VER) && !defined(NYSTREAM_NO_DISPATCH)
#define ISA_X86 1
#else
#define ISA_X86 0
#endif

/* ISA_BEGIN_AVX2 (or _AVX512) ... ISA_END: functions between them are compiled for that instruction set. */
#if ISA_X86 && defined(__clang__)
#define ISA_BEGIN_AVX2 _Pragma("clang attribute push(__attribute__((target(\"avx2,fma\"))), apply_to = function)")
#define ISA_BEGIN_AVX512 \
  _Pragma("clang attribute push(__attribute__((target(\"avx2,fma,avx512f,avx512dq,avx512vl\"))), apply_to = function)")
#define ISA_END _Pragma("clang attribute pop")
#elif ISA_X86
#define ISA_BEGIN_AVX2 _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma\")")
#define ISA_BEGIN_AVX512 \
  _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma,avx512f,avx512dq,avx512vl,prefer-vector-width=512\")")
#define ISA_END _Pragma("GCC pop_options")
#endif

enum { ISA_BASE = 0, ISA_AVX2 = 1, ISA_AVX512 = 2 };

static inline int isa_level(void) {
  int level = ISA_BASE;
#if ISA_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) level = ISA_AVX2;
  if (level == ISA_AVX2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
      && __builtin_cpu_supports("avx512vl")) level = ISA_AVX512;
#endif
  const char *want = getenv("NYSTREAM_ISA");
  if (want && (!strcmp(want, "base") || !strcmp(want, "plain"))) level = ISA_BASE;
  if (want && !strcmp(want, "avx2") && level > ISA_AVX2) level = ISA_AVX2;
  return level;
}

/* ISA_PICK(name, OPS) defines name_pick(): OPS(base), OPS(avx2) or OPS(avx512), a name_ops, as the level has it. */
#if ISA_X86
#define ISA_PICK(name, OPS)                                                          \
  static inline name##_ops name##_pick(void) {                                       \
    const name##_ops base = OPS(base), avx2 = OPS(avx2), avx512 = OPS(avx512);       \
    const int level = isa_level();                                                   \
    return level == ISA_AVX512 ? avx512 : level == ISA_AVX2 ? avx2 : base;           \
  }
/* The same for kernels without a copy for AVX-512. */
#define ISA_PICK_AVX2(name, OPS)                                    \
  static inline name##_ops name##_pick(void) {                      \
    const name##_ops base = OPS(base), avx2 = OPS(avx2);            \
    return isa_level() >= ISA_AVX2 ? avx2 : base;                   \
  }
#else
#define ISA_PICK(name, OPS)                    \
  static inline name##_ops name##_pick(void) { \
    const name##_ops base = OPS(base);         \
    return base;                               \
  }
#define ISA_PICK_AVX2 ISA_PICK
#endif
#endif
