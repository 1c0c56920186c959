import type { JsonObject } from '@agent-workflow/client';
import { useState } from 'preact/hooks';
import { client } from '../../session/session.ts';
import { toHash } from '../../session/route.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import type { Chat } from './chat.ts';
import { isUnderWay, type RunState } from './conversation.ts';

interface RunBarProps {
  readonly chat: Chat;
  /** Raised when the run has changed. */
  readonly drawn: number;
  readonly onRetry: () => Promise<void>;
}

/** What stop has answered. */
type Receipt = JsonObject;

/** How the newest run stands, and what can be done about it. */
export function RunBar({ chat, onRetry }: RunBarProps) {
  const { run } = chat.conversation;
  const [receipt, setReceipt] = useState<Receipt>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const doing = (work: () => Promise<void>): void => {
    setBusy(true);
    setError(undefined);
    setReceipt(undefined);
    work()
      .catch(setError)
      .finally(() => setBusy(false));
  };
  const stop = async (): Promise<void> => setReceipt(await client.stop(chat.threadId.peek() ?? ''));
  const failure = chat.failure.value;
  const isGoing = isUnderWay(run?.status) || chat.waiting.value.length > 0;
  const mayRetry = run?.status === 'failed' || run?.status === 'stopped';
  return (
    <div class="run-bar">
      <p class="run-line">
        <span role="status" class={`chip chip-${run?.status ?? 'none'}`}>
          {run ? statusText(run) : 'No run yet'}
        </span>
        {run && <a href={toHash({ view: 'runs', id: run.runId })}>Run {shortened(run.runId)}</a>}
        {run?.usage && (
          <span class="hint">
            {`${count(run.usage.input_tokens)} tokens in, ${count(run.usage.output_tokens)} out`}
          </span>
        )}
        {run?.iterations !== undefined && <span class="hint">{plural(run.iterations, 'iteration')}</span>}
        {run !== undefined && run.restarts > 0 && <span class="hint">{plural(run.restarts, 'step')} ran again</span>}
        {isGoing && (
          <button type="button" disabled={isBusy} onClick={() => doing(stop)}>
            Stop
          </button>
        )}
        {mayRetry && (
          <button type="button" disabled={isBusy} onClick={() => doing(onRetry)}>
            Retry
          </button>
        )}
      </p>
      <p class="run-line" role="status">
        {connectionText(chat)}
      </p>
      {receipt && <p class="note">{receiptText(receipt)}</p>}
      {run?.isLimitReached && <p class="note">The recursion limit was reached: the run ended where it was.</p>}
      {run?.error && (
        <p class="note note-error" role="alert">
          {run.error.code}: {run.error.message}
        </p>
      )}
      {error !== undefined && <ErrorNote error={error} />}
      {failure !== undefined && <ErrorNote error={failure} again={() => void chat.again()} />}
      <Waiting chat={chat} />
      {run?.state && (
        <details class="folded">
          <summary>State of the run</summary>
          <JsonView label="State of the run" value={run.state} />
        </details>
      )}
      {run?.summary !== undefined && run.summary !== '' && (
        <details class="folded">
          <summary>Summary of what left the context</summary>
          <p class="written">{run.summary}</p>
        </details>
      )}
    </div>
  );
}

const words: Readonly<Record<RunState['status'], string>> = {
  queued: 'Queued: waits for its thread or for a worker',
  running: 'Running',
  sleeping: 'Sleeping',
  interrupted: 'Interrupted: waits for an answer',
  completed: 'Completed',
  failed: 'Failed',
  stopped: 'Stopped',
};

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' });

function statusText({ status, wakeAt }: RunState): string {
  return status === 'sleeping' && wakeAt !== undefined
    ? `Sleeping until ${clock.format(Date.parse(wakeAt))}`
    : words[status];
}

function connectionText({ connection }: Chat): string {
  if (connection.value === 'lost') return 'The connection to the run was cut. Connecting again …';
  if (connection.value === 'resumed') return 'The connection was cut and has resumed where it was: nothing is missing.';
  return '';
}

/** The receipt of the service in one line. */
function receiptText(receipt: Receipt): string {
  const run = typeof receipt['run_id'] === 'string' ? ` (run ${shortened(receipt['run_id'])})` : '';
  return `${receipt['success'] === true ? 'Stopped' : 'Nothing was stopped'}: ${String(receipt['message'])}${run}; status ${String(receipt['status'])}`;
}

function Waiting({ chat: { waiting } }: { readonly chat: Chat }) {
  const messages = waiting.value.flatMap((run) => run.messages);
  if (messages.length === 0) return null;
  return (
    <ul class="waiting" aria-label="Messages that wait for their run">
      {messages.map(({ message_id: id, content }) => (
        <li key={id}>{typeof content === 'string' ? content.slice(0, 300) : 'Results of tools'}</li>
      ))}
    </ul>
  );
}

const numbers = new Intl.NumberFormat('en');
const count = (value: number): string => numbers.format(value);
const plural = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
const shortened = (id: string): string => (id.length > 13 ? `…${id.slice(-8)}` : id);
