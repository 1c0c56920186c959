import type { RunRequest } from '@agent-workflow/client';
import { signal } from '@preact/signals';
import { client } from '../../session/session.ts';
import { useLoaded } from '../../session/loaded.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { SchemaFields } from '../../ui/forms/schema-fields.tsx';
import { formOf, type FormModel } from '../../ui/forms/schema-form.ts';
import { browserTools } from './browser-tools.ts';
import { countSet, defaultOptions, readOptions, type RunOptions } from './run-options.ts';
import { switchTool, toolsOn } from './tool-consent.ts';

/** The options of the next runs. They stay while the page is open, whatever view is shown. */
const options = signal<RunOptions>(defaultOptions);
const errors = signal<Readonly<Record<string, string>>>({});
const stateForm = signal<FormModel | undefined>(undefined);

/** The options as a request has them; `undefined` when they are to be mended first, which the form says. */
export function takeOptions(): Omit<RunRequest, 'messages'> | undefined {
  const read = readOptions(options.peek(), stateForm.peek());
  errors.value = read.errors ?? {};
  return read.errors ? undefined : read.request;
}

/** The initial state goes with one run: reducers would add it again with each. */
export function forgetInitialState(): void {
  options.value = { ...options.peek(), state: {}, stateJson: '', threadName: '' };
}

/** These are kept by the service and not written by callers. */
const ownFields: ReadonlySet<string> = new Set(['context', 'context_summary']);

async function loadForm(signalOfPage: AbortSignal): Promise<FormModel> {
  const schema = await client.stateSchema({ signal: signalOfPage });
  const form = formOf({ type: 'object', properties: schema['properties'] });
  const fields = form.isBare ? [] : form.fields.filter(({ name }) => !ownFields.has(name));
  stateForm.value = { fields, isBare: false };
  return stateForm.value;
}

const set = (change: Partial<RunOptions>): void => {
  options.value = { ...options.peek(), ...change };
};

/** The options of runs, folded. */
export function Options() {
  const given = countSet(options.value) + toolsOn.value.size;
  const wrong = Object.keys(errors.value).length;
  return (
    <details class="options" open={wrong > 0 || undefined}>
      <summary>Options{given > 0 ? `, ${String(given)} set` : ''}</summary>
      <div class="columns options-body">
        <RunFields />
        <StateFields />
        <Tools />
      </div>
    </details>
  );
}

function RunFields() {
  const { granularity, recursionLimit, strategy, threadName, config } = options.value;
  return (
    <fieldset class="stack">
      <legend>Run</legend>
      <label>
        Granularity
        <select
          value={granularity}
          onChange={(event) => set({ granularity: event.currentTarget.value as RunOptions['granularity'] })}
        >
          <option value="low">low: messages</option>
          <option value="partial">partial: also state and context</option>
          <option value="full">full: also the summary</option>
        </select>
      </label>
      <label>
        Recursion limit
        <input
          inputMode="numeric"
          placeholder="25"
          value={recursionLimit}
          onInput={(event) => set({ recursionLimit: event.currentTarget.value })}
        />
      </label>
      <Wrong name="recursionLimit" label="The recursion limit" />
      <label>
        When the thread is busy
        <select
          value={strategy}
          onChange={(event) => set({ strategy: event.currentTarget.value as RunOptions['strategy'] })}
        >
          <option value="enqueue">enqueue: wait for the run before</option>
          <option value="reject">reject: refuse the new run</option>
          <option value="interrupt">interrupt: stop the run before</option>
          <option value="rollback">rollback: stop and undo the run before</option>
        </select>
      </label>
      <label>
        Name of a new thread
        <input value={threadName} onInput={(event) => set({ threadName: event.currentTarget.value })} />
      </label>
      <label>
        Further config, as a JSON object
        <textarea
          class="code"
          rows={2}
          spellcheck={false}
          value={config}
          onInput={(event) => set({ config: event.currentTarget.value })}
        />
      </label>
      <Wrong name="config" label="The config" />
    </fieldset>
  );
}

function StateFields() {
  const { state: loaded, again } = useLoaded(loadForm, []);
  const { value: form, error } = loaded.value;
  const { state, stateJson } = options.value;
  return (
    <fieldset class="stack">
      <legend>Initial state, for the next run only</legend>
      {error !== undefined && <ErrorNote error={error} again={again} />}
      {form && (
        <SchemaFields form={form} texts={state} errors={errors.value} onChange={(texts) => set({ state: texts })} />
      )}
      <label>
        Further fields, as a JSON object
        <textarea
          class="code"
          rows={2}
          spellcheck={false}
          value={stateJson}
          onInput={(event) => set({ stateJson: event.currentTarget.value })}
        />
      </label>
      <Wrong name="stateJson" label="The state" />
    </fieldset>
  );
}

function Tools() {
  return (
    <fieldset class="stack">
      <legend>Tools that this browser runs</legend>
      {browserTools.map(({ name, label }) => (
        <label key={name} class="check">
          <input
            type="checkbox"
            checked={toolsOn.value.has(name)}
            onChange={(event) => switchTool(name, event.currentTarget.checked)}
          />
          {label}
        </label>
      ))}
      <p class="hint">The agent may call those that are on while this page is open. They are off after a reload.</p>
    </fieldset>
  );
}

function Wrong({ name, label }: { readonly name: string; readonly label: string }) {
  const error = errors.value[name];
  if (error === undefined) return null;
  return (
    <p class="wrong" role="alert">
      {label} {error}
    </p>
  );
}
