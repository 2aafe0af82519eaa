#pragma once
typedef long ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
namespace std {
using ::ptrdiff_t; using ::size_t; using ::nullptr_t;
}
