import type { ComponentChildren } from 'preact';
import { useEffect, useErrorBoundary, useRef } from 'preact/hooks';
import { JsonTree } from '../json-tree/json-tree.tsx';
import { Plain } from '../plain.tsx';

interface RawOnFaultProps {
  /** What is drawn, as it is stored: another value is tried anew. A whole view has none. */
  readonly raw?: unknown;
  readonly children: ComponentChildren;
}

/** Shows what is stored where its drawing fails: the rest of the page stays. */
export function RawOnFault({ raw, children }: RawOnFaultProps) {
  const [fault, reset] = useErrorBoundary() as [unknown, () => void];
  const failed = useRef(raw);
  useEffect(() => {
    if (failed.current !== raw) reset();
    failed.current = raw;
  }, [raw]);
  if (fault === undefined) return <>{children}</>;
  return (
    <div class="note note-error" role="alert">
      <p>
        This could not be drawn.{' '}
        <button type="button" class="small" onClick={reset}>
          Try again
        </button>
      </p>
      {typeof raw === 'string' && <Plain text={raw} />}
      {typeof raw === 'object' && <JsonTree label="As it is stored" value={raw} />}
    </div>
  );
}
