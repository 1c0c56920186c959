import { readFileSync } from 'node:fs';
import { workspaceOf } from './tree.ts';

/** How many findings each file has. */
type Counts = Readonly<Record<string, number>>;

/** What `left.json` allows: for each file, how many findings it may still have. */
interface Left {
  readonly words: Counts;
  readonly exports: Counts;
  readonly early: Counts;
}

export function perFile(found: readonly { readonly file: string }[]): Counts {
  const files = Map.groupBy(found, ({ file }) => file);
  return Object.fromEntries([...files].map(([file, hits]): [string, number] => [file, hits.length]).toSorted());
}

/**
 * The listed files that have more findings than they may have, and the workspaces that have more than their listed files may have
 * together: a file that moves takes its findings along, and a new one brings none.
 */
export function grown(now: Counts, allowed: Counts): string[] {
  const files = Object.keys(allowed).filter((file) => (now[file] ?? 0) > (allowed[file] ?? 0));
  const [sums, bounds] = [perWorkspace(now), perWorkspace(allowed)];
  const workspaces = Object.keys(sums).filter((workspace) => (sums[workspace] ?? 0) > (bounds[workspace] ?? 0));
  return [...files, ...workspaces];
}

function perWorkspace(counts: Counts): Counts {
  const sums: Record<string, number> = {};
  for (const [file, count] of Object.entries(counts)) {
    sums[workspaceOf(file)] = (sums[workspaceOf(file)] ?? 0) + count;
  }
  return sums;
}

/** The files that have fewer findings than the list allows: `npx node test/house/left.ts` makes the list as short as it can be. */
export function stale(now: Counts, allowed: Counts): string[] {
  return Object.keys(allowed).filter((file) => (now[file] ?? 0) < (allowed[file] ?? 0));
}

export function readLeft(): Left {
  return JSON.parse(readFileSync(new URL('./left.json', import.meta.url), 'utf8')) as Left;
}
