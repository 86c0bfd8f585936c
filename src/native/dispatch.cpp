// Which instruction set the kernels run on: the best one there is, decided once.
#include <cstring>

#include "kernels.hpp"

namespace rboost {

extern const Kernels kernels_portable;
#ifdef RBOOST_X86
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

namespace {

const Kernels* best() {
#ifdef RBOOST_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return &kernels_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &kernels_avx2;
#endif
    return &kernels_portable;
}

const Kernels* chosen = best();

}  // namespace

const Kernels& kernels() { return *chosen; }

bool choose_instruction_set(const char* name) {
    const Kernels* available[] = {
        &kernels_portable,
#ifdef RBOOST_X86
        best() != &kernels_portable ? &kernels_avx2 : &kernels_portable,
        best() == &kernels_avx512 ? &kernels_avx512 : &kernels_portable,
#endif
    };
    for (const Kernels* table : available)
        if (std::strcmp(table->name, name) == 0) {
            chosen = table;
            return true;
        }
    return false;
}

}  // namespace rboost
