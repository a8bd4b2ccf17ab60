/* L' w = q for one instruction set.  Included by back_kernel.h with BACK(x) naming the function; no include guard.

   L is unit lower triangular in tiles as ldl_kernel.h keeps them: column blocks one after the other, each from its
   diagonal tile down; in a tile, column c has its eight rows at 8 c.  Q is (8 blocks, ld), W (outputs, 8 blocks), scratch
   (outputs, 64).  Some tiles at a time, so that all outputs find them in the first cache. */

static void BACK(solve)(ptrdiff_t blocks, ptrdiff_t outputs, const double *restrict L, const double *restrict Q,
                        ptrdiff_t ld, double *restrict W, double *restrict scratch) {
  for (ptrdiff_t k = blocks - 1; k >= 0; k--) {
    const double *restrict diagonal = L + 64 * (k * blocks - k * (k - 1) / 2);
    memset(scratch, 0, (size_t)(64 * outputs) * sizeof *scratch);
    for (ptrdiff_t first = k + 1; first < blocks; first += BACK_TILES) {
      const ptrdiff_t last = first + BACK_TILES < blocks ? first + BACK_TILES : blocks;
      ptrdiff_t o = 0;
      for (; o + 2 <= outputs; o += 2) { /* two share a load of the tile */
        const double *restrict w = W + 8 * blocks * o, *restrict v = w + 8 * blocks;
        back_row sums[16];
        memcpy(sums, scratch + 64 * o, sizeof sums);
        for (ptrdiff_t i = first; i < last; i++)
          for (int c = 0; c < 8; c++) {
            BACK_ADD(sums[c], diagonal + 64 * (i - k) + 8 * c, w + 8 * i);
            BACK_ADD(sums[8 + c], diagonal + 64 * (i - k) + 8 * c, v + 8 * i);
          }
        memcpy(scratch + 64 * o, sums, sizeof sums);
      }
      if (o < outputs) {
        const double *restrict w = W + 8 * blocks * o;
        back_row sums[8];
        memcpy(sums, scratch + 64 * o, sizeof sums);
        for (ptrdiff_t i = first; i < last; i++)
          for (int c = 0; c < 8; c++) BACK_ADD(sums[c], diagonal + 64 * (i - k) + 8 * c, w + 8 * i);
        memcpy(scratch + 64 * o, sums, sizeof sums);
      }
    }
    for (ptrdiff_t o = 0; o < outputs; o++) {
      double *restrict w = W + 8 * (blocks * o + k);
      for (int c = 7; c >= 0; c--) {
        double total = Q[(8 * k + c) * ld + o];
        for (int r = 0; r < 8; r++) total -= scratch[64 * o + 8 * c + r];
        for (int r = c + 1; r < 8; r++) total -= diagonal[8 * c + r] * w[r];
        w[c] = total;
      }
    }
  }
}
