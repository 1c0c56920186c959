import { useMemo } from 'preact/hooks';
import { Fold } from '../fold.tsx';
import { counted, grouped } from '../format.ts';
import { jsonStart } from '../json-start.ts';
import { pathText } from '../path-text.ts';
import { changedFields, messageText, unchangedFields, type ChangedField } from './changed-fields.ts';
import { diff, type Change } from './diff.ts';
import { FoldedJson } from './folded-json.tsx';

/** So many changes are drawn; a reader of more reads the states. */
const maxShown = 500;
/** A longer text or value is folded, in characters. */
const maxInline = 400;

/** What is different between the earlier and the later of two states, field by field. */
export function StateDiff({ before, after }: { readonly before: unknown; readonly after: unknown }) {
  const { fields, unchanged, count } = useMemo(() => {
    const changes = diff(before, after);
    const all = changedFields(changes.slice(0, maxShown));
    return { fields: all, unchanged: unchangedFields(after, all), count: changes.length };
  }, [before, after]);
  if (count === 0) return <p class="hint">The two states are equal.</p>;
  return (
    <>
      <table class="changes">
        <caption>
          <span class="unseen">Changes from the earlier state to the later one</span>
        </caption>
        <thead>
          <tr>
            {['Change', 'Path', 'Value'].map((name) => (
              <th key={name} scope="col">
                <span class="unseen">{name}</span>
              </th>
            ))}
          </tr>
        </thead>
        {fields.map((field) => (
          <FieldChanges key={field.name} field={field} />
        ))}
      </table>
      {count > maxShown && <p class="hint">{counted(count - maxShown, 'more change')} not shown.</p>}
      {unchanged.length > 0 && count <= maxShown && (
        <Fold summary={`${counted(unchanged.length, 'field')} did not change`}>
          <p class="hint">{unchanged.join(', ')}</p>
        </Fold>
      )}
    </>
  );
}

function FieldChanges({ field }: { readonly field: ChangedField }) {
  const { name, changes, added, removed } = field;
  return (
    <tbody>
      <tr class="change-field">
        <th scope="rowgroup" colSpan={3}>
          <code>{name}</code>{' '}
          <span class="change-counts">
            {added > 0 && <span class="change-plus">+{grouped(added)}</span>}{' '}
            {removed > 0 && <span class="change-minus">−{grouped(removed)}</span>}
          </span>
        </th>
      </tr>
      {changes.map((change) => (
        <ChangeRow key={`${change.kind} ${pathText(change.path)}`} change={change} />
      ))}
    </tbody>
  );
}

const words: Readonly<Record<Change['kind'], string>> = { added: 'Added', removed: 'Removed', changed: 'Changed' };

function ChangeRow({ change }: { readonly change: Change }) {
  return (
    <tr class={`change-${change.kind}`}>
      <th scope="row">
        <span class="unseen">{words[change.kind]}</span>
      </th>
      <PathCell path={change.path} />
      <td>
        {change.kind !== 'added' && (
          <del>
            <Value label="Earlier value" value={change.before} />
          </del>
        )}
        {change.kind !== 'removed' && (
          <ins>
            <Value label="Later value" value={change.after} />
          </ins>
        )}
      </td>
    </tr>
  );
}

/** The way inside the field, whose name stands above. */
function PathCell({ path }: Pick<Change, 'path'>) {
  const whole = pathText(path);
  const inside = whole.slice(pathText(path.slice(0, 1)).length);
  return (
    <td class="change-path">
      <code>
        <span class="unseen">{whole}</span>
        <span aria-hidden="true">{inside}</span>
      </code>
    </td>
  );
}

function Value({ label, value }: { readonly label: string; readonly value: unknown }) {
  const message = messageText(value);
  if (message !== undefined && message.length <= maxInline) return <span dir="auto">{message}</span>;
  const { text, isCut } = jsonStart(value ?? null, maxInline);
  if (!isCut) return <code>{text}</code>;
  return <FoldedJson label={message === undefined ? label : `${message.slice(0, maxInline)}…`} value={value} />;
}
