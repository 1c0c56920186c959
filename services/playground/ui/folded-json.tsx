import { useState } from 'preact/hooks';
import { jsonStart } from './json-start.ts';
import { JsonView } from './json-view.tsx';

interface FoldedJsonProps {
  readonly label: string;
  readonly value: unknown;
  /** So many characters stand in the text; more is folded. */
  readonly maxInline?: number;
}

/** A value as JSON: a short one in the text, a long one behind its label. */
export function FoldedJson({ label, value, maxInline = 120 }: FoldedJsonProps) {
  const [isOpen, setOpen] = useState(false);
  const { text, isCut } = jsonStart(value, maxInline);
  if (!isCut) return <code class="value small">{text}</code>;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{label}</summary>
      {isOpen && <JsonView label={label} value={value} />}
    </details>
  );
}
