/** How many times each node has run in its run: `visits` of the `progress_json` of every commit that does not end the run. */
export type Visits = Readonly<Record<string, number>>;

/**
 * The iterations of `progress_json`: the largest number of times that any one node ran. 0 where it has no visits, and where it cannot be
 * read: runs are ended and threads are deleted by this number, whatever a worker has left on record.
 */
export function iterationsIn(progressJson: Uint8Array | undefined): number {
  if (!progressJson) return 0;
  try {
    const { visits } = JSON.parse(Buffer.from(progressJson).toString()) as { readonly visits?: Visits };
    return Math.max(0, ...Object.values(visits ?? {}).filter(Number.isSafeInteger));
  } catch {
    return 0;
  }
}
