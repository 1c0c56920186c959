import type { RunRequest } from '@agent-workflow/client';
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { client } from '../../session/session.ts';
import { useLoaded } from '../../session/loaded.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { useFaultFocus } from '../../ui/forms/fault-focus.ts';
import { Icon } from '../../ui/icon.tsx';
import { SchemaFields } from '../../ui/forms/schema-fields.tsx';
import type { FormFaults, FormModel } from '../../ui/forms/schema-form.ts';
import { browserTools } from './browser-tools.ts';
import type { AgentChoice } from './agent-choice.ts';
import { countSet, defaultOptions, readOptions, stateFormOf, type RunOptions } from './run-options.ts';
import { switchTool, toolsOn } from './tool-consent.ts';

/** The options of the next runs. They stay while the page is open, whatever view is shown. */
const options = signal<RunOptions>(defaultOptions);
const errors = signal<FormFaults>({});
/** How often the options were refused. */
const refusals = signal(0);
/** How often a run was accepted with them: they fold then. */
const accepted = signal(0);
/** The form of the initial state, and the agent whose state it is. */
interface StateForm {
  readonly agent: string | undefined;
  readonly form?: FormModel;
}

const stateForm = signal<StateForm>({ agent: undefined });

const strategies: Readonly<Record<RunOptions['strategy'], string>> = {
  enqueue: 'wait for the run before',
  reject: 'refuse the new run',
  interrupt: 'stop the run before',
  rollback: 'stop and undo the run before',
};

/**
 * The options as a request to an agent has them; `undefined` when they are to be mended first: the form unfolds, at the first fault.
 * Without a name the agent is that of the thread, or the only one.
 */
export function takeOptions(agent: string | undefined): Omit<RunRequest, 'messages'> | undefined {
  const { agent: described, form } = stateForm.peek();
  const read = readOptions(options.peek(), { agent, form: described === agent ? form : undefined });
  errors.value = read.errors ?? {};
  if (read.errors) refusals.value++;
  return read.errors ? undefined : read.request;
}

/** A run was accepted with the options. The initial state goes with one run: reducers would add it again with each. */
export function noteOptionsSent(): void {
  options.value = { ...options.peek(), state: {}, stateJson: '', threadName: '' };
  accepted.value++;
}

async function loadForm(agent: string | undefined, signalOfPage: AbortSignal): Promise<FormModel> {
  if (stateForm.peek().agent !== agent) {
    stateForm.value = { agent };
    // What was written for the state of one agent is none of another's.
    set({ state: {} });
  }
  const form = stateFormOf(await client.stateSchema({ agent, signal: signalOfPage }));
  stateForm.value = { agent, form };
  return form;
}

const set = (change: Partial<RunOptions>): void => {
  options.value = { ...options.peek(), ...change };
  // A fault that is mended goes at once; a new one is said when the options are taken.
  const { errors: now = {} } = readOptions(options.peek(), stateForm.peek());
  const left = Object.keys(errors.peek()).flatMap((name) => (now[name] === undefined ? [] : [[name, now[name]]]));
  errors.value = Object.fromEntries(left) as FormFaults;
};

/** The options of runs, behind one quiet button. */
export function Options({ choice }: { readonly choice: AgentChoice }) {
  const given = countSet(options.value) + toolsOn.value.size;
  const fold = useFaultFocus<HTMLDetailsElement>(refusals.value);
  const close = (): void => {
    if (fold.current) fold.current.open = false;
  };
  useEffect(close, [accepted.value]);
  useEffect(() => {
    const onPress = ({ target }: Event): void => {
      if (target instanceof Node && fold.current?.contains(target) === false) close();
    };
    addEventListener('pointerdown', onPress);
    return () => removeEventListener('pointerdown', onPress);
  }, []);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || fold.current?.open !== true) return;
    event.preventDefault();
    event.stopPropagation();
    close();
    fold.current.querySelector('summary')?.focus();
  };
  return (
    <details ref={fold} class="options" onKeyDown={onKeyDown}>
      <summary>
        <Icon name="options" />
        <span>Options{given > 0 ? `, ${String(given)} set` : ''}</span>
      </summary>
      <div class="options-body">
        <RunFields />
        <StateFields choice={choice} />
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
          {...faultMarks('recursionLimit')}
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
          {Object.entries(strategies).map(([name, meaning]) => (
            <option key={name} value={name}>
              {name}: {meaning}
            </option>
          ))}
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
          {...faultMarks('config')}
          value={config}
          onInput={(event) => set({ config: event.currentTarget.value })}
        />
      </label>
      <Wrong name="config" label="The config" />
    </fieldset>
  );
}

function StateFields({ choice }: { readonly choice: AgentChoice }) {
  const { stateJson } = options.value;
  const isKnown = choice.kind === 'none' || choice.name !== undefined;
  return (
    <fieldset class="stack">
      <legend>Initial state, for the next run only</legend>
      {choice.kind === 'open' && !isKnown && <p class="hint">The agent that you choose has its fields here.</p>}
      {isKnown && <FieldsOfAgent key={choice.name ?? ''} agent={choice.name} />}
      <label>
        Further fields, as a JSON object
        <textarea
          class="code"
          rows={2}
          spellcheck={false}
          {...faultMarks('stateJson')}
          value={stateJson}
          onInput={(event) => set({ stateJson: event.currentTarget.value })}
        />
      </label>
      <Wrong name="stateJson" label="The state" />
    </fieldset>
  );
}

/** The fields that an agent has in its state. */
function FieldsOfAgent({ agent }: { readonly agent: string | undefined }) {
  const { state: loaded, again } = useLoaded((signalOfPage) => loadForm(agent, signalOfPage), []);
  const { value: form, error } = loaded.value;
  return (
    <>
      {error !== undefined && <ErrorNote error={error} again={again} />}
      {form && (
        <SchemaFields
          form={form}
          texts={options.value.state}
          errors={errors.value}
          onChange={(texts) => set({ state: texts })}
        />
      )}
    </>
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

const faultIdOf = (name: string): string => `options-${name}-fault`;

/** Says to who hears the page that a box is wrong, and where the reason stands. */
const faultMarks = (name: string) =>
  errors.value[name] === undefined ? {} : { 'aria-invalid': true, 'aria-describedby': faultIdOf(name) };

function Wrong({ name, label }: { readonly name: string; readonly label: string }) {
  const error = errors.value[name];
  if (error === undefined) return null;
  return (
    <p class="wrong" role="alert" id={faultIdOf(name)}>
      {label} {error}
    </p>
  );
}
