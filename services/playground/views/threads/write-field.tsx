import type { JsonObject } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { useAction } from '../../session/action.ts';
import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { readObject, type Read } from '../../ui/boxes.ts';
import { readField, stateFieldsOf, type StateField } from './state-fields.ts';

interface WriteFieldProps {
  readonly id: string;
  /** Whose fields these are: the default's when it is `null`. */
  readonly agent: string | null;
  readonly onWritten: () => void;
}

/** Writes one field of the state in a box that fits its type, or several as JSON. What the service refuses stays in its box. */
export function WriteField({ id, agent, onWritten }: WriteFieldProps) {
  const schema = useLoaded((signal) => client.stateSchema({ agent: agent ?? undefined, signal }), []).state.value;
  const notice = useSignal('');
  const name = useSignal<string | undefined>(undefined);
  const text = useSignal<string | undefined>(undefined);
  const fault = useSignal('');
  const writing = useAction<[JsonObject]>(async (signal, fields) => {
    await client.threads.writeState(id, fields, { signal });
    notice.value = `${Object.keys(fields).join(', ')}: written.`;
    text.value = undefined;
    onWritten();
  });
  const fields = schema.value ? stateFieldsOf(schema.value) : [];
  const field = name.value === '' ? undefined : (fields.find((each) => each.name === name.value) ?? fields[0]);
  // Empty, because a field may add what is written to what it has: the value as it is now stands beside it.
  const box = text.value ?? (field ? '' : '{}');
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    notice.value = '';
    const read = field ? readWritten(field, box) : readObject('The text', box);
    fault.value = 'fault' in read ? read.fault : '';
    if ('fault' in read) return;
    text.value = box;
    writing.start(read.value);
  };
  if (schema.isLoading) return <p class="hint">Loading …</p>;
  return (
    <details>
      <summary>Write a field</summary>
      <form class="stack framed" aria-label="Write a field" onSubmit={onSubmit}>
        <label>
          Field
          <select
            value={field?.name ?? ''}
            onChange={(event) => {
              name.value = event.currentTarget.value;
              text.value = undefined;
            }}
          >
            {fields.map((each) => (
              <option key={each.name} value={each.name}>
                {each.name} ({each.type})
              </option>
            ))}
            <option value="">several fields, as JSON</option>
          </select>
        </label>
        <ValueBox
          field={field}
          text={box}
          fault={fault.value}
          onText={(changed) => {
            text.value = changed;
          }}
        />
        {writing.error.value !== undefined && <ErrorNote error={writing.error.value} />}
        <div class="row">
          <button type="submit" disabled={writing.isBusy.value}>
            Write
          </button>
        </div>
      </form>
      <p class="notice" role="status">
        {notice.value}
      </p>
    </details>
  );
}

function readWritten(field: StateField, text: string): Read<JsonObject> {
  const read = readField(field, text);
  return 'fault' in read ? read : { value: { [field.name]: read.value } };
}

interface ValueBoxProps {
  readonly field: StateField | undefined;
  readonly text: string;
  readonly fault: string;
  readonly onText: (text: string) => void;
}

function ValueBox({ field, text, fault, onText }: ValueBoxProps) {
  const help = useId();
  const given = {
    value: text,
    'aria-invalid': fault !== '',
    'aria-describedby': help,
    onInput: (event: Event) => onText((event.currentTarget as HTMLInputElement).value),
  } as const;
  return (
    <label>
      {field ? `Value of ${field.name}` : 'Fields'}
      {boxOf(field, given)}
      <span id={help} class="hint small">
        {fault !== '' && <strong class="bad">{fault}. </strong>}
        {field?.description !== undefined && `${field.description}. `}
        {hintOf(field)}
      </span>
    </label>
  );
}

function boxOf(field: StateField | undefined, given: object) {
  if (field?.type === 'number' || field?.type === 'integer')
    return <input type="number" step={field.type === 'integer' ? '1' : 'any'} {...given} />;
  if (field?.type === 'boolean')
    return (
      <select {...given}>
        <option value="true">true</option>
        <option value="false">false</option>
      </select>
    );
  return <textarea rows={field?.type === 'string' ? 3 : 6} spellcheck={false} class="code" {...given} />;
}

const hintOf = (field: StateField | undefined): string =>
  `${field?.type === 'string' ? 'A text' : 'JSON'}. A field with a reducer takes it as what a node returned; any other is replaced.`;
