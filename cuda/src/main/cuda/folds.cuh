/*
 * JCCL_FOLDS(FOLD) is FOLD(NUMBER, REDUCTION, ELEMENT, OPERATION) for each type and reduction; the
 * numbers are NCCL's.
 */
#pragma once

#include "elements.cuh"

#define JCCL_REDUCTIONS(FOLD, NUMBER, ...)  \
    FOLD(NUMBER, 0, __VA_ARGS__, jccl::Sum)  \
    FOLD(NUMBER, 1, __VA_ARGS__, jccl::Prod) \
    FOLD(NUMBER, 2, __VA_ARGS__, jccl::Max)  \
    FOLD(NUMBER, 3, __VA_ARGS__, jccl::Min)

#define JCCL_FOLDS(FOLD)                                \
    JCCL_REDUCTIONS(FOLD, 0, jccl::Integer<int8_t>)     \
    JCCL_REDUCTIONS(FOLD, 1, jccl::Integer<uint8_t>)    \
    JCCL_REDUCTIONS(FOLD, 2, jccl::Integer<int32_t>)    \
    JCCL_REDUCTIONS(FOLD, 3, jccl::Integer<uint32_t>)   \
    JCCL_REDUCTIONS(FOLD, 4, jccl::Integer<int64_t>)    \
    JCCL_REDUCTIONS(FOLD, 5, jccl::Integer<uint64_t>)   \
    JCCL_REDUCTIONS(FOLD, 6, jccl::Half)                \
    JCCL_REDUCTIONS(FOLD, 7, jccl::Float)               \
    JCCL_REDUCTIONS(FOLD, 8, jccl::Double)              \
    JCCL_REDUCTIONS(FOLD, 9, jccl::Bfloat)              \
    JCCL_REDUCTIONS(FOLD, 10, jccl::Float8<__NV_E4M3>)  \
    JCCL_REDUCTIONS(FOLD, 11, jccl::Float8<__NV_E5M2>)
