/** The stretch of time that all bars stand on, in milliseconds since 1970. */
export interface TraceAxis {
  readonly startMs: number;
  /** Behind the start by a millisecond at least. */
  readonly endMs: number;
}

/** A place on the axis, in percent of its length. */
export const percentAt = ({ startMs, endMs }: TraceAxis, at: number): number =>
  Math.min(100, Math.max(0, (100 * (at - startMs)) / (endMs - startMs)));

/** Where a bar stands and how wide it is, in percent. */
export function barOf(axis: TraceAxis, from: number, to: number): { readonly left: number; readonly width: number } {
  const left = percentAt(axis, from);
  return { left, width: Math.max(0, percentAt(axis, to) - left) };
}

/** The axis that everything of these stands on. */
export function axisOf(
  acceptedMs: number,
  ends: Iterable<{ readonly startMs: number; readonly endMs: number }>,
): TraceAxis {
  let [startMs, endMs] = [acceptedMs, acceptedMs + 1];
  for (const each of ends) {
    startMs = Math.min(startMs, each.startMs);
    endMs = Math.max(endMs, each.startMs, each.endMs);
  }
  return { startMs, endMs };
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
/** Lengths that people count in. */
const steps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((ms) => ms),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * second),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
  ...[1, 2, 5, 10].map((count) => count * day),
];

/** Marks on the axis, from its start: `most` at most, and one at least. */
export function ticksOf(
  { startMs, endMs }: TraceAxis,
  most: number,
): readonly { readonly ms: number; readonly text: string }[] {
  const length = endMs - startMs;
  const step = steps.find((each) => length / each < most) ?? Math.ceil(length / most / day) * day;
  const ticks: { ms: number; text: string }[] = [];
  // A mark at the very end would stand beyond it.
  for (let ms = 0; ms <= length * 0.97 && ticks.length < most; ms += step)
    ticks.push({ ms, text: tickText(ms, step, length) });
  return ticks;
}

/** All marks have one unit. */
function tickText(ms: number, step: number, length: number): string {
  if (step < second) return inUnit(ms, length < second ? 1 : second);
  if (step < minute) return inUnit(ms, length < 2 * minute ? second : minute);
  if (step < hour) return inUnit(ms, minute);
  return inUnit(ms, step < day ? hour : day);
}

function inUnit(ms: number, unit: number): string {
  const word = { [1]: 'ms', [second]: 's', [minute]: 'min', [hour]: 'h', [day]: 'd' }[unit] ?? '';
  return `${String(Math.round((ms / unit) * 1000) / 1000)} ${word}`;
}
