//! Replacement headers for standard headers as far as device code uses them, and the packages that contain other headers.

/// C headers that NVRTC lacks, reduced to the parts that device code uses. NVRTC itself provides `assert`, `printf`, mathematical
/// functions, `size_t` and `clock_t`.
pub(super) const C_HEADERS: [(&[&str], &str); 8] = [
    (&["stdint.h", "cstdint", "inttypes.h", "cinttypes"], include_str!("include/stdint.h")),
    (&["limits.h", "climits"], include_str!("include/limits.h")),
    (&["float.h", "cfloat"], include_str!("include/float.h")),
    (&["math.h", "cmath", "math_functions.h"], include_str!("include/math.h")),
    (&["stddef.h", "cstddef"], include_str!("include/stddef.h")),
    (&["sys/types.h"], include_str!("include/types.h")),
    (&["cuda.h"], include_str!("include/cuda.h")),
    // The libraries' headers include the same headers.
    (&["cublas_v2.h", "cublas.h", "cublasLt.h", "cublasXt.h"], include_str!("include/cublas.h")),
];

/// C and C++ headers that are replaced by empty files: device code uses no part of them, or NVRTC provides it.
pub(super) const EMPTY_HEADERS: [&str; 95] = [
    "assert.h",
    "cassert",
    "stdio.h",
    "cstdio",
    "stdlib.h",
    "cstdlib",
    "string.h",
    "cstring",
    "time.h",
    "ctime",
    "ctype.h",
    "cctype",
    "errno.h",
    "cerrno",
    "error.h",
    "signal.h",
    "csignal",
    "setjmp.h",
    "stdarg.h",
    "cstdarg",
    "stdbool.h",
    "memory.h",
    "malloc.h",
    "unistd.h",
    "getopt.h",
    "fcntl.h",
    "pthread.h",
    "omp.h",
    "windows.h",
    "sys/time.h",
    "sys/stat.h",
    "sys/mman.h",
    "sys/utsname.h",
    "sys/wait.h",
    "sys/resource.h",
    "iostream",
    "fstream",
    "sstream",
    "iomanip",
    "ostream",
    "istream",
    "ios",
    "string",
    "vector",
    "map",
    "set",
    "unordered_map",
    "unordered_set",
    "list",
    "deque",
    "queue",
    "stack",
    "thread",
    "mutex",
    "future",
    "condition_variable",
    "random",
    "stdexcept",
    "exception",
    "typeinfo",
    "typeindex",
    "filesystem",
    "regex",
    "locale",
    "system_error",
    "string_view",
    "any",
    "cuda_profiler_api.h",
    "device_launch_parameters.h",
    "helper_cuda.h",
    "helper_functions.h",
    "helper_timer.h",
    "dlfcn.h",
    "strings.h",
    "iosfwd",
    "x86intrin.h",
    "immintrin.h",
    "emmintrin.h",
    "intrin.h",
    "cpuid.h",
    "ciso646",
    "cfenv",
    "fenv.h",
    "dirent.h",
    "sys/syscall.h",
    "sys/socket.h",
    "sys/un.h",
    "sys/ioctl.h",
    "cudaTypedefs.h",
    "helper_string.h",
    "helper_image.h",
    "streambuf",
    "source_location",
    "cinttypes.h",
    "cxxabi.h",
];

/// C++ headers that libcu++ provides in the namespace `cuda::std`, each with its header there. Version 2 of the libcu++ package has
/// algorithms in `__algorithm_`, version 3 in `algorithm`.
pub(super) const CPP_HEADERS: [(&str, &str); 22] = [
    ("type_traits", "type_traits"),
    ("utility", "utility"),
    ("limits", "limits"),
    ("tuple", "tuple"),
    ("array", "array"),
    ("functional", "functional"),
    ("algorithm", "__algorithm_"),
    ("numeric", "numeric"),
    ("complex", "complex"),
    ("iterator", "iterator"),
    ("optional", "optional"),
    ("variant", "variant"),
    ("initializer_list", "initializer_list"),
    ("memory", "utility"),
    ("new", "utility"),
    ("bit", "bit"),
    ("bitset", "bitset"),
    ("chrono", "chrono"),
    ("ratio", "ratio"),
    ("concepts", "concepts"),
    ("span", "span"),
    ("atomic", "atomic"),
];

/// C headers that libcu++ provides, each with its header there. With libcu++ they replace the headers in [`C_HEADERS`], which would declare the
/// same types again.
pub(super) const LIBCU_C_HEADERS: [(&str, &str); 6] = [
    ("stdint.h", "cstdint"),
    ("cstdint", "cstdint"),
    ("inttypes.h", "cstdint"),
    ("cinttypes", "cstdint"),
    ("stddef.h", "cstddef"),
    ("cstddef", "cstddef"),
];

/// Replacement for CUB's umbrella header, whose host parts NVRTC rejects: it contains the CTA and warp parts of CUB.
pub(super) const CUB_HEADER: &str = include_str!("include/cub.cuh");

/// Replacement header with the number types and macros of PyTorch that device code uses.
pub(super) const TORCH_TYPES_HEADER: &str = include_str!("include/c10.h");

/// Folders of host libraries whose headers include most of the C++ standard library.
pub(super) const HOST_LIBRARY_FOLDERS: [&str; 4] = ["torch/", "ATen/", "c10/", "cudnn_frontend"];

/// Returns the package that contains a header, or `None`.
pub(super) fn package(header: &str) -> Option<&'static str> {
    const HEADER_PACKAGES: [(&[&str], &str); 5] = [
        (&["cuda/", "cub/", "thrust/", "nv/"], "nvidia-cuda-cccl-cu12"),
        (&["crt/", "mma.h"], "nvidia-cuda-nvcc-cu12"),
        (&["curand"], "nvidia-curand-cu12"),
        (&["cufft"], "nvidia-cufft-cu12"),
        (&["cuda_", "cooperative_groups", "cuda.h", "math_constants.h", "vector_types.h", "driver_types.h"], "nvidia-cuda-runtime-cu12"),
    ];
    HEADER_PACKAGES.iter().find(|(names, _)| names.iter().any(|name| header.starts_with(name))).map(|(_, package)| *package)
}
