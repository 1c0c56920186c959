import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Icon } from './icon.tsx';

interface FoldProps {
  readonly class?: string;
  /** What stands in the line. */
  readonly summary: ComponentChildren;
  readonly children: ComponentChildren;
}

/** One quiet line that opens to more, which is drawn while it is open alone. */
export function Fold({ class: name = '', summary, children }: FoldProps) {
  const [isOpen, open] = useState(false);
  return (
    <details class={`fold ${name}`} onToggle={(event) => open(event.currentTarget.open)}>
      <summary>
        {summary}
        <Icon name="chevron" />
      </summary>
      {isOpen && children}
    </details>
  );
}
