import { useEffect, useState } from 'preact/hooks';

/** Before that nothing is shown: what comes at once does not flash. In milliseconds. */
const afterMs = 150;

/** Stands where rows are to come, in their size. */
export function Skeleton({ rows }: { readonly rows: number }) {
  const [isShown, show] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => show(true), afterMs);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="skeleton" aria-busy="true">
      <span class="unseen">Loading …</span>
      {isShown &&
        Array.from({ length: rows }, (_, index) => <div key={index} class="skeleton-row" aria-hidden="true" />)}
    </div>
  );
}
