/** How long work keeps this thread busy with inputs of two lengths, one ten times the other. */
interface Growth {
  readonly shortMs: number;
  readonly longMs: number;
  /** Less than this is not measured: a clock and a collector of garbage make more of a difference. */
  readonly noiseMs: number;
}

/**
 * Whether ten times the input takes about ten times as long. Squared growth takes a hundred times as long: 40 is as far
 * from one as from the other.
 */
export const isLinear = ({ shortMs, longMs, noiseMs }: Growth): boolean => longMs < 40 * Math.max(shortMs, noiseMs);

/** The best of several runs: a collection of garbage makes a run longer, never shorter. One run that is good enough decides. */
const runs = 5;

export async function measure<T>(
  work: (input: T) => unknown,
  inputs: { readonly short: T; readonly long: T },
  noiseMs = 5,
): Promise<Growth> {
  const best = { shortMs: Infinity, longMs: Infinity, noiseMs };
  await work(inputs.short);
  for (let run = 0; run < runs; run += 1) {
    best.shortMs = Math.min(best.shortMs, await timeOf(work, inputs.short));
    best.longMs = Math.min(best.longMs, await timeOf(work, inputs.long));
    if (isLinear(best)) break;
  }
  return best;
}

async function timeOf<T>(work: (input: T) => unknown, input: T): Promise<number> {
  const before = process.threadCpuUsage();
  await work(input);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
