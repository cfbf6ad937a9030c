/** Reproducible random integers in [0, end). */
export function randomIntegers(seed: number): (end: number) => number {
  let state = seed * 2654435761 + 1;
  return (end) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * end);
  };
}
