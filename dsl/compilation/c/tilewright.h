/* Loads and launches kernels that Tilewright has compiled: C99, on CUDA's driver API alone.
 *
 * A header of tables, which Tilewright writes beside the code, says what each kernel takes. tw_load reads the code and
 * checks its digest; tw_launch checks every argument against what the code relies on, packs them, makes tensor maps,
 * and launches. Each function returns 0, or 1 and says why in a tw_error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TILEWRIGHT_H
#define TILEWRIGHT_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_TABLE_VERSION 2 /* tables of version 1 can be used, too */
#define TW_MAX_BLOCKS 0xFFFFFF /* along an axis of a grid */
#define TW_ANY INT64_MIN /* an extent or a stride of which nothing is known */
#define TW_MAX_RANK 16
#define TW_MAX_PARAMETERS 512
#define TW_MAX_MAPS 24

/* ---- tables, which Tilewright generates ---- */

typedef enum { TW_SCALAR, TW_ARRAY, TW_LIST } tw_kind;
typedef enum { TW_INT, TW_UINT, TW_BOOL, TW_FLOAT, TW_BITS } tw_number; /* TW_BITS: a narrow float, passed as its bits */

/* One axis of an array: its extent and stride where the code has them as constants, else what divides them. */
typedef struct { int64_t extent, stride, extent_divisor, stride_divisor; } tw_axis;

/* One argument. `bytes`: of a scalar or an element; `index_bytes`: of extents and strides. The code relies on addresses
 * that are multiples of `alignment`, if `disjoint` on strides that reach no element twice, if `small` on byte offsets
 * below 2^31. Arguments with the same `overlap`, if it is not 0, may share memory; `same_as`: which one it must equal. */
typedef struct {
    const char *name;
    tw_kind kind;
    tw_number number;
    int bytes, rank, index_bytes, alignment, disjoint, small, written, overlap, same_as;
    const tw_axis *axes;
} tw_argument;

/* How to encode a tensor map of an argument: the numbers are those of cuda.h. Dimension k is axis axes[k] of the array;
 * `clips` are axes that are sliced in the kernel, each of which has two dimensions more. */
typedef struct {
    int argument, element, swizzle, rank, clip_count, stored;
    int axes[5];
    uint32_t box[5];
    int clips[2];
} tw_map;

typedef enum {
    TW_POINTER, TW_EXTENT, TW_STRIDE, TW_VALUE, TW_RECORDS, TW_LENGTH, TW_MAP, TW_MAP_TABLE, TW_GRID
} tw_part;

/* One parameter of the compiled kernel, in order. */
typedef struct { tw_part part; int argument, axis, bytes; const tw_map *map; } tw_parameter;

typedef struct {
    const char *symbol, *kernel;
    int code, threads, cluster;
    int dependent; /* a launch may start while the kernel before it on its stream runs */
    unsigned shared_bytes;
    const tw_argument *arguments;
    int argument_count;
    const tw_parameter *parameters;
    int parameter_count;
    int looped; /* CTAs, in a grid of one axis, loop over the blocks of a launch: as many as fit the GPU are enough */
} tw_kernel;

/* One file of code: for GPUs of compute capability major.minor; `exact`: for no other. PTX runs on later ones too. */
typedef struct { const char *file; const char *sha256; int ptx, major, minor, exact; } tw_code;

typedef struct {
    int version;
    const tw_code *code;
    int code_count;
    const tw_kernel *kernels;
    int kernel_count;
} tw_table;

/* ---- use ---- */

typedef struct { char text[512]; } tw_error;

/* Code that is loaded into the current context. */
typedef struct {
    const tw_table *table;
    CUmodule *modules;
    CUfunction *functions;
    unsigned *resident; /* how many CTAs of each looped kernel the GPU runs at once; fewer leave SMs to others */
    CUdeviceptr spare; /* 256 zeros, then 256 bytes that nobody reads: what tensor maps of empty arrays describe */
} tw_program;

/* An array on the device: extents, and strides in elements; strides 0: contiguous in C order. */
typedef struct { CUdeviceptr address; const int64_t *extents, *strides; } tw_array;

/* A value for an argument: made by one of the functions below. */
typedef struct {
    tw_kind kind;
    tw_array array;
    int is_float;
    int64_t integer;
    double real;
    const tw_array *items;
    int length;
    CUdeviceptr workspace;
    size_t workspace_bytes;
} tw_value;

tw_value tw_array_of(CUdeviceptr address, const int64_t *extents, const int64_t *strides);
tw_value tw_int(int64_t value); /* an int, a bool, or the bits of a float narrower than 32 bits */
tw_value tw_float(double value);
/* A list of arrays. Its records and tensor maps are copied into the workspace, tw_workspace(...) bytes on the device at a
 * multiple of 128, which must stay as they are until the kernel has ended. */
tw_value tw_list(const tw_array *items, int length, CUdeviceptr workspace, size_t workspace_bytes);
size_t tw_workspace(const tw_program *program, const char *symbol, int argument, int length);

/* Load all code for this device from the folder; the context must be current, now and in all later calls. */
int tw_load(tw_program *program, const tw_table *table, const char *folder, tw_error *error);
void tw_unload(tw_program *program);

/* Queue a kernel on a stream over a grid of x * y * z blocks, with one value for each run-time argument, in order. */
int tw_launch(const tw_program *program, const char *symbol, unsigned x, unsigned y, unsigned z, CUstream stream,
              const tw_value *values, int count, tw_error *error);

#ifdef __cplusplus
}
#endif
#endif
