#pragma once
// Number types and macros of PyTorch that device code uses.
#if __has_include(<cuda_fp16.h>)
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
// PyTorch also marks variables with this macro, but NVRTC accepts `__host__` only on functions.
#define C10_HOST_DEVICE __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_ALWAYS_INLINE __forceinline__
#define C10_RESTRICT __restrict__
#define C10_UNUSED
#define C10_WARP_SIZE 32
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(threads)
#define C10_LAUNCH_BOUNDS_2(threads, ctas) __launch_bounds__(threads, ctas)
#define CUDA_KERNEL_ASSERT(condition) assert(condition)
#define TORCH_CHECK(...) ((void)0)
#define TORCH_INTERNAL_ASSERT(...) ((void)0)
#define AT_ASSERTM(...) ((void)0)
namespace c10 {
struct alignas(2) Half {
    struct from_bits_t {};
    __host__ __device__ static constexpr from_bits_t from_bits() { return {}; }
    unsigned short x;
    Half() = default;
    __host__ __device__ constexpr Half(unsigned short bits, from_bits_t) : x(bits) {}
    __device__ Half(float value) : x(__half_as_ushort(__float2half_rn(value))) {}
    __device__ Half(const __half &value) : x(__half_as_ushort(value)) {}
    __device__ operator float() const { return __half2float(__ushort_as_half(x)); }
    __device__ operator __half() const { return __ushort_as_half(x); }
};
struct alignas(2) BFloat16 {
    struct from_bits_t {};
    __host__ __device__ static constexpr from_bits_t from_bits() { return {}; }
    unsigned short x;
    BFloat16() = default;
    __host__ __device__ constexpr BFloat16(unsigned short bits, from_bits_t) : x(bits) {}
    __device__ BFloat16(float value) : x(__bfloat16_as_ushort(__float2bfloat16_rn(value))) {}
    __device__ BFloat16(const __nv_bfloat16 &value) : x(__bfloat16_as_ushort(value)) {}
    __device__ operator float() const { return __bfloat162float(__ushort_as_bfloat16(x)); }
    __device__ operator __nv_bfloat16() const { return __ushort_as_bfloat16(x); }
};
// Conversions round to nearest; numbers that are too large become NaN or infinity, as in PyTorch.
#define WARPSHARD_FLOAT8(Name, form) \
    struct alignas(1) Name { \
        struct from_bits_t {}; \
        __host__ __device__ static constexpr from_bits_t from_bits() { return {}; } \
        unsigned char x; \
        Name() = default; \
        __host__ __device__ constexpr Name(unsigned char bits, from_bits_t) : x(bits) {} \
        __device__ Name(float value) : x(__nv_cvt_float_to_fp8(value, __NV_NOSAT, form)) {} \
        __device__ operator float() const { return __half2float(__half(__nv_cvt_fp8_to_halfraw(x, form))); } \
    };
WARPSHARD_FLOAT8(Float8_e4m3fn, __NV_E4M3)
WARPSHARD_FLOAT8(Float8_e5m2, __NV_E5M2)
#undef WARPSHARD_FLOAT8
// Operations of one type, or of a type and integers, return that type; with other numbers they return the type of these numbers.
#define WARPSHARD_MIXED(Type, sign, Number, Result) \
    __device__ inline Result operator sign(const Type &a, Number b) { return float(a) sign float(b); } \
    __device__ inline Result operator sign(Number a, const Type &b) { return Result(a) sign float(b); }
#define WARPSHARD_OPERATOR(Type, sign) \
    __device__ inline Type operator sign(const Type &a, const Type &b) { return float(a) sign float(b); } \
    __device__ inline Type &operator sign##=(Type &a, const Type &b) { return a = a sign b; } \
    __device__ inline float &operator sign##=(float &a, const Type &b) { return a = a sign float(b); } \
    WARPSHARD_MIXED(Type, sign, float, float) \
    WARPSHARD_MIXED(Type, sign, double, double) \
    WARPSHARD_MIXED(Type, sign, int, Type) \
    WARPSHARD_MIXED(Type, sign, long, Type) \
    WARPSHARD_MIXED(Type, sign, long long, Type)
#define WARPSHARD_NUMBER(Type) \
    WARPSHARD_OPERATOR(Type, +) WARPSHARD_OPERATOR(Type, -) WARPSHARD_OPERATOR(Type, *) WARPSHARD_OPERATOR(Type, /) \
    __device__ inline Type operator-(const Type &a) { return -float(a); }
WARPSHARD_NUMBER(Half)
WARPSHARD_NUMBER(BFloat16)
WARPSHARD_NUMBER(Float8_e4m3fn)
WARPSHARD_NUMBER(Float8_e5m2)
#undef WARPSHARD_NUMBER
#undef WARPSHARD_OPERATOR
#undef WARPSHARD_MIXED
}
namespace at {
using c10::Half;
using c10::BFloat16;
using c10::Float8_e4m3fn;
using c10::Float8_e5m2;
template <typename T> struct OpMathType { using type = T; };
template <> struct OpMathType<Half> { using type = float; };
template <> struct OpMathType<BFloat16> { using type = float; };
template <> struct OpMathType<Float8_e4m3fn> { using type = float; };
template <> struct OpMathType<Float8_e5m2> { using type = float; };
template <typename T> using opmath_type = typename OpMathType<T>::type;
template <typename T, bool device> using acc_type = opmath_type<T>;
}
#if __has_include(<cuda/std/limits>)
#include <cuda/std/limits>
#define WARPSHARD_LIMITS(Type, least, most, small, endless, none) \
    template <> class cuda::std::numeric_limits<c10::Type> { \
      public: \
        static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false; \
        __host__ __device__ static constexpr c10::Type min() { return {small, c10::Type::from_bits()}; } \
        __host__ __device__ static constexpr c10::Type lowest() { return {least, c10::Type::from_bits()}; } \
        __host__ __device__ static constexpr c10::Type max() { return {most, c10::Type::from_bits()}; } \
        __host__ __device__ static constexpr c10::Type infinity() { return {endless, c10::Type::from_bits()}; } \
        __host__ __device__ static constexpr c10::Type quiet_NaN() { return {none, c10::Type::from_bits()}; } \
    };
WARPSHARD_LIMITS(Half, 0xfbff, 0x7bff, 0x0400, 0x7c00, 0x7e00)
WARPSHARD_LIMITS(BFloat16, 0xff7f, 0x7f7f, 0x0080, 0x7f80, 0x7fc0)
WARPSHARD_LIMITS(Float8_e4m3fn, 0xfe, 0x7e, 0x08, 0x7f, 0x7f)
WARPSHARD_LIMITS(Float8_e5m2, 0xfb, 0x7b, 0x04, 0x7c, 0x7f)
#undef WARPSHARD_LIMITS
#endif
#endif
