// Operands of wgmma: the sums of a thread as a list of the text and of the constraints.
#pragma once
#define SUMS_8 "%0, %1, %2, %3"
#define SUMS_16 SUMS_8 ", " \
    "%4, %5, %6, %7"
#define SUMS_24 SUMS_16 ", " \
    "%8, %9, %10, %11"
#define SUMS_32 SUMS_24 ", " \
    "%12, %13, %14, %15"
#define SUMS_48 SUMS_32 ", " \
    "%16, %17, %18, %19, %20, %21, %22, %23"
#define SUMS_64 SUMS_48 ", " \
    "%24, %25, %26, %27, %28, %29, %30, %31"
#define SUMS_96 SUMS_64 ", " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define SUMS_128 SUMS_96 ", " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SUMS_192 SUMS_128 ", " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, " \
    "%86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define SUMS_256 SUMS_192 ", " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, " \
    "%115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define SUM_4(c, d, i) c(d[i]), c(d[(i) + 1]), c(d[(i) + 2]), c(d[(i) + 3])
#define SUM_8(c, d, i) SUM_4(c, d, i), SUM_4(c, d, (i) + 4)
#define SUM_16(c, d, i) SUM_8(c, d, i), SUM_8(c, d, (i) + 8)
#define SUM_32(c, d, i) SUM_16(c, d, i), SUM_16(c, d, (i) + 16)
#define OF_8(c, d) SUM_4(c, d, 0)
#define OF_16(c, d) SUM_8(c, d, 0)
#define OF_24(c, d) OF_16(c, d), SUM_4(c, d, 8)
#define OF_32(c, d) SUM_16(c, d, 0)
#define OF_48(c, d) OF_32(c, d), SUM_8(c, d, 16)
#define OF_64(c, d) SUM_32(c, d, 0)
#define OF_96(c, d) OF_64(c, d), SUM_16(c, d, 32)
#define OF_128(c, d) OF_64(c, d), SUM_32(c, d, 32)
#define OF_192(c, d) OF_128(c, d), SUM_32(c, d, 64)
#define OF_256(c, d) OF_192(c, d), SUM_32(c, d, 96)
