/** One line of the table. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly ours: number | undefined;
  /** The same bytes from bare Koa, in the same run. */
  readonly bare?: number;
  /** The median of the ratios of the rounds, ours to bare. */
  readonly ratio?: number;
  /** What the medians were taken of, for the file. */
  readonly rounds?: readonly (readonly [number, number])[];
  /** What is aimed at, and whether it is met; absent for figures that only explain another. */
  readonly aim?: Aim;
}

interface Aim {
  readonly text: string;
  readonly met: boolean;
}

export const atLeast = (value: number, bound: number, unit = ''): Aim => ({
  text: `≥ ${number(bound)}${unit}`,
  met: value >= bound,
});

export const atMost = (value: number, bound: number, unit = ''): Aim => ({
  text: `≤ ${number(bound)}${unit}`,
  met: value <= bound,
});

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

const columns = ['figure', 'ours', 'bare Koa', 'ratio', 'aim', 'met'] as const;

/** The figures as an aligned table. */
export const toTable = (figures: readonly Figure[]): string => align([columns, ...figures.map(cells)]);

/** Rows as lines of aligned columns, the first column to the left and the others to the right. */
export function align(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
  return rows.map((row) => row.map((cell, index) => pad(cell, widths[index] ?? 0, index)).join('  ')).join('\n');
}

const cells = ({ name, unit, ours, bare, ratio, aim }: Figure): readonly string[] => [
  name,
  ours === undefined ? 'unknown' : `${number(ours)} ${unit}`.trim(),
  bare === undefined ? '' : `${number(bare)} ${unit}`.trim(),
  ratio === undefined ? '' : number(ratio),
  aim?.text ?? '',
  aim ? (aim.met ? 'yes' : 'NO') : '',
];

const pad = (cell: string, width: number, index: number): string =>
  index === 0 ? cell.padEnd(width) : cell.padStart(width);

/** Three digits that count. */
export const number = (value: number): string =>
  value >= 1000 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));
