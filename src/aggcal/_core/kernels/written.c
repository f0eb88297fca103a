/* Numbers as text, as Python writes them: the fewest digits that are read as the same number. By
 * R. Giulietti's Schubfach ("The Schubfach way to render doubles"), which needs powers of ten of 128
 * bits: Python works these out. */
#include "shared.h"

#define LEAST_POWER (-292) /* of ten, the first of the table */
#define SIGNIFICAND 52     /* bits of a double that are kept */
#define BIAS 1075

enum { WHOLE, NUMBER, ROUNDED, TEXT }; /* what columns hold */

/* digits * 10^exponent */
typedef struct {
    uint64_t digits;
    int exponent;
} Decimal;

PART uint64_t high_product(uint64_t a, uint64_t b, uint64_t *low)
{
    const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    const uint64_t p00 = a0 * b0, p01 = a0 * b1, p10 = a1 * b0;
    const uint64_t middle = p10 + (p00 >> 32) + (uint32_t)p01;
    *low = (middle << 32) | (uint32_t)p00;
    return a1 * b1 + (middle >> 32) + (p01 >> 32);
}

/* The high bits of a number times a power of ten, its last bit set if there is anything below. */
PART uint64_t scaled(const uint64_t *power, uint64_t number)
{
    uint64_t rest, low;
    const uint64_t carried = high_product(power[1], number, &rest);
    uint64_t high = high_product(power[0], number, &low);
    low += carried;
    high += low < carried;
    return high | (low > 1);
}

/* The shortest decimal that is read as a positive, finite double; of several, the nearest. */
PART Decimal shortest(uint64_t bits, const uint64_t *powers)
{
    const uint64_t kept = bits & (((uint64_t)1 << SIGNIFICAND) - 1);
    const int stored = (int)(bits >> SIGNIFICAND);
    const uint64_t c = stored ? kept | ((uint64_t)1 << SIGNIFICAND) : kept;
    const int q = (stored ? stored : 1) - BIAS;
    if (q <= 0 && -q <= SIGNIFICAND && !(c & (((uint64_t)1 << -q) - 1)))
        return (Decimal){c >> -q, 0}; /* a whole number */
    const int near = kept == 0 && stored > 1; /* the number below is half as far as that above */
    const int odd = c & 1;                    /* ends of the interval round to the even one */
    const int k = (q * 1262611 - (near ? 524031 : 0)) >> 22; /* floor of a logarithm */
    const int h = q + ((-k * 1741647) >> 19) + 1;
    const uint64_t *power = powers + 2 * (-k - LEAST_POWER);
    const uint64_t low = scaled(power, (4 * c - 2 + near) << h) + odd;
    const uint64_t here = scaled(power, (4 * c) << h);
    const uint64_t high = scaled(power, (4 * c + 2) << h) - odd;
    const uint64_t s = here / 4, tens = s / 10;
    if (s >= 10) {
        const int below = low <= 40 * tens, above = 40 * tens + 40 <= high;
        if (below != above) return (Decimal){tens + above, k + 1};
    }
    const int below = low <= 4 * s, above = 4 * s + 4 <= high;
    if (below != above) return (Decimal){s + above, k};
    return (Decimal){s + (here > 4 * s + 2 || (here == 4 * s + 2 && (s & 1))), k};
}

/* Write a whole number; return where it ends. */
PART char *write_whole(char *to, uint64_t number)
{
    char reversed[20];
    int n = 0;
    do reversed[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n) *to++ = reversed[--n];
    return to;
}

PART char *write_signed(char *to, int64_t number)
{
    if (number < 0) *to++ = '-';
    return write_whole(to, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

PART char *copied(char *to, const char *text, size_t length)
{
    memcpy(to, text, length);
    return to + length;
}

PART char *filled(char *to, int zeros)
{
    if (zeros > 0) memset(to, '0', zeros);
    return zeros > 0 ? to + zeros : to;
}

/* Write a double that is not missing as Python's repr does. */
PART char *write_number(char *to, double number, const uint64_t *powers)
{
    uint64_t bits;
    char digits[20];
    memcpy(&bits, &number, sizeof bits);
    if (bits >> 63) *to++ = '-';
    bits &= ~((uint64_t)1 << 63);
    if (bits == 0) return copied(to, "0.0", 3);
    if (bits >> SIGNIFICAND == 0x7ff) return copied(to, "inf", 3);
    Decimal d = shortest(bits, powers);
    for (; d.digits % 10 == 0; d.exponent++) d.digits /= 10;
    const int n = (int)(write_whole(digits, d.digits) - digits), point = n + d.exponent;
    if (point > 16 || point <= -4) {
        *to++ = digits[0];
        if (n > 1) *to++ = '.';
        to = copied(to, digits + 1, n - 1);
        *to++ = 'e';
        *to++ = point > 0 ? '+' : '-';
        const int exponent = point > 0 ? point - 1 : 1 - point;
        if (exponent < 10) *to++ = '0';
        return write_whole(to, exponent);
    }
    if (point <= 0) return copied(filled(copied(to, "0.", 2), -point), digits, n);
    if (point >= n) return copied(filled(copied(to, digits, n), point - n), ".0", 2);
    to = copied(to, digits, point);
    *to++ = '.';
    return copied(to, digits + point, n - point);
}

/* Write the rows of a table, cells apart by commas, and after each row an end. A column is of int64,
 * of doubles, of doubles that are written as whole numbers, or of texts that each end with a NUL.
 * What is missing (NaN) has a text of its own. Returns how many bytes were written. */
int64_t aggcal_written(int64_t rows, int64_t columns, const int32_t *kind, const void **column,
                       const uint64_t *powers, const char *missing, char end, char *out)
{
    const size_t long_missing = strlen(missing);
    char *to = out;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t k = 0; k < columns; k++) {
            if (kind[k] == TEXT) {
                const char *text = column[k];
                const size_t length = strlen(text);
                to = copied(to, text, length);
                column[k] = text + length + 1;
            } else if (kind[k] == WHOLE) {
                to = write_signed(to, ((const int64_t *)column[k])[row]);
            } else {
                const double number = ((const double *)column[k])[row];
                if (isnan(number)) to = copied(to, missing, long_missing);
                else if (kind[k] == ROUNDED) to = write_signed(to, (int64_t)number);
                else to = write_number(to, number, powers);
            }
            *to++ = ',';
        }
        to[-1] = end;
    }
    return to - out;
}
