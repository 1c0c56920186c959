import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Icon } from './icon.tsx';

interface FoldProps {
  readonly class?: string;
  /** What stands in the line. */
  readonly summary: ComponentChildren;
  readonly children: ComponentChildren;
  readonly onOpen?: (() => void) | undefined;
}

/** One quiet line that opens to more, which is drawn while it is open alone. */
export function Fold({ class: name = '', summary, children, onOpen }: FoldProps) {
  const [isOpen, open] = useState(false);
  const onToggle = ({ currentTarget }: { readonly currentTarget: HTMLDetailsElement }): void => {
    open(currentTarget.open);
    if (currentTarget.open) onOpen?.();
  };
  return (
    <details class={`fold ${name}`} onToggle={onToggle}>
      <summary>
        {summary}
        <Icon name="chevron" />
      </summary>
      {isOpen && children}
    </details>
  );
}
