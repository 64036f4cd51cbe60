/* The loader of tilewright.h. SPDX-License-Identifier: Apache-2.0 */
#include "tilewright.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAP_BYTES 128
#define MAP_ALIGN 64
#define TABLE_ALIGN 128
#define PLAIN_SHARED_BYTES (48 * 1024)
/* A sliced axis wraps around 2^64 bytes: FAR steps of WRAP bytes lead back to where they began. */
#define FAR ((uint64_t)1 << 30)
#define WRAP ((uint64_t)1 << 34)
#define MOST 0x7FFF0000u

static int fail(tw_error *error, const char *format, ...) {
    va_list values;
    if (error != NULL) {
        va_start(values, format);
        vsnprintf(error->text, sizeof error->text, format, values);
        va_end(values);
    }
    return 1;
}

static int driver_fails(tw_error *error, const char *what, CUresult code) {
    const char *name = NULL;
    cuGetErrorName(code, &name);
    return fail(error, "%s failed: %s (%d)", what, name ? name : "unknown error", (int)code);
}

/* ---- SHA-256 (FIPS 180-4) ---- */

static uint32_t rotated(uint32_t word, int by) { return word >> by | word << (32 - by); }

static void sha256_block(uint32_t state[8], const unsigned char *block) {
    static const uint32_t K[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t low = rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t high = rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + low + w[i - 7] + high;
    }
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t high = rotated(v[4], 6) ^ rotated(v[4], 11) ^ rotated(v[4], 25);
        uint32_t first = v[7] + high + ((v[4] & v[5]) ^ (~v[4] & v[6])) + K[i] + w[i];
        uint32_t low = rotated(v[0], 2) ^ rotated(v[0], 13) ^ rotated(v[0], 22);
        uint32_t second = low + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += first;
        v[0] = first + second;
    }
    for (int i = 0; i < 8; i++) state[i] += v[i];
}

static void sha256(const unsigned char *data, size_t size, char text[65]) {
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char last[128] = {0};
    size_t whole = size / 64 * 64, rest = size - whole, ends = rest < 56 ? 64 : 128;
    for (size_t at = 0; at < whole; at += 64) sha256_block(state, data + at);
    memcpy(last, data + whole, rest);
    last[rest] = 0x80;
    for (int i = 0; i < 8; i++) last[ends - 1 - i] = (unsigned char)((uint64_t)size * 8 >> (8 * i));
    for (size_t at = 0; at < ends; at += 64) sha256_block(state, last + at);
    for (int i = 0; i < 8; i++) sprintf(text + 8 * i, "%08x", (unsigned)state[i]);
}

/* ---- loading ---- */

/* The bytes of a file with a zero behind them, to be freed; NULL and an error where it is not what was written. */
static char *checked_file(const char *folder, const tw_code *code, tw_error *error) {
    size_t length = strlen(folder) + strlen(code->file) + 2, size = 0, got;
    char *path = malloc(length), *data = NULL, found[65];
    FILE *file;
    if (path == NULL) {
        fail(error, "out of memory");
        return NULL;
    }
    snprintf(path, length, "%s/%s", folder, code->file);
    file = fopen(path, "rb");
    if (file == NULL) {
        fail(error, "%s cannot be read", path);
        free(path);
        return NULL;
    }
    do {
        char *more = realloc(data, size + 65536 + 1);
        if (more == NULL) break;
        data = more;
        got = fread(data + size, 1, 65536, file);
        size += got;
    } while (got > 0);
    fclose(file);
    if (data != NULL) {
        data[size] = 0;
        sha256((const unsigned char *)data, size, found);
        if (strcmp(found, code->sha256) != 0) {
            free(data);
            data = NULL;
        }
    }
    if (data == NULL) fail(error, "%s was damaged or changed after it was made: its digest does not fit", path);
    free(path);
    return data;
}

static int fits(const tw_code *code, int major, int minor) {
    if (code->exact) return code->major == major && code->minor == minor;
    if (code->ptx) return major > code->major || (major == code->major && minor >= code->minor);
    return major == code->major && minor >= code->minor;
}

static int load_code(tw_program *program, int number, const char *folder, tw_error *error) {
    const tw_code *code = &program->table->code[number];
    char *data = checked_file(folder, code, error);
    CUresult status;
    if (data == NULL) return 1;
    status = cuModuleLoadData(&program->modules[number], data);
    free(data);
    return status ? driver_fails(error, code->file, status) : 0;
}

static CUresult count_resident(const tw_kernel *kernel, CUfunction function, unsigned *count) {
    CUdevice device;
    int each = 0, processors = 0;
    CUresult status = cuCtxGetDevice(&device);
    if (!status) status = cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    if (!status) status = cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, function, kernel->threads, kernel->shared_bytes);
    *count = (unsigned)processors * (unsigned)(each > 1 ? each : 1);
    return status;
}

static int load_kernel(tw_program *program, int number, tw_error *error) {
    const tw_kernel *kernel = &program->table->kernels[number];
    CUfunction *function = &program->functions[number];
    CUresult status;
    if (program->modules[kernel->code] == NULL) return 0; /* it is for another GPU */
    status = cuModuleGetFunction(function, program->modules[kernel->code], kernel->symbol);
    if (!status && kernel->shared_bytes > PLAIN_SHARED_BYTES)
        status = cuFuncSetAttribute(*function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)kernel->shared_bytes);
    if (!status && kernel->looped) status = count_resident(kernel, *function, &program->resident[number]);
    return status ? driver_fails(error, kernel->symbol, status) : 0;
}

static int load_all(tw_program *program, const char *folder, tw_error *error) {
    const tw_table *table = program->table;
    CUdevice device;
    int major = 0, minor = 0, loaded = 0;
    CUresult status = cuCtxGetDevice(&device);
    if (!status) status = cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (!status) status = cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    if (!status) status = cuMemAlloc(&program->spare, 512);
    if (!status) status = cuMemsetD8(program->spare, 0, 512);
    if (!status) status = cuCtxSynchronize();
    if (status) return driver_fails(error, "preparing the device", status);
    for (int i = 0; i < table->code_count; i++) {
        if (!fits(&table->code[i], major, minor)) continue;
        if (load_code(program, i, folder, error)) return 1;
        loaded++;
    }
    if (!loaded) return fail(error, "there is no code for this GPU, of compute capability %d.%d", major, minor);
    for (int i = 0; i < table->kernel_count; i++)
        if (load_kernel(program, i, error)) return 1;
    return 0;
}

int tw_load(tw_program *program, const tw_table *table, const char *folder, tw_error *error) {
    memset(program, 0, sizeof *program);
    if (table->version < 1 || table->version > TW_TABLE_VERSION)
        return fail(error, "the tables have version %d, the loader is for versions 1 to %d", table->version, TW_TABLE_VERSION);
    program->table = table;
    program->modules = calloc((size_t)table->code_count + 1, sizeof *program->modules);
    program->functions = calloc((size_t)table->kernel_count + 1, sizeof *program->functions);
    program->resident = calloc((size_t)table->kernel_count + 1, sizeof *program->resident);
    if (program->modules == NULL || program->functions == NULL || program->resident == NULL
            ? fail(error, "out of memory") : load_all(program, folder, error)) {
        tw_unload(program);
        return 1;
    }
    return 0;
}

void tw_unload(tw_program *program) {
    if (program->table != NULL && program->modules != NULL)
        for (int i = 0; i < program->table->code_count; i++)
            if (program->modules[i] != NULL) cuModuleUnload(program->modules[i]);
    if (program->spare) cuMemFree(program->spare);
    free(program->modules);
    free(program->functions);
    free(program->resident);
    memset(program, 0, sizeof *program);
}

/* ---- values ---- */

tw_value tw_array_of(CUdeviceptr address, const int64_t *extents, const int64_t *strides) {
    tw_value value = {0};
    value.kind = TW_ARRAY;
    value.array.address = address;
    value.array.extents = extents;
    value.array.strides = strides;
    return value;
}

tw_value tw_int(int64_t number) {
    tw_value value = {0};
    value.kind = TW_SCALAR;
    value.integer = number;
    return value;
}

tw_value tw_float(double number) {
    tw_value value = {0};
    value.kind = TW_SCALAR;
    value.is_float = 1;
    value.real = number;
    return value;
}

tw_value tw_list(const tw_array *items, int length, CUdeviceptr workspace, size_t workspace_bytes) {
    tw_value value = {0};
    value.kind = TW_LIST;
    value.items = items;
    value.length = length;
    value.workspace = workspace;
    value.workspace_bytes = workspace_bytes;
    return value;
}

/* ---- checks ---- */

static void strides_of(const tw_argument *argument, const tw_array *array, int64_t *strides) {
    int64_t step = 1;
    for (int k = argument->rank - 1; k >= 0; k--) {
        strides[k] = array->strides != NULL ? array->strides[k] : step;
        step *= array->extents[k] > 1 ? array->extents[k] : 1;
    }
}

/* Whether strides that each step over all smaller axes show that no element is reached twice. */
static int is_disjoint(const tw_argument *argument, const tw_array *array, const int64_t *strides) {
    int64_t reach = 1;
    int done[TW_MAX_RANK] = {0}, empty = 0;
    for (int k = 0; k < argument->rank; k++) empty |= array->extents[k] == 0;
    for (int count = 0; count < argument->rank; count++) {
        int next = -1;
        for (int k = 0; k < argument->rank; k++)
            if (!done[k] && (next < 0 || strides[k] < strides[next] ||
                             (strides[k] == strides[next] && array->extents[k] < array->extents[next])))
                next = k;
        done[next] = 1;
        if (array->extents[next] == 1) continue;
        if (strides[next] < reach) return empty;
        reach = strides[next] * array->extents[next];
    }
    return 1;
}

/* The first and the last byte (not included) that an array may touch. */
static void span_of(const tw_argument *argument, const tw_array *array, int64_t *low, int64_t *high) {
    int64_t strides[TW_MAX_RANK], first = 0, last = 0;
    int empty = 0;
    strides_of(argument, array, strides);
    for (int k = 0; k < argument->rank; k++) {
        int64_t far = (array->extents[k] - 1) * strides[k];
        empty |= array->extents[k] == 0;
        *(far < 0 ? &first : &last) += far;
    }
    *low = (int64_t)array->address + first * argument->bytes;
    *high = empty ? *low : (int64_t)array->address + (last + 1) * argument->bytes;
}

static int check_axis(const tw_argument *a, int axis, const char *what, int64_t value, int64_t known, int64_t divisor,
                      tw_error *error) {
    if (a->index_bytes == 4 && (value < INT32_MIN || value > INT32_MAX))
        return fail(error, "argument '%s': %s %lld of axis %d does not fit int32", a->name, what, (long long)value, axis);
    if (known != TW_ANY && value != known)
        return fail(error, "argument '%s': %s of axis %d is %lld; the code is for %lld", a->name, what, axis,
                    (long long)value, (long long)known);
    if (value % divisor)
        return fail(error, "argument '%s': %s of axis %d is %lld, no multiple of %lld", a->name, what, axis,
                    (long long)value, (long long)divisor);
    return 0;
}

static int check_array(const tw_argument *a, const tw_array *array, tw_error *error) {
    int64_t strides[TW_MAX_RANK], low, high, first = 0;
    if (a->rank && array->extents == NULL) return fail(error, "argument '%s': its extents are missing", a->name);
    strides_of(a, array, strides);
    for (int k = 0; k < a->rank; k++) {
        const tw_axis *axis = &a->axes[k];
        if (array->extents[k] < 0)
            return fail(error, "argument '%s': extent %lld of axis %d is negative", a->name, (long long)array->extents[k], k);
        if (check_axis(a, k, "the extent", array->extents[k], axis->extent, axis->extent_divisor, error)) return 1;
        if (check_axis(a, k, "the stride", strides[k], axis->stride, axis->stride_divisor, error)) return 1;
        first += (array->extents[k] > 1 ? array->extents[k] - 1 : 0) * (strides[k] < 0 ? -strides[k] : strides[k]);
    }
    if (array->address % (unsigned)a->alignment)
        return fail(error, "argument '%s': its address %#llx is no multiple of %d", a->name,
                    (unsigned long long)array->address, a->alignment);
    if (a->disjoint && !is_disjoint(a, array, strides))
        return fail(error, "argument '%s': its strides may reach an element twice; the code is for arrays that do not",
                    a->name);
    if (a->small && (first + 1) * a->bytes >= ((int64_t)1 << 31))
        return fail(error, "argument '%s' spans 2 GiB or more; the code is for smaller arrays", a->name);
    span_of(a, array, &low, &high);
    return !array->address && high > low ? fail(error, "argument '%s': its address is 0", a->name) : 0;
}

static int check_scalar(const tw_argument *a, const tw_value *value, tw_error *error) {
    int64_t low = 0, high = INT64_MAX;
    if (value->is_float != (a->number == TW_FLOAT))
        return fail(error, "argument '%s' takes tw_%s", a->name, a->number == TW_FLOAT ? "float" : "int");
    if (a->number == TW_FLOAT || (a->number == TW_UINT && a->bytes == 8)) return 0; /* uint64: all bits are values */
    if (a->number == TW_BOOL) high = 1;
    else if (a->number == TW_INT) {
        high = (int64_t)(((uint64_t)1 << (8 * a->bytes - 1)) - 1);
        low = -high - 1;
    } else high = (int64_t)(((uint64_t)1 << (8 * a->bytes)) - 1);
    if (value->integer < low || value->integer > high)
        return fail(error, "argument '%s': %lld does not fit its %d bytes", a->name, (long long)value->integer, a->bytes);
    return 0;
}

static int is_equal(const tw_argument *a, const tw_array *x, const tw_array *y) {
    int64_t first[TW_MAX_RANK], second[TW_MAX_RANK];
    strides_of(a, x, first);
    strides_of(a, y, second);
    for (int k = 0; k < a->rank; k++)
        if (x->extents[k] != y->extents[k] || first[k] != second[k]) return 0;
    return x->address == y->address;
}

static int overlaps(const tw_argument *a, const tw_array *x, const tw_argument *b, const tw_array *y) {
    int64_t low, high, other_low, other_high;
    span_of(a, x, &low, &high);
    span_of(b, y, &other_low, &other_high);
    return low < high && other_low < other_high && low < other_high && other_low < high;
}

/* Arrays that the kernel writes share memory with no other argument, unless the code was made for that. */
static int check_sharing(const tw_kernel *kernel, const tw_value *values, tw_error *error) {
    for (int i = 0; i < kernel->argument_count; i++) {
        const tw_argument *a = &kernel->arguments[i];
        const tw_array *x = a->kind == TW_LIST ? values[i].items : &values[i].array;
        int x_count = a->kind == TW_LIST ? values[i].length : a->kind == TW_ARRAY;
        if (a->same_as >= 0 && !is_equal(a, &values[i].array, &values[a->same_as].array))
            return fail(error, "argument '%s' must be the same array as '%s'", a->name, kernel->arguments[a->same_as].name);
        for (int j = 0; j < i; j++) {
            const tw_argument *b = &kernel->arguments[j];
            const tw_array *y = b->kind == TW_LIST ? values[j].items : &values[j].array;
            int y_count = b->kind == TW_LIST ? values[j].length : b->kind == TW_ARRAY;
            if ((!a->written && !b->written) || a->same_as == j || (a->overlap && a->overlap == b->overlap)) continue;
            if (a->same_as >= 0 && a->same_as == b->same_as) continue;
            for (int m = 0; m < x_count; m++)
                for (int n = 0; n < y_count; n++)
                    if (overlaps(a, &x[m], b, &y[n]))
                        return fail(error, "arguments '%s' and '%s' overlap in memory; the code is for arrays that do not",
                                    b->name, a->name);
        }
    }
    return 0;
}

static int check_values(const tw_kernel *kernel, const tw_value *values, int count, tw_error *error) {
    static const char *const MADE_BY[] = {"tw_int or tw_float", "tw_array_of", "tw_list"};
    if (count != kernel->argument_count)
        return fail(error, "kernel %s takes %d arguments, but %d were given", kernel->symbol, kernel->argument_count, count);
    for (int i = 0; i < count; i++) {
        const tw_argument *a = &kernel->arguments[i];
        if (values[i].kind != a->kind) return fail(error, "argument '%s' takes %s", a->name, MADE_BY[a->kind]);
        if (a->kind == TW_SCALAR && check_scalar(a, &values[i], error)) return 1;
        if (a->kind == TW_ARRAY && check_array(a, &values[i].array, error)) return 1;
        if (a->kind == TW_LIST && values[i].length < 1) return fail(error, "argument '%s' is an empty list", a->name);
        for (int k = 0; a->kind == TW_LIST && k < values[i].length; k++)
            if (check_array(a, &values[i].items[k], error)) return 1;
    }
    return check_sharing(kernel, values, error);
}

/* ---- tensor maps ---- */

static int encode_map(const tw_program *program, const tw_argument *a, const tw_map *map, const tw_array *array,
                      void *out, tw_error *error) {
    cuuint64_t dims[5], steps[5];
    cuuint32_t box[5], ones[5] = {1, 1, 1, 1, 1};
    int64_t strides[TW_MAX_RANK], size = a->bytes, rank = map->rank, inner = array->extents[map->axes[0]];
    int64_t valid = ((inner > 1 ? inner : 1) * size + 15) / 16 * 16; /* the stride of an axis that nobody moves along */
    CUdeviceptr address = array->address;
    CUresult status;
    int empty = 0;
    strides_of(a, array, strides);
    for (int k = 0; k < map->rank; k++) empty |= array->extents[map->axes[k]] == 0;
    for (int k = 0; k < map->rank + 2 * map->clip_count; k++) {
        int clip = k < map->rank ? 0 : (k - map->rank) / 2, axis = k < map->rank ? map->axes[k] : map->clips[clip];
        int is_clip = 0;
        uint64_t step = (uint64_t)(empty || array->extents[axis] == 1 ? valid : strides[axis] * size);
        for (int c = 0; c < map->clip_count; c++) is_clip |= map->clips[c] == axis;
        if (k < map->rank) {
            dims[k] = is_clip && !empty ? FAR : (uint64_t)array->extents[axis];
            if (k) steps[k - 1] = step;
            box[k] = map->box[k];
        } else {
            int second = (k - map->rank) % 2;
            dims[k] = second ? MOST : (uint64_t)array->extents[axis] + 1;
            steps[k - 1] = second ? WRAP - step : step;
            box[k] = 1;
        }
    }
    rank += 2 * map->clip_count;
    if (empty) { /* a map has no extent 0: one zero, or for stores a place where nobody reads */
        address = program->spare + (map->stored ? 256 : 0);
        for (int k = 0; k < rank; k++) dims[k] = 1;
    }
    status = cuTensorMapEncodeTiled((CUtensorMap *)out, (CUtensorMapDataType)map->element, (cuuint32_t)rank,
                                    (void *)(uintptr_t)address, dims, steps, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                    (CUtensorMapSwizzle)map->swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status) {
        char what[256];
        snprintf(what, sizeof what, "making a tensor map of argument '%s'", a->name);
        return driver_fails(error, what, status);
    }
    return 0;
}

/* ---- lists ---- */

static size_t rounded(size_t size) { return (size + TABLE_ALIGN - 1) / TABLE_ALIGN * TABLE_ALIGN; }

static size_t table_bytes(const tw_kernel *kernel, int argument, int length) {
    size_t bytes = rounded((size_t)length * (1 + 2 * (size_t)kernel->arguments[argument].rank) * 8);
    for (int i = 0; i < kernel->parameter_count; i++)
        if (kernel->parameters[i].part == TW_MAP_TABLE && kernel->parameters[i].argument == argument)
            bytes += rounded((size_t)length * MAP_BYTES);
    return bytes;
}

/* Fill a list's workspace: its records, then its tables of tensor maps in the order of the parameters. */
static int copy_tables(const tw_program *program, const tw_kernel *kernel, int number, const tw_value *value,
                       CUstream stream, tw_error *error) {
    const tw_argument *a = &kernel->arguments[number];
    size_t bytes = table_bytes(kernel, number, value->length), at = rounded((size_t)value->length * (1 + 2 * (size_t)a->rank) * 8);
    char *memory, *table;
    int64_t *record, strides[TW_MAX_RANK];
    CUresult status;
    if (value->workspace % TABLE_ALIGN || value->workspace_bytes < bytes)
        return fail(error, "argument '%s': its workspace must have %zu bytes at a multiple of %d", a->name, bytes, TABLE_ALIGN);
    memory = calloc(1, bytes + MAP_ALIGN);
    if (memory == NULL) return fail(error, "out of memory");
    table = (char *)(((uintptr_t)memory + MAP_ALIGN - 1) / MAP_ALIGN * MAP_ALIGN);
    record = (int64_t *)table;
    for (int k = 0; k < value->length; k++) {
        const tw_array *array = &value->items[k];
        strides_of(a, array, strides);
        *record++ = (int64_t)array->address;
        for (int axis = 0; axis < a->rank; axis++) *record++ = array->extents[axis];
        for (int axis = 0; axis < a->rank; axis++) *record++ = strides[axis];
    }
    for (int i = 0; i < kernel->parameter_count; i++) {
        const tw_parameter *p = &kernel->parameters[i];
        if (p->part != TW_MAP_TABLE || p->argument != number) continue;
        for (int k = 0; k < value->length; k++)
            if (encode_map(program, a, p->map, &value->items[k], table + at + (size_t)k * MAP_BYTES, error)) {
                free(memory);
                return 1;
            }
        at += rounded((size_t)value->length * MAP_BYTES);
    }
    status = cuMemcpyHtoDAsync(value->workspace, table, bytes, stream);
    if (!status) status = cuStreamSynchronize(stream); /* the memory of the copy is freed here */
    free(memory);
    return status ? driver_fails(error, "copying a list's table", status) : 0;
}

size_t tw_workspace(const tw_program *program, const char *symbol, int argument, int length) {
    for (int i = 0; i < program->table->kernel_count; i++)
        if (strcmp(program->table->kernels[i].symbol, symbol) == 0)
            return table_bytes(&program->table->kernels[i], argument, length);
    return 0;
}

/* ---- launch ---- */

static void pack_number(const tw_argument *a, const tw_value *value, void *slot) {
    float narrow = (float)value->real;
    if (!value->is_float) memcpy(slot, &value->integer, 8); /* little endian: the low bytes come first */
    else if (a->bytes == 4) memcpy(slot, &narrow, 4);
    else memcpy(slot, &value->real, 8);
}

static int pack(const tw_program *program, const tw_kernel *kernel, const tw_value *values, const unsigned *grid,
                uint64_t *slots, void **table, char *maps, tw_error *error) {
    size_t table_at[TW_MAX_PARAMETERS] = {0}; /* where the next table of tensor maps of each list begins */
    int map_count = 0;
    for (int i = 0; i < kernel->parameter_count; i++) {
        const tw_parameter *p = &kernel->parameters[i];
        const tw_argument *a = p->argument >= 0 ? &kernel->arguments[p->argument] : NULL;
        const tw_value *value = p->argument >= 0 ? &values[p->argument] : NULL;
        int64_t strides[TW_MAX_RANK];
        table[i] = &slots[i];
        slots[i] = 0;
        switch (p->part) {
        case TW_POINTER: slots[i] = value->array.address; break;
        case TW_EXTENT: slots[i] = (uint64_t)value->array.extents[p->axis]; break;
        case TW_STRIDE:
            strides_of(a, &value->array, strides);
            slots[i] = (uint64_t)strides[p->axis];
            break;
        case TW_VALUE: pack_number(a, value, &slots[i]); break;
        case TW_RECORDS: slots[i] = value->workspace; break;
        case TW_LENGTH: slots[i] = (uint64_t)value->length; break;
        case TW_MAP_TABLE:
            if (!table_at[p->argument])
                table_at[p->argument] = rounded((size_t)value->length * (1 + 2 * (size_t)a->rank) * 8);
            slots[i] = value->workspace + table_at[p->argument];
            table_at[p->argument] += rounded((size_t)value->length * MAP_BYTES);
            break;
        case TW_GRID: slots[i] = grid[p->axis]; break;
        case TW_MAP:
            table[i] = maps + MAP_BYTES * map_count++;
            if (encode_map(program, a, p->map, &value->array, table[i], error)) return 1;
            break;
        }
    }
    return 0;
}

/* The hardware's grid. */
static int grid_of(const tw_kernel *kernel, unsigned resident, const unsigned *blocks, unsigned *grid, tw_error *error) {
    uint64_t plane = (uint64_t)blocks[0] * blocks[1];
    for (int k = 0; k < 3; k++)
        if (blocks[k] > TW_MAX_BLOCKS) return fail(error, "the grid has more than %d blocks along %c", TW_MAX_BLOCKS, "xyz"[k]);
    if (kernel->looped) {
        if (plane > MOST || plane * blocks[2] > 0x7FFFFFFF - resident)
            return fail(error, "the grid has more blocks than this kernel can number, %u", 0x7FFFFFFF - resident);
        grid[0] = plane * blocks[2] < resident ? (unsigned)plane * blocks[2] : resident;
        grid[1] = grid[2] = 1;
        return 0;
    }
    if (blocks[1] > 65535 || blocks[2] > 65535) return fail(error, "the grid has more than 65535 blocks along y or z");
    if ((uint64_t)blocks[0] * (unsigned)kernel->cluster > 0x7FFFFFFF) return fail(error, "the grid has too many blocks along x");
    grid[0] = blocks[0] * (unsigned)kernel->cluster, grid[1] = blocks[1], grid[2] = blocks[2];
    return 0;
}

static CUresult queue(const tw_kernel *kernel, CUfunction function, const unsigned *grid, CUstream stream, void **table) {
    CUlaunchAttribute attribute;
    CUlaunchConfig config;
    if (!kernel->dependent)
        return cuLaunchKernel(function, grid[0], grid[1], grid[2], (unsigned)kernel->threads, 1, 1, kernel->shared_bytes,
                              stream, table, NULL);
    memset(&attribute, 0, sizeof attribute);
    memset(&config, 0, sizeof config);
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    config.gridDimX = grid[0], config.gridDimY = grid[1], config.gridDimZ = grid[2];
    config.blockDimX = (unsigned)kernel->threads, config.blockDimY = 1, config.blockDimZ = 1;
    config.sharedMemBytes = kernel->shared_bytes, config.hStream = stream;
    config.attrs = &attribute, config.numAttrs = 1;
    return cuLaunchKernelEx(&config, function, table, NULL);
}

int tw_launch(const tw_program *program, const char *symbol, unsigned x, unsigned y, unsigned z, CUstream stream,
              const tw_value *values, int count, tw_error *error) {
    uint64_t slots[TW_MAX_PARAMETERS];
    void *table[TW_MAX_PARAMETERS];
    char memory[TW_MAX_MAPS * MAP_BYTES + MAP_ALIGN];
    char *maps = (char *)(((uintptr_t)memory + MAP_ALIGN - 1) / MAP_ALIGN * MAP_ALIGN);
    unsigned blocks[3] = {x, y, z}, grid[3] = {0}, resident = 0;
    const tw_kernel *kernel = NULL;
    CUfunction function = NULL;
    CUresult status;
    for (int i = 0; i < program->table->kernel_count && function == NULL; i++)
        if (strcmp(program->table->kernels[i].symbol, symbol) == 0) {
            kernel = &program->table->kernels[i];
            function = program->functions[i];
            resident = program->resident[i];
        }
    if (kernel == NULL) return fail(error, "there is no kernel %s", symbol);
    if (function == NULL) return fail(error, "kernel %s was compiled for other GPUs than this one", symbol);
    if (check_values(kernel, values, count, error)) return 1;
    if (grid_of(kernel, resident, blocks, grid, error)) return 1;
    if (!x || !y || !z) return 0;
    for (int i = 0; i < count; i++)
        if (kernel->arguments[i].kind == TW_LIST && copy_tables(program, kernel, i, &values[i], stream, error)) return 1;
    if (pack(program, kernel, values, blocks, slots, table, maps, error)) return 1;
    status = queue(kernel, function, grid, stream, table);
    return status ? driver_fails(error, symbol, status) : 0;
}
