/* A matrix product that Tilewright has compiled, launched from C: builds with cuda.h and the driver's library alone.
 *
 * The bundle (examples/shipping.py makes one) has the tables, the loader and the code:
 *     cc -std=c99 -I bundle gemm.c bundle/tilewright.c -lcuda -o gemm && ./gemm bundle
 */
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>

enum { M = 2048, N = 4096, K = 1024, TILE_M = 128, TILE_N = 256 }; /* more blocks than a GPU has SMs */

static int failed(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    return 1;
}

/* Small integers are exact as bfloat16, whose bits are the upper half of a float's. */
static uint16_t bfloat16_of(float value) {
    union { float real; uint32_t bits; } both = {value};
    return (uint16_t)(both.bits >> 16);
}

static float float_of(uint16_t bits) {
    union { uint32_t bits; float real; } both = {(uint32_t)bits << 16};
    return both.real;
}

static int value_at(int row, int column) { return (3 * row + 5 * column) % 7 - 3; }

static CUdeviceptr uploaded(int rows, int columns) {
    size_t bytes = (size_t)rows * columns * 2;
    uint16_t *host = malloc(bytes);
    CUdeviceptr device = 0;
    for (int i = 0; i < rows * columns; i++) host[i] = bfloat16_of((float)value_at(i / columns, i % columns));
    if (cuMemAlloc(&device, bytes) || cuMemcpyHtoD(device, host, bytes)) device = 0;
    free(host);
    return device;
}

static int check(CUdeviceptr device) {
    uint16_t *host = malloc((size_t)M * N * 2);
    int wrong = 0;
    if (cuMemcpyDtoH(host, device, (size_t)M * N * 2)) return failed("copying the result", "the driver refused");
    for (int row = 0; row < M; row += 37)
        for (int column = 0; column < N; column += 41) {
            int sum = 0;
            for (int k = 0; k < K; k++) sum += value_at(row, k) * value_at(k, column);
            float got = float_of(host[row * N + column]), error = got - (float)sum;
            float allowed = (float)(sum < 0 ? -sum : sum) / 256.0f; /* bfloat16 has 8 bits of precision */
            wrong += error > allowed || error < -allowed;
        }
    free(host);
    return wrong ? failed("the product", "differs") : 0;
}

int main(int count, char **words) {
    const int64_t a_extents[] = {M, K}, b_extents[] = {K, N}, c_extents[] = {M, N}, odd[] = {M, N - 1};
    const char *folder = count > 1 ? words[1] : "bundle";
    CUdevice device;
    CUcontext context;
    CUdeviceptr a, b, c;
    tw_program program;
    tw_error error;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context))
        return failed("starting", "there is no GPU here");
    if (tw_load(&program, &kernels, folder, &error)) return failed("loading", error.text);
    a = uploaded(M, K), b = uploaded(K, N), c = uploaded(M, N);
    if (!a || !b || !c) return failed("copying", "the driver refused");

    tw_value values[] = {tw_array_of(a, a_extents, NULL), tw_array_of(b, b_extents, NULL), tw_array_of(c, c_extents, NULL)};
    if (tw_launch(&program, "matmul", (M + TILE_M - 1) / TILE_M, (N + TILE_N - 1) / TILE_N, 1, NULL, values, 3, &error))
        return failed("launching", error.text);
    if (cuCtxSynchronize()) return failed("the kernel", "failed");
    if (check(c)) return 1;
    printf("matmul %d x %d x %d is right\n", M, N, K);

    values[2] = tw_array_of(c, odd, NULL); /* what the code was not made for is refused, not computed wrongly */
    if (!tw_launch(&program, "matmul", 4, 3, 1, NULL, values, 3, &error)) return failed("a wrong extent", "was taken");
    printf("refused: %s\n", error.text);
    tw_unload(&program);
    return 0;
}
