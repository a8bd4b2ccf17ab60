/* Decimal numbers as text to the nearest double, by Lemire's method (Number Parsing at a Gigabyte per Second, 2021):
   the significand times a 128-bit power of five; what that cannot settle is left to the caller.

   `decimal_powers` holds the leading 128 bits of 5^q, q from DECIMAL_LEAST on, high word first; below 0 rounded up. */
#ifndef NYSTREAM_DECIMAL_H
#define NYSTREAM_DECIMAL_H
#include "isa.h"
#include <stdint.h>
#include <string.h>

#define DECIMAL_LEAST (-60)
#define DECIMAL_MOST 60

static uint64_t decimal_powers[2 * (DECIMAL_MOST - DECIMAL_LEAST + 1)];

typedef enum { DECIMAL_NONE, DECIMAL_DONE, DECIMAL_HARD } decimal_outcome;

static inline void decimal_multiply(uint64_t a, uint64_t b, uint64_t *high, uint64_t *low) {
#if ISA_VECTORS && defined(__SIZEOF_INT128__)
  const unsigned __int128 product = (unsigned __int128)a * b;
  *high = (uint64_t)(product >> 64);
  *low = (uint64_t)product;
#else
  const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + ((a0 * b0) >> 32);
  const uint64_t rest = a0 * b1 + (uint32_t)middle;
  *high = a1 * b1 + (middle >> 32) + (rest >> 32);
  *low = (rest << 32) | (uint32_t)(a0 * b0);
#endif
}

static inline int decimal_zeros(uint64_t w) { /* before the first bit; w is not 0 */
#if ISA_VECTORS
  return __builtin_clzll(w);
#else
  int n = 0;
  while (!(w >> 63)) w <<= 1, n++;
  return n;
#endif
}

/* w 10^q, w > 0, to the nearest double, or DECIMAL_HARD. */
static inline decimal_outcome decimal_nearest(uint64_t w, int q, double *value) {
  static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  uint64_t high, low, more, least, bits;
  int zeros, upper, power;
  if (w <= ((uint64_t)1 << 53) && -22 <= q && q <= 22) { /* both are doubles: one rounding */
    *value = q < 0 ? (double)w / tens[-q] : (double)w * tens[q];
    return DECIMAL_DONE;
  }
  if (q < DECIMAL_LEAST || q > DECIMAL_MOST) return DECIMAL_HARD;
  zeros = decimal_zeros(w);
  w <<= zeros;
  decimal_multiply(w, decimal_powers[2 * (q - DECIMAL_LEAST)], &high, &low);
  if ((high & 0x1FF) == 0x1FF) { /* the bits that follow may matter */
    decimal_multiply(w, decimal_powers[2 * (q - DECIMAL_LEAST) + 1], &more, &least);
    low += more;
    if (more > low) high++;
  }
  if (low == UINT64_MAX && (q < -27 || q > 55)) return DECIMAL_HARD;
  upper = (int)(high >> 63);
  bits = high >> (upper + 9);
  /* 217706 / 65536 is log2 10 */
  power = (int)(((int64_t)217706 * q) >> 16) + 63 + upper - zeros + 1023;
  if (power <= 0 || power >= 2046) return DECIMAL_HARD;
  if (low <= 1 && q >= -4 && q <= 23 && (bits & 3) == 1 && (bits << (upper + 9)) == high) bits &= ~(uint64_t)1;
  bits = (bits + (bits & 1)) >> 1;
  if (bits >= ((uint64_t)2 << 52)) {
    bits = (uint64_t)1 << 52;
    power++;
  }
  bits = (bits & ~((uint64_t)1 << 52)) | ((uint64_t)power << 52);
  memcpy(value, &bits, sizeof bits);
  return DECIMAL_DONE;
}

/* The number at *at, before `end`, which moves *at behind it; DECIMAL_NONE where none begins there.
   DECIMAL_HARD: there is one, and *at is behind it, but its value is not found here. */
static inline decimal_outcome decimal_read(const char **at, const char *end, double *value) {
  const char *p = *at, *first;
  uint64_t w = 0;
  int negative = 0, digits = 0, q = 0, seen = 0, e = 0, minus = 0;
  decimal_outcome outcome;
  if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
  for (; p < end && (unsigned)(*p - '0') < 10; p++, seen = 1) {
    if (digits < 19) {
      w = 10 * w + (unsigned)(*p - '0');
      digits += w > 0;
    } else digits++, q++;
  }
  if (p < end && *p == '.') {
    for (p++; p < end && (unsigned)(*p - '0') < 10; p++, seen = 1) {
      if (digits < 19) {
        w = 10 * w + (unsigned)(*p - '0');
        digits += w > 0;
        q--;
      } else digits++;
    }
  }
  if (!seen) return DECIMAL_NONE;
  if (p < end && (*p == 'e' || *p == 'E')) {
    first = ++p;
    if (p < end && (*p == '-' || *p == '+')) minus = *p++ == '-', first++;
    for (; p < end && (unsigned)(*p - '0') < 10; p++)
      if (e < 10000) e = 10 * e + (*p - '0');
    if (p == first) return DECIMAL_NONE;
    q += minus ? -e : e;
  }
  *at = p;
  if (w == 0) {
    *value = negative ? -0.0 : 0.0;
    return DECIMAL_DONE;
  }
  if (digits > 19) return DECIMAL_HARD;
  outcome = decimal_nearest(w, q, value);
  if (outcome == DECIMAL_DONE && negative) *value = -*value;
  return outcome;
}
#endif
