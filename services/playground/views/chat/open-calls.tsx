import { randomUuid } from '@agent-workflow/kit/uuid';
import type { Block, JsonObject, RemoteCall } from '@agent-workflow/client';
import type { Signal } from '@preact/signals';
import { useEffect, useId, useState } from 'preact/hooks';
import type { Typed } from '../../session/drafts.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { useFaultFocus } from '../../ui/forms/fault-focus.ts';
import { bareField, formOf, readForm } from '../../ui/forms/schema-form.ts';
import { JsonTree } from '../../ui/json-tree/json-tree.tsx';
import { browserTools } from './browser-tools.ts';
import type { Chat } from './chat.ts';
import { isUnderWay, type RunState } from './run-state.ts';

const jsonForm = formOf(undefined);

/** The results that are typed for calls of tools, by the ids of the calls. */
type Results = Typed<string>;

/** Drops what is typed for calls that are no longer open; what is typed for others stays while another run of the thread is followed. */
export function useResults({ conversation: { run }, runs: { followed } }: Chat, results: Signal<Results>): void {
  // While a run is followed it is not known what will be open.
  const isSettled = followed.value === undefined && run !== undefined && !isUnderWay(run.status);
  useEffect(() => {
    if (!isSettled) return;
    const open = new Set(run.calls?.map(({ id }) => id));
    const left = Object.entries(results.peek()).filter(([id]) => open.has(id));
    if (left.length < Object.keys(results.peek()).length) results.value = Object.fromEntries(left);
  }, [isSettled, run]);
}

interface OpenCallsProps {
  readonly chat: Chat;
  /** The run that calls. */
  readonly run: RunState;
  /** It outlives the form, which goes while another run of the thread is followed. */
  readonly results: Signal<Results>;
}

/** The open calls of tools that run where the reader is: by this browser when it has the tool, else by the reader's own hand. */
export function OpenCalls({ chat, run: { calls = [] }, results }: OpenCallsProps) {
  const [failure, setFailure] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const doing = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setFailure(undefined);
    await work().catch(setFailure);
    setBusy(false);
  };
  const answer = (call: RemoteCall, output: unknown, isError: boolean): Promise<void> => {
    const block: Block = {
      ...{ type: 'tool_result', call_id: call.id, output, is_error: isError },
      status: isError ? 'failed' : 'completed',
    };
    return chat.start({ messages: [{ role: 'tool', message_id: randomUuid(), content: [block] }] });
  };
  const hasOwn = calls.some(({ name }) => browserTools.some((tool) => tool.name === name));
  return (
    <section class="asking" aria-label="Open calls of tools">
      {calls.map((call) => (
        <OpenCall
          key={call.id}
          call={call}
          isBusy={isBusy}
          text={results.value[call.id] ?? ''}
          onText={(text) => {
            results.value = { ...results.value, [call.id]: text };
          }}
          onAnswer={(...given) => doing(() => answer(call, ...given))}
        />
      ))}
      {hasOwn && (
        <div class="row">
          <button type="button" disabled={isBusy} onClick={() => void doing(() => chat.runCalls())}>
            Run in this browser once
          </button>
          <p class="hint">Switch tools on in the options to run them without being asked.</p>
        </div>
      )}
      {failure !== undefined && chat.thread.missing.value === undefined && <ErrorNote error={failure} />}
    </section>
  );
}

interface OpenCallProps {
  readonly call: RemoteCall;
  readonly isBusy: boolean;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onAnswer: (output: unknown, isError: boolean) => Promise<void>;
}

function OpenCall({ call: { name, args }, isBusy, text, onText, onAnswer }: OpenCallProps) {
  const [error, setError] = useState<string>();
  const [refusals, setRefusals] = useState(0);
  const form = useFaultFocus<HTMLFieldSetElement>(refusals);
  const help = useId();
  const read = readForm(jsonForm, { [bareField]: text });
  const type = (typed: string): void => {
    onText(typed);
    if (error !== undefined) setError(readForm(jsonForm, { [bareField]: typed }).errors?.[bareField]);
  };
  const send = (isError: boolean): void => {
    setError(isError ? undefined : read.errors?.[bareField]);
    if (read.errors && !isError) setRefusals(refusals + 1);
    else void onAnswer(read.errors ? text : read.value, isError);
  };
  return (
    <fieldset ref={form} class="question">
      <legend>
        The agent calls <code>{name}</code>
      </legend>
      <Arguments name={name} args={args} />
      <label>
        Result of {name}, as JSON
        <textarea
          class="code"
          rows={2}
          spellcheck={false}
          aria-invalid={error !== undefined}
          value={text}
          {...(error !== undefined && { 'aria-describedby': help })}
          onInput={(event) => type(event.currentTarget.value)}
        />
      </label>
      {error !== undefined && (
        <p class="wrong" role="alert" id={help}>
          The result {error}
        </p>
      )}
      <div class="row">
        <button type="button" disabled={isBusy} onClick={() => send(false)}>
          Send the result
        </button>
        <button type="button" disabled={isBusy} onClick={() => send(true)}>
          Send as an error
        </button>
      </div>
    </fieldset>
  );
}

const Arguments = ({ name, args }: { readonly name: string; readonly args: JsonObject }) =>
  Object.keys(args).length === 0 ? null : <JsonTree label={`Arguments of ${name}`} value={args} />;

/** The calls that this browser makes or has made, while the page is open. */
export function LocalCallList({ chat: { localCalls } }: { readonly chat: Chat }) {
  const { value: all } = localCalls.all;
  if (all.length === 0) return null;
  const words = { running: 'runs', done: 'has run', failed: 'has failed' } as const;
  return (
    <ul class="local-calls" aria-label="Tools of this browser">
      {all.slice(-3).map(({ call, status }) => (
        <li key={call.id} class={status === 'failed' ? 'wrong' : 'hint'}>
          <code>{call.name}</code> {words[status]} in this browser
        </li>
      ))}
    </ul>
  );
}
