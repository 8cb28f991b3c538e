// The instruction sets that our vector code is compiled for; included before <hwy/foreach_target.h>.
//
// x86: SSE4 (the least that oneDNN asks for too), AVX2 and AVX-512; each further set would cost compile time and gain
// nothing for f32 arithmetic. Arm: NEON only: our code keeps vectors in arrays, which scalable vectors do not allow.
#pragma once

#include <hwy/detect_compiler_arch.h>

#if HWY_ARCH_X86
#define HWY_BASELINE_TARGETS HWY_SSE4
#endif
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
