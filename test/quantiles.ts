/** The value that this share of the values does not exceed: 0.99 gives p99. */
export function shareWithin(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
}
