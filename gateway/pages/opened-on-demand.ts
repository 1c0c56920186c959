/** Calls `open` with the first request, and again after a failure: a file that cannot be read now may be readable later. */
export function openedOnDemand<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined;
  return () =>
    (opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    }));
}
