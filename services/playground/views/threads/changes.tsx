import { useMemo } from 'preact/hooks';
import { counted, grouped } from '../../ui/format.ts';
import { FoldedJson } from '../../ui/folded-json.tsx';
import { diff, pathText, type Change } from './diff.ts';

/** So many changes are drawn; a reader of more reads the states. */
const maxShown = 500;
/** A longer text is folded. */
const longText = 400;

const words: Readonly<Record<Change['kind'], string>> = { added: 'Added', removed: 'Removed', changed: 'Changed' };

/** What is different between the earlier and the later of two states. */
export function Changes({ before, after }: { readonly before: unknown; readonly after: unknown }) {
  const changes = useMemo(() => diff(before, after), [before, after]);
  if (changes.length === 0) return <p class="hint">The two states are equal.</p>;
  const shown = changes.slice(0, maxShown);
  return (
    <>
      <table class="changes">
        <caption>{countsText(changes)}, from the earlier state to the later one</caption>
        <thead>
          <tr>
            <th scope="col">Change</th>
            <th scope="col">Path</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((change) => (
            <ChangeRow key={`${change.kind} ${pathText(change.path)}`} change={change} />
          ))}
        </tbody>
      </table>
      {changes.length > maxShown && <p class="hint">{counted(changes.length - maxShown, 'more change')} not shown.</p>}
    </>
  );
}

function countsText(changes: readonly Change[]): string {
  const counts = (['added', 'removed', 'changed'] as const)
    .map((kind) => [kind, changes.filter((change) => change.kind === kind).length] as const)
    .filter(([, count]) => count > 0);
  return counts.map(([kind, count]) => `${grouped(count)} ${kind}`).join(', ');
}

function ChangeRow({ change }: { readonly change: Change }) {
  return (
    <tr class={`change-${change.kind}`}>
      <th scope="row">{words[change.kind]}</th>
      <td>
        <code>{pathText(change.path)}</code>
      </td>
      <td>
        {change.kind !== 'added' && (
          <del>
            <FoldedJson label="Earlier value" value={change.before} maxInline={longText} />
          </del>
        )}
        {change.kind !== 'removed' && (
          <ins>
            <FoldedJson label="Later value" value={change.after} maxInline={longText} />
          </ins>
        )}
      </td>
    </tr>
  );
}
