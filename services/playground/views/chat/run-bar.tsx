import type { JsonObject, NewMessage } from '@agent-workflow/client';
import { useState, useEffect } from 'preact/hooks';
import { client } from '../../session/session.ts';
import { toHash } from '../../session/route.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { counted, grouped } from '../../ui/format.ts';
import { JsonView } from '../../ui/json-view.tsx';
import { Plain } from '../../ui/plain.tsx';
import type { Chat } from './chat.ts';
import { isUnderWay, type RunState } from './conversation.ts';
import { choiceOf } from './agent-picker.tsx';
import { takeOptions } from './options.tsx';

/** The id of the element that says how the run stands. */
export const runStatusId = 'run-status';

interface RunBarProps {
  readonly chat: Chat;
  /** Raised when the run has changed. */
  readonly drawn: number;
}

/** What stop has answered. */
interface Receipt {
  /** The run that it is about: the one that was stopped, or that was on the page when nothing was. */
  readonly runId: unknown;
  readonly reply: JsonObject;
}

/** How the newest run stands, and what can be done about it. */
export function RunBar({ chat }: RunBarProps) {
  const { run } = chat.conversation;
  const [receipt, setReceipt] = useState<Receipt>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const doing = (work: () => Promise<void>): void => {
    if (isBusy) return;
    setBusy(true);
    setError(undefined);
    setReceipt(undefined);
    work()
      .catch(setError)
      .finally(() => setBusy(false));
  };
  const stop = async (): Promise<void> => {
    const reply = await client.stop(chat.threadId.peek() ?? '');
    setReceipt({ reply, runId: reply['run_id'] ?? run?.runId });
  };
  const failure = chat.failure.value;
  const isGoing = isUnderWay(run?.status) || chat.waiting.value.length > 0 || chat.waitingElsewhere.value > 0;
  const mayRetry = (run?.status === 'failed' || run?.status === 'stopped') && chat.followed.value === undefined;
  return (
    <div class="run-bar">
      <p class="run-line">
        <span role="status" id={runStatusId} tabIndex={-1} class={`chip chip-${run?.status ?? 'none'}`}>
          {run ? statusText(run) : 'No run yet'}
        </span>
        {run && <a href={toHash({ view: 'runs', id: run.runId })}>Run {shortened(run.runId)}</a>}
        {run?.usage && (
          <span class="hint">
            {`${counted(run.usage.input_tokens, 'token')} in, ${grouped(run.usage.output_tokens)} out`}
          </span>
        )}
        {run?.iterations !== undefined && <span class="hint">{counted(run.iterations, 'iteration')}</span>}
        {run !== undefined && run.restarts > 0 && <span class="hint">{counted(run.restarts, 'step')} ran again</span>}
        {isGoing && (
          <button type="button" aria-disabled={isBusy} onClick={() => doing(stop)}>
            Stop
          </button>
        )}
        {mayRetry && <Retry {...{ chat, doing }} runId={run.runId} isBusy={isBusy} />}
      </p>
      <p class="run-line" role="status">
        {connectionText(chat)}
      </p>
      {receipt && receipt.runId === run?.runId && <p class="note">{receiptText(receipt.reply)}</p>}
      {run?.isLimitReached && <p class="note">The recursion limit was reached: the run ended where it was.</p>}
      {run?.error && (
        <p class="note note-error" role="alert">
          {run.error.code}: {run.error.message}
        </p>
      )}
      {error !== undefined && chat.missing.value === undefined && <ErrorNote error={error} />}
      {failure !== undefined && chat.missing.value === undefined && (
        <ErrorNote error={failure} again={() => void chat.again()} />
      )}
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
          <Plain text={run.summary} />
        </details>
      )}
    </div>
  );
}

const words: Readonly<Record<RunState['status'], string>> = {
  scheduled: 'Scheduled',
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
function receiptText({ success, message, run_id: runId, status }: JsonObject): string {
  const run = typeof runId === 'string' ? ` (run ${shortened(runId)})` : '';
  return `${success === true ? 'Stopped' : 'Nothing was stopped'}: ${String(message)}${run}; status ${String(status)}`;
}

function Waiting({ chat: { waiting, waitingElsewhere } }: { readonly chat: Chat }) {
  const messages = waiting.value.flatMap((run) => run.messages);
  const others = waitingElsewhere.value;
  if (messages.length === 0 && others === 0) return null;
  return (
    <ul class="waiting" aria-label="Messages that wait for their run">
      {messages.map(({ message_id: id, content }) => (
        <li key={id}>{typeof content === 'string' ? content.slice(0, 300) : 'Results of tools'}</li>
      ))}
      {others > 0 && <li>{others === 1 ? '1 message waits' : `${String(others)} messages wait`}</li>}
    </ul>
  );
}

const shortened = (id: string): string => (id.length > 13 ? `…${id.slice(-8)}` : id);

interface RetryProps {
  readonly chat: Chat;
  /** The run whose messages are sent again. */
  readonly runId: string;
  readonly isBusy: boolean;
  /** Does the work, and shows how it goes. */
  readonly doing: (work: () => Promise<void>) => void;
}

/** Sends the messages of a run again; there is no button while they are not known. */
function Retry({ chat, runId, isBusy, doing }: RetryProps) {
  const [messages, setMessages] = useState<readonly NewMessage[]>([]);
  useEffect(() => {
    let isLeft = false;
    setMessages([]);
    chat.inputOf(runId).then(
      (read) => {
        if (!isLeft) setMessages(read);
      },
      // What cannot be read cannot be sent again: the box is there for it.
      () => undefined,
    );
    return () => {
      isLeft = true;
    };
  }, [chat, runId]);
  const retry = async (): Promise<void> => {
    const request = takeOptions(choiceOf(chat).name);
    if (request) await chat.start({ ...request, messages });
  };
  if (messages.length === 0) return null;
  return (
    <button type="button" aria-disabled={isBusy} onClick={() => doing(retry)}>
      Retry
    </button>
  );
}
