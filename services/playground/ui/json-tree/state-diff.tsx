import { useMemo } from 'preact/hooks';
import { diff, type Change } from '../diff.ts';
import { counted } from '../format.ts';
import { jsonStart } from '../json-start.ts';
import { JsonTree } from './json-tree.tsx';
import { pathText } from '../path-text.ts';

/** So many changes are drawn; a reader of more reads the states. */
const maxShown = 500;
/** A longer value is a tree. */
const maxInline = 240;

/** What turns one JSON value into another, line by line: what is gone, and what has come. */
export function StateDiff({ before, after }: { readonly before: unknown; readonly after: unknown }) {
  const changes = useMemo(() => diff(before, after), [before, after]);
  if (changes.length === 0) return <p class="hint">Nothing has changed.</p>;
  const hidden = changes.length - maxShown;
  return (
    <>
      <ul class="state-diff" aria-label="Changes">
        {changes.slice(0, maxShown).map((change) => (
          <ChangeLines key={`${change.kind} ${pathText(change.path)}`} change={change} />
        ))}
      </ul>
      {hidden > 0 && <p class="hint">{counted(hidden, 'more change')} not shown.</p>}
    </>
  );
}

function ChangeLines({ change }: { readonly change: Change }) {
  const path = pathText(change.path);
  return (
    <li>
      {change.kind !== 'added' && <Line kind="removed" path={path} value={change.before} />}
      {change.kind !== 'removed' && <Line kind="added" path={path} value={change.after} />}
    </li>
  );
}

interface LineProps {
  readonly kind: 'added' | 'removed';
  readonly path: string;
  readonly value: unknown;
}

function Line({ kind, path, value }: LineProps) {
  const { text, isCut } = useMemo(() => jsonStart(value ?? null, maxInline), [value]);
  const Element = kind === 'added' ? 'ins' : 'del';
  return (
    <Element class={`diff-line diff-${kind}`}>
      <span class="unseen">{kind}: </span>
      <code class="diff-path">{path === '' ? 'all of it' : path}</code>
      {isCut ? <JsonTree label={`${path}, ${kind}`} value={value} /> : <bdi class="diff-value">{text}</bdi>}
    </Element>
  );
}
