/** A duration for people: `850 ms`, `12.3 s`, `4 min 5 s`, `2 h 3 min`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${String(Math.max(0, Math.round(ms)))} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${String(Math.floor(seconds / 60))} min ${String(seconds % 60)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 48 * 60) return `${String(Math.floor(minutes / 60))} h ${String(minutes % 60)} min`;
  return `${String(Math.round(minutes / 60 / 24))} days`;
}

let numbers: Intl.NumberFormat | undefined;

/** A number for people, as the page's English has it: `1,200`. A small one needs no format, whose making would stand before the first paint. */
export const grouped = (count: number): string =>
  Number.isInteger(count) && Math.abs(count) < 1000
    ? String(count)
    : (numbers ??= new Intl.NumberFormat('en')).format(count);

/** A count with its noun: `1 step`, `2 steps`, and with `memories` as the many `2 memories`. */
export const counted = (count: number, noun: string, many = `${noun}s`): string =>
  `${grouped(count)} ${count === 1 ? noun : many}`;

/** A part of a whole, from 0 to 1, in percent: `42 %`, `3.1 %`. What is there is never said to be nothing: `< 0.1 %`. */
export function percent(share: number): string {
  if (share > 0 && share < 0.0005) return '< 0.1 %';
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}

/** How often: `once`, `2 times`. */
export const times = (count: number): string => (count === 1 ? 'once' : counted(count, 'time'));

/** A size in bytes for people, in powers of 1000: `512 B`, `1.2 MB`. */
export function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB'];
  const at = Math.min(units.length - 1, bytes < 1000 ? 0 : Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** at;
  return `${at === 0 ? String(value) : value.toFixed(value < 10 ? 1 : 0)} ${units[at] ?? ''}`;
}
