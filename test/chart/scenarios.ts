import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from './root.ts';

/** A chart with one of the files of values that come with it. */
export interface Scenario {
  readonly title: string;
  readonly chart: string;
  /** Absolute. */
  readonly chartFolder: string;
  readonly values: string;
}

export const charts = join(root, 'deploy/charts');

/** Every file below a chart's `values/`. */
export const scenarios: readonly Scenario[] = globSync('*/values/*.yaml', { cwd: charts })
  .toSorted()
  .map((file) => {
    const chart = file.split('/')[0] as string;
    return {
      title: `${chart}-${basename(file, '.yaml')}`,
      chart,
      chartFolder: join(charts, chart),
      values: join(charts, file),
    };
  });
