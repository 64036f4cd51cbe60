/* Launches what the standard input asks for, by the C loader, on a driver that prints each launch instead.
 *
 * TABLE is the header of tables, NAME the table; the argument is the folder. A line of input: symbol x y z, then values:
 * a ADDRESS RANK extents strides, c ADDRESS RANK extents (no strides), i INTEGER, f FLOAT, l COUNT with so many arrays.
 * A line of output: the symbol, grid, threads, shared memory, and the bytes of each parameter; or what was refused.
 */
#include TABLE

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t numbers[4096];
static int used;

CUresult cuCtxGetDevice(CUdevice *device) { *device = 0; return CUDA_SUCCESS; }
CUresult cuCtxSynchronize(void) { return CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? MAJOR
             : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT   ? 132 : 0;
    return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, CUfunction function, int threads, size_t shared) {
    (void)function, (void)threads, (void)shared;
    *count = 2; /* as of fake_cuda */
    return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char **name) {
    *name = error == CUDA_ERROR_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_INVALID_IMAGE";
    return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr *pointer, size_t size) {
    *pointer = (CUdeviceptr)(uintptr_t)aligned_alloc(256, (size + 255) / 256 * 256);
    return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr pointer) { free((void *)(uintptr_t)pointer); return CUDA_SUCCESS; }
CUresult cuMemsetD8(CUdeviceptr pointer, unsigned char value, size_t count) {
    memset((void *)(uintptr_t)pointer, value, count);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr target, const void *source, size_t size, CUstream stream) {
    (void)stream;
    memcpy((void *)(uintptr_t)target, source, size);
    return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) { (void)stream; return CUDA_SUCCESS; }
CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    (void)image;
    *module = (CUmodule)&numbers[0];
    return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) { (void)module; return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    (void)module;
    for (int i = 0; i < NAME.kernel_count; i++)
        if (strcmp(NAME.kernels[i].symbol, name) == 0) *function = (CUfunction)&NAME.kernels[i];
    return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    printf("attribute %d %d of %s\n", (int)attribute, value, ((const tw_kernel *)(const void *)function)->symbol);
    return CUDA_SUCCESS;
}
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    /* The layout of fake_cuda.TensorMap. */
    static const unsigned char bytes[] = {1, 2, 4, 0, 8}, widths[] = {0, 32, 64, 128};
    unsigned char *out = (unsigned char *)map;
    (void)interleave, (void)promotion, (void)fill;
    if ((uintptr_t)map % 64 || (uintptr_t)address % 16) return CUDA_ERROR_INVALID_VALUE;
    memset(out, 0, 128);
    memcpy(out, &address, 8);
    out[8] = type == 11 ? 4 : bytes[type];
    out[9] = widths[swizzle];
    out[10] = (unsigned char)rank;
    memcpy(out + 11, dims, 8 * rank);
    memcpy(out + 51, strides, 8 * (rank - 1));
    for (unsigned k = 0; k < rank; k++) {
        uint16_t wide = (uint16_t)box[k];
        if (steps[k] != 1 || (k + 1 < rank && strides[k] % 16)) return CUDA_ERROR_INVALID_VALUE;
        memcpy(out + 83 + 2 * k, &wide, 2);
    }
    return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty, unsigned tz,
                        unsigned shared, CUstream stream, void **parameters, void **extra) {
    const tw_kernel *kernel = (const tw_kernel *)(const void *)function;
    (void)ty, (void)tz, (void)stream, (void)extra;
    printf("%s %u %u %u %u %u", kernel->symbol, x, y, z, tx, shared);
    for (int i = 0; i < kernel->parameter_count; i++) {
        printf(" ");
        for (int k = 0; k < kernel->parameters[i].bytes; k++) printf("%02x", ((unsigned char *)parameters[i])[k]);
    }
    printf("\n");
    for (int i = 0; i < kernel->parameter_count; i++) /* what a list's tables hold */
        if (kernel->parameters[i].part == TW_RECORDS || kernel->parameters[i].part == TW_MAP_TABLE) {
            const unsigned char *table;
            size_t size = kernel->parameters[i].part == TW_RECORDS ? 40 : 128;
            memcpy(&table, parameters[i], sizeof table);
            printf("table ");
            for (size_t k = 0; k < 2 * size; k++) printf("%02x", table[k]);
            printf("\n");
        }
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction function, void **parameters, void **extra) {
    if (c->numAttrs != 1 || c->attrs->id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ||
        c->attrs->value.programmaticStreamSerializationAllowed != 1)
        return CUDA_ERROR_INVALID_VALUE;
    printf("dependent ");
    return cuLaunchKernel(function, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
                          c->sharedMemBytes, c->hStream, parameters, extra);
}

static tw_array read_array(int with_strides) {
    tw_array array = {0};
    int rank = 0;
    if (scanf("%llu %d", &array.address, &rank) != 2) exit(3);
    array.extents = numbers + used;
    for (int k = 0; k < (with_strides ? 2 : 1) * rank; k++)
        if (scanf("%lld", (long long *)&numbers[used++]) != 1) exit(3);
    array.strides = with_strides ? array.extents + rank : NULL;
    return array;
}

int main(int count, char **words) {
    tw_program program;
    tw_error error;
    char symbol[256], kind[8];
    unsigned x, y, z;
    (void)count;
    if (tw_load(&program, &NAME, words[1], &error)) {
        printf("refused: %s\n", error.text);
        return 0;
    }
    while (scanf("%255s %u %u %u", symbol, &x, &y, &z) == 4) {
        tw_value values[16];
        static tw_array items[64];
        int number = 0, listed = 0;
        used = 0;
        while (scanf("%7s", kind) == 1 && kind[0] != ';') {
            long long integer;
            double real;
            if (kind[0] == 'a' || kind[0] == 'c') {
                tw_array array = read_array(kind[0] == 'a');
                values[number] = tw_array_of(array.address, array.extents, array.strides);
            } else if (kind[0] == 'i' && scanf("%lld", &integer) == 1) {
                values[number] = tw_int(integer);
            } else if (kind[0] == 'f' && scanf("%lf", &real) == 1) {
                values[number] = tw_float(real);
            } else if (kind[0] == 'l' && scanf("%lld", &integer) == 1) {
                size_t bytes = tw_workspace(&program, symbol, number, (int)integer);
                CUdeviceptr workspace;
                cuMemAlloc(&workspace, bytes);
                for (int k = 0; k < integer; k++) items[listed + k] = read_array(1);
                values[number] = tw_list(items + listed, (int)integer, workspace, bytes);
                listed += (int)integer;
            }
            number++;
        }
        if (tw_launch(&program, symbol, x, y, z, NULL, values, number, &error)) printf("refused: %s\n", error.text);
    }
    tw_unload(&program);
    return 0;
}
