import { useState } from 'preact/hooks';
import { digest } from '../../ui/json-start.ts';
import { JsonView } from '../../ui/json-view.tsx';

/** A block that has no form of its own, in a line that opens to all of it. */
export function FoldedValue({ kind, value }: { readonly kind: string; readonly value: unknown }) {
  const [isOpen, open] = useState(false);
  return (
    <details class="fold" onToggle={(event) => open(event.currentTarget.open)}>
      <summary>
        {digest(kind)} <span class="digest">{digest(value)}</span>
      </summary>
      {isOpen && <JsonView label={digest(kind)} value={value} />}
    </details>
  );
}
