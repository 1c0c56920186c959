import { Fold } from '../fold.tsx';
import { digest } from '../json-start.ts';
import { JsonTree } from './json-tree.tsx';

/** A value in one line: what it is, and its beginning. The line opens to its tree. */
export function FoldedJson({ label, value }: { readonly label: string; readonly value: unknown }) {
  return (
    <Fold
      summary={
        <>
          <span class="fold-label">{label}</span> <span class="digest">{digest(value)}</span>
        </>
      }
    >
      <JsonTree label={label} value={value} />
    </Fold>
  );
}
